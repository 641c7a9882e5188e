//! DeepSeek. V3 and R1: `<｜tool▁calls▁begin｜>`, and for each call `<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME`, a
//! block of JSON, `<｜tool▁call▁end｜>`. V3.1: `NAME<｜tool▁sep｜>{…}` between the same tokens. From V3.2 on: markup with
//! `｜DSML｜` in its tags. Converted models write some tokens with other bars and spaces.

use aethon_core::tool::ToolSpec;

use super::minimax;
use crate::text_calls::family::{Family, MAX_CALLS, TextCall};
use crate::text_calls::values::{Cursor, named};

const SEPARATORS: [&str; 2] = ["<｜tool▁sep｜>", "<｜tool_sep｜>"];

pub(crate) const FAMILY: Family = Family {
    openers: &[
        "<｜tool▁calls▁begin｜>",
        "<｜tool_calls_begin｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool_call_begin｜>",
    ],
    inner: &["<｜tool▁sep｜>", "<｜tool_sep｜>", "```"],
    closers: &["<｜tool▁call▁end｜>", "<｜tool_call_end｜>", "<｜tool▁calls▁end｜>", "<｜tool_calls_end｜>"],
    markup: &[],
    has_bare_names: true,
    is_sequence: false,
    parse,
};

pub(crate) const MARKUP: Family = Family {
    openers: &["<｜DSML｜function_calls>", "<｜DSML｜tool_calls>"],
    inner: &[],
    closers: &["</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"],
    markup: &[("<｜DSML｜invoke", "</｜DSML｜invoke>")],
    has_bare_names: false,
    is_sequence: false,
    parse: |text, tools| minimax::invocations(&text.replace("｜DSML｜", ""), tools),
};

fn parse(text: &str, _tools: &[ToolSpec]) -> Option<Vec<TextCall>> {
    let (mut cursor, mut calls) = (Cursor::new(text), Vec::new());
    while calls.len() < MAX_CALLS {
        cursor.skip(&['`', ',', ';', '}', ']']);
        if cursor.eat_any(FAMILY.openers) || cursor.eat_any(FAMILY.closers) {
            continue;
        }
        let start = cursor.rest;
        let mut name = cursor.before(&['<', '\n', '`', '{']).trim();
        if name.is_empty() {
            break;
        }
        if cursor.eat_any(&SEPARATORS) {
            // The kind of call precedes the name, and the same token separates the name from bare JSON.
            let next = cursor.before(&['<', '\n', '`', '{']).trim();
            name = if next.is_empty() { name } else { next };
        }
        cursor.skip(&['`']);
        cursor.eat("json");
        cursor.skip(&[]);
        calls.push(named(name, start, &mut cursor, FAMILY.closers));
    }
    (!calls.is_empty()).then_some(calls)
}
