//! Which way to the assistant is taken.

use aethon::Prepared;
use anyhow::Result;

use super::backend::Backend;
use super::local::Local;
use super::remote::{Audience, Finder, Remote};
use crate::daemon::Daemon;

/// The running daemon of this home (or the one named), else an assistant in this process; in this session.
pub(crate) async fn open(
    prepared: Prepared,
    daemon: Option<Daemon>,
    connect: Option<String>,
    session: &str,
    audience: Audience,
) -> Result<Box<dyn Backend>> {
    match daemon {
        Some(daemon) => {
            let finder = Finder { prepared, connect };
            Ok(Box::new(Remote::connect(finder, daemon, session, audience).await?))
        }
        None => Ok(Box::new(Local::open(prepared, session).await?)),
    }
}
