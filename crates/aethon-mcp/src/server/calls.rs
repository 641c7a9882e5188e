//! Running a tool for a client: so many at a time, with word of long ones, and ended when the client says so.

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

/// How many calls run side by side.
const AT_ONCE: usize = 16;
/// How many may wait for those. A client that sends more than that has lost its way.
const WAITING: usize = 256;
/// How often a client that asked for it hears that a call goes on.
const NEWS: Duration = Duration::from_secs(5);

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

    /// Runs one call under all hooks. When the client takes its request back, or the connection ends, the call ends with it.
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
            () = tell_of_progress(name, request) => Err(busy()),
        }
    }

    async fn run_in_turn(&self, name: &str, input: Option<JsonObject>) -> ToolResult {
        // It is never closed.
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

/// Tells a client that asked for it, again and again, that a call goes on. Never ends.
async fn tell_of_progress(name: &str, request: &RequestContext<RoleServer>) {
    let Some(token) = request.meta.get_progress_token() else { return std::future::pending().await };
    let begun = Instant::now();
    let mut news = interval_at(begun + NEWS, NEWS);
    loop {
        news.tick().await;
        tell(&request.peer, &token, name, begun.elapsed().as_secs()).await;
    }
}

async fn tell(peer: &Peer<RoleServer>, token: &ProgressToken, name: &str, seconds: u64) {
    #[expect(clippy::cast_precision_loss, reason = "no call runs that long")]
    let progress = ProgressNotificationParam::new(token.clone(), seconds as f64)
        .with_message(format!("`{name}` has been running for {seconds} s"));
    // A client that is gone ends the connection, and with it the call.
    let _ = peer.notify_progress(progress).await;
}
