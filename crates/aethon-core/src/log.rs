//! The newest log records, kept in memory for the dashboard and `GET /api/logs`.
//!
//! The records arrive redacted; this only keeps and filters them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::weight::{self, Weight};

/// How many records are kept.
const KEPT: usize = 1000;

/// How many bytes they may take together.
const KEPT_BYTES: usize = 4 << 20;

/// How serious a record is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Level {
    /// For debugging the program.
    Trace,
    /// For debugging a set-up.
    Debug,
    /// Worth knowing.
    #[default]
    Info,
    /// Something needs attention.
    Warn,
    /// Something failed.
    Error,
}

impl Level {
    /// All levels, the most verbose first.
    pub const ALL: [Self; 5] = [Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error];

    /// Parses a level's name in any case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(name))
    }

    /// Returns the level's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line, for machines.
    Json,
}

impl LogFormat {
    /// Their names on the command line.
    pub const NAMES: [&'static str; 2] = ["text", "json"];

    /// Returns the format with this name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// One line of the log.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LogRecord {
    /// When it was logged.
    #[serde(serialize_with = "crate::time::serialize")]
    pub ts: Timestamp,
    /// How serious.
    pub level: Level,
    /// The module that logged it.
    pub target: String,
    /// The message.
    pub message: String,
    /// Its further fields.
    pub fields: Map<String, Value>,
}

/// A filter for records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogQuery {
    /// Only records of at least this level.
    pub level: Level,
    /// Only records of this module or one below it.
    pub target: Option<String>,
    /// Only records that contain this text, in any case.
    pub words: Option<String>,
}

impl LogQuery {
    fn wants(&self, record: &LogRecord) -> bool {
        let is_target = |wanted: &String| {
            record.target.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        record.level >= self.level
            && self.target.as_ref().is_none_or(is_target)
            && self.words.as_ref().is_none_or(|words| holds(record, &words.to_lowercase()))
    }
}

/// Whether a record contains a lower-case text.
fn holds(record: &LogRecord, text: &str) -> bool {
    record.message.to_lowercase().contains(text)
        || record.target.to_lowercase().contains(text)
        || record.fields.iter().any(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{name}={value}").to_lowercase().contains(text)
        })
}

impl Weight for LogRecord {
    fn heap(&self) -> usize {
        self.target.heap() + self.message.heap() + self.fields.heap()
    }
}

/// The newest records. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub struct LogBook(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    records: VecDeque<Arc<LogRecord>>,
    bytes: usize,
}

impl LogBook {
    /// Adds a record, dropping the oldest when full.
    pub fn push(&self, record: Arc<LogRecord>) {
        let mut kept = self.lock();
        kept.bytes += weight::shared(&*record);
        kept.records.push_back(record);
        while kept.records.len() > KEPT || (kept.bytes > KEPT_BYTES && kept.records.len() > 1) {
            let Some(oldest) = kept.records.pop_front() else { break };
            kept.bytes -= weight::shared(&*oldest);
        }
    }

    /// Returns the bytes that the records take.
    pub fn bytes(&self) -> usize {
        let kept = self.lock();
        kept.bytes + weight::list::<Arc<LogRecord>>(kept.records.capacity())
    }

    /// Returns the newest `limit` records of at least this level, newest first.
    pub fn newest(&self, level: Level, limit: usize) -> Vec<Arc<LogRecord>> {
        self.search(&LogQuery { level, ..LogQuery::default() }, limit)
    }

    /// Returns the newest `limit` records that match a query, newest first.
    pub fn search(&self, query: &LogQuery, limit: usize) -> Vec<Arc<LogRecord>> {
        let kept = self.lock();
        kept.records.iter().rev().filter(|record| query.wants(record)).take(limit).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
