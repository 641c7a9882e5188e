//! Requests for approval, and the answers.

use crate::ids::{SessionId, TurnId};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A decision to be made by a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Approval")]
pub struct ApprovalRequest {
    /// Its id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The exact arguments that will be used.
    pub input: Value,
    /// What would happen, in one line.
    pub summary: String,
    /// What the tool would change, as a diff, if it can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Why approval is needed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What an answer for the rest of the conversation would allow, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session_scope: String,
    /// The session of the turn that asks.
    pub session_id: SessionId,
    /// The turn that asks.
    pub turn: TurnId,
    /// When it was asked.
    #[serde(serialize_with = "crate::time::serialize")]
    pub created_at: Timestamp,
    /// When it counts as denied.
    #[serde(serialize_with = "crate::time::serialize")]
    pub expires_at: Timestamp,
}

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Decision {
    /// Run it once, with these arguments.
    Approve,
    /// Do not run it.
    Deny,
}

/// How a request was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    /// The outcome.
    pub decision: Decision,
    /// Who or what settled it.
    pub reason: ResolutionReason,
}

/// Who or what settled a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolutionReason {
    /// A person.
    User,
    /// Time ran out, or there was no one who could have been asked in time: no person, or too many open requests.
    Timeout,
    /// The turn was stopped first.
    Stopped,
}

/// A person's answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether it may run.
    pub decision: Decision,
    /// How long an approval is valid.
    pub scope: Scope,
    /// Different arguments to run it with; only with an approval.
    pub input: Option<Value>,
    /// Who answered and through which door, in words, such as `the chat page`.
    pub by: String,
    /// Whether no person was asked: a program that has none to ask denied it.
    pub is_unasked: bool,
}

/// How long an approval is valid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Scope {
    /// For this call.
    #[default]
    Once,
    /// For the rest of the conversation, for calls of the same [`Pattern`](super::Pattern).
    Session,
}

impl Answer {
    /// A plain answer: once, with the arguments as they are.
    pub fn new(decision: Decision) -> Self {
        Self { decision, scope: Scope::Once, input: None, by: String::new(), is_unasked: false }
    }

    /// A denial by a program that has no person to ask.
    pub fn unasked() -> Self {
        Self { is_unasked: true, ..Self::new(Decision::Deny) }
    }

    /// Sets who answered, and through which door.
    #[must_use]
    pub fn by(self, by: impl Into<String>) -> Self {
        Self { by: by.into(), ..self }
    }

    /// Sets how long an approval is valid.
    #[must_use]
    pub fn scoped(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Sets the arguments as the person changed them.
    #[must_use]
    pub fn with_input(self, input: Option<Value>) -> Self {
        Self { input, ..self }
    }
}

impl From<Decision> for Answer {
    fn from(decision: Decision) -> Self {
        Self::new(decision)
    }
}

/// Why an answer did not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerError {
    /// There is no such request, or no longer.
    #[error("there is no such open approval; it may be settled already")]
    Unknown,
    /// The changed arguments break a rule; the request is still open.
    #[error("{0}")]
    Refused(String),
}
