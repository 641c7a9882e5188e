//! The frames of a turn for a program: one JSON object per line, in the vocabulary of the chat socket.
//!
//! A turn in this process has no socket and no numbers, and a turn that is read from the transcript after a lost connection has
//! no frames. Both are told in the same words here, so that a program reads one kind of stream.

use std::io::Write as _;

use aethon::core::ids::unique;
use aethon::core::visible::escaped_json;
use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::event::{BackendEvent, ChatEvent};

/// The stream of frames on standard output.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// The number of the last frame of a turn.
    seq: u64,
    /// Whether the last frame told an error or the end, behind which nothing has to follow.
    is_over: bool,
}

impl Frames {
    /// Writes the first frame: the conversation's name, with which a program continues it.
    pub(super) fn ready(&mut self, session: &str) -> Result<()> {
        self.write(json!({"type": "ready", "session": session, "version": env!("CARGO_PKG_VERSION")}))
    }

    /// Writes that a message of this process was taken in.
    pub(super) fn taken(&mut self, turn: &str) -> Result<()> {
        self.seq += 1;
        let seq = self.seq;
        self.write(json!({"type": "ack", "id": unique(), "queued": 0, "seq": seq, "turn": turn}))
    }

    /// Writes an event. News about the connection is no part of the stream.
    pub(super) fn event(&mut self, received: &BackendEvent) -> Result<()> {
        match self.frame_of(received) {
            Some(frame) => self.write(frame),
            None => Ok(()),
        }
    }

    /// Writes why the program gives up, unless the stream is over or says so.
    pub(super) fn failed(&mut self, why: &str) -> Result<()> {
        match self.is_over {
            true => Ok(()),
            false => self.write(json!({"type": "error", "code": "ask_failed", "message": why})),
        }
    }

    fn frame_of(&mut self, BackendEvent { turn, event, frame }: &BackendEvent) -> Option<Value> {
        let mut frame = match (event, frame) {
            (ChatEvent::Again, _) => {
                let message = "The answer begins again.";
                json!({"type": "notice", "code": "again", "message": message, "turn": turn})
            }
            (ChatEvent::Done(outcome), Value::Null) => {
                let (text, end, model) = (&outcome.text, &outcome.stop_reason, &outcome.model);
                json!({"type": "done", "text": text, "stop_reason": end, "model": model, "turn": turn})
            }
            (ChatEvent::Error(message), Value::Null) => {
                json!({"type": "error", "code": "failed", "message": message, "turn": turn})
            }
            (ChatEvent::Notice(message), Value::Null) => {
                json!({"type": "notice", "code": "stored", "message": message, "turn": turn})
            }
            (_, Value::Null) => return None,
            (_, frame) => frame.clone(),
        };
        if frame["type"] == "done" {
            // The pages' form of the text, which a daemon adds and an assistant in this process does not have.
            frame["html"] = "".into();
        }
        if !turn.is_empty() {
            self.seq = frame["seq"].as_u64().unwrap_or(self.seq + 1);
            frame["seq"] = self.seq.into();
        }
        Some(frame)
    }

    /// Writes a line at once: a reader acts on it while the turn goes on.
    fn write(&mut self, frame: Value) -> Result<()> {
        self.is_over = matches!(frame["type"].as_str(), Some("error" | "done"));
        let line = escaped_json(&frame.to_string());
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}").and_then(|()| out.flush()).context("the answer could not be written")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::event::Outcome;

    #[test]
    fn every_stream_speaks_as_the_socket_does() {
        let mut frames = Frames::default();
        let mut check = |received: BackendEvent, expected: Value| {
            assert_eq!(frames.frame_of(&received).unwrap_or_default(), expected);
        };
        let of = |frame: Value| BackendEvent::of(&frame).unwrap();
        // A daemon numbers its frames, and a page's form of the text is left out.
        check(
            of(json!({"type": "delta", "text": "a", "seq": 7, "turn": "t"})),
            json!({"type": "delta", "text": "a", "seq": 7, "turn": "t"}),
        );
        check(
            of(
                json!({"type": "done", "text": "a", "html": "<p>a", "stop_reason": "end", "model": "m", "seq": 8, "turn": "t"}),
            ),
            json!({"type": "done", "text": "a", "html": "", "stop_reason": "end", "model": "m", "seq": 8, "turn": "t"}),
        );
        // This process does not.
        check(
            of(json!({"type": "delta", "text": "a", "turn": "t"})),
            json!({"type": "delta", "text": "a", "seq": 9, "turn": "t"}),
        );
        // After a lost connection.
        check(
            BackendEvent::within("t", ChatEvent::Again),
            json!({"type": "notice", "code": "again", "message": "The answer begins again.", "seq": 10, "turn": "t"}),
        );
        let outcome =
            Outcome { turn: "t".into(), text: "a".into(), stop_reason: "end".into(), model: "m".into() };
        check(
            BackendEvent::within("t", ChatEvent::Done(outcome)),
            json!({"type": "done", "text": "a", "html": "", "stop_reason": "end", "model": "m", "seq": 11, "turn": "t"}),
        );
        check(BackendEvent::outside(ChatEvent::Connection("back".into())), Value::Null);
        // Without a turn, there is no number.
        check(
            of(json!({"type": "error", "code": "busy", "message": "Busy.", "id": "m1"})),
            json!({"type": "error", "code": "busy", "message": "Busy.", "id": "m1"}),
        );
    }
}
