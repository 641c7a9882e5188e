//! The context of a turn: its session, who brought it and which agent works on it.
//!
//! The engine builds it from the inbound message. Hooks see it directly; a tool gets it as part of its
//! [`crate::tool::ToolContext`].

use crate::ids::{AgentName, SessionId, TurnId};
use crate::ledger::WorkKind;
use crate::message::{Destination, Inbound};
use crate::person::Person;

/// What hooks and tools know about a turn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnContext {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The channel that brought it.
    pub channel: String,
    /// Its sender.
    pub sender: String,
    /// The person it is for.
    pub person: Person,
    /// Where its reply is also delivered.
    pub reply_to: Option<Destination>,
    /// The agent that works on it.
    pub agent: AgentName,
    /// What kind of work it is.
    pub kind: WorkKind,
    /// Whether a stranger may have written the message that it answers.
    pub untrusted: bool,
}

impl TurnContext {
    /// The context of a turn that answers this message.
    pub fn of(turn: TurnId, inbound: &Inbound) -> Self {
        Self {
            session: inbound.session.clone(),
            turn,
            channel: inbound.channel.clone(),
            sender: inbound.sender.clone(),
            person: inbound.person.clone(),
            reply_to: inbound.deliver_to.clone(),
            agent: inbound.agent.clone(),
            kind: inbound.kind,
            untrusted: inbound.is_from_outside(),
        }
    }
}
