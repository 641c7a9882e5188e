//! What a program says to its operator: read to the end, so that it never waits for a reader, and the last of it kept, so
//! that its end can be explained.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::words::brief;

/// How much is kept.
const KEPT: usize = 2048;
/// How long the rest may take when the program has ended.
const REST: Duration = Duration::from_millis(200);

/// Reads what a program says to its operator.
pub(super) struct LastWords {
    kept: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl LastWords {
    pub(super) fn of(errors: Box<dyn AsyncRead + Send + Unpin>) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        Self { reader: tokio::spawn(read(errors, kept.clone())), kept }
    }

    /// This sentence, and behind it what the program said last, if it said anything.
    pub(super) async fn added_to(mut self, sentence: String) -> String {
        // Whoever it left behind may hold the pipe; then what has come so far will do.
        let _ = timeout(REST, &mut self.reader).await;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let words = brief(String::from_utf8_lossy(&kept).trim());
        if words.is_empty() { sentence } else { format!("{sentence}; it said: {words}") }
    }
}

impl Drop for LastWords {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

async fn read(mut errors: Box<dyn AsyncRead + Send + Unpin>, kept: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 4096];
    while let Ok(length @ 1..) = errors.read(&mut buffer).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..length]);
        let surplus = kept.len().saturating_sub(KEPT);
        kept.drain(..surplus);
    }
}
