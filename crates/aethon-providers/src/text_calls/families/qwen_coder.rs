//! Qwen-coder, Step and Nemotron: `<function=NAME><parameter=KEY>VALUE</parameter></function>`, inside `<tool_call>`
//! or not. Llama 3.1 has JSON between the same tags.

use aethon_core::tool::ToolSpec;

use crate::stream::arguments;
use crate::text_calls::family::{Family, MAX_CALLS, TextCall};
use crate::text_calls::values::{Cursor, parameters, tool, unquoted};

const OPENER: &str = "<function=";

pub(crate) const FAMILY: Family = Family {
    openers: &[OPENER],
    inner: &[],
    closers: &["</function>", "</tool_call>"],
    markup: &[(OPENER, "</function>")],
    has_bare_names: false,
    is_sequence: false,
    parse,
};

/// Returns whether a call in this format comes next.
pub(crate) fn begins(text: &str) -> bool {
    text.starts_with(OPENER)
}

/// Parses the next call.
pub(crate) fn call(cursor: &mut Cursor<'_>, tools: &[ToolSpec]) -> TextCall {
    let start = cursor.rest;
    cursor.eat(OPENER);
    let name = unquoted(cursor.until(">"));
    let body = cursor.until("</function>");
    let input = match body.trim() {
        json if json.starts_with('{') => arguments(json),
        markup => parameters(markup, tool(tools, name)),
    };
    let source = &start[..start.len() - cursor.rest.len()];
    TextCall { name: name.to_owned(), input, source: source.to_owned() }
}

fn parse(text: &str, tools: &[ToolSpec]) -> Option<Vec<TextCall>> {
    let (mut cursor, mut calls) = (Cursor::new(text), Vec::new());
    while calls.len() < MAX_CALLS {
        cursor.skip(&['`', ',', ';']);
        if begins(cursor.rest) {
            calls.push(call(&mut cursor, tools));
        } else if !cursor.eat_any(FAMILY.closers) {
            break;
        }
    }
    (!calls.is_empty()).then_some(calls)
}
