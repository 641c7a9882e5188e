//! How a process reads its database, and how it changes to one that can be written by now.
//!
//! SQLite's locks on a file belong to the process: they are all gone once any descriptor of that file is closed outside SQLite,
//! and connections of one process share them and the index of the log. So a database that could only be read is reopened
//! while no connection of this process has it open: until then every read has a connection of its own, and the change waits
//! for those that run.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::file_identity::FileIdentity;
use crate::error::Error;

/// The present [`Access`]. Clones of [`Settings`](super::open::Settings) share it.
#[derive(Debug, Default)]
pub(crate) struct Reading(RwLock<Access>);

/// How the database is read.
#[derive(Debug, Default)]
pub(super) struct Access {
    pub(super) mode: ReadMode,
    /// The files that are open; `None` before they are.
    identity: Option<Arc<FileIdentity>>,
}

/// How connections that only read are opened.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadMode {
    /// They stay open.
    #[default]
    Lasting,
    /// They are closed after each read, because the database cannot be written yet.
    Brief,
    /// In addition, the file is read as one that never changes. Then it needs no index of the log, for which a full or
    /// read-only disk has no room.
    BriefAndFixed,
}

impl Reading {
    /// Returns how the database is read. It stays like this for as long as the guard is held.
    pub(super) fn access(&self) -> RwLockReadGuard<'_, Access> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the reads that run, and holds up new ones while the guard is held.
    pub(super) fn alone(&self) -> RwLockWriteGuard<'_, Access> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Access {
    pub(super) fn new(mode: ReadMode, identity: Arc<FileIdentity>) -> Self {
        Self { mode, identity: Some(identity) }
    }

    /// Refuses if another file is at this path by now.
    pub(super) fn check_identity(&self) -> Result<(), Error> {
        self.identity.as_ref().map_or(Ok(()), |identity| identity.check())
    }
}
