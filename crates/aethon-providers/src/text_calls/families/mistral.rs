//! Mistral: `[TOOL_CALLS]` before a JSON list, or before each `NAME{…}`, `NAME[ARGS]{…}` and
//! `NAME[CALL_ID]ID[ARGS]{…}`. The ids that it invents are dropped: they are unique within a response at best.

use aethon_core::tool::ToolSpec;

use crate::text_calls::family::{Family, MAX_CALLS, TextCall};
use crate::text_calls::values::{Cursor, broken, calls_of, named, tool};

pub(crate) const FAMILY: Family = Family {
    openers: &["[TOOL_CALLS]"],
    inner: &["[CALL_ID]", "[ARGS]"],
    closers: &["[/TOOL_CALLS]"],
    markup: &[],
    has_bare_names: true,
    is_sequence: false,
    parse,
};

fn parse(text: &str, tools: &[ToolSpec]) -> Option<Vec<TextCall>> {
    let (mut cursor, mut calls) = (Cursor::new(text), Vec::new());
    while calls.len() < MAX_CALLS {
        cursor.skip(&[';', ',', '`', '}', ']']);
        if cursor.eat("[TOOL_CALLS]") || cursor.eat("[/TOOL_CALLS]") {
            continue;
        }
        if cursor.rest.starts_with(['{', '[']) {
            calls_of(cursor.value(FAMILY.openers), &mut calls);
            continue;
        }
        let start = cursor.rest;
        let name = cursor.before(&['[', '{']).trim();
        if cursor.eat("[CALL_ID]") {
            cursor.before(&['[', '{']);
        }
        cursor.eat("[ARGS]");
        cursor.skip(&[]);
        if cursor.rest.starts_with('{') {
            calls.push(named(name, start, &mut cursor, FAMILY.openers));
        } else {
            // Cut off after a name.
            calls.extend(tool(tools, name).map(|_| broken(name, start)));
            break;
        }
    }
    (!calls.is_empty()).then_some(calls)
}
