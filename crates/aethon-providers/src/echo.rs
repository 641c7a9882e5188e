//! The model `echo`: it repeats the message word by word.
//!
//! Benchmarks run thousands of its turns per second, so it uses no threads, timers or parsing: the stream is always
//! ready and slices words from one string.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use aethon_core::message::{Block, Message, Role};
use aethon_core::model::{
    Capabilities, ModelError, ModelEvent, ModelProvider, ModelRequest, ModelStream, Readiness, StopReason,
    Usage,
};
use aethon_core::untrusted;
use async_trait::async_trait;
use futures_core::Stream;

use crate::estimate;

/// The provider.
pub(crate) struct Echo {
    capabilities: Arc<Capabilities>,
}

impl Echo {
    pub(crate) fn new(capabilities: Arc<Capabilities>) -> Self {
        Self { capabilities }
    }
}

#[async_trait]
impl ModelProvider for Echo {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.capabilities.clone()
    }

    fn readiness(&self) -> Readiness {
        Readiness::Ready
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let text = said(&request);
        let usage = Usage {
            // Only this text is read. Counting the whole conversation would make turns slower the longer it gets.
            input_tokens: estimate::tokens(text.len()),
            output_tokens: estimate::tokens(text.len()),
            ..Usage::default()
        };
        Ok(Box::pin(Words { text, at: 0, usage, over: false }))
    }

    async fn probe(&self) -> Result<String, ModelError> {
        Ok("the echo model needs nothing".into())
    }
}

/// Returns the text of the person's newest message in this turn.
fn said(request: &ModelRequest) -> String {
    let this_turn = request.messages.get(request.turn_start..).unwrap_or(&request.messages);
    let newest = this_turn.iter().rev().find(|message| message.role == Role::User);
    let text = newest.map(|message| plain_text(message)).unwrap_or_default();
    // A message of only pictures must not produce an empty response.
    if text.is_empty() { "(no text)".into() } else { text }
}

/// Returns the text blocks without the markers of outside text.
pub(crate) fn plain_text(message: &Message) -> String {
    let mut text = String::new();
    for block in &message.content {
        if let Block::Text { text: part, .. } = block {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(untrusted::unwrap(part));
        }
    }
    text
}

/// Yields a text word by word, then the end.
struct Words {
    text: String,
    at: usize,
    usage: Usage,
    over: bool,
}

impl Stream for Words {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(word) = next_word(&self.text[self.at..]) {
            let event = ModelEvent::Text(word.to_owned());
            self.at += word.len();
            return Poll::Ready(Some(Ok(event)));
        }
        if self.over {
            return Poll::Ready(None);
        }
        self.over = true;
        let end = ModelEvent::Finished { stop: StopReason::End, usage: self.usage, model: None };
        Poll::Ready(Some(Ok(end)))
    }
}

/// Returns the first word with the whitespace after it, or `None` at the end. The words concatenate to the text.
pub(crate) fn next_word(text: &str) -> Option<&str> {
    let mut blanks = false;
    let cut = text.char_indices().find_map(|(at, c)| {
        let starts_the_next = blanks && !c.is_whitespace();
        blanks = c.is_whitespace();
        starts_the_next.then_some(at)
    });
    let word = &text[..cut.unwrap_or(text.len())];
    (!word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_every_blank() {
        let check = |text: &str, expected: &[&str]| {
            let mut rest = text;
            let mut words = Vec::new();
            while let Some(word) = next_word(rest) {
                words.push(word);
                rest = &rest[word.len()..];
            }
            assert_eq!(words, expected, "{text:?}");
        };
        check("", &[]);
        check("one", &["one"]);
        check("one  two\nthree ", &["one  ", "two\n", "three "]);
        check("  ünï çode", &["  ", "ünï ", "çode"]);
    }
}
