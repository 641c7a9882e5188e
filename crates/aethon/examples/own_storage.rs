//! A storage of one's own: conversations that live in memory, and an audit log that goes to this program.
//!
//! Each part of a `Storage` is a trait, so a part can be replaced alone. `MemoryStore` comes with the feature `testkit` of
//! `aethon-core`, beside the tests that every implementation must pass.
//!
//! Run it with `cargo run -p aethon --example own_storage`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aethon::async_trait::async_trait;
use aethon::core::audit::{AuditAction, AuditEntry, AuditLog};
use aethon::core::clock::SystemClock;
use aethon::core::error::Result;
use aethon::core::testkit::MemoryStore;

/// Keeps the rows in this program, the oldest first.
#[derive(Clone, Default)]
struct OwnAudit(Arc<Mutex<Vec<AuditEntry>>>);

impl OwnAudit {
    fn rows(&self, is_wanted: impl Fn(&AuditEntry) -> bool, limit: usize) -> Vec<AuditEntry> {
        let rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter().rev().filter(|row| is_wanted(row)).take(limit).cloned().collect()
    }
}

#[async_trait]
impl AuditLog for OwnAudit {
    async fn record(&self, entry: AuditEntry) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        Ok(())
    }

    async fn newest(&self, limit: usize) -> Result<Vec<AuditEntry>> {
        Ok(self.rows(|_| true, limit))
    }

    async fn newest_of(&self, action: AuditAction, limit: usize) -> Result<Vec<AuditEntry>> {
        Ok(self.rows(|row| row.action == action, limit))
    }
}

/// Asks a question, which nothing on the disk remembers. Returns the answer and the rows of the audit log.
pub(crate) async fn converse(
    home: &std::path::Path,
) -> std::result::Result<(String, Vec<AuditEntry>), aethon::Error> {
    let audit = OwnAudit::default();
    let mut storage = MemoryStore::storage(Arc::new(SystemClock));
    storage.audit = Arc::new(audit.clone());
    let builder = aethon::Builder::new().home(home).set("model.provider=echo").storage(storage);
    let assistant = builder.load()?.open().await?;
    let reply = assistant.ask("webchat:fleeting", "Do you remember me?").await?;
    assistant.note(AuditAction::Config, "model.provider", "shown").await?;
    assistant.shutdown(Duration::from_secs(5)).await;
    Ok((reply.text.clone(), audit.newest(10).await?))
}

#[expect(clippy::print_stdout, reason = "it is what the example shows")]
#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    let (answer, rows) = converse(home.path()).await?;
    println!("{answer}");
    for row in rows {
        println!("{} {}: {}", row.action.as_str(), row.subject, row.outcome);
    }
    Ok(())
}
