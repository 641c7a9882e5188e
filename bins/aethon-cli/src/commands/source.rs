//! Where a command finds what is the owner's: in the daemon of the home where one runs, else in this process.

use std::time::Duration;

use aethon::core::audit::AuditAction;
use aethon::{Aethon, Error, Prepared};
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

/// Opens a home that is there. Whoever looks after an assistant where there is none has most likely mistyped its place, and
/// must not be shown an empty one that was made for it.
pub(super) async fn opened(prepared: Prepared) -> Result<Aethon> {
    let home = prepared.home().path();
    if !home.exists() {
        let home = home.display();
        let words = format!(
            "there is no home at {home}; correct --home or AETHON_HOME, or make one there with `aethon-cli init`"
        );
        return Err(Error::refused(words).into());
    }
    Ok(prepared.open().await?)
}
