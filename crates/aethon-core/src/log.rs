//! The newest log records, kept in memory for the dashboard and `GET /api/logs`.
//!
//! The records arrive redacted; this only keeps and filters them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How many records are kept.
const KEPT: usize = 1000;

/// How serious a record is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For finding faults in the program.
    Trace,
    /// For finding faults in a set-up.
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
    /// All of them, the most talkative first.
    pub const ALL: [Self; 5] = [Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error];

    /// Reads a level's name in any case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(name))
    }

    /// The level's name.
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

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for machines.
    Json,
}

impl LogFormat {
    /// The words for them on the command line.
    pub const NAMES: [&'static str; 2] = ["text", "json"];

    /// The format of this name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// One line of the log.
#[derive(Debug, Clone, Serialize)]
pub struct LogRecord {
    /// When.
    #[serde(serialize_with = "crate::time::serialize")]
    pub ts: Timestamp,
    /// How serious.
    pub level: Level,
    /// The part of the program that wrote it.
    pub target: String,
    /// What it says.
    pub message: String,
    /// Its further fields.
    pub fields: Map<String, Value>,
}

/// The newest records. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub struct LogBook(Arc<Mutex<VecDeque<Arc<LogRecord>>>>);

impl LogBook {
    /// Adds a record, dropping the oldest when full.
    pub fn push(&self, record: Arc<LogRecord>) {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() == KEPT {
            records.pop_front();
        }
        records.push_back(record);
    }

    /// The newest `limit` records of at least this level, newest first.
    pub fn newest(&self, level: Level, limit: usize) -> Vec<Arc<LogRecord>> {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.iter().rev().filter(|record| record.level >= level).take(limit).cloned().collect()
    }
}
