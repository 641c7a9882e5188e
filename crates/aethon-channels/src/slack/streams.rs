//! The open streams of a workspace.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many streams may be open. Further replies are shown by edits.
const MAX_OPEN: usize = 1000;
/// For how many private messages the thread is remembered.
const MAX_THREADS: usize = 500;

/// The streams of a workspace.
#[derive(Default)]
pub(super) struct Streams {
    /// The text of each open stream.
    pub(super) open: Mutex<HashMap<String, String>>,
    /// The threads of private messages, by message id.
    pub(super) threads: Mutex<VecDeque<(String, String)>>,
    /// Whether the workspace does not support streams.
    pub(super) is_off: AtomicBool,
}

impl Streams {
    /// Records the thread of a private message.
    pub(super) fn heard(&self, message: &str, thread: &str) {
        let mut threads = lock(&self.threads);
        if threads.len() >= MAX_THREADS {
            threads.pop_front();
        }
        threads.push_back((message.to_owned(), thread.to_owned()));
    }

    pub(super) fn thread_of(&self, message: &str) -> Option<String> {
        let threads = lock(&self.threads);
        threads.iter().rev().find(|(known, _)| known == message).map(|(_, thread)| thread.clone())
    }

    pub(super) fn is_full(&self) -> bool {
        lock(&self.open).len() >= MAX_OPEN
    }

    pub(super) fn hold(&self, message: &str, text: String) {
        lock(&self.open).insert(message.to_owned(), text);
    }

    /// Returns the text of a stream, which counts as ended until it is held again.
    pub(super) fn release(&self, message: &str) -> Option<String> {
        lock(&self.open).remove(message)
    }

    pub(super) fn switch_off(&self, why: &str) {
        if !self.is_off.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                channel = "slack",
                why,
                "Slack has no streams for this app; replies are edited as they grow"
            );
        }
    }
}

/// Returns whether a text is a timestamp of Slack.
pub(super) fn is_ts(ts: &str) -> bool {
    !ts.is_empty() && ts.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every statement leaves the contents consistent, so a poisoned lock is usable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
