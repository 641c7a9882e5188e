//! Kimi K2: `<|tool_calls_section_begin|>`, and for each call
//! `<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`.

use aethon_core::tool::ToolSpec;

use crate::text_calls::family::{Family, MAX_CALLS, TextCall};
use crate::text_calls::values::{Cursor, named};

pub(crate) const FAMILY: Family = Family {
    openers: &["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", "<|tool_call_begin|>"],
    inner: &["<|tool_call_argument_begin|>"],
    closers: &["<|tool_call_end|>", "<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
    markup: &[],
    has_bare_names: true,
    is_sequence: false,
    parse,
};

fn parse(text: &str, _tools: &[ToolSpec]) -> Option<Vec<TextCall>> {
    let (mut cursor, mut calls) = (Cursor::new(text), Vec::new());
    while calls.len() < MAX_CALLS {
        cursor.skip(&['`', ',', ';', '}', ']']);
        if cursor.eat_any(FAMILY.openers) || cursor.eat_any(FAMILY.closers) {
            continue;
        }
        let start = cursor.rest;
        let id = cursor.before(&['<', '{']).trim();
        if id.is_empty() {
            break;
        }
        cursor.eat("<|tool_call_argument_begin|>");
        cursor.skip(&[]);
        calls.push(named(name_of(id), start, &mut cursor, FAMILY.closers));
    }
    (!calls.is_empty()).then_some(calls)
}

/// Extracts the name from `functions.NAME:0`.
fn name_of(id: &str) -> &str {
    let id = id.strip_prefix("functions.").unwrap_or(id);
    match id.rsplit_once(':') {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => id,
    }
}
