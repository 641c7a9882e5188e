//! Destinations of log records: stderr, a daily file under `HOME/logs/`, and a buffer of the newest ones for the dashboard.
//!
//! One layer formats and redacts each event before any sink sees it, so that no sink can forget to. This crate only builds the
//! layer; a program's `main` installs it ([`Logging::subscriber`]), because an embedding program may have a log of its own.

mod format;
pub(crate) mod journal;
mod layer;
mod sink;

pub use layer::{LogLevel, Logging, Stderr};
