//! Signals from the users of a connection to the task that runs it.

use std::sync::Arc;

use aethon_core::tool::ToolError;
use rmcp::service::ServiceError;
use tokio::sync::Notify;

use super::refusal::{Refusal, SignIn, sign_in_command};
use super::running::RunningCalls;
use super::words::brief;

/// Events on a connection.
pub(super) struct ConnectionSignals {
    /// The list of tools has changed.
    pub(super) list: Notify,
    /// A call found the connection broken.
    pub(super) broken: Notify,
    /// The server closed the connection, or was cut off.
    pub(super) closed: Notify,
    /// The calls that run on it.
    pub(super) running: RunningCalls,
    /// How its server gets to know who asks.
    sign_in: SignIn,
}

impl ConnectionSignals {
    /// The signals of a connection to this server.
    pub(super) fn of(server: Arc<str>, sign_in: SignIn) -> Self {
        Self {
            list: Notify::default(),
            broken: Notify::default(),
            closed: Notify::default(),
            running: RunningCalls::new(server),
            sign_in,
        }
    }

    /// Describes why a request for this tool failed, and requests a new connection if this one is unusable.
    pub(super) fn failed(&self, tool: &str, error: &ServiceError) -> ToolError {
        let why = match error {
            ServiceError::McpError(error) => brief(&error.message),
            ServiceError::TransportSend(error) => match Refusal::of(&*error.error) {
                Some(refusal) => self.refused(refusal),
                None => self.gone(),
            },
            ServiceError::TransportClosed => self.gone(),
            other => brief(&other.to_string()),
        };
        ToolError::failed(format!("`{tool}` failed: {why}"))
    }

    fn refused(&self, refusal: Refusal) -> String {
        if refusal.is_lasting {
            self.broken.notify_one();
        }
        // Who has configured a token of their own cannot sign in.
        if !refusal.wants_sign_in || self.sign_in == SignIn::Configured {
            return refusal.why;
        }
        let command = sign_in_command(self.running.server());
        format!("{}; the owner can sign in with `{command}`", refusal.why)
    }

    fn gone(&self) -> String {
        self.broken.notify_one();
        "its server is gone; it is started again, so try later".to_owned()
    }
}
