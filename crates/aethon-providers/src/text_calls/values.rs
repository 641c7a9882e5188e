//! Shared by the families: a text cursor, calls in JSON, and arguments in markup.

use aethon_core::tool::ToolSpec;
use serde_json::{Map, Value};

use super::call::TextCall;
use super::families::python;
use crate::stream::arguments;

/// The name of a call too broken to have one. No tool has this name, so the toolbox lists those that exist.
const NAMELESS: &str = "unknown";

/// A value that was read, if it is one, and its text.
pub(super) struct Read<'t> {
    pub(super) value: Option<Value>,
    pub(super) source: &'t str,
}

/// A position in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'t> {
    pub(super) rest: &'t str,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text }
    }

    /// Skips whitespace and these characters.
    pub(super) fn skip(&mut self, also: &[char]) {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || also.contains(&c));
    }

    /// Skips a token, if it comes next.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Skips one of several tokens, if it comes next.
    pub(super) fn eat_any(&mut self, tokens: &[&str]) -> bool {
        tokens.iter().any(|token| self.eat(token))
    }

    /// Returns the text before a token and skips both. Without the token, returns the rest.
    pub(super) fn until(&mut self, token: &str) -> &'t str {
        let (before, behind) = self.rest.split_once(token).unwrap_or((self.rest, ""));
        self.rest = behind;
        before
    }

    /// Returns the text before the first of these characters.
    pub(super) fn before(&mut self, stops: &[char]) -> &'t str {
        let at = self.rest.find(stops).unwrap_or(self.rest.len());
        let (before, rest) = self.rest.split_at(at);
        self.rest = rest;
        before
    }

    /// Returns the next value with its text, or the text up to one of the closers if it is not a value.
    pub(super) fn value(&mut self, closers: &[&str]) -> Read<'t> {
        let mut values = serde_json::Deserializer::from_str(self.rest).into_iter::<Value>();
        if let Some(Ok(value)) = values.next() {
            return self.read(Some(value), values.byte_offset());
        }
        if let Some((value, length)) = python::literal(self.rest) {
            return self.read(Some(value), length);
        }
        let at = closers.iter().filter_map(|closer| self.rest.find(closer)).min();
        self.read(None, at.unwrap_or(self.rest.len()))
    }

    fn read(&mut self, value: Option<Value>, length: usize) -> Read<'t> {
        let (source, rest) = self.rest.split_at(length);
        self.rest = rest;
        Read { value, source }
    }
}

/// Converts a value to calls, one or a list. Anything else is a broken call.
pub(super) fn calls_of(Read { value, source }: Read<'_>) -> Vec<TextCall> {
    match value {
        Some(Value::Array(_)) => elements(source).map(|(value, source)| call_of(value, source)).collect(),
        Some(value) => vec![call_of(value, source)],
        None => vec![TextCall::broken(name_in(source).unwrap_or(NAMELESS), source)],
    }
}

/// Returns the elements of a list, each with its text.
pub(super) fn elements(list: &str) -> impl Iterator<Item = (Value, &str)> {
    let mut cursor = Cursor::new(list);
    cursor.skip(&[]);
    cursor.eat("[");
    std::iter::from_fn(move || {
        cursor.skip(&[',']);
        let Read { value, source } = cursor.value(&[]);
        Some((value?, source))
    })
}

/// Converts an object to a call, whatever its keys are.
fn call_of(value: Value, source: &str) -> TextCall {
    let taken = || {
        let Value::Object(mut fields) = value else { return None };
        if let Some(Value::Object(inner)) = fields.get_mut("function") {
            fields = std::mem::take(inner);
        }
        let mut take = |keys: &[&str]| keys.iter().find_map(|key| fields.remove(*key));
        let Some(Value::String(name)) = take(&["name", "tool_name", "function"]) else { return None };
        let input = take(&["arguments", "parameters", "args", "input"]).unwrap_or(Value::Null);
        Some(TextCall { name, input: input_of(input), source: source.to_owned() })
    };
    taken().unwrap_or_else(|| TextCall::broken(NAMELESS, source))
}

/// Returns the arguments as an object, or as the text that should have been one.
pub(super) fn input_of(value: Value) -> Value {
    match value {
        Value::Null => Value::Object(Map::new()),
        Value::String(text) => arguments(&text),
        object @ Value::Object(_) => object,
        other => Value::String(other.to_string()),
    }
}

/// Returns the name in an incomplete call.
fn name_in(source: &str) -> Option<&str> {
    let behind = ["\"name\"", "\"tool_name\""].iter().find_map(|key| source.split_once(key))?.1;
    let name = behind.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    name.split_once('"').map(|(name, _)| name)
}

/// Creates a call by name with the arguments that come next.
pub(super) fn named(name: &str, start: &str, cursor: &mut Cursor<'_>, closers: &[&str]) -> TextCall {
    let Read { value, source: text } = cursor.value(closers);
    let source = start.get(..start.len() - cursor.rest.len()).unwrap_or(text).to_owned();
    let input = value.map_or_else(|| Value::String(text.to_owned()), input_of);
    TextCall { name: name.to_owned(), input, source }
}

/// Parses the arguments of `<parameter=KEY>VALUE</parameter>` and `<parameter name="KEY">VALUE</parameter>`.
pub(super) fn parameters(body: &str, tool: Option<&ToolSpec>) -> Value {
    let mut cursor = Cursor::new(body);
    let mut input = Map::new();
    while let Some((_, behind)) = cursor.rest.split_once("<parameter") {
        cursor.rest = behind;
        let head = cursor.until(">");
        let key = match head.strip_prefix('=') {
            Some(key) => unquoted(key),
            None => attribute(head, "name").unwrap_or_default(),
        };
        let text = cursor.until("</parameter>");
        if !key.is_empty() {
            let value = match attribute(head, "string") {
                Some("true") => Value::String(without_line_ends(text).to_owned()),
                _ => typed(tool, key, text),
            };
            input.insert(key.to_owned(), value);
        }
    }
    Value::Object(input)
}

/// Returns the value of `KEY="VALUE"` in a tag.
pub(super) fn attribute<'t>(head: &'t str, key: &str) -> Option<&'t str> {
    let (before, behind) = head.split_once(key)?;
    if before.chars().next_back().is_some_and(|c| !c.is_whitespace()) {
        return None;
    }
    let value = behind.trim_start().strip_prefix('=')?.trim_start();
    let Some(quoted) = value.strip_prefix(['"', '\'']) else { return value.split_whitespace().next() };
    quoted.split(['"', '\'']).next()
}

/// Strips quotation marks from a name.
pub(super) fn unquoted(name: &str) -> &str {
    name.trim().trim_matches(['"', '\''])
}

/// Converts an untyped value as the tool's schema requires.
pub(super) fn typed(tool: Option<&ToolSpec>, key: &str, text: &str) -> Value {
    let text = without_line_ends(text);
    let schema = tool.and_then(|tool| tool.parameters.get("properties")?.get(key));
    let is_text = match schema.and_then(|schema| schema.get("type")) {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        _ => schema.is_some_and(|schema| schema.get("enum").is_some()),
    };
    if is_text {
        return Value::String(text.to_owned());
    }
    let value = serde_json::from_str(text.trim()).ok();
    let value = value.or_else(|| python::whole_literal(text.trim()));
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Strips the line ends that markup puts around a value.
fn without_line_ends(text: &str) -> &str {
    let text = text.strip_prefix('\n').unwrap_or(text);
    text.strip_suffix('\n').unwrap_or(text)
}

/// Returns the tool of this name.
pub(super) fn tool<'t>(tools: &'t [ToolSpec], name: &str) -> Option<&'t ToolSpec> {
    tools.iter().find(|tool| tool.name == name)
}
