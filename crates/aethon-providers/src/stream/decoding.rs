//! A response being read: bytes in, events out, and a clear statement of its progress.

use aethon_core::model::{ModelError, ModelErrorKind, ModelEvent, StopReason};
use serde_json::Value;

use super::FAILURE;
use super::binary::{FrameError, Messages};
use super::frame::{Event, Events};
use super::halves::Halves;
use super::lines::Lines;
use super::loose;
use super::objects::Objects;
use super::sse::Parser;

/// The longest response in wire bytes.
const LIMIT: usize = 64 * 1024 * 1024;

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
    /// JSON objects, usually a single one, from a service that does not stream.
    Whole,
}

enum Frames {
    Events(Parser),
    Lines(Lines),
    Binary(Messages),
    Objects(Objects),
    /// None: it is no answer, and its beginning is kept to describe it.
    Other(Vec<u8>),
}

/// How much of a body that is no answer is kept.
const MAX_OTHER: usize = 64 * 1024;
/// How many blanks may precede a body.
const MAX_BLANKS: usize = 64 * 1024;

impl Frames {
    /// Chooses by the first byte of a body, because services mislabel their bodies.
    fn of(framing: Framing, first: u8) -> Self {
        match (framing, first) {
            (Framing::Lines, b'{') => Self::Lines(Lines::default()),
            (_, b'{' | b'[') => Self::Objects(Objects::default()),
            (Framing::Binary, _) => Self::Binary(Messages::default()),
            (_, b'<') => Self::Other(Vec::new()),
            (Framing::Events, _) | (_, b'd' | b'e' | b'i' | b'r' | b':') => Self::Events(Parser::default()),
            (Framing::Lines, _) => Self::Lines(Lines::default()),
            (Framing::Whole, _) => Self::Other(Vec::new()),
        }
    }

    /// Returns whether characters were replaced because the bytes are not UTF-8, or a line had no meaning.
    fn has_skipped(&self) -> bool {
        match self {
            Self::Events(parser) => parser.has_skipped(),
            Self::Lines(lines) => lines.has_skipped(),
            Self::Binary(_) | Self::Objects(_) => false,
            Self::Other(_) => true,
        }
    }
}

/// Reads one response.
pub(crate) struct Decoding {
    service: String,
    framing: Framing,
    /// `None` until the first byte that is no blank.
    frames: Option<Frames>,
    decoder: Box<dyn Decoder>,
    received: usize,
    has_begun: bool,
    /// Why a frame could not be read. It was skipped.
    unreadable: Option<ModelError>,
    halves: Option<Halves>,
    has_ended: bool,
}

impl Decoding {
    /// Starts reading a response of `service`, whose name appears in errors.
    pub(crate) fn new(service: impl Into<String>, framing: Framing, decoder: Box<dyn Decoder>) -> Self {
        Self {
            service: service.into(),
            framing,
            frames: None,
            decoder,
            received: 0,
            has_begun: false,
            unreadable: None,
            halves: None,
            has_ended: false,
        }
    }

    /// Returns the progress of the response.
    pub(crate) fn progress(&self) -> Progress {
        if self.has_ended { Progress::Over } else { self.decoder.progress() }
    }

    /// Adds bytes. Events before an error are kept. What cannot be read is skipped if there is an answer without it.
    pub(crate) fn push(&mut self, bytes: &[u8], events: &mut Events) -> Result<(), ModelError> {
        if self.has_ended {
            return Ok(());
        }
        self.received = self.received.saturating_add(bytes.len());
        let outcome = if self.received > LIMIT { Err(self.too_long()) } else { self.take(bytes, events) };
        outcome.or_else(|error| self.break_off(error, events))
    }

    fn take(&mut self, bytes: &[u8], events: &mut Events) -> Result<(), ModelError> {
        let mut bytes = bytes;
        if self.frames.is_none() {
            let is_blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xEF | 0xBB | 0xBF);
            // Binary messages begin with their length.
            let start = match self.framing {
                Framing::Binary => (!bytes.is_empty()).then_some(0),
                _ => bytes.iter().position(|byte| !is_blank(byte)),
            };
            let Some(start) = start else {
                return if self.received > MAX_BLANKS { Err(self.no_answer()) } else { Ok(()) };
            };
            bytes = &bytes[start..];
            self.frames = bytes.first().map(|first| Frames::of(self.framing, *first));
        }
        let mut found = Vec::new();
        let nameless = |data: String| Event { name: None, data };
        let outcome = match &mut self.frames {
            None => Ok(()),
            Some(Frames::Events(parser)) => parser.push(bytes, &mut found).map_err(|_| FrameError::TooLong),
            Some(Frames::Binary(messages)) => messages.push(bytes, &mut found),
            Some(Frames::Lines(lines)) => {
                let mut complete = Vec::new();
                let outcome = lines.push(bytes, &mut complete);
                found.extend(complete.into_iter().map(nameless));
                outcome.map_err(|_| FrameError::TooLong)
            }
            Some(Frames::Objects(objects)) => {
                let mut complete = Vec::new();
                objects.push(bytes, &mut complete);
                found.extend(complete.into_iter().map(nameless));
                Ok(())
            }
            Some(Frames::Other(body)) => {
                let room = MAX_OTHER.saturating_sub(body.len());
                body.extend_from_slice(&bytes[..bytes.len().min(room)]);
                Ok(())
            }
        };
        for Event { name, data } in found {
            self.frame(name.as_deref(), &data, events)?;
        }
        outcome.map_err(|error| match error {
            FrameError::TooLong => self.too_long(),
            FrameError::Damaged(what) => self.damaged(what),
        })
    }

    /// Handles the end of the body.
    pub(crate) fn finish(&mut self, events: &mut Events) -> Result<(), ModelError> {
        if self.has_ended {
            return Ok(());
        }
        let last = match &mut self.frames {
            Some(Frames::Events(parser)) => parser.finish().map(|event| (event.name, event.data)),
            Some(Frames::Lines(lines)) => lines.finish().map(|line| (None, line)),
            Some(Frames::Objects(objects)) => objects.finish().map(|object| (None, object)),
            // An incomplete message has no meaning.
            Some(Frames::Binary(_) | Frames::Other(_)) | None => None,
        };
        if let Some((name, data)) = last {
            let before = self.unreadable.take();
            self.frame(name.as_deref(), &data, events)?;
            // An incomplete frame at the end is a cut connection, which is reported below.
            if self.framing != Framing::Whole || before.is_some() {
                self.unreadable = before;
            }
        }
        if self.progress() != Progress::Running {
            return self.conclude(events);
        }
        let has_skipped = self.frames.as_ref().is_some_and(Frames::has_skipped);
        let is_document =
            self.framing == Framing::Whole && !matches!(self.frames, None | Some(Frames::Events(_)));
        let error = match self.unreadable.take() {
            Some(error) => error,
            None if has_skipped || is_document => self.no_answer(),
            None => return Err(self.unfinished()),
        };
        self.break_off(error, events)
    }

    /// Ends the response without waiting for more; it must at least be complete.
    pub(crate) fn conclude(&mut self, events: &mut Events) -> Result<(), ModelError> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        let start = events.len();
        self.decoder.end(events);
        self.settle(events, start);
        let Some(error) = self.unreadable.take() else {
            if self.has_begun && self.frames.as_ref().is_some_and(Frames::has_skipped) {
                mark_unreadable(events);
            }
            return Ok(());
        };
        if self.has_begun {
            mark_unreadable(events);
            return Ok(());
        }
        events.truncate(start);
        Err(error)
    }

    /// Ends a response that cannot be read any further: what came of the answer stands, and if nothing came, that is an
    /// error. It is never requested again, because the service would be paid again for the same.
    fn break_off(&mut self, error: ModelError, events: &mut Events) -> Result<(), ModelError> {
        if error.kind() != ModelErrorKind::Malformed || !self.has_begun || self.has_ended {
            return Err(error);
        }
        tracing::warn!(detail = error.detail(), "a response is read only in part: {error}");
        self.has_ended = true;
        let start = events.len();
        self.decoder.end(events);
        // A call may be incomplete, and must not run.
        let ending: Vec<ModelEvent> = events.drain(start..).collect();
        events.extend(ending.into_iter().filter(|event| !matches!(event, ModelEvent::ToolCall(_))));
        self.settle(events, start);
        mark_unreadable(events);
        Ok(())
    }

    fn frame(&mut self, name: Option<&str>, data: &str, events: &mut Events) -> Result<(), ModelError> {
        if self.progress() == Progress::Over {
            return Ok(());
        }
        let is_failure = name.is_some_and(|name| name.starts_with(FAILURE));
        let data = data.trim().trim_start_matches('\u{feff}');
        match data.bytes().next() {
            _ if is_failure => self.object(name, data, events),
            Some(b'[') if !data.starts_with("[DONE") => {
                let values = loose::parse(data).ok();
                for value in
                    values.iter().filter_map(Value::as_array).flatten().filter(|value| value.is_object())
                {
                    self.object(name, &value.to_string(), events)?;
                }
                Ok(())
            }
            Some(b'[') => self.object(name, "[DONE]", events),
            Some(b'{') => self.object(name, data, events),
            _ => {
                if !is_sign_of_life(data) {
                    let error = self.no_answer().with_detail(beginning(data.as_bytes()));
                    self.unreadable.get_or_insert(error);
                }
                Ok(())
            }
        }
    }

    fn object(&mut self, name: Option<&str>, data: &str, events: &mut Events) -> Result<(), ModelError> {
        let mended = loose::mended(data);
        if mended.has_halves {
            self.halves.get_or_insert_default();
        }
        let start = events.len();
        let outcome = self.decoder.frame(name, &mended.text, events);
        self.settle(events, start);
        match outcome {
            Err(error) if error.kind() == ModelErrorKind::Malformed => {
                tracing::debug!(detail = error.detail(), "a part of a response is skipped: {error}");
                self.unreadable.get_or_insert(error);
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Completes the events from `start` on.
    fn settle(&mut self, events: &mut Events, start: usize) {
        if let Some(halves) = &mut self.halves {
            halves.join(events, start);
        }
        self.has_begun |= events.range(start..).any(|event| !matches!(event, ModelEvent::Finished { .. }));
    }

    fn no_answer(&self) -> ModelError {
        let sentence = format!("What {} sent is not a model's answer; check model.host.", self.service);
        let error = ModelError::new(ModelErrorKind::Malformed, sentence);
        match &self.frames {
            Some(Frames::Other(body)) => error.with_detail(beginning(body)),
            _ => error,
        }
    }

    fn unfinished(&self) -> ModelError {
        let service = &self.service;
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

/// Returns the beginning of a body for the log.
fn beginning(body: &[u8]) -> String {
    String::from_utf8_lossy(body).split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}

/// Returns whether a frame that is no object is no part of an answer either.
fn is_sign_of_life(data: &str) -> bool {
    let word = data.trim_matches(['"', ':', ' ']).to_ascii_lowercase();
    let is_word = matches!(
        word.as_str(),
        "" | "null"
            | "true"
            | "false"
            | "ping"
            | "pong"
            | "ok"
            | "heartbeat"
            | "keepalive"
            | "keep-alive"
            | "keep_alive"
    );
    is_word || word.parse::<f64>().is_ok() || word.ends_with("processing")
}

/// Marks a complete answer as one that lacks a part. With calls, the model sees by their results what is wrong.
fn mark_unreadable(events: &mut Events) {
    if let Some(ModelEvent::Finished { stop, .. }) = events.back_mut()
        && *stop == StopReason::End
    {
        *stop = StopReason::Unreadable;
    }
}
