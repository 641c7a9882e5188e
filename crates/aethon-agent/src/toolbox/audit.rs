//! Records allowed and refused calls, without secrets.
//!
//! A row that cannot be written blocks nothing: the log has it as well, and failing storage keeps new messages out
//! anyway.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::audit::{AuditEntry, AuditLog};
use aethon_core::live::Live;
use aethon_guard::redact::Redactor;
use tokio::time::timeout;

/// How long storing a row may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The destination of rows, and the secrets to remove from them.
#[derive(Clone)]
pub struct Audit {
    /// Where they are kept.
    pub log: Arc<dyn AuditLog>,
    /// Removes secrets from the rows.
    pub redactor: Live<Redactor>,
}

impl Audit {
    /// Stores a row.
    pub(super) async fn record(&self, mut entry: AuditEntry) {
        entry.detail = self.redactor.get().redact(&entry.detail).into_owned();
        let AuditEntry { action, subject, outcome, by, .. } = &entry;
        tracing::info!(action = action.as_str(), subject, outcome, by, "noted in the audit");
        match timeout(TIMEOUT, self.log.record(entry)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "a row of the audit could not be stored"),
            Err(_) => tracing::warn!("a row of the audit took too long to be stored and is given up"),
        }
    }
}
