//! Counts the unsolicited messages of a server and drops those without a handler.
//!
//! The SDK spawns a task for every notification, so handling a flood would cost more than sending it. A server that
//! keeps flooding is disconnected and retried later.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{JsonRpcMessage, ProgressNotificationParam, ServerNotification};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::time::Instant;

use super::signals::ConnectionSignals;

/// Maximum number of unsolicited messages per period.
const MAX_MESSAGES: u32 = 10_000;
/// Length of the period.
const PERIOD: Duration = Duration::from_secs(60);

/// A client transport that protects from floods.
pub(super) struct FloodGuard<T> {
    inner: T,
    signals: Arc<ConnectionSignals>,
    since: Instant,
    count: u32,
}

impl<T> FloodGuard<T> {
    pub(super) fn new(inner: T, signals: Arc<ConnectionSignals>) -> Self {
        Self { inner, signals, since: Instant::now(), count: 0 }
    }

    fn is_flooded(&mut self) -> bool {
        if self.since.elapsed() >= PERIOD {
            (self.since, self.count) = (Instant::now(), 0);
        }
        self.count += 1;
        self.count > MAX_MESSAGES
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for FloodGuard<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.signals.closed.notify_one();
                return None;
            };
            let is_answer = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
            if is_answer {
                return Some(message);
            }
            if self.is_flooded() {
                tracing::warn!("an MCP server sent too many unsolicited messages; the connection is closed");
                self.signals.closed.notify_one();
                return None;
            }
            if let Some(progress) = progress_of(&message) {
                // Here, because it has to be shown before the answer that follows it.
                self.signals.running.show(progress);
                continue;
            }
            if is_handled(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

fn progress_of(message: &RxJsonRpcMessage<RoleClient>) -> Option<&ProgressNotificationParam> {
    let JsonRpcMessage::Notification(message) = message else { return None };
    match &message.notification {
        ServerNotification::ProgressNotification(progress) => Some(&progress.params),
        _ => None,
    }
}

/// Returns whether to pass a message on. The SDK answers requests, mostly with an error; of the notifications, those
/// about lists, requests and the log are used.
fn is_handled(message: &RxJsonRpcMessage<RoleClient>) -> bool {
    let JsonRpcMessage::Notification(message) = message else { return true };
    matches!(
        message.notification,
        ServerNotification::ToolListChangedNotification(_)
            | ServerNotification::ResourceListChangedNotification(_)
            | ServerNotification::PromptListChangedNotification(_)
            | ServerNotification::LoggingMessageNotification(_)
            | ServerNotification::CancelledNotification(_)
            | ServerNotification::SubscriptionsAcknowledgedNotification(_)
    )
}
