//! The in-memory audit log.

use async_trait::async_trait;

use super::store::MemoryStore;
use crate::audit::{AuditAction, AuditEntry, AuditLog};
use crate::error::Result;

#[async_trait]
impl AuditLog for MemoryStore {
    async fn record(&self, entry: AuditEntry) -> Result<()> {
        self.tables().noted.audit.push(entry);
        Ok(())
    }

    async fn newest(&self, limit: usize) -> Result<Vec<AuditEntry>> {
        Ok(self.tables().noted.audit.iter().rev().take(limit).cloned().collect())
    }

    async fn newest_of(&self, action: AuditAction, limit: usize) -> Result<Vec<AuditEntry>> {
        let tables = self.tables();
        Ok(tables.noted.audit.iter().rev().filter(|row| row.action == action).take(limit).cloned().collect())
    }
}
