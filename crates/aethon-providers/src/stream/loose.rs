//! Reads JSON however loosely it is written, for all dialects.
//!
//! A service sends thousands of chunks, and one odd field in one of them must not cost the answer. So text that is almost
//! JSON is mended, and a field of another type than the documented one is read if its meaning is clear, and otherwise
//! counts as absent.
//!
//! A string may end in the first half of a character outside the basic plane, whose other half comes in the next chunk
//! (`\ud83d`, then `\ude00`). No Rust string can hold a half, so [`mended`] puts a private character in its place, and
//! [`super::halves`] joins them in the events, where the pieces of a text meet.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::surrogate::{FIRST_HALF, is_first};

/// The range of halves.
const HALVES: std::ops::RangeInclusive<u32> = 0xD800..=0xDFFF;

/// A text that JSON parsers accept.
pub(crate) struct Mended<'t> {
    pub(crate) text: Cow<'t, str>,
    /// Whether private characters stand for halves.
    pub(crate) has_halves: bool,
}

/// Mends what JSON parsers refuse and services send: single halves of characters, control characters in strings, and
/// numbers that are none. Any other text is returned as it is, after a quick look.
pub(crate) fn mended(text: &str) -> Mended<'_> {
    if !is_suspect(text) {
        return Mended { text: Cow::Borrowed(text), has_halves: false };
    }
    let mut has_halves = false;
    let text = Cow::Owned(rewrite(text, &mut has_halves));
    Mended { text, has_halves }
}

fn is_suspect(text: &str) -> bool {
    let has_half = text.match_indices("\\u").any(|(at, _)| {
        let digits = text.as_bytes().get(at + 2..at + 4).unwrap_or_default();
        matches!(digits, [b'd' | b'D', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F'])
    });
    has_half || text.bytes().any(|byte| byte < 0x20) || text.contains("NaN") || text.contains("Infinity")
}

fn rewrite(text: &str, has_halves: &mut bool) -> String {
    let (mut mended, mut rest, mut is_in_string) = (String::with_capacity(text.len() + 16), text, false);
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match c {
            '"' => {
                is_in_string = !is_in_string;
                mended.push(c);
            }
            '\\' if is_in_string => match escaped_half(rest) {
                Some(half) if is_first(half) && escaped_half(&rest[6..]).is_some_and(is_second) => {
                    length = 12;
                    mended.push_str(&rest[..12]);
                }
                Some(half) => {
                    length = 6;
                    *has_halves = true;
                    mended.extend(stand_in(half));
                }
                None => {
                    length += rest[1..].chars().next().map_or(0, char::len_utf8);
                    mended.push_str(&rest[..length]);
                }
            },
            c if is_in_string && (c as u32) < 0x20 => mended.push_str(&format!("\\u{:04x}", c as u32)),
            _ if is_in_string => mended.push(c),
            _ => match ["NaN", "Infinity", "-Infinity"].iter().find(|word| rest.starts_with(**word)) {
                Some(word) => {
                    length = word.len();
                    mended.push_str("null");
                }
                None => mended.push(c),
            },
        }
        rest = &rest[length..];
    }
    mended
}

/// Returns the half that a text begins with as an escape sequence.
fn escaped_half(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok().filter(|code| HALVES.contains(code))
}

fn is_second(half: u32) -> bool {
    !is_first(half)
}

fn stand_in(half: u32) -> Option<char> {
    char::from_u32(FIRST_HALF + half - HALVES.start())
}

/// Parses JSON, with single halves already replaced.
pub(crate) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let Mended { text, has_halves } = mended(text);
    let mut value = serde_json::from_str(&text)?;
    if has_halves {
        super::halves::join_in_value(&mut value);
    }
    Ok(value)
}

/// Reads a text: a string or another scalar, the text of a part, or the texts of a list of parts.
pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Value::deserialize(from).map(text_of)
}

/// Returns the text of a value.
pub(crate) fn text_of(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(word) => Some(word.to_string()),
        Value::Null => None,
        Value::Array(parts) => {
            let texts: Vec<String> = parts.into_iter().filter_map(text_of).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        Value::Object(mut fields) => {
            ["text", "content", "value"].iter().find_map(|key| fields.remove(*key).and_then(text_of))
        }
    }
}

/// Reads a value if it has the expected shape.
pub(crate) fn maybe<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(if value.is_object() { serde_json::from_value(value).ok() } else { None })
}

/// Reads a list without the entries that have another shape. A single object counts as a list of one.
pub(crate) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Vec<T>, D::Error> {
    let read = |value: Value| serde_json::from_value(value).ok();
    Ok(match Value::deserialize(from)? {
        Value::Array(values) => {
            values.into_iter().filter(|value| !value.is_null()).filter_map(read).collect()
        }
        Value::Object(fields) if !fields.is_empty() => read(Value::Object(fields)).into_iter().collect(),
        _ => Vec::new(),
    })
}

/// Reads an index of any sign, also as a string.
pub(crate) fn index<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Number(number) => number.as_i64().or(number.as_f64().map(|number| number as i64)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    })
}

/// Reads a flag, also as a string or a number.
pub(crate) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Bool(flag) => flag,
        Value::String(text) => text.eq_ignore_ascii_case("true") || text == "1",
        Value::Number(number) => number.as_f64() == Some(1.0),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn almost_json_is_mended_and_json_is_left_alone() {
        let check = |text: &str, expected: Value| assert_eq!(parse(text).unwrap(), expected, "{text}");
        check(r#"{"a":"\ud83d\ude00 \\ud83d"}"#, json!({"a": "😀 \\ud83d"}));
        check(r#"{"a":"\ud83d"}"#, json!({"a": "\u{fffd}"}));
        check(r#"{"a":"\ude00x\uD83D"}"#, json!({"a": "\u{fffd}x\u{fffd}"}));
        check(r#"{"\ud83d\ud83d\ude00":1}"#, json!({"\u{fffd}😀": 1}));
        check(
            r#"{"a":NaN,"b":-Infinity,"c":"NaN \" Infinity"}"#,
            json!({"a": null, "b": null, "c": "NaN \" Infinity"}),
        );
        check("{\"a\":\"x\ty\nz\"}", json!({"a": "x\ty\nz"}));
        for text in [r#"{"a":"\u00fc \\n"}"#, "{}", "\"\u{100001}\""] {
            assert!(matches!(mended(text).text, Cow::Borrowed(_)), "{text}");
        }
        for text in ["{\"a\":", "\\ud83d", "{\"a\":\"\\ud83", "{\"a\":\"\\"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Line {
        #[serde(deserialize_with = "text")]
        text: Option<String>,
        #[serde(deserialize_with = "index")]
        index: Option<i64>,
        #[serde(deserialize_with = "list")]
        parts: Vec<Line>,
        #[serde(deserialize_with = "maybe")]
        inner: Option<Box<Line>>,
        #[serde(deserialize_with = "flag")]
        flag: bool,
    }

    #[test]
    fn fields_of_another_type_are_read_or_count_as_absent() {
        let line = |text: &str| serde_json::from_str::<Line>(text).unwrap();
        let text = |value: &str| line(&format!("{{\"text\": {value}}}")).text;
        assert_eq!(text("17").as_deref(), Some("17"));
        assert_eq!(text("true").as_deref(), Some("true"));
        assert_eq!(text(r#"["a", {"type": "text", "text": "b"}, null, {"x": 1}]"#).as_deref(), Some("ab"));
        assert_eq!(text(r#"{"value": "a"}"#).as_deref(), Some("a"));
        for nothing in ["null", "{}", "[]"] {
            assert_eq!(text(nothing), None, "{nothing}");
        }
        let index = |value: &str| line(&format!("{{\"index\": {value}}}")).index;
        assert_eq!(
            [index("\"0\""), index("-1"), index("1.0"), index("{}")],
            [Some(0), Some(-1), Some(1), None]
        );
        let parts = |value: &str| line(&format!("{{\"parts\": {value}}}")).parts.len();
        assert_eq!(["null", "{}", "7", "[null, 3, {}]", "{\"index\": 0}"].map(parts), [0, 0, 0, 1, 1]);
        assert_eq!(line(r#"{"inner": "x", "flag": "true"}"#), Line { flag: true, ..Line::default() });
        assert!(line(r#"{"inner": {"unknown": [1]}}"#).inner.is_some());
    }
}
