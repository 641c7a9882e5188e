//! What was allowed and what was refused, for the owner to look up later: who, where, how, and what it was about.
//!
//! Rows are written in words and bounded before they are stored. Secrets are taken out by whoever writes one.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::error::Result;
use crate::ids::{SessionId, TurnId};

/// The most characters of a row's detail.
pub const LONGEST_DETAIL: usize = 4_000;

/// How many rows a storage keeps; the oldest ones go.
pub const MOST_ROWS: u32 = 20_000;

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditEntry {
    /// When it happened.
    #[serde(serialize_with = "crate::time::serialize")]
    pub at: Timestamp,
    /// What kind of thing happened.
    pub action: AuditAction,
    /// What it was about, such as a tool.
    pub subject: String,
    /// How it came out, a stable word: `approve`, `deny`, `refused`, ...
    pub outcome: String,
    /// Who or what decided, and where: `the chat page`, `a rule`, ...
    pub by: String,
    /// What there is to know besides, such as the arguments.
    pub detail: String,
    /// The conversation, where it belongs to one.
    pub session_id: Option<SessionId>,
    /// The turn, where it belongs to one.
    pub turn: Option<TurnId>,
}

/// What kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditAction {
    /// A person was asked before a tool ran.
    Approval,
    /// A rule refused a tool call.
    Refusal,
    /// Something was allowed for the rest of a conversation, or that was taken back.
    Grant,
    /// A tool was added or removed while the program ran.
    Tools,
    /// A browser signed in or out.
    SignIn,
    /// Somebody came with a wrong token.
    Access,
    /// Something that was kept was removed.
    Deletion,
    /// The configuration was changed.
    Config,
    /// A secret of the home was stored or removed; never its value.
    Secret,
    /// Somebody was let in to a messenger.
    Pairing,
}

impl AuditAction {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Approval,
        Self::Refusal,
        Self::Grant,
        Self::Tools,
        Self::SignIn,
        Self::Access,
        Self::Deletion,
        Self::Config,
        Self::Secret,
        Self::Pairing,
    ];

    /// Its stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Refusal => "refusal",
            Self::Grant => "grant",
            Self::Tools => "tools",
            Self::SignIn => "sign_in",
            Self::Access => "access",
            Self::Deletion => "deletion",
            Self::Config => "config",
            Self::Secret => "secret",
            Self::Pairing => "pairing",
        }
    }

    /// The action of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == word)
    }
}

impl AuditEntry {
    /// A row about this subject, with nothing else to know.
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

    /// Decided by this person or rule.
    #[must_use]
    pub fn by(self, by: impl Into<String>) -> Self {
        Self { by: by.into(), ..self }
    }

    /// In this turn of this conversation.
    #[must_use]
    pub fn within(self, session: &SessionId, turn: &TurnId) -> Self {
        Self { session_id: Some(session.clone()), turn: Some(turn.clone()), ..self }
    }

    /// With this to know besides, as much of it as a row takes.
    #[must_use]
    pub fn with_detail(self, detail: &str) -> Self {
        let short: String = detail.chars().take(LONGEST_DETAIL).collect();
        let rest = if short.len() < detail.len() { "…" } else { "" };
        Self { detail: short + rest, ..self }
    }
}

/// Where rows are kept.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Keeps a row.
    async fn record(&self, entry: AuditEntry) -> Result<()>;

    /// The newest rows, newest first.
    async fn newest(&self, limit: usize) -> Result<Vec<AuditEntry>>;

    /// The newest rows of one kind, newest first.
    async fn newest_of(&self, action: AuditAction, limit: usize) -> Result<Vec<AuditEntry>>;
}

/// How many rows wait to be kept at most.
const MOST_WAITING: usize = 256;

/// The way to the audit for those who must not wait for the storage: doors, which answer whether or not something can be
/// stored. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AuditTrail(mpsc::Sender<AuditEntry>);

impl AuditTrail {
    /// A trail, and where its rows come out for whoever keeps them.
    pub fn new() -> (Self, mpsc::Receiver<AuditEntry>) {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        (Self(sender), receiver)
    }

    /// Notes a row. `false` when it will not be kept: too many wait, or nobody keeps them.
    pub fn note(&self, entry: AuditEntry) -> bool {
        self.0.try_send(entry).is_ok()
    }
}

/// Keeps nothing: for embedders and tests that do not look.
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
