//! A model's response stream in which calls that were written as text become real calls.
//!
//! Held text reaches the engine late or not at all, so its running estimate of the output lags by at most
//! `scanner::MAX_LEN` bytes. A call counts when it is passed on, and the figures at the end of the response are the
//! service's own.

use std::collections::VecDeque;

use aethon_core::model::{ModelError, ModelEvent, ModelStream, StopReason};
use futures_util::{StreamExt, stream};

use super::reading::{Reading, tool_call};
use super::scanner::{Output, Scanner};

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
                self.tell(Scanner::abort);
                return self.ready.pop_front();
            };
            self.take(event);
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Ok(ModelEvent::Text(text)) => self.tell(|scanner, output| scanner.push(&text, output)),
            Ok(ModelEvent::Finished { stop, usage, model }) => {
                self.tell(Scanner::finish);
                self.ready.push_back(Ok(ModelEvent::Finished { stop: self.stop(stop), usage, model }));
            }
            Ok(call @ ModelEvent::ToolCall(_)) => {
                self.tell(Scanner::give_up);
                self.ready.push_back(Ok(call));
            }
            Ok(other) => self.ready.push_back(Ok(other)),
            Err(error) => {
                self.tell(Scanner::abort);
                self.ready.push_back(Err(error));
            }
        }
    }

    fn tell(&mut self, advance: impl FnOnce(&mut Scanner, &mut Vec<Output>)) {
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
