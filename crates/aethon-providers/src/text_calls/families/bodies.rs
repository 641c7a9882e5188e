//! The formats of what stands between the tokens of a call. Each parses the next call, or calls, at the cursor.

use aethon_core::tool::ToolSpec;
use serde_json::{Map, Value};

use super::python;
use crate::stream::arguments;
use crate::text_calls::call::TextCall;
use crate::text_calls::family::Family;
use crate::text_calls::values::{Cursor, attribute, calls_of, named, parameters, tool, typed, unquoted};

pub(crate) const FUNCTION: &str = "<function=";
pub(crate) const INVOKE: &str = "<invoke";
pub(crate) const INVOKE_END: &str = "</invoke>";
pub(crate) const DSML_INVOKE: &str = "<｜DSML｜invoke";
pub(crate) const DSML_INVOKE_END: &str = "</｜DSML｜invoke>";
pub(crate) const KIMI_ARGUMENTS: &str = "<|tool_call_argument_begin|>";
const DEEPSEEK_SEPARATORS: [&str; 2] = ["<｜tool▁sep｜>", "<｜tool_sep｜>"];

type Calls = Option<Vec<TextCall>>;

/// An object, or a list of objects.
pub(crate) fn json(cursor: &mut Cursor<'_>, _tools: &[ToolSpec], family: &Family) -> Calls {
    cursor.rest.starts_with(['{', '[']).then(|| calls_of(cursor.value(family.closers)))
}

/// The same, where a list of Python calls may come instead.
pub(crate) fn json_objects(cursor: &mut Cursor<'_>, tools: &[ToolSpec], family: &Family) -> Calls {
    let is_json = cursor.rest.starts_with('{') || cursor.rest.starts_with("[{");
    if is_json { json(cursor, tools, family) } else { None }
}

/// The same, where the next opener is what ends broken JSON.
pub(crate) fn json_up_to_opener(cursor: &mut Cursor<'_>, _tools: &[ToolSpec], family: &Family) -> Calls {
    cursor.rest.starts_with(['{', '[']).then(|| calls_of(cursor.value(family.openers)))
}

/// `<function=NAME>`, then parameters in markup or JSON.
pub(crate) fn function(cursor: &mut Cursor<'_>, tools: &[ToolSpec], _family: &Family) -> Calls {
    let start = cursor.rest;
    cursor.eat(FUNCTION).then_some(())?;
    let name = unquoted(cursor.until(">"));
    let input = input(cursor.until("</function>"), tool(tools, name));
    let source = start[..start.len() - cursor.rest.len()].to_owned();
    Some(vec![TextCall { name: name.to_owned(), input, source }])
}

/// `<invoke name="NAME">`, then parameters in markup or JSON.
pub(crate) fn invoke(cursor: &mut Cursor<'_>, tools: &[ToolSpec], _family: &Family) -> Calls {
    cursor.eat(INVOKE).then_some(())?;
    let start = cursor.rest;
    let name = attribute(cursor.until(">"), "name").unwrap_or_default();
    let input = input(cursor.until(INVOKE_END), tool(tools, name));
    let source = start[..start.len() - cursor.rest.len()].to_owned();
    Some(vec![TextCall { name: name.to_owned(), input, source }])
}

/// The same with other tags.
pub(crate) fn dsml_invoke(cursor: &mut Cursor<'_>, tools: &[ToolSpec], family: &Family) -> Calls {
    cursor.rest.starts_with(DSML_INVOKE).then_some(())?;
    let call = cursor.until(DSML_INVOKE_END).replace("｜DSML｜", "");
    invoke(&mut Cursor::new(&call), tools, family)
}

fn input(body: &str, tool: Option<&ToolSpec>) -> Value {
    match body.trim() {
        json if json.starts_with('{') => arguments(json),
        markup => parameters(markup, tool),
    }
}

/// GLM 4.5 and later: a name, then `<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>` for each argument, with or
/// without line ends in between. A name without arguments is a call only if such a tool exists.
pub(crate) fn argument_keys(cursor: &mut Cursor<'_>, tools: &[ToolSpec], _family: &Family) -> Calls {
    let body = cursor.until("</tool_call>");
    let mut inside = Cursor::new(body);
    let name = inside.before(&['<', '\n']).trim();
    let spec = tool(tools, name);
    let mut input = Map::new();
    while let Some((_, behind)) = inside.rest.split_once("<arg_key>") {
        inside.rest = behind;
        let key = inside.until("</arg_key>").trim();
        if inside.rest.trim_start().starts_with("<arg_value>") {
            inside.until("<arg_value>");
            input.insert(key.to_owned(), typed(spec, key, inside.until("</arg_value>")));
        }
    }
    if name.is_empty() || (spec.is_none() && input.is_empty()) {
        return None;
    }
    let source = body.trim().to_owned();
    Some(vec![TextCall { name: name.to_owned(), input: Value::Object(input), source }])
}

/// Mistral: `NAME`, perhaps `[CALL_ID]ID` and `[ARGS]`, then an object.
pub(crate) fn bracketed_name(cursor: &mut Cursor<'_>, tools: &[ToolSpec], family: &Family) -> Calls {
    let start = cursor.rest;
    let name = cursor.before(&['[', '{']).trim();
    if cursor.eat("[CALL_ID]") {
        cursor.before(&['[', '{']);
    }
    cursor.eat("[ARGS]");
    cursor.skip(&[]);
    if cursor.rest.starts_with('{') {
        return Some(vec![named(name, start, cursor, family.openers)]);
    }
    // Cut off after a name, so nothing that follows is a call.
    cursor.rest = "";
    tool(tools, name).map(|_| vec![TextCall::broken(name, start)])
}

/// DeepSeek: a name and an object, or the kind of call, a name and a block of JSON.
pub(crate) fn separated_name(cursor: &mut Cursor<'_>, _tools: &[ToolSpec], family: &Family) -> Calls {
    let start = cursor.rest;
    let mut name = cursor.before(&['<', '\n', '`', '{']).trim();
    if name.is_empty() {
        return None;
    }
    if cursor.eat_any(&DEEPSEEK_SEPARATORS) {
        // The kind of call precedes the name, and the same token separates the name from bare JSON.
        let next = cursor.before(&['<', '\n', '`', '{']).trim();
        name = if next.is_empty() { name } else { next };
    }
    cursor.skip(&['`']);
    cursor.eat("json");
    cursor.skip(&[]);
    Some(vec![named(name, start, cursor, family.closers)])
}

/// Kimi: `functions.NAME:0`, then the arguments.
pub(crate) fn numbered_name(cursor: &mut Cursor<'_>, _tools: &[ToolSpec], family: &Family) -> Calls {
    let start = cursor.rest;
    let id = cursor.before(&['<', '{']).trim();
    if id.is_empty() {
        return None;
    }
    cursor.eat(KIMI_ARGUMENTS);
    cursor.skip(&[]);
    let id = id.strip_prefix("functions.").unwrap_or(id);
    let name = match id.rsplit_once(':') {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => id,
    };
    Some(vec![named(name, start, cursor, family.closers)])
}

/// `[name(key="value")]`, or one such call without the brackets.
pub(crate) fn python_calls(cursor: &mut Cursor<'_>, _tools: &[ToolSpec], _family: &Family) -> Calls {
    let (calls, length) = python::calls(cursor.rest)?;
    cursor.rest = &cursor.rest[length..];
    Some(calls)
}

/// A Python call that does not parse, so that the toolbox reports it. Anything without a bracket is none.
pub(crate) fn cut_off_python(cursor: &mut Cursor<'_>, _tools: &[ToolSpec], _family: &Family) -> Calls {
    let source = cursor.until("<|python_end|>");
    let name = source.split(['(', '[', ' ']).find(|word| !word.is_empty()).unwrap_or("python");
    source.contains(['(', '[']).then(|| vec![TextCall::broken(name, source)])
}
