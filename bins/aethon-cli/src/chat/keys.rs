//! The keyboard while a reply arrives.
//!
//! Type-ahead is not echoed into the reply; it waits for the next prompt, and a paste remains a paste. Only Ctrl-C and the
//! like take effect at once.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};

use super::output::put;

/// Switches bracketed paste on and off.
const MARK_PASTES: &str = "\u{1b}[?2004h";
const LEAVE_PASTES: &str = "\u{1b}[?2004l";

/// Keeps the terminal from echoing until it is dropped.
pub(super) struct Quiet {
    before: Option<Termios>,
}

impl Quiet {
    /// Switches echo off; does nothing without a terminal.
    pub(super) fn keep() -> Self {
        let stdin = std::io::stdin();
        let before = stdin.is_terminal().then(|| tcgetattr(stdin.as_fd()).ok()).flatten();
        if let Some(before) = &before {
            let mut quiet = before.clone();
            quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
            quiet.input_modes -= InputModes::ICRNL;
            // On failure, type-ahead is echoed: ugly but harmless.
            let _ = tcsetattr(stdin.as_fd(), OptionalActions::Now, &quiet);
            put(MARK_PASTES);
        }
        Self { before }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            put(LEAVE_PASTES);
            let _ = tcsetattr(std::io::stdin().as_fd(), OptionalActions::Now, before);
        }
    }
}

/// Discards type-ahead, so that an answer cannot precede its question.
pub(super) fn forget_typed() {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        let _ = tcflush(stdin.as_fd(), QueueSelector::IFlush);
    }
}
