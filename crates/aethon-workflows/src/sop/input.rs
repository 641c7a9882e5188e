//! The input of a SOP in a message: `key=value` pairs for its parameters, and free text, which provides the first required
//! parameter that has no value.

use std::collections::BTreeMap;

use aethon_core::sop::{Sop, SopName, SopParameter};

/// The parsed input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SopInput {
    /// The parameters that were given a value, without defaults.
    pub parameters: BTreeMap<String, String>,
    /// The text that is left after the parameters were extracted.
    pub free_text: String,
}

impl SopInput {
    /// Returns the required parameters without a value.
    pub fn missing<'s>(&self, sop: &'s Sop) -> Vec<&'s SopParameter> {
        let has_value = |name: &str| self.parameters.get(name).is_some_and(|value| !value.trim().is_empty());
        sop.parameters.iter().filter(|one| one.required && !has_value(&one.name)).collect()
    }
}

/// The SOP that a message may call, and the rest of the message: its first line begins with `/name`.
pub(super) fn call(text: &str) -> Option<(SopName, &str)> {
    let rest = text.trim_start().strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    Some((SopName::parse(&rest[..end]).ok()?, &rest[end..]))
}

/// Parses the input of a SOP from a message, given the parameters known so far.
pub fn read_input(sop: &Sop, known: BTreeMap<String, String>, text: &str) -> SopInput {
    let mut input = SopInput { parameters: known, free_text: String::new() };
    let mut free = Vec::new();
    for line in text.lines() {
        let rest = read_line(sop, line, &mut input.parameters);
        free.push(rest);
    }
    input.free_text = free.join("\n").trim().to_owned();
    let first = input.missing(sop).first().map(|parameter| parameter.name.clone());
    if let Some(name) = first.filter(|_| !input.free_text.is_empty()) {
        input.parameters.insert(name, input.free_text.clone());
    }
    input
}

/// Extracts the pairs from a line and returns the rest. A value extends to the next pair or to the end of the line; one
/// that contains a parameter's name followed by an equals sign must be quoted.
fn read_line(sop: &Sop, line: &str, parameters: &mut BTreeMap<String, String>) -> String {
    let Some(first) = next_pair(sop, line, 0) else { return line.to_owned() };
    let mut left = line[..first.start].trim_end().to_owned();
    let mut pair = Some(first);
    while let Some(Pair { name, value_at, .. }) = pair.take() {
        let rest = line[value_at..].trim_start();
        let skipped = line.len() - value_at - rest.len();
        if let Some((value, behind)) = quoted(rest) {
            parameters.insert(name, value);
            let behind_at = value_at + skipped + rest.len() - behind.len();
            pair = next_pair(sop, line, behind_at);
            let between = &line[behind_at..pair.as_ref().map_or(line.len(), |next| next.start)];
            if !between.trim().is_empty() {
                left.push(' ');
                left.push_str(between.trim());
            }
        } else {
            pair = next_pair(sop, line, value_at);
            let end = pair.as_ref().map_or(line.len(), |next| next.start);
            parameters.insert(name, line[value_at..end].trim().to_owned());
        }
    }
    left
}

struct Pair {
    name: String,
    /// Where the name begins.
    start: usize,
    /// Where the value begins.
    value_at: usize,
}

/// Finds the next `name=` of a parameter at the beginning of a word.
fn next_pair(sop: &Sop, line: &str, from: usize) -> Option<Pair> {
    let is_start = |at: usize| at == 0 || line[..at].ends_with(char::is_whitespace);
    let pairs = sop.parameters.iter().flat_map(|parameter| {
        let mark = format!("{}=", parameter.name);
        let found = line[from..].match_indices(&mark).map(|(at, _)| from + at).find(|at| is_start(*at));
        found.map(|start| Pair { name: parameter.name.clone(), start, value_at: start + mark.len() })
    });
    pairs.min_by_key(|pair| pair.start)
}

/// A quoted value, and the text after it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, c) in inner.char_indices() {
        match c {
            _ if is_escaped => {
                value.push(c);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            '"' => return Some((value, &inner[at + 1..])),
            _ => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sop::parse;
    use aethon_core::sop::SopOrigin;

    fn sop() -> Sop {
        let text = "# T\n## Overview\nx\n## Parameters\n- **idea** (required): a\n- **to** (required): b\n\
            - **style** (optional, default: short): c\n## Steps\n### 1. a\n";
        parse(SopName::parse("x").unwrap(), SopOrigin::BuiltIn, text).unwrap()
    }

    #[test]
    fn a_call_begins_with_a_slash_and_a_name() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let found = call(text);
            assert_eq!(found.as_ref().map(|(name, rest)| (name.as_str(), *rest)), expected, "{text:?}");
        };
        check("/pdd", Some(("pdd", "")));
        check("  /pdd a shop\nmore", Some(("pdd", " a shop\nmore")));
        check("/pdd\nmore", Some(("pdd", "\nmore")));
        check("/etc/hosts is what?", None);
        check("/Pdd", None);
        check("/", None);
        check("pdd", None);
    }

    #[test]
    fn pairs_fill_parameters_and_the_rest_the_first_that_is_missing() {
        let check = |text: &str, expected: &[(&str, &str)], free: &str, missing: &[&str]| {
            let sop = sop();
            let input = read_input(&sop, BTreeMap::new(), text);
            let found: Vec<_> =
                input.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(found, expected, "{text:?}");
            assert_eq!(input.free_text, free, "{text:?}");
            let found: Vec<&str> = input.missing(&sop).iter().map(|one| one.name.as_str()).collect();
            assert_eq!(found, missing, "{text:?}");
        };
        check("", &[], "", &["idea", "to"]);
        check(" a shop\nfor tea ", &[("idea", "a shop\nfor tea")], "a shop\nfor tea", &["to"]);
        check("idea=a shop to=Ada", &[("idea", "a shop"), ("to", "Ada")], "", &[]);
        check("a shop to=Ada", &[("idea", "a shop"), ("to", "Ada")], "a shop", &[]);
        check("to=\"Ada L.\" a shop", &[("idea", "a shop"), ("to", "Ada L.")], "a shop", &[]);
        check("idea=\"a \\\"b\\\" to=c\" to=d", &[("idea", "a \"b\" to=c"), ("to", "d")], "", &[]);
        check("idea= to=d", &[("idea", ""), ("to", "d")], "", &["idea"]);
        check("idea=x\n!say y", &[("idea", "x"), ("to", "!say y")], "!say y", &[]);
        check("other=x", &[("idea", "other=x")], "other=x", &["to"]);
        check("auto=x idea=y", &[("idea", "y"), ("to", "auto=x")], "auto=x", &[]);
    }

    #[test]
    fn known_parameters_are_kept() {
        let known = BTreeMap::from([("idea".to_owned(), "a shop".to_owned())]);
        let input = read_input(&sop(), known, "Ada");
        assert_eq!(input.parameters.get("to").map(String::as_str), Some("Ada"));
        assert!(input.missing(&sop()).is_empty());
    }
}
