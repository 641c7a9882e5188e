//! Stores the audit log: reports of the entry points, and actions of the terminal.

use std::sync::Arc;
use std::time::Duration;

use aethon_config::Sources;
use aethon_core::audit::{AuditAction, AuditEntry, AuditLog};
use aethon_core::clock::{Clock, SystemClock};
use aethon_core::shutdown::Shutdown;
use aethon_store::OpenMode;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::home::Home;
use crate::prepared::Prepared;
use crate::wiring;

/// How long a command waits to write its row while other programs hold the database.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The actor in rows that a command writes.
const TERMINAL: &str = "terminal";

/// Stores rows as they arrive, and on shutdown those still queued.
pub(crate) async fn keep(mut rows: Receiver<AuditEntry>, log: Arc<dyn AuditLog>, mut shutdown: Shutdown) {
    loop {
        let row = tokio::select! {
            biased;
            row = rows.recv() => row,
            () = shutdown.requested() => rows.try_recv().ok(),
        };
        let Some(row) = row else { return };
        if let Err(error) = log.record(row).await {
            tracing::warn!(%error, "an audit entry could not be stored; it is only in the log");
        }
    }
}

/// Records a command's action on files of a home that it does not otherwise open. Returns `false` for a home without a
/// database: it has nothing to audit yet, and none is created.
pub async fn note(sources: &Sources, action: AuditAction, subject: &str, outcome: &str) -> Result<bool> {
    // A configuration that cannot be read names no server; it may be what the command is about.
    if let Some(prepared) = Prepared::of(sources).ok().filter(|read| read.config.storage.is_on_server()) {
        let storage = wiring::store::storage(&prepared, OpenMode::Guest).await?;
        let stored = record(&*storage.audit, &SystemClock, action, subject, outcome).await;
        storage.upkeep.close().await;
        return stored.map(|()| true);
    }
    let database = Home::at(&sources.home).database();
    if !database.exists() {
        return Ok(false);
    }
    let store = wiring::store_check::beside(&database)?;
    let stored = record(&store, &SystemClock, action, subject, outcome).await;
    store.close().await;
    stored.map(|()| true)
}

/// Writes an audit row for the terminal, and a log line with it.
pub(crate) async fn record(
    log: &dyn AuditLog,
    clock: &dyn Clock,
    action: AuditAction,
    subject: &str,
    outcome: &str,
) -> Result<()> {
    tracing::info!(action = action.as_str(), subject, outcome, by = TERMINAL, "audit");
    let entry = AuditEntry::new(clock.now(), action, subject, outcome).by(TERMINAL);
    match timeout(TIMEOUT, log.record(entry)).await {
        Ok(stored) => stored.map_err(|error| Error::failed(error.to_string()).because(error)),
        Err(_) => Err(Error::failed("the database is busy")),
    }
}
