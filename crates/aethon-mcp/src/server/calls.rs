//! Runs tools for a client: bounded in number, with progress notifications, and cancellable.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aethon_core::message::{ToolCall, ToolResult};
use aethon_core::tool::{ToolContext, Toolbox};
use rmcp::model::{ErrorData, JsonObject, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::{Instant, interval_at};

/// Maximum number of concurrent calls.
const AT_ONCE: usize = 16;
/// Maximum number of queued calls. A client that sends more is out of control.
const WAITING: usize = 256;
/// Interval of progress notifications to a client that asked for them.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Runs tools.
pub(super) struct Calls {
    toolbox: Arc<dyn Toolbox>,
    context: ToolContext,
    running: Semaphore,
    admitted: Semaphore,
    number: AtomicU64,
}

impl Calls {
    pub(super) fn new(toolbox: Arc<dyn Toolbox>, context: ToolContext) -> Self {
        Self {
            toolbox,
            context,
            running: Semaphore::new(AT_ONCE),
            admitted: Semaphore::new(AT_ONCE + WAITING),
            number: AtomicU64::new(1),
        }
    }

    pub(super) fn toolbox(&self) -> &Arc<dyn Toolbox> {
        &self.toolbox
    }

    /// Runs one call under all hooks. It ends early if the client cancels its request or the connection ends.
    pub(super) async fn run(
        &self,
        name: &str,
        input: Option<JsonObject>,
        request: &RequestContext<RoleServer>,
    ) -> Result<ToolResult, ErrorData> {
        let busy = || ErrorData::internal_error("too many calls at once; wait for some of them", None);
        let _admitted = self.admitted.try_acquire().map_err(|_| busy())?;
        tokio::select! {
            biased;
            () = request.ct.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
            result = self.run_in_turn(name, input) => Ok(result),
            () = report_progress(name, request) => Err(busy()),
        }
    }

    async fn run_in_turn(&self, name: &str, input: Option<JsonObject>) -> ToolResult {
        // The semaphore is never closed.
        let _running = self.running.acquire().await;
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let call = ToolCall {
            id: format!("mcp-{number}"),
            name: name.to_owned(),
            input: Value::Object(input.unwrap_or_default()),
            opaque: None,
        };
        self.toolbox.run(&self.context.for_call(&call), &call).await
    }
}

/// Sends progress notifications for a call if the client asked for them. Never returns.
async fn report_progress(name: &str, request: &RequestContext<RoleServer>) {
    let Some(token) = request.meta.get_progress_token() else { return std::future::pending().await };
    let begun = Instant::now();
    let mut ticks = interval_at(begun + PROGRESS_INTERVAL, PROGRESS_INTERVAL);
    loop {
        ticks.tick().await;
        notify_progress(&request.peer, &token, name, begun.elapsed().as_secs()).await;
    }
}

async fn notify_progress(peer: &Peer<RoleServer>, token: &ProgressToken, name: &str, seconds: u64) {
    #[expect(clippy::cast_precision_loss, reason = "no call runs that long")]
    let progress = ProgressNotificationParam::new(token.clone(), seconds as f64)
        .with_message(format!("`{name}` has been running for {seconds} s"));
    // If the client is gone, the connection ends, and the call with it.
    let _ = peer.notify_progress(progress).await;
}
