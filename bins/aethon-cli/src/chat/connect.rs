//! Chooses the connection to the assistant.

use std::time::Duration;

use aethon::Prepared;
use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

use super::backend::Backend;
use super::handover::Handover;
use super::local::Local;
use super::remote::{Audience, Remote};
use super::socket::Broken;
use crate::daemon::Finder;

/// How long to wait for a daemon that holds the home but does not answer: it may be starting or stopping.
const COMING: Duration = Duration::from_secs(30);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// Connects to the running daemon of this home (or the one named), else opens an assistant in this process, in this session.
pub(crate) async fn open(
    prepared: Prepared,
    finder: Finder,
    session: &str,
    audience: Audience,
) -> Result<Box<dyn Backend>> {
    Ok(match reach(&finder, session, audience).await? {
        Some(remote) => Box::new(remote),
        None => {
            let local = Local::open(prepared, session).await?;
            Box::new(Handover::new(local, finder, session, audience))
        }
    })
}

/// Connects to the daemon once it answers; `None` once no daemon holds the home.
async fn reach(finder: &Finder, session: &str, audience: Audience) -> Result<Option<Remote>> {
    let deadline = Instant::now() + COMING;
    loop {
        let mut why =
            "the aethon-server of this home has not begun to listen; try again in a moment".to_owned();
        if let Some(daemon) = finder.find()? {
            match Remote::connect(finder.clone(), daemon, session, audience).await {
                Ok(remote) => return Ok(Some(remote)),
                Err(Broken::Refused(refused)) => bail!("{refused}"),
                Err(Broken::Lost(lost)) => why = lost,
            }
        }
        if !finder.is_expected() {
            return Ok(None);
        }
        // If the user named an address, its failure must be reported.
        if finder.is_named() || Instant::now() >= deadline {
            bail!("{why}");
        }
        sleep(PAUSE).await;
    }
}
