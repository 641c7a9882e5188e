//! The audit log as all parts of the program see it: rows reach the storage without secrets, and then cut to their size.
//!
//! It stands in front of the storage, so no part that adds a row has to think of it, and none can do it in the wrong order: of a
//! row that is cut first, most of a secret that stands at the cut would be stored.

use std::sync::Arc;

use aethon_core::audit::{AuditAction, AuditEntry, AuditLog, MAX_DETAIL};
use aethon_core::error::Result;
use aethon_core::live::Live;
use aethon_guard::redact::Redactor;
use async_trait::async_trait;

/// An audit log that removes secrets from rows and bounds them.
pub(crate) struct MaskedAudit {
    pub(crate) log: Arc<dyn AuditLog>,
    pub(crate) redactor: Live<Redactor>,
}

#[async_trait]
impl AuditLog for MaskedAudit {
    async fn record(&self, mut entry: AuditEntry) -> Result<()> {
        let redactor = self.redactor.get();
        // A model invents names of tools, and an outcome may quote the error of a program.
        for text in [&mut entry.subject, &mut entry.outcome, &mut entry.by, &mut entry.detail] {
            *text = redactor.redact_beginning(text, MAX_DETAIL);
        }
        self.log.record(entry).await
    }

    async fn newest(&self, limit: usize) -> Result<Vec<AuditEntry>> {
        self.log.newest(limit).await
    }

    async fn newest_of(&self, action: AuditAction, limit: usize) -> Result<Vec<AuditEntry>> {
        self.log.newest_of(action, limit).await
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::jiff::Timestamp;
    use aethon_core::secret::Secret;
    use aethon_core::testkit::MemoryStore;

    use super::*;

    const SECRET: &str = "SuperSecretHook-9876543210zyxw";

    #[tokio::test]
    async fn no_part_of_a_secret_at_the_cut_is_stored() {
        let store = Arc::new(MemoryStore::default());
        let redactor = Live::new(Redactor::new([Secret::new(SECRET)]));
        let audit = MaskedAudit { log: store.clone(), redactor };
        for before in [MAX_DETAIL - SECRET.len() + 1, MAX_DETAIL - 1, MAX_DETAIL, 20] {
            let detail = format!("{}{SECRET} and {}", "x".repeat(before), "y".repeat(2 * MAX_DETAIL));
            let entry = AuditEntry::new(Timestamp::UNIX_EPOCH, AuditAction::Command, SECRET, SECRET);
            audit.record(entry.by(SECRET).with_detail(detail)).await.unwrap();
            let row = audit.newest(1).await.unwrap().pop().unwrap();
            assert!(!row.detail.contains("Super"), "{before}: {row:?}");
            assert!(row.detail.chars().count() == MAX_DETAIL + 1 && row.detail.ends_with('…'), "{before}");
            assert_eq!([row.subject, row.outcome, row.by], ["***"; 3]);
        }
    }
}
