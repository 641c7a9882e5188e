//! The source of the owner's data: the daemon of the home if one runs, else this process.

use std::time::Duration;

use aethon::core::audit::AuditAction;
use aethon::{Aethon, Prepared};
use anyhow::Result;

use crate::args::Common;
use crate::daemon::Daemon;

/// How long turns and writes that a command started may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// The daemon or this process. Each command that supports both wraps it in a type with a method for each operation.
pub(super) enum Source {
    Daemon(Daemon),
    Here(Box<Aethon>),
}

impl Source {
    /// Finds the daemon, or opens the home.
    pub(super) async fn open(common: &Common) -> Result<Self> {
        let prepared = crate::prepared(common)?;
        Ok(match Daemon::find(&prepared, common.connect.as_deref())? {
            Some(daemon) => Self::Daemon(daemon),
            None => Self::Here(Box::new(opened(prepared).await?)),
        })
    }

    /// Records in the audit log that this was removed here; the daemon records its own removals.
    pub(super) async fn note_removal(&self, subject: &str) {
        if let Self::Here(aethon) = self {
            super::told(aethon.note(AuditAction::Deletion, subject, "done").await);
        }
    }

    /// Stores pending writes and closes the home.
    pub(super) async fn close(self) {
        if let Self::Here(aethon) = self {
            aethon.shutdown(GRACE).await;
        }
    }
}

/// Opens the home. Reports a new home, which is expected on the first day and a mistyped path on any other.
pub(super) async fn opened(prepared: Prepared) -> Result<Aethon> {
    let home = prepared.home().path().to_owned();
    let is_new = !home.exists();
    super::upgrade::offer(&prepared)?;
    let aethon = prepared.open().await?;
    if is_new {
        eprintln!("warning: there was no home at {}; an empty one was made", home.display());
    }
    Ok(aethon)
}
