//! Formats the answers of language servers: one line each, up to a maximum.

use std::fmt::Write as _;

use aethon_core::untrusted::shortened_between_words;
use serde_json::Value;

/// Maximum number of lines.
pub(super) const MAX_COUNT: usize = 60;
/// Maximum length of a message.
const MAX_LEN: usize = 500;

/// A position in a file; the line is counted from 0, as in the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) uri: String,
    pub(super) line: u64,
    pub(super) column: u64,
}

/// Formats the diagnostics of a file, errors first.
pub(super) fn diagnostics(found: &[Value], path: &str) -> String {
    if found.is_empty() {
        return format!("{path}: nothing is wrong");
    }
    let mut found: Vec<&Value> = found.iter().collect();
    found.sort_by_key(|one| (severity(one).0, one["range"]["start"]["line"].as_u64()));
    let mut text = String::new();
    for one in found.iter().take(MAX_COUNT) {
        let start = &one["range"]["start"];
        let (line, column) = (number(&start["line"]) + 1, number(&start["character"]) + 1);
        let message =
            one["message"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let message = shortened_between_words(message, MAX_LEN);
        let _ = writeln!(text, "{path}:{line}:{column}: {}: {message}", severity(one).1);
    }
    text + &left_out(found.len())
}

/// Returns whether formatted diagnostics contain an error.
pub(crate) fn has_errors(text: &str) -> bool {
    text.contains(": error: ")
}

fn severity(one: &Value) -> (u64, &'static str) {
    match one["severity"].as_u64() {
        Some(1) | None => (1, "error"),
        Some(2) => (2, "warning"),
        Some(3) => (3, "information"),
        Some(_) => (4, "hint"),
    }
}

/// Returns the locations in an answer: one location, several, or location links.
pub(super) fn locations(answer: &Value) -> Vec<Location> {
    let location = |one: &Value| {
        let uri = one["uri"].as_str().or(one["targetUri"].as_str())?.to_owned();
        let range = one.get("range").or(one.get("targetSelectionRange"))?;
        let start = &range["start"];
        Some(Location { uri, line: number(&start["line"]), column: number(&start["character"]) })
    };
    match answer {
        Value::Array(several) => several.iter().filter_map(location).collect(),
        one => location(one).into_iter().collect(),
    }
}

/// Formats a hover text without its markup.
pub(super) fn hover(answer: &Value) -> String {
    fn text(of: &Value) -> String {
        match of {
            Value::String(text) => text.clone(),
            Value::Array(several) => several.iter().map(text).collect::<Vec<_>>().join("\n\n"),
            other => other["value"].as_str().unwrap_or_default().to_owned(),
        }
    }
    let said = text(&answer["contents"]);
    let said: String = said.trim().chars().take(4_000).collect();
    if said.is_empty() { "nothing is known of it".into() } else { said }
}

/// Formats the symbols of a file, nested ones indented.
pub(super) fn outline(answer: &Value) -> String {
    fn add(to: &mut Vec<String>, symbols: &Value, depth: usize) {
        for one in symbols.as_array().into_iter().flatten() {
            if to.len() > MAX_COUNT * 4 || depth > 8 {
                return;
            }
            let range = one.get("selectionRange").or(one.get("range")).unwrap_or(&one["location"]["range"]);
            let line = number(&range["start"]["line"]) + 1;
            let name: String = one["name"].as_str().unwrap_or_default().chars().take(200).collect();
            to.push(format!("{}{line}: {} {name}", "  ".repeat(depth), kind(one)));
            add(to, &one["children"], depth + 1);
        }
    }
    let mut lines = Vec::new();
    add(&mut lines, answer, 0);
    if lines.is_empty() { "there is nothing in it".into() } else { lines.join("\n") }
}

/// Formats a symbol found by name, and its location.
pub(super) fn named(one: &Value) -> Option<(String, Location)> {
    let location = locations(&one["location"]).into_iter().next().or_else(|| {
        let uri = one["location"]["uri"].as_str()?.to_owned();
        Some(Location { uri, line: 0, column: 0 })
    })?;
    let name: String = one["name"].as_str()?.chars().take(200).collect();
    Some((format!("{} {name}", kind(one)), location))
}

fn kind(one: &Value) -> &'static str {
    const KINDS: [&str; 26] = [
        "file",
        "module",
        "namespace",
        "package",
        "class",
        "method",
        "property",
        "field",
        "constructor",
        "enum",
        "interface",
        "function",
        "variable",
        "constant",
        "string",
        "number",
        "boolean",
        "array",
        "object",
        "key",
        "null",
        "member",
        "struct",
        "event",
        "operator",
        "type",
    ];
    let at = one["kind"].as_u64().and_then(|kind| usize::try_from(kind).ok()?.checked_sub(1));
    at.and_then(|at| KINDS.get(at)).copied().unwrap_or("symbol")
}

/// Says how many lines were left out.
pub(super) fn left_out(all: usize) -> String {
    match all.checked_sub(MAX_COUNT) {
        Some(more @ 1..) => format!("[{more} more]"),
        _ => String::new(),
    }
}

/// Returns the position of a name or column in a line as the protocol counts it: from 0, in UTF-16 code units.
pub(super) fn position(
    text: &str,
    line: u64,
    symbol: Option<&str>,
    column: Option<u64>,
) -> Result<Value, String> {
    let at = line.checked_sub(1).ok_or("lines are counted from 1")?;
    let found = usize::try_from(at).ok().and_then(|at| text.lines().nth(at));
    let found = found.ok_or_else(|| format!("the file has no line {line}"))?;
    let character = match (symbol.map(str::trim).filter(|symbol| !symbol.is_empty()), column) {
        (Some(symbol), _) => {
            let before = find_word(found, symbol)
                .ok_or_else(|| format!("line {line} has no {symbol:?}; it is: {}", found.trim()))?;
            found[..before].encode_utf16().count() as u64
        }
        (None, Some(column)) => column.saturating_sub(1),
        (None, None) => return Err("give the `symbol` that stands in the line, or its `column`".into()),
    };
    Ok(serde_json::json!({"line": at, "character": character}))
}

/// Finds a name that is not part of a longer one; if there is none, its first occurrence.
fn find_word(line: &str, symbol: &str) -> Option<usize> {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let whole = line.match_indices(symbol).map(|(at, _)| at).find(|at| {
        !is_part(line[..*at].chars().next_back()) && !is_part(line[at + symbol.len()..].chars().next())
    });
    whole.or_else(|| line.find(symbol))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_found_where_it_stands_alone() {
        let text = "let übermut = mut_able(mut, 1);\nnext";
        let check = |line, symbol, column, expected: Result<(u64, u64), &str>| {
            let position = position(text, line, symbol, column);
            let position = position.map(|it| (number(&it["line"]), number(&it["character"])));
            match expected {
                Ok(expected) => assert_eq!(position, Ok(expected)),
                Err(words) => assert!(position.unwrap_err().contains(words)),
            }
        };
        check(1, Some("mut"), None, Ok((0, 23)));
        check(1, Some("able"), None, Ok((0, 18)));
        check(2, None, Some(3), Ok((1, 2)));
        check(1, Some("none"), None, Err("has no"));
        check(3, Some("x"), None, Err("no line 3"));
        check(0, Some("x"), None, Err("from 1"));
        check(2, None, None, Err("symbol"));
    }

    #[test]
    fn diagnostics_are_bounded_and_list_errors_first() {
        let one = |line: u64, severity: u64| json!({"range": {"start": {"line": line, "character": 2}}, "severity": severity, "message": "a\n  b"});
        let text = diagnostics(&[one(1, 2), one(8, 1)], "a.rs");
        assert_eq!(text, "a.rs:9:3: error: a b\na.rs:2:3: warning: a b\n");
        assert!(has_errors(&text) && !has_errors(&diagnostics(&[one(1, 2)], "a.rs")));
        assert!(diagnostics(&vec![one(1, 1); MAX_COUNT + 5], "a.rs").ends_with("[5 more]"));
        assert_eq!(diagnostics(&[], "a.rs"), "a.rs: nothing is wrong");
    }
}
