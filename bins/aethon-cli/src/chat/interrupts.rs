//! Signals that interrupt the terminal.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The kind of signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrupt {
    /// Ctrl-C.
    Stop,
    /// The program must exit.
    End,
    /// The window was resized.
    Resize,
}

/// The signals being watched.
pub(super) struct Interrupts {
    stop: Signal,
    end: Signal,
    resize: Signal,
}

impl Interrupts {
    /// Starts watching.
    pub(super) fn watch() -> Result<Self> {
        Ok(Self {
            stop: signal(SignalKind::interrupt()).context("Ctrl-C cannot be watched")?,
            end: signal(SignalKind::terminate()).context("SIGTERM cannot be watched")?,
            resize: signal(SignalKind::window_change())
                .context("the size of the window cannot be watched")?,
        })
    }

    /// Forgets a Ctrl-C that was meant for another program on this terminal.
    pub(super) async fn forget_stop(&mut self) {
        // It may be on its way from the system still.
        let _ = tokio::time::timeout(std::time::Duration::from_millis(20), self.stop.recv()).await;
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.stop.recv() => Interrupt::Stop,
            _ = self.end.recv() => Interrupt::End,
            _ = self.resize.recv() => Interrupt::Resize,
        }
    }
}
