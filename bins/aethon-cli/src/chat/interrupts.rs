//! Signals by which a person or the system asks the terminal to stop.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Which it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrupt {
    /// Ctrl-C.
    Stop,
    /// The program is to end.
    End,
}

/// The signals that are watched.
pub(super) struct Interrupts {
    stop: Signal,
    end: Option<Signal>,
}

impl Interrupts {
    /// Ctrl-C only: while a line is edited, the end of the program is the system's to bring about.
    pub(super) fn of_keyboard() -> Result<Self> {
        Ok(Self { stop: signal(SignalKind::interrupt()).context("Ctrl-C cannot be watched")?, end: None })
    }

    /// Ctrl-C and SIGTERM.
    pub(super) fn all() -> Result<Self> {
        let end = signal(SignalKind::terminate()).context("SIGTERM cannot be watched")?;
        Ok(Self { end: Some(end), ..Self::of_keyboard()? })
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> Interrupt {
        let end = async {
            match &mut self.end {
                Some(end) => end.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.stop.recv() => Interrupt::Stop,
            _ = end => Interrupt::End,
        }
    }
}
