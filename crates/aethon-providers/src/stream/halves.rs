//! Joins halves of characters in the events of a response; see [`super::loose`].
//!
//! The first half waits until the second one comes in the same field, whatever comes in others meanwhile. Without its
//! other half, it becomes U+FFFD.

use aethon_core::model::ModelEvent;
use serde_json::Value;

use super::frame::Events;
use super::surrogate::{FIRST_HALF, is_first};

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// The halves that wait, by field.
#[derive(Debug, Default)]
pub(super) struct Halves {
    text: Option<char>,
    thought: Option<char>,
}

impl Halves {
    /// Joins the halves in the events from `start` on.
    pub(super) fn join(&mut self, events: &mut Events, start: usize) {
        for mut event in events.split_off(start) {
            match &mut event {
                ModelEvent::Text(text) => {
                    if !take_in(text, &mut self.text) {
                        continue;
                    }
                }
                ModelEvent::Reasoning(text) => {
                    if !take_in(text, &mut self.thought) {
                        continue;
                    }
                }
                ModelEvent::ReasoningDone { text, opaque } => {
                    self.thought = None;
                    join_in_text(text);
                    if let Some(opaque) = opaque {
                        join_in_value(&mut opaque.data);
                    }
                }
                ModelEvent::ToolCall(call) => {
                    join_in_text(&mut call.name);
                    join_in_text(&mut call.id);
                    join_in_value(&mut call.input);
                }
                ModelEvent::TextWasReasoning => self.text = None,
                ModelEvent::Search(search) => {
                    join_in_text(&mut search.query);
                    search.sources.iter_mut().for_each(|source| join_in_text(&mut source.title));
                    if let Some(opaque) = &mut search.opaque {
                        join_in_value(&mut opaque.data);
                    }
                }
                ModelEvent::Sources(sources) => {
                    sources.iter_mut().for_each(|source| join_in_text(&mut source.title));
                }
                ModelEvent::Image { .. } => {}
                ModelEvent::Finished { .. } => {
                    if self.text.take().is_some() {
                        events.push_back(ModelEvent::Text(REPLACEMENT.into()));
                    }
                }
            }
            events.push_back(event);
        }
    }
}

/// Joins a piece with the half that waits. Returns whether anything is left to show.
fn take_in(text: &mut String, waiting: &mut Option<char>) -> bool {
    if let Some(first) = waiting.take() {
        text.insert(0, first);
    }
    if let Some(last) = text.chars().next_back()
        && half(last).is_some_and(is_first)
    {
        *waiting = Some(last);
        text.pop();
    }
    join_in_text(text);
    !text.is_empty()
}

fn half(c: char) -> Option<u32> {
    (FIRST_HALF..FIRST_HALF + 0x800).contains(&(c as u32)).then(|| c as u32 - FIRST_HALF + 0xD800)
}

/// Joins the halves in a complete text.
fn join_in_text(text: &mut String) {
    if !text.contains(|c| half(c).is_some()) {
        return;
    }
    let mut joined = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let Some(first) = half(c) else {
            joined.push(c);
            continue;
        };
        let second = characters.peek().and_then(|next| half(*next)).filter(|second| !is_first(*second));
        joined.push(match second.filter(|_| is_first(first)) {
            Some(second) => {
                characters.next();
                char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)).unwrap_or(REPLACEMENT)
            }
            None => REPLACEMENT,
        });
    }
    *text = joined;
}

/// Joins the halves in all texts of a value.
pub(super) fn join_in_value(value: &mut Value) {
    match value {
        Value::String(text) => join_in_text(text),
        Value::Array(values) => values.iter_mut().for_each(join_in_value),
        Value::Object(fields) => {
            let has_halves = |key: &String| key.contains(|c| half(c).is_some());
            if fields.keys().any(has_halves) {
                *fields = std::mem::take(fields)
                    .into_iter()
                    .map(|(mut key, value)| {
                        join_in_text(&mut key);
                        (key, value)
                    })
                    .collect();
            }
            fields.values_mut().for_each(join_in_value);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
