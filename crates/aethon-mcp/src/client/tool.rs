//! A borrowed tool: calls go to its server, and the results are untrusted.

use std::sync::Arc;

use aethon_core::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::{Peer, RoleClient};
use serde_json::Value;

use super::returned;
use super::signals::ConnectionSignals;

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
            Err(error) => Err(self.signals.failed(&self.spec.name, &error)),
        }
    }
}
