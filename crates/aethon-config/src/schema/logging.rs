//! `[logging]`: the service's own log.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Failures only.
    Error,
    /// And what may become one.
    Warn,
    /// And what the service does.
    #[default]
    Info,
    /// And how.
    Debug,
    /// And every step.
    Trace,
}

impl Level {
    /// Its name, as the log filter takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The service's own log.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Logging {
    /// How much is logged.
    pub level: Level,
    /// How many daily files are kept.
    pub keep_files: u32,
}

impl Default for Logging {
    fn default() -> Self {
        Self { level: Level::default(), keep_files: 7 }
    }
}
