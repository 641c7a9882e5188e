//! GLM 4.5 and later: `<tool_call>NAME`, then `<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>` for each argument,
//! with or without line ends in between, then `</tool_call>`. It shares its tags with `hermes`, which delegates to
//! this module.

use aethon_core::tool::ToolSpec;
use serde_json::{Map, Value};

use crate::text_calls::family::TextCall;
use crate::text_calls::values::{Cursor, tool, typed};

/// Parses the next call after the opener. A name without arguments is a call only if such a tool exists.
pub(crate) fn call(cursor: &mut Cursor<'_>, tools: &[ToolSpec]) -> Option<TextCall> {
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
    Some(TextCall { name: name.to_owned(), input: Value::Object(input), source: body.trim().to_owned() })
}
