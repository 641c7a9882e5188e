//! Where a command finds what is the owner's: in the daemon of the home where one runs, else in this process.

use std::time::Duration;

use aethon::core::audit::AuditAction;
use aethon::{Aethon, Prepared};
use anyhow::Result;

use crate::args::Common;
use crate::daemon::Daemon;

/// How long turns and writes that a command left behind may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// The one or the other. Each command that knows both is a type around it, with a method for each thing that it does.
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

    /// Notes in the audit that this was removed here; the daemon notes what it removes itself.
    pub(super) async fn note_removal(&self, subject: &str) {
        if let Self::Here(aethon) = self {
            super::told(aethon.note(AuditAction::Deletion, subject, "done").await);
        }
    }

    /// Stores what waits.
    pub(super) async fn close(self) {
        if let Self::Here(aethon) = self {
            aethon.shutdown(GRACE).await;
        }
    }
}

/// Opens the home. A new one is fine on a first day, and a mistyped path on any other, so a person is told of it.
pub(super) async fn opened(prepared: Prepared) -> Result<Aethon> {
    let home = prepared.home().path().to_owned();
    let is_new = !home.exists();
    let aethon = prepared.open().await?;
    if is_new {
        eprintln!("warning: there was no home at {}; an empty one was made", home.display());
    }
    Ok(aethon)
}
