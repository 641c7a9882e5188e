//! The tracing layer: turns each event into one redacted record and sends it to every sink.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use aethon_core::clock::Clock;
use aethon_core::event::{Event, EventBus};
use aethon_core::live::Live;
use aethon_core::log::{Level, LogBook, LogFormat, LogRecord};
use aethon_core::telemetry::{TelemetryEvent, TelemetryKind, TelemetryStatus};
use aethon_guard::redact::Redactor;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Subscriber, level_filters::LevelFilter};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::reload;

use super::format::{journal_line, line};
use super::sink::LogFile;

/// What goes to standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stderr {
    /// Nothing.
    Nothing,
    /// Lines as in the files.
    Lines,
    /// Lines for the journal of systemd: with their priority, and as text without the time, which it knows.
    Journal,
}

/// The parts of the log.
pub struct Logging {
    /// The initial level.
    pub level: Level,
    /// Changes the level later.
    pub switch: LogLevel,
    /// The format of the lines.
    pub format: LogFormat,
    /// What goes to standard error.
    pub stderr: Stderr,
    /// The log folder and the number of files to keep; `None` for no files.
    pub files: Option<(PathBuf, usize)>,
    /// Masks secrets.
    pub redactor: Live<Redactor>,
    /// The newest records.
    pub book: LogBook,
    /// Publishes records to live watchers.
    pub bus: EventBus,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// The level of an installed log. Cheap to clone; clones control the same log.
#[derive(Clone, Default)]
pub struct LogLevel(Arc<OnceLock<reload::Handle<Targets, Registry>>>);

impl LogLevel {
    /// Sets the level of the installed log, if there is one.
    pub fn set(&self, level: Level) {
        if let Some(handle) = self.0.get() {
            // An error means that the log has been dropped, so nothing is written at any level.
            let _ = handle.reload(filter(level));
        }
    }
}

/// The filter of a level. Third-party crates are heard at `info` and above only.
fn filter(level: Level) -> Targets {
    let ours = match level {
        Level::Trace => LevelFilter::TRACE,
        Level::Debug => LevelFilter::DEBUG,
        Level::Info => LevelFilter::INFO,
        Level::Warn => LevelFilter::WARN,
        Level::Error => LevelFilter::ERROR,
    };
    Targets::new()
        .with_default(ours.min(LevelFilter::INFO))
        // Its log lines quote every message, including whatever a stranger wrote.
        .with_target("rmcp", ours.min(LevelFilter::ERROR))
        .with_target("aethon", ours)
}

impl Logging {
    /// The subscriber for a program's `main` to install.
    pub fn subscriber(self) -> impl Subscriber + Send + Sync {
        let (filter, handle) = reload::Layer::new(filter(self.level));
        // A second log in the same program keeps a level of its own.
        let _ = self.switch.0.set(handle);
        let layer = RecordLayer {
            format: self.format,
            stderr: self.stderr,
            file: self.files.map(|(folder, keep)| Mutex::new(LogFile::new(folder, keep))),
            redactor: self.redactor,
            book: self.book,
            bus: self.bus,
            clock: self.clock,
        };
        Registry::default().with(filter).with(layer)
    }
}

struct RecordLayer {
    format: LogFormat,
    stderr: Stderr,
    file: Option<Mutex<LogFile>>,
    redactor: Live<Redactor>,
    book: LogBook,
    bus: EventBus,
    clock: Arc<dyn Clock>,
}

impl<S: Subscriber> Layer<S> for RecordLayer {
    fn on_event(&self, event: &tracing::Event<'_>, _context: Context<'_, S>) {
        let redactor = self.redactor.get();
        let mut fields = Fields { redactor: &redactor, message: String::new(), fields: Map::new() };
        event.record(&mut fields);
        let record = Arc::new(LogRecord {
            ts: self.clock.now(),
            level: level(*event.metadata().level()),
            target: event.metadata().target().to_owned(),
            message: fields.message,
            fields: fields.fields,
        });
        let line = line(self.format, &record);
        // A closed stderr must not stop the program; the file still gets the line.
        let _ = match self.stderr {
            Stderr::Nothing => Ok(()),
            Stderr::Lines => std::io::stderr().lock().write_all(line.as_bytes()),
            Stderr::Journal => {
                std::io::stderr().lock().write_all(journal_line(self.format, &record).as_bytes())
            }
        };
        if let Some(file) = &self.file {
            file.lock().unwrap_or_else(PoisonError::into_inner).write(&record, &line);
        }
        if record.level == Level::Error {
            let (kind, status) = (TelemetryKind::Error, TelemetryStatus::Error);
            let event = TelemetryEvent::new(kind, &record.target, status, record.ts);
            self.bus.record(event.with_detail(&record.message));
        }
        self.book.push(record.clone());
        self.bus.publish(|| Event::Log(record));
    }
}

fn level(level: tracing::Level) -> Level {
    match level {
        tracing::Level::TRACE => Level::Trace,
        tracing::Level::DEBUG => Level::Debug,
        tracing::Level::INFO => Level::Info,
        tracing::Level::WARN => Level::Warn,
        tracing::Level::ERROR => Level::Error,
    }
}

struct Fields<'r> {
    redactor: &'r Redactor,
    message: String,
    fields: Map<String, Value>,
}

impl Fields<'_> {
    fn put(&mut self, field: &Field, text: &str) {
        let text = self.redactor.redact(text).into_owned();
        if field.name() == "message" {
            self.message = text;
        } else {
            self.fields.insert(field.name().to_owned(), Value::String(text));
        }
    }
}

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.fields.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.fields.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.fields.insert(field.name().to_owned(), value.into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        self.put(field, &text);
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::clock::SystemClock;
    use aethon_core::secret::Secret;

    use super::*;

    #[test]
    fn secrets_reach_no_record_and_foreign_chatter_is_kept_out() {
        let (book, switch) = (LogBook::default(), LogLevel::default());
        let logging = Logging {
            level: Level::Debug,
            switch: switch.clone(),
            format: LogFormat::Text,
            stderr: Stderr::Nothing,
            files: None,
            redactor: Live::new(Redactor::new([Secret::new("canary-0123")])),
            book: book.clone(),
            bus: EventBus::default(),
            clock: Arc::new(SystemClock),
        };
        tracing::subscriber::with_default(logging.subscriber(), || {
            tracing::info!(target: "aethon_http", token = "canary-0123", "opened with canary-0123");
            tracing::debug!(target: "aethon_http", "ours");
            tracing::debug!(target: "hyper", "theirs");
            switch.set(Level::Warn);
            tracing::info!(target: "aethon_http", "not any more");
            switch.set(Level::Info);
        });
        let records = book.newest(Level::Trace, 10);
        assert_eq!(records.len(), 2);
        assert_eq!(records[1].message, "opened with ***");
        assert_eq!(records[1].fields["token"], "***");
    }
}
