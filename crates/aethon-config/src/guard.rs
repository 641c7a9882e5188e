//! Which changes of the configuration loosen protection, or decide where keys are sent or which programs run.
//!
//! Such a change through the API needs the token once more. The configurations before and after are compared, not the text of
//! the change, so it does not matter whether a key is set, removed or part of a table. Where a rule has a direction, tightening
//! is free.

mod rule;
mod table;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::json_schema::NAME;
use crate::mask;
use crate::path::KeyPath;
use crate::schema::Config;

use self::rule::Rule;
use self::table::RULES;

/// Returns the keys among the named ones, or below them, whose change loosens protection, in order.
pub(crate) fn loosened(before: &Config, after: &Config, named: &[KeyPath]) -> BTreeSet<String> {
    let mut found = Vec::new();
    compare(&KeyPath::default(), &mask::to_value(before), &mask::to_value(after), &mut found);
    let precise = |key: &KeyPath| {
        let near = named.iter().filter(|name| name.is_within(key) || key.is_within(name));
        near.map(|name| if name.is_within(key) { name.to_string() } else { key.to_string() })
            .collect::<Vec<String>>()
    };
    found.iter().flat_map(precise).collect()
}

/// Returns whether every change of this key is free.
pub(crate) fn is_free(key: &KeyPath) -> bool {
    rule_of(key) == Some(Rule::Free)
}

fn compare(key: &KeyPath, before: &Value, after: &Value, found: &mut Vec<KeyPath>) {
    if before == after {
        return;
    }
    match rule_of(key) {
        Some(Rule::Entries) => {
            for (name, entry) in after.as_object().into_iter().flatten() {
                compare(&key.key(name), before.get(name).unwrap_or(&Value::Null), entry, found);
            }
        }
        Some(rule) if rule.loosens(before, after) => found.push(key.clone()),
        Some(_) => {}
        None if has_rules_below(key) => {
            for name in names(before).chain(names(after)).collect::<BTreeSet<&String>>() {
                let at = |whole: &Value| whole.get(name).cloned().unwrap_or_default();
                compare(&key.key(name), &at(before), &at(after), found);
            }
        }
        // A key that is not classified yet.
        None => found.push(key.clone()),
    }
}

fn names(value: &Value) -> impl Iterator<Item = &String> {
    value.as_object().into_iter().flat_map(|entries| entries.keys())
}

fn rule_of(key: &KeyPath) -> Option<Rule> {
    let steps: Vec<&str> = key.keys().collect();
    let is_key = |row: &&(&str, Rule)| matches(row.0, &steps) == Some(0);
    RULES.iter().find(is_key).map(|(_, rule)| *rule)
}

fn has_rules_below(key: &KeyPath) -> bool {
    let steps: Vec<&str> = key.keys().collect();
    RULES.iter().any(|(name, _)| matches(name, &steps).is_some_and(|rest| rest > 0))
}

/// Returns how many steps a row has beyond these, if it begins with them.
fn matches(row: &str, steps: &[&str]) -> Option<usize> {
    let row: Vec<&str> = row.split('.').collect();
    let is_same = |(row, step): (&&str, &&str)| row == step || *row == NAME;
    (row.len() >= steps.len() && row.iter().zip(steps).all(is_same)).then(|| row.len() - steps.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_schema::known_keys;

    #[test]
    fn every_key_has_exactly_one_rule() {
        let known: Vec<String> = known_keys().into_iter().map(|key| key.name).collect();
        for key in &known {
            let steps: Vec<&str> = key.split('.').collect();
            assert_eq!(
                RULES.iter().filter(|(name, _)| matches(name, &steps) == Some(0)).count(),
                1,
                "{key} does not have one row in crates/aethon-config/src/guard/table.rs. Add one that says when a change of it through \
                 the API loosens protection: `Free` if never, `Any` if always, `TurnedOff` for a protection that is a switch, \
                 `Added` for a list of exceptions, `Removed` for a list of bans, and so on (guard/rule.rs)"
            );
        }
        for (name, _) in RULES {
            let is_row_of = |key: &String| matches(name, &key.split('.').collect::<Vec<&str>>()) == Some(0);
            assert!(known.iter().any(is_row_of), "{name} has a row in guard/table.rs and is no key");
            assert_eq!(RULES.iter().filter(|(other, _)| other == name).count(), 1, "{name} has two rows");
        }
    }

    #[test]
    fn a_new_key_counts_as_loosening_until_it_is_classified() {
        let mut found = Vec::new();
        let (before, after) = (serde_json::json!({"a": 1}), serde_json::json!({"a": 2}));
        compare(&KeyPath::of(["new"]), &before, &after, &mut found);
        assert_eq!(found, [KeyPath::of(["new"])]);
    }

    #[test]
    fn loosened_keys_are_named_precisely() {
        let before = Config::default();
        let mut after = before.clone();
        after.channels.webchat.allowed_origins.push("https://a.example".into());
        after.channels.webchat.allowed_hosts.push("a.example".into());
        let check = |named: &[&str], expected: &[&str]| {
            let named: Vec<KeyPath> = named.iter().map(|key| KeyPath::parse(key).unwrap()).collect();
            let found: Vec<String> = loosened(&before, &after, &named).into_iter().collect();
            assert_eq!(found, expected, "{named:?}");
        };
        let both = ["channels.webchat.allowed_hosts", "channels.webchat.allowed_origins"];
        check(&["channels.webchat"], &both);
        check(&both, &both);
        check(&["channels.webchat.allowed_hosts"], &both[..1]);
    }
}
