//! What the families have in common: a cursor over a text, calls that are JSON, and arguments that are markup.

use aethon_core::tool::ToolSpec;
use serde_json::{Map, Value};

use super::families::python;
use super::family::TextCall;
use crate::stream::arguments;

/// The name of a call that is too broken to have one; no tool is called that, so that the toolbox says which there are.
const NAMELESS: &str = "unknown";

/// A place in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'t> {
    pub(super) rest: &'t str,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text }
    }

    /// Goes over blanks and these characters.
    pub(super) fn skip(&mut self, also: &[char]) {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || also.contains(&c));
    }

    /// Goes over a token, if it is the next thing.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Goes over one of several tokens, if it is the next thing.
    pub(super) fn eat_any(&mut self, tokens: &[&str]) -> bool {
        tokens.iter().any(|token| self.eat(token))
    }

    /// What comes before a token, and goes behind it; without the token all that is left.
    pub(super) fn until(&mut self, token: &str) -> &'t str {
        let (before, behind) = self.rest.split_once(token).unwrap_or((self.rest, ""));
        self.rest = behind;
        before
    }

    /// What comes before the first of these characters.
    pub(super) fn before(&mut self, stops: &[char]) -> &'t str {
        let at = self.rest.find(stops).unwrap_or(self.rest.len());
        let (before, rest) = self.rest.split_at(at);
        self.rest = rest;
        before
    }

    /// The value that comes next with its text, or the text up to one of the closers when it is none.
    pub(super) fn value(&mut self, closers: &[&str]) -> (Result<Value, ()>, &'t str) {
        let mut values = serde_json::Deserializer::from_str(self.rest).into_iter::<Value>();
        if let Some(Ok(value)) = values.next() {
            let (text, rest) = self.rest.split_at(values.byte_offset());
            self.rest = rest;
            return (Ok(value), text);
        }
        if let Some((value, length)) = python::literal(self.rest) {
            let (text, rest) = self.rest.split_at(length);
            self.rest = rest;
            return (Ok(value), text);
        }
        let at = closers.iter().filter_map(|closer| self.rest.find(closer)).min();
        let (text, rest) = self.rest.split_at(at.unwrap_or(self.rest.len()));
        self.rest = rest;
        (Err(()), text)
    }
}

/// The calls that a value is, one or a list of them; what is none of that is a broken call.
pub(super) fn calls_of(value: (Result<Value, ()>, &str), calls: &mut Vec<TextCall>) {
    let (value, source) = value;
    match value {
        Ok(Value::Array(_)) => {
            calls.extend(elements(source).map(|(value, source)| call_of(value, source)));
        }
        Ok(value) => calls.push(call_of(value, source)),
        Err(()) => calls.push(broken(name_in(source).unwrap_or(NAMELESS), source)),
    }
}

/// The elements of a list, each with its text.
pub(super) fn elements(list: &str) -> impl Iterator<Item = (Value, &str)> {
    let mut cursor = Cursor::new(list);
    cursor.skip(&[]);
    cursor.eat("[");
    std::iter::from_fn(move || {
        cursor.skip(&[',']);
        match cursor.value(&[]) {
            (Ok(value), text) => Some((value, text)),
            (Err(()), _) => None,
        }
    })
}

/// The call that an object is, under whatever keys.
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
    taken().unwrap_or_else(|| broken(NAMELESS, source))
}

/// Arguments as an object, or as the text that should have been one.
pub(super) fn input_of(value: Value) -> Value {
    match value {
        Value::Null => Value::Object(Map::new()),
        Value::String(text) => arguments(&text),
        object @ Value::Object(_) => object,
        other => Value::String(other.to_string()),
    }
}

/// A call whose arguments cannot be read.
pub(super) fn broken(name: &str, source: &str) -> TextCall {
    TextCall { name: name.to_owned(), input: Value::String(source.to_owned()), source: source.to_owned() }
}

/// The name in a call that is not whole.
fn name_in(source: &str) -> Option<&str> {
    let behind = ["\"name\"", "\"tool_name\""].iter().find_map(|key| source.split_once(key))?.1;
    let name = behind.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    name.split_once('"').map(|(name, _)| name)
}

/// A call by name with the arguments that come next.
pub(super) fn named(name: &str, start: &str, cursor: &mut Cursor<'_>, closers: &[&str]) -> TextCall {
    let (value, text) = cursor.value(closers);
    let source = start.get(..start.len() - cursor.rest.len()).unwrap_or(text);
    match value {
        Ok(value) => TextCall { name: name.to_owned(), input: input_of(value), source: source.to_owned() },
        Err(()) => TextCall {
            name: name.to_owned(),
            input: Value::String(text.to_owned()),
            source: source.to_owned(),
        },
    }
}

/// The arguments of `<parameter=KEY>VALUE</parameter>` and `<parameter name="KEY">VALUE</parameter>`.
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

/// The value of `KEY="VALUE"` in a tag.
pub(super) fn attribute<'t>(head: &'t str, key: &str) -> Option<&'t str> {
    let (before, behind) = head.split_once(key)?;
    if before.chars().next_back().is_some_and(|c| !c.is_whitespace()) {
        return None;
    }
    let value = behind.trim_start().strip_prefix('=')?.trim_start();
    let Some(quoted) = value.strip_prefix(['"', '\'']) else { return value.split_whitespace().next() };
    quoted.split(['"', '\'']).next()
}

/// A name without the quotation marks that it may stand in.
pub(super) fn unquoted(name: &str) -> &str {
    name.trim().trim_matches(['"', '\''])
}

/// A value that was written without its type, as the schema of the tool wants it.
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

/// Markup puts a value on lines of its own.
fn without_line_ends(text: &str) -> &str {
    let text = text.strip_prefix('\n').unwrap_or(text);
    text.strip_suffix('\n').unwrap_or(text)
}

/// The tool of this name.
pub(super) fn tool<'t>(tools: &'t [ToolSpec], name: &str) -> Option<&'t ToolSpec> {
    tools.iter().find(|tool| tool.name == name)
}
