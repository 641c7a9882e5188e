//! How a family of models writes tool calls: as data for finding calls in a stream, and as a function that parses a
//! complete one.

use aethon_core::tool::ToolSpec;
use serde_json::Value;

use super::families::{command, deepseek, harmony, hermes, kimi, llama, minimax, mistral, plain, qwen_coder};

/// More calls than any real response has; further ones are dropped.
pub(super) const MAX_CALLS: usize = 64;

/// One call, as written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextCall {
    pub(super) name: String,
    /// An object. For a broken call, the text that should have been one, which the toolbox answers with an error.
    pub(super) input: Value,
    /// The text that names the tool and its arguments, for recognising quotations.
    pub(super) source: String,
}

/// How a family writes calls.
#[derive(Debug)]
pub(super) struct Family {
    /// What begins a call, anywhere in a line.
    pub(super) openers: &'static [&'static str],
    /// What else may precede the arguments.
    pub(super) inner: &'static [&'static str],
    /// What ends a call, or a list of calls.
    pub(super) closers: &'static [&'static str],
    /// What begins and ends arguments that are not JSON.
    pub(super) markup: &'static [(&'static str, &'static str)],
    /// Whether a bare word, the name, may precede the arguments.
    pub(super) has_bare_names: bool,
    /// Whether objects may follow each other without a new opener.
    pub(super) is_sequence: bool,
    /// Parses a complete text that begins with an opener; returns `None` if it is no call after all.
    pub(super) parse: fn(&str, &[ToolSpec]) -> Option<Vec<TextCall>>,
}

/// All families with special tokens.
pub(super) static FAMILIES: [&Family; 10] = [
    &hermes::FAMILY,
    &hermes::GRANITE,
    &qwen_coder::FAMILY,
    &mistral::FAMILY,
    &llama::FAMILY,
    &deepseek::FAMILY,
    &deepseek::MARKUP,
    &kimi::FAMILY,
    &minimax::FAMILY,
    &command::FAMILY,
];

/// Tokens after the end of a response. Some models continue and invent the result.
pub(super) const ENDS: [&str; 14] = [
    "<|im_end|>",
    "<|im_start|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "</s>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<｜end▁of▁sentence｜>",
    "<|END_OF_TURN_TOKEN|>",
    "<end_of_turn>",
    "<tool_response>",
    "<|observation|>",
    "<|user|>",
    "<|end|>",
];

/// What a text begins with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Opening {
    Family(&'static Family),
    /// Harmony, which puts text and thoughts between tokens as well.
    Harmony,
    /// The beginning of an opener; more input is needed.
    Partial,
    Nothing,
}

/// Returns what this text begins with.
pub(super) fn opening(text: &str) -> Opening {
    let mut is_partial = false;
    for family in FAMILIES {
        match begins_with(text, family.openers) {
            Beginning::With(_) => return Opening::Family(family),
            Beginning::Partly => is_partial = true,
            Beginning::Not => {}
        }
    }
    match begins_with(text, &harmony::OPENERS) {
        Beginning::With(_) => Opening::Harmony,
        Beginning::Partly => Opening::Partial,
        Beginning::Not if is_partial => Opening::Partial,
        Beginning::Not => Opening::Nothing,
    }
}

/// The family of calls without special tokens.
pub(super) static PLAIN: &Family = &plain::FAMILY;

/// Whether a text begins with one of several tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// It does, with a token of this length.
    With(usize),
    /// It is shorter than a token that it may become.
    Partly,
    Not,
}

/// Returns whether a text begins with one of the tokens; the longest match counts.
pub(super) fn begins_with(text: &str, tokens: &[&str]) -> Beginning {
    let whole = tokens.iter().filter(|token| text.starts_with(**token)).map(|token| token.len()).max();
    let is_partly = tokens.iter().any(|token| token.len() > text.len() && token.starts_with(text));
    match whole {
        // No need to wait for a longer token that begins with this one: no family has such a pair.
        Some(length) => Beginning::With(length),
        None if is_partly && !text.is_empty() => Beginning::Partly,
        None => Beginning::Not,
    }
}
