//! Settings of the recorder.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::clock::Clock;
use aethon_core::event::EventBus;
use aethon_core::live::Live;
use aethon_guard::redact::Redactor;

use crate::seal::Seal;

/// Settings of the recorder.
#[derive(Clone)]
pub struct Options {
    /// The folder for recordings, which must exist.
    pub folder: PathBuf,
    /// The version of the program.
    pub version: &'static str,
    /// The working directory of the assistant, to which its relative paths refer.
    pub cwd: String,
    /// How long a session may be idle before its recording ends.
    pub idle: Duration,
    /// How many recordings to keep, and for how long.
    pub keep: Keep,
    /// Masks secrets.
    pub redactor: Live<Redactor>,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Where the start and end of recordings are announced.
    pub bus: EventBus,
    /// Marks recordings as made by this home, if it has a key.
    pub seal: Option<Seal>,
}

/// Which recordings to keep. Files of other origin are always kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Maximum number; 0 means no limit.
    pub most: usize,
    /// Maximum age in days; 0 means no limit.
    pub days: u32,
}
