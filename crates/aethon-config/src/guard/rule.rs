//! When a new value of one key loosens protection.

use serde_json::Value;

/// When a change loosens protection, or decides where keys are sent or which programs run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    /// Never.
    Free,
    /// Always.
    Any,
    /// A table of entries: each is judged by its own keys, and removing one is free.
    Entries,
    /// When a switch is turned on.
    TurnedOn,
    /// When a switch is turned off.
    TurnedOff,
    /// When a list has an item that it had not.
    Added,
    /// The same, and when the list becomes empty, because an empty one restricts nothing.
    AddedOrEmptied,
    /// When a list lacks an item that it had.
    Removed,
    /// When a number grows.
    Raised,
    /// The same, where 0 is no limit.
    RaisedOrZero,
    /// When a number shrinks: less is kept, and the excess is removed at once.
    Lowered,
    /// The same, where 0 is no limit.
    LoweredFromZero,
    /// When a word gives way to a looser one. A word that is not listed is the loosest.
    Ranked(&'static [(&'static str, u8)]),
    /// When this value gives way to another.
    Left(&'static str),
}

impl Rule {
    /// Returns whether going from one value to the other loosens. Null is a value that is not there.
    pub(super) fn loosens(self, before: &Value, after: &Value) -> bool {
        if before == after || (is_blank(before) && is_blank(after)) {
            return false;
        }
        match self {
            Self::Free => false,
            Self::Any | Self::Entries => true,
            // A new entry is judged by its other keys.
            Self::TurnedOn => before == &Value::Bool(false) && after == &Value::Bool(true),
            Self::TurnedOff => after == &Value::Bool(false),
            Self::Added => has_more(after, before),
            Self::AddedOrEmptied => has_more(after, before) || items(after).is_empty(),
            Self::Removed => has_more(before, after),
            Self::Raised => number(after) > number(before),
            Self::RaisedOrZero => limit(after) > limit(before),
            Self::Lowered => number(after) < number(before),
            Self::LoweredFromZero => limit(after) < limit(before),
            Self::Ranked(words) => match (rank(words, before), rank(words, after)) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(before), Some(after)) => after > before,
            },
            Self::Left(word) => text(before) == word,
        }
    }
}

/// Returns whether a value says as little as one that is not there.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(switch) => !switch,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
    }
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// Returns whether `one` has an item that `other` lacks.
fn has_more(one: &Value, other: &Value) -> bool {
    items(one).iter().any(|item| !items(other).contains(item))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

fn limit(value: &Value) -> f64 {
    Some(number(value)).filter(|number| *number > 0.0).unwrap_or(f64::INFINITY)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_ascii_lowercase())
}

fn rank(words: &[(&str, u8)], value: &Value) -> Option<u8> {
    let text = text(value);
    words.iter().find(|(word, _)| *word == text).map(|(_, rank)| *rank)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_loosens_in_one_direction_only() {
        let check = |rule: Rule, tighter: Value, looser: Value| {
            assert!(rule.loosens(&tighter, &looser), "{rule:?}: {tighter} to {looser}");
            assert!(!rule.loosens(&looser, &tighter), "{rule:?}: {looser} to {tighter}");
            assert!(!rule.loosens(&tighter, &tighter) && !rule.loosens(&looser, &looser), "{rule:?}");
        };
        check(Rule::TurnedOn, json!(false), json!(true));
        check(Rule::TurnedOff, json!(true), json!(false));
        check(Rule::Added, json!(["a"]), json!(["b", "a"]));
        check(Rule::Added, Value::Null, json!(["a"]));
        check(Rule::Removed, json!(["a", "b"]), json!(["b"]));
        check(Rule::Removed, json!(["a"]), Value::Null);
        check(Rule::AddedOrEmptied, json!(["a"]), json!(["a", "b"]));
        check(Rule::Raised, json!(1.0), json!(1.5));
        check(Rule::RaisedOrZero, json!(1.0), json!(0.0));
        check(Rule::RaisedOrZero, json!(1.0), json!(2.0));
        check(Rule::Lowered, json!(30), json!(20));
        check(Rule::LoweredFromZero, json!(30), json!(20));
        check(Rule::LoweredFromZero, json!(0), json!(1));
        let words = Rule::Ranked(&[("off", 0), ("on", 1)]);
        check(words, json!("off"), json!("on"));
        check(words, json!("on"), json!("anything else"));
        check(Rule::Left("-1"), json!(-1), json!(80));
    }

    #[test]
    fn where_no_direction_is_safe_every_change_loosens() {
        let check = |rule: Rule, one: Value, other: Value| {
            assert!(rule.loosens(&one, &other) && rule.loosens(&other, &one), "{rule:?}: {one}, {other}");
        };
        check(Rule::Any, json!(""), json!("https://a.example"));
        check(Rule::Any, json!(true), json!(false));
        check(Rule::Added, json!(["a"]), json!(["b"]));
        check(Rule::AddedOrEmptied, json!(["a"]), json!([]));
        check(Rule::Ranked(&[("none", 0)]), json!("bridge"), json!("host"));
        assert!(!Rule::Free.loosens(&json!(1), &json!(2)));
        assert!(!Rule::Any.loosens(&Value::Null, &json!("")), "nothing was there and nothing is");
    }
}
