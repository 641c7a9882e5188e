//! Hermes, Qwen, Granite and many models trained on their data: `<tool_call>{"name": …, "arguments": …}</tool_call>`,
//! repeated, or with a list inside; the last end tag may be missing. Qwen-coder and GLM put their own formats between
//! the same tags.

use aethon_core::tool::ToolSpec;

use super::{glm, qwen_coder};
use crate::text_calls::family::{Family, MAX_CALLS, TextCall};
use crate::text_calls::values::{Cursor, calls_of};

pub(crate) const FAMILY: Family = Family {
    openers: &["<tool_call>"],
    inner: &[],
    closers: &["</tool_call>"],
    markup: &[("<function=", "</function>"), ("<arg_key>", "</tool_call>")],
    has_bare_names: true,
    is_sequence: true,
    parse: |text, tools| parse(text, tools, &FAMILY),
};

/// Granite 3 and Phi 4: the same format with other tokens.
pub(crate) const GRANITE: Family = Family {
    openers: &["<|tool_call|>"],
    inner: &[],
    closers: &["<|/tool_call|>", "<|end_tool_call|>"],
    markup: &[],
    has_bare_names: false,
    is_sequence: true,
    parse: |text, tools| parse(text, tools, &GRANITE),
};

fn parse(text: &str, tools: &[ToolSpec], family: &Family) -> Option<Vec<TextCall>> {
    let (mut cursor, mut calls) = (Cursor::new(text), Vec::new());
    while calls.len() < MAX_CALLS {
        cursor.skip(&[';', ',', '`', '}', ']', ')']);
        if cursor.eat_any(family.openers) || cursor.eat_any(family.closers) {
            continue;
        }
        if cursor.rest.starts_with(['{', '[']) {
            calls_of(cursor.value(family.closers), &mut calls);
        } else if qwen_coder::begins(cursor.rest) {
            calls.push(qwen_coder::call(&mut cursor, tools));
        } else if let Some(call) = glm::call(&mut cursor, tools) {
            calls.push(call);
        } else {
            break;
        }
    }
    (!calls.is_empty()).then_some(calls)
}
