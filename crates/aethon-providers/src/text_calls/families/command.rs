//! Command R7B and Command A: `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": …, "parameters": …}]<|END_ACTION|>`.

use aethon_core::tool::ToolSpec;

use crate::text_calls::family::{Family, TextCall};
use crate::text_calls::values::{Cursor, calls_of};

pub(crate) const FAMILY: Family = Family {
    openers: &["<|START_ACTION|>"],
    inner: &[],
    closers: &["<|END_ACTION|>"],
    markup: &[],
    has_bare_names: false,
    is_sequence: false,
    parse,
};

fn parse(text: &str, _tools: &[ToolSpec]) -> Option<Vec<TextCall>> {
    let mut calls = Vec::new();
    let mut cursor = Cursor::new(text);
    cursor.eat_any(FAMILY.openers);
    cursor.skip(&[]);
    calls_of(cursor.value(FAMILY.closers), &mut calls);
    (!calls.is_empty()).then_some(calls)
}
