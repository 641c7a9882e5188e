//! A borrowed tool: calls go to its server, and the results are untrusted.

use std::sync::Arc;

use aethon_core::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::Value;

use super::refusal::{Refusal, sign_in_command};
use super::returned;
use super::signals::ConnectionSignals;
use super::words::brief;

/// A tool of a connected server.
pub(super) struct BorrowedTool {
    spec: ToolSpec,
    /// The name that its server gives it.
    remote: String,
    peer: Peer<RoleClient>,
    signals: Arc<ConnectionSignals>,
}

impl BorrowedTool {
    pub(super) fn new(
        spec: ToolSpec,
        remote: String,
        peer: Peer<RoleClient>,
        signals: Arc<ConnectionSignals>,
    ) -> Self {
        Self { spec, remote, peer, signals }
    }

    fn gone(&self) -> String {
        self.signals.broken.notify_one();
        "its server is gone; it is started again, so try later".to_owned()
    }

    /// Adds what the owner can do.
    fn with_sign_in(&self, why: String) -> String {
        let server = self.spec.name.split("__").next().unwrap_or_default();
        format!("{why}; the owner can sign in with `{}`", sign_in_command(server))
    }

    fn failed(&self, error: &ServiceError) -> ToolError {
        let name = &self.spec.name;
        let why = match error {
            ServiceError::McpError(error) => brief(&error.message),
            ServiceError::TransportSend(error) => match Refusal::of(&*error.error) {
                Some(refusal) => {
                    if refusal.is_lasting {
                        self.signals.broken.notify_one();
                    }
                    if refusal.wants_sign_in { self.with_sign_in(refusal.why) } else { refusal.why }
                }
                None => self.gone(),
            },
            ServiceError::TransportClosed => self.gone(),
            other => brief(&other.to_string()),
        };
        ToolError::failed(format!("`{name}` failed: {why}"))
    }
}

#[async_trait]
impl Tool for BorrowedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Calls the server. Dropping the future cancels the request at the server.
    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let mut request = CallToolRequestParams::new(self.remote.clone());
        if let Value::Object(arguments) = input {
            request = request.with_arguments(arguments);
        }
        match self.signals.running.call(&self.peer, request, context).await {
            Ok(CallToolResponse::Complete(result)) => returned::output(result),
            Ok(_) => {
                let name = &self.spec.name;
                Err(ToolError::failed(format!("`{name}` asks for input that cannot be given here")))
            }
            Err(error) => Err(self.failed(&error)),
        }
    }
}
