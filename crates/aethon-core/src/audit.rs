//! The audit log: permissions and refusals, for the owner to look up later, with actor, place, way and subject.
//!
//! Rows are plain words. Whoever builds one states the whole. The log that the facade puts in front of its storage removes secrets
//! and cuts the row afterwards: a row that was cut first would keep most of a secret that stands at the cut.

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::error::Result;
use crate::ids::{SessionId, TurnId};
use crate::words::words;

/// The most characters of each text of a stored row.
pub const MAX_DETAIL: usize = 4_000;

/// How many rows a storage keeps; the oldest are dropped.
pub const MAX_ROWS: u32 = 20_000;

/// How many of them may be of kinds that strangers cause ([`AuditAction::is_causable`]). The rest is kept for what the owner
/// decided and changed, so that a flood of refusals pushes none of it out.
pub const MAX_CAUSED: u32 = MAX_ROWS - MAX_ROWS / 4;

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditEntry {
    /// When it happened.
    #[serde(serialize_with = "crate::time::serialize")]
    pub at: Timestamp,
    /// What kind of thing happened.
    pub action: AuditAction,
    /// Its subject, such as a tool.
    pub subject: String,
    /// The outcome, a stable word: `approve`, `deny`, `refused`, ...
    pub outcome: String,
    /// Who or what decided, and where: `the chat page`, `a rule`, ...
    pub by: String,
    /// Further information, such as the arguments.
    pub detail: String,
    /// The conversation, if it belongs to one.
    pub session_id: Option<SessionId>,
    /// The turn, if it belongs to one.
    pub turn: Option<TurnId>,
}

words! {
    from_word:
    /// What kind of thing happened.
    pub enum AuditAction {
        /// A person decided about a tool call.
        Approval = "approval",
        /// A rule refused a tool call.
        Refusal = "refusal",
        /// Something was allowed for the rest of a conversation, or that was revoked.
        Grant = "grant",
        /// A tool was added or removed while the program ran.
        Tools = "tools",
        /// A browser signed in or out.
        SignIn = "sign_in",
        /// A client presented a wrong token.
        Access = "access",
        /// Stored data was removed.
        Deletion = "deletion",
        /// The configuration was changed.
        Config = "config",
        /// A secret in the home was stored or removed; its value is never included.
        Secret = "secret",
        /// A sender was granted access through a messenger.
        Pairing = "pairing",
        /// A backup was made, or a home restored from one.
        Backup = "backup",
        /// A command started to run in the background, or ended there.
        Command = "command",
        /// Changes of files by tools were taken back, or made again.
        Files = "files",
    }
}

impl AuditAction {
    /// Returns whether strangers add such rows without anybody's decision, as many as they send requests and calls.
    pub fn is_causable(self) -> bool {
        matches!(self, Self::Refusal | Self::Access)
    }
}

impl AuditEntry {
    /// A row about this subject, with no detail.
    pub fn new(
        at: Timestamp,
        action: AuditAction,
        subject: impl Into<String>,
        outcome: impl Into<String>,
    ) -> Self {
        Self {
            at,
            action,
            subject: subject.into(),
            outcome: outcome.into(),
            by: String::new(),
            detail: String::new(),
            session_id: None,
            turn: None,
        }
    }

    /// Sets who decided.
    #[must_use]
    pub fn by(self, by: impl Into<String>) -> Self {
        Self { by: by.into(), ..self }
    }

    /// Sets the conversation.
    #[must_use]
    pub fn in_session(self, session: &SessionId) -> Self {
        Self { session_id: Some(session.clone()), ..self }
    }

    /// Sets the conversation and the turn.
    #[must_use]
    pub fn within(self, session: &SessionId, turn: &TurnId) -> Self {
        Self { session_id: Some(session.clone()), turn: Some(turn.clone()), ..self }
    }

    /// Sets the detail, whole.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..self }
    }
}

/// Stores audit rows.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Stores a row.
    async fn record(&self, entry: AuditEntry) -> Result<()>;

    /// Returns the newest rows, newest first.
    async fn newest(&self, limit: usize) -> Result<Vec<AuditEntry>>;

    /// Returns the newest rows of one kind, newest first.
    async fn newest_of(&self, action: AuditAction, limit: usize) -> Result<Vec<AuditEntry>>;
}

/// The most rows that may wait to be stored.
const MAX_WAITING: usize = 256;

/// The path to the audit log for callers that must not wait for the storage: doors, which answer whether or not
/// something can be stored. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AuditTrail(mpsc::Sender<AuditEntry>);

impl AuditTrail {
    /// Creates a trail, and the receiver for the task that stores its rows.
    pub fn new() -> (Self, mpsc::Receiver<AuditEntry>) {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        (Self(sender), receiver)
    }

    /// Queues a row. `false` if it will not be stored: too many are waiting, or no task stores them.
    pub fn note(&self, entry: AuditEntry) -> bool {
        self.0.try_send(entry).is_ok()
    }
}

/// Stores nothing: for embedders and tests that need no audit.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAudit;

#[async_trait]
impl AuditLog for NoAudit {
    async fn record(&self, _entry: AuditEntry) -> Result<()> {
        Ok(())
    }

    async fn newest(&self, _limit: usize) -> Result<Vec<AuditEntry>> {
        Ok(Vec::new())
    }

    async fn newest_of(&self, _action: AuditAction, _limit: usize) -> Result<Vec<AuditEntry>> {
        Ok(Vec::new())
    }
}
