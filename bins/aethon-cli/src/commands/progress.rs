//! Progress of long work: one line on a terminal that is rewritten, and nothing elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often the line is rewritten.
const INTERVAL: Duration = Duration::from_millis(100);

/// The line.
pub(super) struct ProgressLine {
    is_shown: bool,
    last: Option<Instant>,
}

impl ProgressLine {
    pub(super) fn new() -> Self {
        Self { is_shown: std::io::stderr().is_terminal(), last: None }
    }

    /// Shows the current work and its progress; with a total of 0 the amount, in bytes.
    pub(super) fn show(&mut self, what: &str, done: u64, total: u64) {
        if !self.is_shown || self.last.is_some_and(|last| last.elapsed() < INTERVAL) {
            return;
        }
        self.last = Some(Instant::now());
        let amount = match total {
            0 => format!("{} MiB", done >> 20),
            _ => format!("{} %", done.saturating_mul(100) / total),
        };
        eprint!("\r\x1b[K{what}: {amount}");
        // It is decoration.
        let _ = std::io::stderr().flush();
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.last.is_some() {
            eprint!("\r\x1b[K");
        }
    }
}
