//! MiniMax. M1: `<tool_calls>`, one JSON call per line, `</tool_calls>`. M2: `<minimax:tool_call>`, and for each call
//! `<invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>`.

use aethon_core::tool::ToolSpec;

use crate::stream::arguments;
use crate::text_calls::family::{Family, MAX_CALLS, TextCall};
use crate::text_calls::values::{Cursor, attribute, calls_of, parameters, tool};

pub(crate) const FAMILY: Family = Family {
    openers: &["<minimax:tool_call>", "<tool_calls>", "<function_calls>"],
    inner: &[],
    closers: &["</minimax:tool_call>", "</tool_calls>", "</function_calls>"],
    markup: &[("<invoke", "</invoke>")],
    has_bare_names: false,
    is_sequence: true,
    parse,
};

fn parse(text: &str, tools: &[ToolSpec]) -> Option<Vec<TextCall>> {
    if text.contains("<invoke") {
        return invocations(text, tools);
    }
    let (mut cursor, mut calls) = (Cursor::new(text), Vec::new());
    while calls.len() < MAX_CALLS {
        cursor.skip(&['`', ',', ';', '}', ']']);
        if cursor.eat_any(FAMILY.openers) || cursor.eat_any(FAMILY.closers) {
            continue;
        }
        if !cursor.rest.starts_with(['{', '[']) {
            break;
        }
        calls_of(cursor.value(FAMILY.closers), &mut calls);
    }
    (!calls.is_empty()).then_some(calls)
}

/// Parses all calls in `<invoke name="NAME">…</invoke>`; the content may be JSON too.
pub(crate) fn invocations(text: &str, tools: &[ToolSpec]) -> Option<Vec<TextCall>> {
    let (mut cursor, mut calls) = (Cursor::new(text), Vec::new());
    while calls.len() < MAX_CALLS
        && let Some((_, behind)) = cursor.rest.split_once("<invoke")
    {
        cursor.rest = behind;
        let name = attribute(cursor.until(">"), "name").unwrap_or_default();
        let body = cursor.until("</invoke>");
        let input = match body.trim() {
            json if json.starts_with('{') => arguments(json),
            markup => parameters(markup, tool(tools, name)),
        };
        let source = behind[..behind.len() - cursor.rest.len()].to_owned();
        calls.push(TextCall { name: name.to_owned(), input, source });
    }
    (!calls.is_empty()).then_some(calls)
}
