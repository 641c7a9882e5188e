//! Keeps what the doors note for the audit.

use std::sync::Arc;

use aethon_core::audit::{AuditEntry, AuditLog};
use aethon_core::shutdown::Shutdown;
use tokio::sync::mpsc::Receiver;

/// Stores rows as they come, and those that wait at the end.
pub(crate) async fn keep(mut rows: Receiver<AuditEntry>, log: Arc<dyn AuditLog>, mut shutdown: Shutdown) {
    loop {
        let row = tokio::select! {
            biased;
            row = rows.recv() => row,
            () = shutdown.requested() => rows.try_recv().ok(),
        };
        let Some(row) = row else { return };
        if let Err(error) = log.record(row).await {
            tracing::warn!(%error, "a row of the audit is in the log only");
        }
    }
}
