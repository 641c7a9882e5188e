//! The parts of a service file.

use std::path::PathBuf;

/// The first words of every file that is written here, by which it is recognised.
pub(super) const MARK: &str = "Written by `aethon-cli service install`";

/// A service to be installed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unit {
    /// The program.
    pub(super) program: PathBuf,
    /// Its arguments.
    pub(super) arguments: Vec<String>,
    /// The home, which the service may always write.
    pub(super) home: PathBuf,
    /// How many seconds the daemon may take to stop.
    pub(super) stop_seconds: u64,
}
