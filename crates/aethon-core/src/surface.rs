//! Those who watch a turn: a browser tab, a terminal, or no one.
//!
//! A surface travels with the turn, so "no one can answer here: denied" is a value ([`Unattended`]) and not a branch
//! somewhere in the engine. Events are for showing; nothing of the turn depends on their arrival.

use std::sync::Arc;

use serde_json::Value;

use crate::agents::Caller;
use crate::approval::{ApprovalRequest, Resolution};
use crate::ids::{SessionId, TurnId};
use crate::message::Reply;
use crate::model::Usage;
use crate::tool::OutputBlock;
use crate::words::words;

/// The near end of a turn.
pub trait Surface: Send + Sync {
    /// Shows an event. Must not block; may drop events that are not read.
    fn emit(&self, turn: &TurnId, event: TurnEvent);

    /// Returns whether a person can answer approval requests here, through
    /// [`PendingApprovals`](crate::approval::PendingApprovals). If not, they are denied at once.
    fn is_attended(&self) -> bool;

    /// Returns the turn that called this one, if it is a specialist's: the outermost, should one call another.
    fn caller(&self) -> Option<Caller> {
        None
    }
}

/// The watchers of sessions. They saw nothing of a turn that another program has run.
pub trait SessionWatchers: Send + Sync {
    /// Returns whether any session is being watched.
    fn has_watchers(&self) -> bool;

    /// Returns the surface for the end of a turn that another program ran; `None` if the session is not watched, or the end
    /// was shown already.
    fn watcher_of(&self, session: &SessionId, turn: &TurnId) -> Option<Arc<dyn Surface>>;
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
    /// The text since the last tool call was no part of the answer; those who show it take it back.
    TextWithdrawn,
    /// More of the reasoning of the model.
    Reasoning(String),
    /// The reasoning so far is complete.
    ReasoningDone {
        /// How long it took in milliseconds.
        ms: u64,
    },
    /// A picture that the model made, complete.
    Image {
        /// Its media type.
        mime: String,
        /// The bytes in standard base64.
        data: String,
    },
    /// A tool call changed its state.
    Tool(ToolState),
    /// An approval is requested. `/api/approvals` can answer too.
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

words! {
    /// The phases of a tool call.
    pub enum ToolPhase {
        /// It has begun (or waits for an approval).
        Running = "running",
        /// It succeeded.
        Ok = "ok",
        /// It failed.
        Error = "error",
        /// A rule or a person refused it.
        Denied = "denied",
    }
}

/// No one watches or can answer: webhooks, jobs, the plain WebSocket.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unattended;

impl Surface for Unattended {
    fn emit(&self, _turn: &TurnId, _event: TurnEvent) {}

    fn is_attended(&self) -> bool {
        false
    }
}
