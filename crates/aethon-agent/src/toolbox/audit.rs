//! Records allowed and refused calls. The log removes secrets and cuts what is too long.
//!
//! A row that cannot be written blocks nothing: the log has it as well, and failing storage keeps new messages out
//! anyway.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::audit::{AuditEntry, AuditLog};
use tokio::time::timeout;

/// How long storing a row may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The destination of rows.
#[derive(Clone)]
pub struct Audit(pub Arc<dyn AuditLog>);

impl Audit {
    /// Stores a row.
    pub(super) async fn record(&self, entry: AuditEntry) {
        let AuditEntry { action, subject, outcome, by, .. } = &entry;
        tracing::info!(action = action.as_str(), subject, outcome, by, "noted in the audit");
        match timeout(TIMEOUT, self.0.record(entry)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "a row of the audit could not be stored"),
            Err(_) => tracing::warn!("a row of the audit took too long to be stored and is given up"),
        }
    }
}
