//! The keyboard while a reply comes in.
//!
//! What is typed then is not shown in the middle of the reply; it waits for the next prompt, and a paste stays a paste. Only
//! Ctrl-C and its like have their effect at once.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};

use super::screen::put;

/// Marks what is pasted, and stops marking.
const MARK_PASTES: &str = "\u{1b}[?2004h";
const LEAVE_PASTES: &str = "\u{1b}[?2004l";

/// A keyboard that is quiet until this is dropped.
pub(super) struct Quiet {
    before: Option<Termios>,
}

impl Quiet {
    /// Makes it quiet; without a terminal there is nothing to do.
    pub(super) fn keep() -> Self {
        let stdin = std::io::stdin();
        let before = stdin.is_terminal().then(|| tcgetattr(stdin.as_fd()).ok()).flatten();
        if let Some(before) = &before {
            let mut quiet = before.clone();
            quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
            quiet.input_modes -= InputModes::ICRNL;
            // Without it, what is typed is shown: a blemish and no fault.
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

/// Forgets what was typed ahead: an answer must follow its question.
pub(super) fn forget_typed() {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        let _ = tcflush(stdin.as_fd(), QueueSelector::IFlush);
    }
}
