//! Where log records go: stderr, a file a day under `HOME/logs/`, and the newest in memory for the dashboard.
//!
//! One layer formats each event once and redacts it before anything is written, so that no sink can forget to. This
//! crate only makes the layer; a program's main installs it ([`Logging::subscriber`]), because an embedding program may
//! have its own.

mod format;
mod layer;
mod sink;

pub use layer::{LogLevel, Logging};
