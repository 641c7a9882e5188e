//! How a family of models writes tool calls: as data for finding calls in a stream, and as the bodies that parse a
//! complete one.

use aethon_core::tool::ToolSpec;

use super::call::{MAX_CALLS, TextCall};
use super::values::Cursor;

/// What may separate calls: ends of code blocks and lists, and a superfluous bracket.
const GLUE: [char; 6] = [';', ',', '`', '}', ']', ')'];

/// Parses the text after an opener: the calls, or `None` if it is in another format.
pub(super) type Body = fn(&mut Cursor<'_>, &[ToolSpec], &Family) -> Option<Vec<TextCall>>;

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
    /// The formats between opener and closer, in the order in which they are tried.
    pub(super) bodies: &'static [Body],
}

impl Family {
    /// A family without any tokens, to be completed.
    pub(super) const EMPTY: Self = Self {
        openers: &[],
        inner: &[],
        closers: &[],
        markup: &[],
        has_bare_names: false,
        is_sequence: false,
        bodies: &[],
    };

    /// Parses a complete text that begins with an opener; returns `None` if it is no call after all.
    pub(super) fn calls(&self, text: &str, tools: &[ToolSpec]) -> Option<Vec<TextCall>> {
        let (mut cursor, mut calls) = (Cursor::new(text), Vec::new());
        while calls.len() < MAX_CALLS {
            cursor.skip(&GLUE);
            // The tag of some markup is the opener at the same time, and belongs to the body.
            let is_markup = self.markup.iter().any(|(begin, _)| cursor.rest.starts_with(begin));
            if !is_markup && (cursor.eat_any(self.openers) || cursor.eat_any(self.closers)) {
                continue;
            }
            match self.bodies.iter().find_map(|body| body(&mut cursor, tools, self)) {
                Some(found) => calls.extend(found),
                None => break,
            }
        }
        (!calls.is_empty()).then_some(calls)
    }
}

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
