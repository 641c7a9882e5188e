//! Drains a program's stderr, so that the program never blocks on it, and keeps the last part to explain its end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::words::brief;

/// Number of bytes kept.
const TAIL_BYTES: usize = 2048;
/// How long to wait for the rest after the program has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// Reads a program's stderr.
pub(super) struct StderrTail {
    tail: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl StderrTail {
    pub(super) fn of(errors: Box<dyn AsyncRead + Send + Unpin>) -> Self {
        let tail = Arc::new(Mutex::new(Vec::new()));
        Self { reader: tokio::spawn(read(errors, tail.clone())), tail }
    }

    /// Appends the program's last words, if any, to a sentence.
    pub(super) async fn append_to(mut self, sentence: String) -> String {
        // A surviving child of the program may hold the pipe open; then use the output received so far.
        let _ = timeout(DRAIN_TIMEOUT, &mut self.reader).await;
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let words = brief(String::from_utf8_lossy(&tail).trim());
        if words.is_empty() { sentence } else { format!("{sentence}; it said: {words}") }
    }
}

impl Drop for StderrTail {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

async fn read(mut errors: Box<dyn AsyncRead + Send + Unpin>, tail: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 4096];
    while let Ok(length @ 1..) = errors.read(&mut buffer).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(&buffer[..length]);
        let surplus = tail.len().saturating_sub(TAIL_BYTES);
        tail.drain(..surplus);
    }
}
