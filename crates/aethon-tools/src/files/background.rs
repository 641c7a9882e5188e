//! Moves blocking work off the runtime's threads.

use aethon_core::tool::ToolError;

/// Runs `work` on the blocking pool. A panic becomes a sentence for the model.
pub(super) async fn blocking<T: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| ToolError::failed(format!("{what} failed because of a fault in the program")))?
}
