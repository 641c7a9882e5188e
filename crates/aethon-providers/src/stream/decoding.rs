//! A response being read: bytes in, events out, and a clear statement of its progress.

use std::collections::VecDeque;

use aethon_core::model::{ModelError, ModelErrorKind, ModelEvent};

use super::binary::{FrameError, Messages};
use super::frame::Event;
use super::lines::Lines;
use super::sse::Parser;

/// The longest response in wire bytes.
const LIMIT: usize = 64 * 1024 * 1024;

/// The queue to which events are added.
pub(crate) type Events = VecDeque<ModelEvent>;

/// Decodes the frames of one response in one dialect.
pub(crate) trait Decoder: Send {
    /// Handles a frame: the data of one server-sent event or message, or one line. The name of a message that reports
    /// a failure begins with [`super::FAILURE`].
    fn frame(&mut self, name: Option<&str>, data: &str, events: &mut Events) -> Result<(), ModelError>;

    /// Returns the progress of the response.
    fn progress(&self) -> Progress;

    /// Adds the events still held back, and the end event. Called once, when the body has ended or nothing more is
    /// awaited, and only if [`Decoder::progress`] is not [`Progress::Running`].
    fn end(&mut self, events: &mut Events);
}

/// The progress of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The model is not done.
    Running,
    /// The model is done, but figures may follow.
    Complete,
    /// Nothing follows.
    Over,
}

/// How a body is cut into frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON text per line.
    Lines,
    /// AWS's binary messages.
    Binary,
    /// The whole body is one frame, from a service that does not stream.
    Whole,
}

enum Frames {
    Events(Parser),
    Lines(Lines),
    Binary(Messages),
    Whole(Vec<u8>),
}

/// Reads one response.
pub(crate) struct Decoding {
    service: String,
    frames: Frames,
    decoder: Box<dyn Decoder>,
    received: usize,
    has_begun: bool,
}

impl Decoding {
    /// Starts reading a response of `service`, whose name appears in errors.
    pub(crate) fn new(service: impl Into<String>, framing: Framing, decoder: Box<dyn Decoder>) -> Self {
        let frames = match framing {
            Framing::Events => Frames::Events(Parser::default()),
            Framing::Lines => Frames::Lines(Lines::default()),
            Framing::Binary => Frames::Binary(Messages::default()),
            Framing::Whole => Frames::Whole(Vec::new()),
        };
        Self { service: service.into(), frames, decoder, received: 0, has_begun: false }
    }

    /// Returns the progress of the response.
    pub(crate) fn progress(&self) -> Progress {
        self.decoder.progress()
    }

    /// Adds bytes. Events before an error are kept.
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
                for Event { name, data } in found {
                    self.frame(name.as_deref(), &data, events)?;
                }
                outcome.map_err(|_| self.too_long())
            }
            Frames::Binary(messages) => {
                let mut found = Vec::new();
                let outcome = messages.push(bytes, &mut found);
                for Event { name, data } in found {
                    self.frame(name.as_deref(), &data, events)?;
                }
                outcome.map_err(|error| match error {
                    FrameError::TooLong => self.too_long(),
                    FrameError::Damaged(what) => self.damaged(what),
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

    /// Handles the end of the body.
    pub(crate) fn finish(&mut self, events: &mut Events) -> Result<(), ModelError> {
        let last = match &mut self.frames {
            Frames::Events(parser) => parser.finish().map(|event| (event.name, event.data)),
            Frames::Lines(lines) => lines.finish().map(|line| (None, line)),
            // An incomplete message has no meaning.
            Frames::Binary(_) => None,
            Frames::Whole(whole) => Some((None, String::from_utf8_lossy(whole).into_owned())),
        };
        if let Some((name, data)) = last {
            let outcome = self.frame(name.as_deref(), &data, events);
            // An incomplete frame at the end is a cut connection, which is reported below.
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

    /// Ends the response without waiting for more; it must at least be complete.
    pub(crate) fn conclude(&mut self, events: &mut Events) {
        self.decoder.end(events);
    }

    fn frame(&mut self, name: Option<&str>, data: &str, events: &mut Events) -> Result<(), ModelError> {
        if self.decoder.progress() == Progress::Over {
            return Ok(());
        }
        let before = events.len();
        let outcome = self.decoder.frame(name, data, events);
        self.has_begun |= events.len() > before;
        outcome
    }

    fn unfinished(&self) -> ModelError {
        let service = &self.service;
        if matches!(self.frames, Frames::Whole(_)) {
            let sentence = format!("What {service} sent is not a model's answer; check model.host.");
            return ModelError::new(ModelErrorKind::Malformed, sentence);
        }
        let when = if self.has_begun { "in mid-answer" } else { "before an answer came" };
        let sentence = format!("The connection to {service} ended {when}; try again.");
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
