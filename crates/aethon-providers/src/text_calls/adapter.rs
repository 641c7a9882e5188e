//! A model's response, as a stream or as a whole, in which calls that were written as text become real calls.
//!
//! Held text reaches the engine late or not at all, so its running estimate of the output lags by at most
//! `scanner::MAX_LEN` bytes. A call counts when it is passed on, and the figures at the end of the response are the
//! service's own.

use std::collections::VecDeque;

use aethon_core::message::ToolCall;
use aethon_core::model::{ModelError, ModelEvent, ModelStream, StopReason};
use aethon_core::tool::ToolSpec;
use futures_util::{StreamExt, stream};

use super::call::Output;
use super::reading::{Reading, tool_call};
use super::scanner::Scanner;

/// Returns the stream with calls in its text converted to real calls.
pub(crate) fn read(events: ModelStream, reading: Reading) -> ModelStream {
    let adapter = Adapter {
        events,
        scanner: Scanner::new(reading),
        ready: VecDeque::new(),
        has_calls: false,
        has_broken_call: false,
    };
    Box::pin(stream::unfold(adapter, |mut adapter| async {
        adapter.next().await.map(|event| (event, adapter))
    }))
}

/// Returns the calls that a response would be read as under the lenient rules, or `None` if it is plain text. For
/// finding out how a model makes its calls.
pub fn calls_in_words(answer: &str, tools: &[ToolSpec]) -> Option<Vec<ToolCall>> {
    let (mut scanner, mut output) = (Scanner::new(Reading::lenient(tools)), Vec::new());
    scanner.push(answer, &mut output);
    scanner.finish(&mut output);
    let calls = output.into_iter().filter_map(|output| match output {
        Output::Call(call) => Some(tool_call(call)),
        Output::Text(_) | Output::Thought(_) => None,
    });
    let calls: Vec<_> = calls.collect();
    (!calls.is_empty()).then_some(calls)
}

type Event = Result<ModelEvent, ModelError>;

struct Adapter {
    events: ModelStream,
    scanner: Scanner,
    ready: VecDeque<Event>,
    has_calls: bool,
    has_broken_call: bool,
}

impl Adapter {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let Some(event) = self.events.next().await else {
                self.advance(Scanner::abort);
                return self.ready.pop_front();
            };
            self.take(event);
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Ok(ModelEvent::Text(text)) => self.advance(|scanner, output| scanner.push(&text, output)),
            Ok(ModelEvent::Finished { stop, usage, model }) => {
                self.advance(Scanner::finish);
                self.ready.push_back(Ok(ModelEvent::Finished { stop: self.stop(stop), usage, model }));
            }
            Ok(call @ ModelEvent::ToolCall(_)) => {
                self.advance(Scanner::give_up);
                self.ready.push_back(Ok(call));
            }
            Ok(ModelEvent::TextWasReasoning) => {
                self.advance(Scanner::restart);
                self.ready.push_back(Ok(ModelEvent::TextWasReasoning));
            }
            Ok(other) => self.ready.push_back(Ok(other)),
            Err(error) => {
                self.advance(Scanner::abort);
                self.ready.push_back(Err(error));
            }
        }
    }

    fn advance(&mut self, advance: impl FnOnce(&mut Scanner, &mut Vec<Output>)) {
        let mut output = Vec::new();
        advance(&mut self.scanner, &mut output);
        for output in output {
            let event = match output {
                Output::Text(text) => ModelEvent::Text(text),
                Output::Thought(text) => ModelEvent::Reasoning(text),
                Output::Call(call) => {
                    self.has_calls = true;
                    self.has_broken_call |= call.input.is_string();
                    ModelEvent::ToolCall(tool_call(call))
                }
            };
            self.ready.push_back(Ok(event));
        }
    }

    /// Corrects the stop reason, since the service does not know that these were calls. The fact that arguments were
    /// cut off is kept.
    fn stop(&self, stop: StopReason) -> StopReason {
        match stop {
            StopReason::Length if self.has_broken_call => stop,
            _ if self.has_calls => StopReason::ToolUse,
            _ => stop,
        }
    }
}
