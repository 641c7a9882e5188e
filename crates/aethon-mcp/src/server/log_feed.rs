//! The program's log, for a client that has asked for it with `logging/setLevel`.

#![expect(deprecated, reason = "the newest revision gives logging up, and clients of the others use it")]

use std::sync::Arc;

use aethon_core::event::{Event, EventBus};
use aethon_core::log::{Level, LogRecord};
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::service::{Peer, RoleServer};
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

/// Maximum characters of a message.
const MAX_MESSAGE: usize = 4_000;

/// Feeds a client's log. Nothing is sent before the client has set a level.
pub(super) struct LogFeed {
    bus: EventBus,
    level: watch::Sender<Option<Level>>,
}

impl LogFeed {
    pub(super) fn new(bus: EventBus) -> Self {
        Self { bus, level: watch::Sender::new(None) }
    }

    /// Sets the least serious level that is sent, and starts sending if that is the first one.
    pub(super) fn set(&self, level: LoggingLevel, peer: &Peer<RoleServer>) {
        let is_first = self.level.send_replace(Some(level_of(level))).is_none();
        if is_first {
            tokio::spawn(feed(self.bus.subscribe(), self.level.subscribe(), peer.clone()));
        }
    }
}

/// Sends records until the connection ends.
async fn feed(
    mut events: Receiver<Event>,
    mut level: watch::Receiver<Option<Level>>,
    peer: Peer<RoleServer>,
) {
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            changed = level.changed() => match changed {
                Ok(()) => continue,
                // The handler is gone, and with it the connection.
                Err(_) => return,
            },
        };
        let record = match event {
            Ok(Event::Log(record)) => record,
            // A slow client finds missed records in the log file.
            Ok(_) | Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let wanted = *level.borrow();
        // Sending is logged by the SDK, which must not be sent in turn.
        let is_wanted =
            wanted.is_some_and(|wanted| record.level >= wanted) && !record.target.starts_with("rmcp");
        if is_wanted && peer.notify_logging_message(message(&record)).await.is_err() {
            return;
        }
    }
}

fn message(record: &Arc<LogRecord>) -> LoggingMessageNotificationParam {
    let level = match record.level {
        Level::Trace | Level::Debug => LoggingLevel::Debug,
        Level::Info => LoggingLevel::Info,
        Level::Warn => LoggingLevel::Warning,
        Level::Error => LoggingLevel::Error,
    };
    let text: String = record.message.chars().take(MAX_MESSAGE).collect();
    let data = if record.fields.is_empty() {
        Value::String(text)
    } else {
        json!({"message": text, "fields": record.fields})
    };
    LoggingMessageNotificationParam::new(level, data).with_logger(record.target.clone())
}

fn level_of(level: LoggingLevel) -> Level {
    match level {
        LoggingLevel::Debug => Level::Debug,
        LoggingLevel::Info | LoggingLevel::Notice => Level::Info,
        LoggingLevel::Warning => Level::Warn,
        _ => Level::Error,
    }
}
