//! Which way to the assistant is taken.

use aethon::Prepared;
use anyhow::Result;

use super::backend::Backend;
use super::local::Local;
use super::remote::Remote;
use crate::daemon::Daemon;

/// The running daemon of this home (or the one named), else an assistant in this process.
pub(crate) async fn open(prepared: Prepared, daemon: Option<Daemon>) -> Result<Box<dyn Backend>> {
    match daemon {
        Some(daemon) => Ok(Box::new(Remote::connect(daemon).await?)),
        None => Ok(Box::new(Local::open(prepared).await?)),
    }
}
