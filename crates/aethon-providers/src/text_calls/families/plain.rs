//! Calls without special tokens: a whole response that is JSON, with or without a fence, or a Python list (Llama 3.2
//! and 4). Answers to people may look like that too, so this is strict: only the keys of a call, only tools that were
//! offered, only arguments that they know, and all that they require.

use aethon_core::tool::ToolSpec;
use serde_json::{Map, Value};

use super::python;
use crate::text_calls::call::{MAX_CALLS, TextCall};
use crate::text_calls::values::{elements, tool};

/// Language names allowed after the fence of a block that is a call.
const FENCES: [&str; 5] = ["", "json", "python", "tool_call", "tool_calls"];

/// The keys of a call.
const KEYS: [&str; 6] = ["name", "arguments", "parameters", "type", "function", "id"];

/// How many bytes suffice to decide whether a response may be a call.
const CLEAR_AFTER: usize = 512;

/// The possible kinds of a response, by its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// More input is needed.
    Unclear,
    /// A call whose brackets begin at this position.
    Call(usize),
    Text,
}

/// Decides the kind of a response with this beginning.
pub(crate) fn start(text: &str, tools: &[ToolSpec]) -> Start {
    // The decision must not depend on how much has arrived.
    let text = &text[..text.floor_char_boundary(CLEAR_AFTER)];
    let at = match text.strip_prefix("```") {
        Some(fenced) => match fenced.split_once('\n') {
            Some((fence, behind)) if FENCES.contains(&fence.trim()) => text.len() - behind.len(),
            None if FENCES.iter().any(|fence| fence.starts_with(fenced.trim())) => return unclear(text),
            _ => return Start::Text,
        },
        None if "```".starts_with(text) => return unclear(text),
        None => 0,
    };
    let brackets = text[at..].trim_start();
    let at = text.len() - brackets.len();
    match first_key(brackets) {
        Key::Missing => unclear(text),
        Key::Of("") => Start::Text,
        Key::Of(key) => {
            if KEYS.contains(&key) {
                Start::Call(at)
            } else {
                Start::Text
            }
        }
        Key::Begun(key) if KEYS.iter().any(|known| known.starts_with(key)) => unclear(text),
        Key::Name(name, true) if tool(tools, name).is_some() => Start::Call(at),
        Key::Name(name, false) if tools.iter().any(|tool| tool.name.starts_with(name)) => unclear(text),
        Key::Begun(_) | Key::Name(..) => Start::Text,
    }
}

fn unclear(text: &str) -> Start {
    if text.len() + 4 > CLEAR_AFTER { Start::Text } else { Start::Unclear }
}

enum Key<'t> {
    Missing,
    Begun(&'t str),
    Of(&'t str),
    /// The name of a function in a list, and whether it is complete.
    Name(&'t str, bool),
}

/// Returns the first key of an object or of a list of objects, or the first function of a list.
fn first_key(text: &str) -> Key<'_> {
    let listed = text.strip_prefix('[').map(str::trim_start);
    let inside = listed.unwrap_or(text);
    let Some(object) = inside.strip_prefix('{') else {
        return match listed {
            _ if inside.is_empty() => Key::Missing,
            None => Key::Of(""),
            Some(list) => match list.split_once('(') {
                Some((name, _)) => Key::Name(name.trim_end(), true),
                None => Key::Name(list.trim_end(), false),
            },
        };
    };
    let Some(key) = object.trim_start().strip_prefix('"') else {
        return if object.trim().is_empty() { Key::Missing } else { Key::Of("") };
    };
    match key.split_once('"') {
        Some((key, _)) => Key::Of(key),
        None => Key::Begun(key),
    }
}

/// Parses a complete response that began like a call.
pub(crate) fn parse(text: &str, tools: &[ToolSpec]) -> Option<Vec<TextCall>> {
    let text = unfenced(text.trim())?;
    let calls = match python::calls(text) {
        Some((calls, length)) if text.starts_with('[') && text[length..].trim().is_empty() => calls,
        _ => in_json(text)?,
    };
    let fits = |call: &TextCall| tool(tools, &call.name).is_some_and(|tool| is_right(tool, &call.input));
    (!calls.is_empty() && calls.len() <= MAX_CALLS && calls.iter().all(fits)).then_some(calls)
}

fn unfenced(text: &str) -> Option<&str> {
    let Some(fenced) = text.strip_prefix("```") else { return Some(text) };
    let (fence, inside) = fenced.split_once('\n')?;
    FENCES.contains(&fence.trim()).then(|| inside.trim_end().trim_end_matches('`').trim())
}

/// Parses consecutive objects, or lists of them.
fn in_json(text: &str) -> Option<Vec<TextCall>> {
    let (mut calls, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let value = values.next()?.ok()?;
        let (source, behind) = rest.split_at(values.byte_offset());
        match value {
            Value::Array(_) => {
                for (value, source) in elements(source) {
                    calls.push(call_of(value, source)?);
                }
            }
            value => calls.push(call_of(value, source)?),
        }
        rest = behind.trim_start().trim_start_matches([';', ',']).trim_start();
    }
    Some(calls)
}

fn call_of(value: Value, source: &str) -> Option<TextCall> {
    let Value::Object(mut fields) = value else { return None };
    if fields.keys().any(|key| !KEYS.contains(&key.as_str())) {
        return None;
    }
    if let Some(function) = fields.remove("function") {
        // Some models put the name under one key and the arguments under another; that is not accepted.
        let is_whole = !fields.contains_key("name") && function.is_object();
        return if is_whole { call_of(function, source) } else { None };
    }
    let Some(Value::String(name)) = fields.remove("name") else { return None };
    let input = match (fields.remove("arguments"), fields.remove("parameters")) {
        (Some(input), None) | (None, Some(input)) => input,
        _ => return None,
    };
    let input = match input {
        Value::String(json) => Value::Object(serde_json::from_str::<Map<String, Value>>(json.trim()).ok()?),
        input => input,
    };
    input.is_object().then(|| TextCall { name, input, source: source.to_owned() })
}

/// Returns whether these are arguments that the tool knows, including all that it requires.
fn is_right(tool: &ToolSpec, input: &Value) -> bool {
    let Some(input) = input.as_object() else { return false };
    let required = tool.parameters.get("required").and_then(Value::as_array);
    let has_all =
        required.into_iter().flatten().filter_map(Value::as_str).all(|name| input.contains_key(name));
    let known = tool.parameters.get("properties").and_then(Value::as_object);
    has_all && known.is_none_or(|known| input.keys().all(|name| known.contains_key(name)))
}
