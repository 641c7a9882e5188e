//! Merges two changes of one text of the configuration, key by key.
//!
//! An editor has the file open while a program sets a key. Both began with the same text; if they changed
//! different keys, both changes hold, and comments and order stay as they were written. Nothing is merged that would lose
//! anything: not even a comment.

use std::collections::BTreeMap;

use toml_edit::{DocumentMut, Item, TableLike, Value};

use crate::edit::{with, without};
use crate::path::KeyPath;

/// The changed keys with their new values; none for a removed key.
type Changes = BTreeMap<Vec<String>, Option<Value>>;

/// Why two changes cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The keys that both changed; none if it is about the rest of the text.
    pub(crate) keys: Vec<String>,
}

/// Returns a text with the changes that led from the first text to each of the other two.
pub(crate) fn merged(base: &str, mine: &str, theirs: &str) -> Result<String, Conflict> {
    if theirs == base || theirs == mine {
        return Ok(mine.to_owned());
    }
    if mine == base {
        return Ok(theirs.to_owned());
    }
    let nothing = || Conflict { keys: Vec::new() };
    let parsed = |text: &str| text.parse::<DocumentMut>().map_err(|_| nothing());
    let (base, mine, theirs) = (parsed(base)?, parsed(mine)?, parsed(theirs)?);
    let read = |document: &DocumentMut| leaves(document).ok_or_else(nothing);
    let (before, own, foreign) = (read(&base)?, read(&mine)?, read(&theirs)?);
    let (own, foreign) = (changes(&before, &own), changes(&before, &foreign));
    let keys: Vec<String> = own
        .iter()
        .filter(|(path, value)| foreign.iter().any(|(other, new)| touch(path, other) && !same(value, new)))
        .map(|(path, _)| KeyPath::of(path.iter().map(String::as_str)).to_string())
        .collect();
    if !keys.is_empty() {
        return Err(Conflict { keys });
    }
    // A text that is more than its changes of keys, with a new comment for example, is taken as it is, and the other
    // one's keys are changed in it.
    let is_all = |changes: &Changes, text: &DocumentMut| {
        apply(&base, changes).is_some_and(|applied| lines(&applied) == lines(&text.to_string()))
    };
    let merged = if is_all(&foreign, &theirs) {
        apply(&mine, &foreign)
    } else if is_all(&own, &mine) {
        apply(&theirs, &own)
    } else {
        None
    };
    merged.ok_or_else(nothing)
}

/// The lines of a text in no order: keys that were set one after the other may stand in another one.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    lines
}

/// Returns whether a change of one key concerns the other.
fn touch(one: &[String], other: &[String]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

fn same(one: &Option<Value>, other: &Option<Value>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => text(one) == text(other),
        (None, None) => true,
        _ => false,
    }
}

fn text(value: &Value) -> String {
    plain(value).to_string()
}

/// The values of a document by their keys; `None` if it has a list of tables, which is not merged.
fn leaves(document: &DocumentMut) -> Option<BTreeMap<Vec<String>, Value>> {
    let mut leaves = BTreeMap::new();
    collect(document.as_table(), &mut Vec::new(), &mut leaves)?;
    Some(leaves)
}

fn collect(
    table: &dyn TableLike,
    path: &mut Vec<String>,
    leaves: &mut BTreeMap<Vec<String>, Value>,
) -> Option<()> {
    for (key, item) in table.iter() {
        path.push(key.to_owned());
        match item {
            Item::None => {}
            Item::Table(inner) => collect(inner, path, leaves)?,
            Item::Value(value) => {
                leaves.insert(path.clone(), value.clone());
            }
            Item::ArrayOfTables(_) => return None,
        }
        path.pop();
    }
    Some(())
}

fn changes(before: &BTreeMap<Vec<String>, Value>, after: &BTreeMap<Vec<String>, Value>) -> Changes {
    let removed = before.keys().filter(|path| !after.contains_key(*path)).map(|path| (path.clone(), None));
    let is_new = |path: &[String], value: &Value| before.get(path).is_none_or(|old| text(old) != text(value));
    let set = after.iter().filter(|(path, value)| is_new(path, value));
    removed.chain(set.map(|(path, value)| (path.clone(), Some(value.clone())))).collect()
}

fn apply(document: &DocumentMut, changes: &Changes) -> Option<String> {
    let mut document = document.clone();
    for (path, value) in changes {
        let path = KeyPath::of(path.iter().map(String::as_str));
        let next = match value {
            Some(value) => with(&document, &path, plain(value)),
            None => without(&document, &path),
        };
        document = next?.parse().ok()?;
    }
    Some(document.to_string())
}

fn plain(value: &Value) -> Value {
    let mut value = value.clone();
    value.decor_mut().clear();
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "# mine\n[agent]\nloop_limit = 4 # not more\n\n[logging]\nlevel = \"info\"\n";

    fn conflict(keys: &[&str]) -> Result<String, Conflict> {
        Err(Conflict { keys: keys.iter().map(|key| (*key).to_owned()).collect() })
    }

    #[test]
    fn keys_that_do_not_touch_are_merged_and_no_comment_is_lost() {
        let edited = BASE.replace("# mine", "# mine\n# and more").replace("= 4", "= 5");
        let set = BASE.replace("\"info\"", "\"debug\"");
        let both = edited.replace("\"info\"", "\"debug\"");
        assert_eq!(merged(BASE, &edited, &set), Ok(both.clone()));
        assert_eq!(merged(BASE, &set, &edited), Ok(both));
        let added = format!("{BASE}\n[budget]\ndaily_usd = 7\n");
        assert_eq!(merged(BASE, &edited, &added), Ok(format!("{edited}\n[budget]\ndaily_usd = 7\n")));
        let removed = BASE.replace("level = \"info\"\n", "");
        assert_eq!(merged(BASE, &edited, &removed), Ok(edited.replace("level = \"info\"\n", "")));
    }

    #[test]
    fn a_single_change_is_taken_unchanged() {
        assert_eq!(merged(BASE, "no toml =", BASE), Ok("no toml =".to_owned()));
        assert_eq!(merged(BASE, BASE, "x = 1\n"), Ok("x = 1\n".to_owned()));
        assert_eq!(merged(BASE, "x = 1\n", "x = 1\n"), Ok("x = 1\n".to_owned()));
    }

    #[test]
    fn conflicting_keys_are_named() {
        let (five, six) = (BASE.replace("= 4", "= 5"), BASE.replace("= 4", "= 6"));
        assert_eq!(merged(BASE, &five, &six), conflict(&["agent.loop_limit"]));
        let gone = BASE.replace("loop_limit = 4 # not more\n", "");
        assert_eq!(merged(BASE, &gone, &six), conflict(&["agent.loop_limit"]));
        assert_eq!(merged(BASE, &format!("# one\n{BASE}"), &format!("# other\n{BASE}")), conflict(&[]));
        assert_eq!(merged(BASE, "no toml =", &six), conflict(&[]));
        assert_eq!(merged("[[a]]\nx = 1\n", "[[a]]\nx = 2\n", "[[a]]\nx = 1\n[b]\ny = 1\n"), conflict(&[]));
    }
}
