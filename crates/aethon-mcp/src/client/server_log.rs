//! Log messages of a server: they go to our log at debug, at a limited rate.

#![expect(deprecated, reason = "the newest revision gives logging up, and servers of the others use it")]

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::LoggingMessageNotificationParam;
use serde_json::Value;
use tokio::time::Instant;

use super::words::brief;

/// Maximum number of messages per period.
const MAX_MESSAGES: u32 = 60;
/// Length of the period.
const PERIOD: Duration = Duration::from_secs(60);

/// The messages of one connection.
#[derive(Default)]
pub(super) struct ServerLog(Mutex<Option<Count>>);

struct Count {
    since: Instant,
    messages: u32,
}

impl ServerLog {
    /// Logs a message, unless there were too many lately.
    pub(super) fn note(&self, server: &str, message: &LoggingMessageNotificationParam) {
        if self.has_room() {
            let said = match &message.data {
                Value::String(text) => brief(text),
                other => brief(&other.to_string()),
            };
            let (level, logger) = (&message.level, message.logger.as_deref().map(brief).unwrap_or_default());
            tracing::debug!(server, ?level, logger, said, "an MCP server logs");
        }
    }

    fn has_room(&self) -> bool {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = count.get_or_insert_with(|| Count { since: Instant::now(), messages: 0 });
        if count.since.elapsed() >= PERIOD {
            *count = Count { since: Instant::now(), messages: 0 };
        }
        count.messages += 1;
        count.messages <= MAX_MESSAGES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_logs_without_end_is_logged_in_moderation() {
        let log = ServerLog::default();
        let logged = |log: &ServerLog| (0..1000).filter(|_| log.has_room()).count();
        assert_eq!((logged(&log), logged(&log)), (60, 0));
        tokio::time::advance(PERIOD).await;
        assert_eq!(logged(&log), 60);
    }
}
