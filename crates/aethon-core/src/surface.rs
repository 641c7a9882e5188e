//! Who watches a turn and may be asked: a browser tab, a terminal, nobody.
//!
//! A surface travels with the turn, so "nobody can answer here: denied" is a value ([`Unattended`]) and not a branch
//! somewhere in the engine. Events are for showing; nothing of the turn depends on their arrival.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::approval::{ApprovalRequest, Decision, Resolution};
use crate::ids::{SessionId, TurnId};
use crate::message::Reply;
use crate::model::Usage;
use crate::tool::OutputBlock;

/// The near end of a turn.
#[async_trait]
pub trait Surface: Send + Sync {
    /// Shows what happens. Must not block; may drop what nobody reads.
    fn emit(&self, turn: &TurnId, event: TurnEvent);

    /// Puts a question to the person and waits for the answer. `None`: nobody can answer here, which denies at once. A
    /// surface whose people answer through [`PendingApprovals`](crate::approval::PendingApprovals) never resolves. The
    /// engine bounds the wait and drops the future when the turn ends, or when an answer arrives there, first.
    async fn decide(&self, request: &ApprovalRequest) -> Option<Decision>;
}

/// Those who look at sessions, whoever speaks in them. A turn that another program has run told them nothing.
pub trait Onlookers: Send + Sync {
    /// Whether anybody looks at any session.
    fn is_anybody_there(&self) -> bool;

    /// Who is to hear of the end of a turn that another program ran; `None` where nobody looks, or it was told already.
    fn of_ended(&self, session: &SessionId, turn: &TurnId) -> Option<Arc<dyn Surface>>;
}

/// What happens in a turn, in order.
#[derive(Debug, Clone)]
pub enum TurnEvent {
    /// It left the queue.
    Started,
    /// Another model than the configured one answers.
    Model {
        /// Which one.
        model: String,
        /// Why, as a sentence.
        reason: String,
    },
    /// More of the answer, Markdown.
    Text(String),
    /// More of what the model thinks.
    Reasoning(String),
    /// A tool call changed its state.
    Tool(ToolState),
    /// Somebody is asked. `/api/approvals` can answer too.
    Approval(ApprovalRequest),
    /// The question is settled.
    ApprovalDone {
        /// Which one.
        id: String,
        /// How the question was answered, and by whom.
        resolution: Resolution,
        /// The arguments that run in the place of those that were shown, where the person has changed them.
        edited: Option<Value>,
    },
    /// Tokens and cost so far, the sum over the turn's requests.
    Usage(Usage),
    /// Older messages were folded: the model now sees a summary of them, and the transcript keeps them.
    Folded {
        /// How many.
        messages: u64,
        /// The id of the first of them.
        from: String,
        /// The id of the last of them.
        to: String,
        /// What stands in their place.
        summary: String,
    },
    /// Something the person should know.
    Notice {
        /// A stable word.
        code: String,
        /// A sentence.
        message: String,
    },
    /// The turn is over and stored. Always the last event, sent exactly once.
    Done(Arc<Reply>),
}

/// Where a tool call stands.
#[derive(Debug, Clone)]
pub struct ToolState {
    /// The call's id.
    pub call: String,
    /// The tool's name.
    pub name: String,
    /// Running or how it ended.
    pub phase: ToolPhase,
    /// The arguments; with the first `Running`.
    pub input: Option<Value>,
    /// The result; at the end. With a later `Running`, the end of what came so far, in place of what was shown before.
    pub output: Option<String>,
    /// The pictures and files that it returned besides; at the end.
    pub blocks: Vec<OutputBlock>,
    /// How long it took, in milliseconds; at the end.
    pub milliseconds: Option<u64>,
}

/// The phases of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolPhase {
    /// It has begun (or waits for an approval).
    Running,
    /// It succeeded.
    Ok,
    /// It failed.
    Error,
    /// A rule or a person refused it.
    Denied,
}

impl ToolPhase {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Denied => "denied",
        }
    }
}

/// Nobody watches and nobody can answer: webhooks, jobs, the plain WebSocket.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unattended;

#[async_trait]
impl Surface for Unattended {
    fn emit(&self, _turn: &TurnId, _event: TurnEvent) {}

    async fn decide(&self, _request: &ApprovalRequest) -> Option<Decision> {
        None
    }
}
