//! What the file tools have changed, and taking it back: the owner's act, for which no model is asked.
//!
//! Before a tool changes a file, what the file was is kept for a while, with the digest of what it becomes. So a file is put back
//! only while it is what the assistant made of it; whatever was done to it since by anybody else stays.

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::ids::{SessionId, TurnId};
use crate::words::words;

/// How many days a change can be taken back.
pub const CHANGE_DAYS: u64 = 30;

words! {
    /// What a tool did to a file.
    pub enum ChangeKind {
        /// There was no such file before.
        Created = "created",
        /// It had another content before.
        Changed = "changed",
    }
}

words! {
    /// How a changed file is now.
    pub enum ChangeState {
        /// As this change left it, or it is once the later changes are taken back.
        AsLeft = "as_left",
        /// As it was before this change.
        PutBack = "put_back",
        /// Something else: somebody has changed it since, and it is left alone.
        ChangedSince = "changed_since",
    }
}

/// A change of a file by a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileChange {
    /// The file, as tools show it: relative to the workspace if it is there.
    pub path: String,
    /// The turn in which it was changed; for a specialist, the turn that asked it.
    #[schemars(with = "String")]
    pub turn: TurnId,
    /// The tool.
    pub tool: String,
    /// When it was changed.
    #[serde(serialize_with = "crate::time::serialize")]
    pub at: Timestamp,
    /// What was done to it.
    pub kind: ChangeKind,
    /// How it is now.
    pub state: ChangeState,
}

/// The changes of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChanges {
    /// The changes, oldest first.
    pub changes: Vec<FileChange>,
    /// The files that were put back last and can be made again what the assistant made of them.
    pub redoable: Vec<String>,
}

words! {
    /// What happened to a file that was to be put back.
    pub enum PutBackOutcome {
        /// It has its earlier content.
        Restored = "restored",
        /// It did not exist before, and is removed.
        Removed = "removed",
        /// Later changes were taken back; earlier ones were not, because it was changed in between or its content is not kept.
        Partly = "partly",
        /// It was changed since, and is left alone.
        ChangedSince = "changed_since",
        /// It is as it was before already.
        Already = "already",
        /// What it was before is not kept: it was too large, or it is too long ago.
        NotKept = "not_kept",
        /// It could not be written.
        Failed = "failed",
    }
}

/// What happened to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FilePutBack {
    /// The file, as tools show it.
    pub path: String,
    /// What happened to it.
    pub outcome: PutBackOutcome,
    /// Why, if that is worth a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The changes of files by tools. `since` is when the session was created: earlier changes are those of a deleted one that had its id.
#[async_trait]
pub trait FileHistory: Send + Sync {
    /// Returns the changes of a session, those of its specialists included.
    async fn changes(&self, session: &SessionId, since: Timestamp) -> Result<FileChanges>;

    /// Takes back the changes of a session from a turn on, newest first, and tells what happened to each file. No turn of the
    /// session may run meanwhile.
    async fn put_back(
        &self,
        session: &SessionId,
        since: Timestamp,
        from: &TurnId,
    ) -> Result<Vec<FilePutBack>>;

    /// Makes the files that were put back last again what the assistant made of them. One for which that cannot be done any more is
    /// named, and not tried again.
    async fn redo(&self, session: &SessionId, since: Timestamp) -> Result<Vec<FilePutBack>>;

    /// Gives the changes of a session to another one: those from before `until`, if that is given.
    async fn hand_over(&self, from: &SessionId, to: &SessionId, until: Option<Timestamp>) -> Result<()>;

    /// Forgets the changes of a session, which stay as they are.
    async fn forget(&self, session: &SessionId) -> Result<()>;

    /// Returns the sessions with changes.
    async fn sessions(&self) -> Result<Vec<SessionId>>;

    /// Forgets changes that are too old.
    async fn sweep(&self) -> Result<()>;
}

/// For a program that keeps no changes.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFileHistory;

#[async_trait]
impl FileHistory for NoFileHistory {
    async fn changes(&self, _session: &SessionId, _since: Timestamp) -> Result<FileChanges> {
        Ok(FileChanges::default())
    }

    async fn put_back(
        &self,
        _session: &SessionId,
        _since: Timestamp,
        _from: &TurnId,
    ) -> Result<Vec<FilePutBack>> {
        Err(Error::unavailable("this program keeps no changes of files"))
    }

    async fn redo(&self, _session: &SessionId, _since: Timestamp) -> Result<Vec<FilePutBack>> {
        Err(Error::unavailable("this program keeps no changes of files"))
    }

    async fn hand_over(&self, _from: &SessionId, _to: &SessionId, _until: Option<Timestamp>) -> Result<()> {
        Ok(())
    }

    async fn forget(&self, _session: &SessionId) -> Result<()> {
        Ok(())
    }

    async fn sessions(&self) -> Result<Vec<SessionId>> {
        Ok(Vec::new())
    }

    async fn sweep(&self) -> Result<()> {
        Ok(())
    }
}
