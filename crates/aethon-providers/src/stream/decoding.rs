//! An answer that is being read: bytes in, events out, and a clear word on how far it has come.

use std::collections::VecDeque;

use aethon_core::model::{ModelError, ModelErrorKind, ModelEvent};

use super::binary::{Broken, Messages};
use super::lines::Lines;
use super::sse::{self, Parser};

/// The longest answer, in bytes of its wire form.
const LIMIT: usize = 64 * 1024 * 1024;

/// How the name of a binary message that reports a failure begins; the service's word for it follows.
pub(crate) const FAILURE: &str = "failure:";

/// Where events are put.
pub(crate) type Events = VecDeque<ModelEvent>;

/// Understands the frames of one answer of one dialect.
pub(crate) trait Decoder: Send {
    /// Takes a frame: the data of one server-sent event or message, or one line. A message that reports a failure has a
    /// name that begins with [`FAILURE`].
    fn frame(&mut self, name: Option<&str>, data: &str, events: &mut Events) -> Result<(), ModelError>;

    /// How far the answer has come.
    fn progress(&self) -> Progress;

    /// The body is over, or nothing is waited for any more: adds what is still held back, and the end. Called once,
    /// and only when [`Decoder::progress`] is not [`Progress::Running`].
    fn end(&mut self, events: &mut Events);
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The model is not done.
    Running,
    /// The model is done; figures may follow.
    Complete,
    /// Nothing follows.
    Over,
}

/// How a body is cut into frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON text a line.
    Lines,
    /// AWS's binary messages.
    Binary,
    /// The whole body is one frame: a service that does not stream.
    Whole,
}

enum Frames {
    Events(Parser),
    Lines(Lines),
    Binary(Messages),
    Whole(Vec<u8>),
}

/// Reads one answer.
pub(crate) struct Decoding {
    service: &'static str,
    frames: Frames,
    decoder: Box<dyn Decoder>,
    received: usize,
}

impl Decoding {
    /// Begins to read an answer of `service`, which is named in errors.
    pub(crate) fn new(service: &'static str, framing: Framing, decoder: Box<dyn Decoder>) -> Self {
        let frames = match framing {
            Framing::Events => Frames::Events(Parser::default()),
            Framing::Lines => Frames::Lines(Lines::default()),
            Framing::Binary => Frames::Binary(Messages::default()),
            Framing::Whole => Frames::Whole(Vec::new()),
        };
        Self { service, frames, decoder, received: 0 }
    }

    /// How far the answer has come.
    pub(crate) fn progress(&self) -> Progress {
        self.decoder.progress()
    }

    /// Takes bytes. Events that came before an error are kept.
    pub(crate) fn push(&mut self, bytes: &[u8], events: &mut Events) -> Result<(), ModelError> {
        self.received = self.received.saturating_add(bytes.len());
        if self.received > LIMIT {
            return Err(self.too_long());
        }
        match &mut self.frames {
            Frames::Whole(whole) => {
                whole.extend_from_slice(bytes);
                Ok(())
            }
            Frames::Events(parser) => {
                let mut found = Vec::new();
                let outcome = parser.push(bytes, &mut found);
                for sse::Event { name, data } in found {
                    self.frame(name.as_deref(), &data, events)?;
                }
                outcome.map_err(|_| self.too_long())
            }
            Frames::Binary(messages) => {
                let mut found = Vec::new();
                let outcome = messages.push(bytes, &mut found);
                for sse::Event { name, data } in found {
                    self.frame(name.as_deref(), &data, events)?;
                }
                outcome.map_err(|broken| match broken {
                    Broken::TooLong => self.too_long(),
                    Broken::Damaged(what) => self.damaged(what),
                })
            }
            Frames::Lines(lines) => {
                let mut found = Vec::new();
                let outcome = lines.push(bytes, &mut found);
                for line in found {
                    self.frame(None, &line, events)?;
                }
                outcome.map_err(|_| self.too_long())
            }
        }
    }

    /// The body has ended.
    pub(crate) fn finish(&mut self, events: &mut Events) -> Result<(), ModelError> {
        let last = match &mut self.frames {
            Frames::Events(parser) => parser.finish().map(|event| (event.name, event.data)),
            Frames::Lines(lines) => lines.finish().map(|line| (None, line)),
            // Half a message says nothing.
            Frames::Binary(_) => None,
            Frames::Whole(whole) => Some((None, String::from_utf8_lossy(whole).into_owned())),
        };
        if let Some((name, data)) = last {
            let outcome = self.frame(name.as_deref(), &data, events);
            // Half a frame at the end is a cut connection, and reported as one below.
            let cut = matches!(&outcome, Err(error) if error.kind() == ModelErrorKind::Malformed);
            if !cut || matches!(self.frames, Frames::Whole(_)) {
                outcome?;
            }
        }
        if self.progress() == Progress::Running {
            return Err(self.unfinished());
        }
        self.decoder.end(events);
        Ok(())
    }

    /// Nothing more is waited for; the answer must be at least complete.
    pub(crate) fn conclude(&mut self, events: &mut Events) {
        self.decoder.end(events);
    }

    fn frame(&mut self, name: Option<&str>, data: &str, events: &mut Events) -> Result<(), ModelError> {
        if self.decoder.progress() == Progress::Over {
            return Ok(());
        }
        self.decoder.frame(name, data, events)
    }

    fn unfinished(&self) -> ModelError {
        let service = self.service;
        if matches!(self.frames, Frames::Whole(_)) {
            let sentence = format!("What {service} sent is not a model's answer; check model.host.");
            return ModelError::new(ModelErrorKind::Malformed, sentence);
        }
        let sentence = format!("The connection to {service} ended in mid-answer; try again.");
        ModelError::new(ModelErrorKind::Network, sentence)
    }

    fn damaged(&self, what: &str) -> ModelError {
        let sentence = format!("The answer of {} arrived damaged; try again.", self.service);
        ModelError::new(ModelErrorKind::Malformed, sentence).with_detail(what)
    }

    fn too_long(&self) -> ModelError {
        ModelError::new(
            ModelErrorKind::Malformed,
            format!("The answer of {} is too long to be read; ask for less at a time.", self.service),
        )
    }
}
