//! Llama 3 and 4 with tokens: `<|python_tag|>{"name": …, "parameters": …}`, several separated by `;`, and
//! `<|python_start|>[name(key="value")]<|python_end|>`. `plain` handles what they write without tokens.

use aethon_core::tool::ToolSpec;

use super::python;
use crate::text_calls::family::{Family, MAX_CALLS, TextCall};
use crate::text_calls::values::{Cursor, broken, calls_of};

pub(crate) const FAMILY: Family = Family {
    openers: &["<|python_tag|>", "<|python_start|>"],
    inner: &[],
    closers: &["<|python_end|>"],
    markup: &[],
    has_bare_names: true,
    is_sequence: true,
    parse,
};

fn parse(text: &str, _tools: &[ToolSpec]) -> Option<Vec<TextCall>> {
    let (mut cursor, mut calls) = (Cursor::new(text), Vec::new());
    while calls.len() < MAX_CALLS {
        cursor.skip(&[';', ',', '`']);
        if cursor.eat_any(FAMILY.openers) || cursor.eat_any(FAMILY.closers) {
            continue;
        }
        if cursor.rest.starts_with('{') || cursor.rest.starts_with("[{") {
            calls_of(cursor.value(FAMILY.closers), &mut calls);
        } else if let Some((found, length)) = python::calls(cursor.rest) {
            calls.extend(found);
            cursor.rest = &cursor.rest[length..];
        } else {
            let source = cursor.until("<|python_end|>");
            let name = source.split(['(', '[', ' ']).find(|word| !word.is_empty()).unwrap_or("python");
            if source.contains(['(', '[']) {
                calls.push(broken(name, source));
            }
            break;
        }
    }
    (!calls.is_empty()).then_some(calls)
}
