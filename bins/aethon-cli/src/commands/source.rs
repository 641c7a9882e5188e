//! The source of the owner's data: the daemon of the home if one runs, else this process.

use std::time::Duration;

use aethon::core::audit::AuditAction;
use aethon::{Aethon, Prepared};
use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

use crate::args::Common;
use crate::daemon::{Daemon, Finder, may_repeat};

/// How long turns and writes that a command started may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// How long to wait for a daemon that holds the home but does not answer: it may be starting or stopping.
const COMING: Duration = Duration::from_secs(30);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// The daemon or this process. Each command that supports both wraps it in a type with a method for each operation.
pub(super) enum Source {
    Daemon(Daemon),
    Here(Box<Aethon>),
}

impl Source {
    /// Runs a command with the daemon, or in this process if none runs on the home. If the daemon goes away, waits for it and
    /// starts the command over if nothing of it can have been done: with the next daemon, or in this process.
    pub(super) async fn run<T>(common: &Common, command: impl AsyncFn(&Self) -> Result<T>) -> Result<T> {
        let mut prepared = Some(crate::setup::prepared(common)?);
        let deadline = Instant::now() + COMING;
        loop {
            let prepared = match prepared.take() {
                Some(prepared) => prepared,
                None => crate::setup::builder(common).load()?,
            };
            let source = Self::open(prepared, common, deadline).await?;
            let done = command(&source).await;
            let is_own_daemon = matches!(source, Self::Daemon(_)) && common.connect.is_none();
            source.close().await;
            match done {
                Err(error) if is_own_daemon && may_repeat(&error) && Instant::now() < deadline => {
                    sleep(PAUSE).await;
                }
                done => return done,
            }
        }
    }

    /// Finds the daemon, or opens the home.
    async fn open(prepared: Prepared, common: &Common, deadline: Instant) -> Result<Self> {
        let finder = Finder::new(&prepared, common.connect.as_deref());
        loop {
            if let Some(daemon) = finder.find()? {
                return Ok(Self::Daemon(daemon));
            }
            if !finder.is_expected() {
                return Ok(Self::Here(Box::new(opened(prepared).await?)));
            }
            if Instant::now() >= deadline {
                bail!("the aethon-server of this home has not begun to listen; try again in a moment");
            }
            sleep(PAUSE).await;
        }
    }

    /// Records in the audit log that this was removed here; the daemon records its own removals.
    pub(super) async fn note_removal(&self, subject: &str) {
        if let Self::Here(aethon) = self {
            super::told(aethon.note(AuditAction::Deletion, subject, "done").await);
        }
    }

    /// Stores pending writes and closes the home.
    async fn close(self) {
        if let Self::Here(aethon) = self {
            aethon.shutdown(GRACE).await;
        }
    }
}

/// Asks the daemon, and waits for one that goes away or has not begun to listen; `None` if none runs on the home.
pub(super) async fn with_daemon<T>(
    finder: &Finder,
    ask: impl AsyncFn(&Daemon) -> Result<T>,
) -> Result<Option<T>> {
    let deadline = Instant::now() + COMING;
    loop {
        let is_over = finder.is_named() || Instant::now() >= deadline;
        match finder.find()? {
            Some(daemon) => match ask(&daemon).await {
                Err(error) if may_repeat(&error) && !is_over => {}
                done => return done.map(Some),
            },
            None if !finder.is_expected() || is_over => return Ok(None),
            None => {}
        }
        sleep(PAUSE).await;
    }
}

/// Opens the home, and says so if that has made one.
pub(super) async fn opened(prepared: Prepared) -> Result<Aethon> {
    let home = prepared.home().path().to_owned();
    let is_new = !home.exists();
    super::upgrade::offer(&prepared)?;
    let aethon = prepared.open().await?;
    if is_new {
        eprintln!("note: an empty home was made at {}", home.display());
    }
    Ok(aethon)
}
