//! The context of a turn: its session, who brought it and which agent works on it.
//!
//! The engine builds it from the inbound message. Hooks see it directly; a tool gets it as part of its
//! [`crate::tool::ToolContext`]. [`Trust`] says how far a turn may go; it follows from whose words began it, and not from
//! what the turn reads later (that is taint).

use crate::ids::{AgentName, SessionId, TurnId};
use crate::ledger::WorkKind;
use crate::message::{Destination, Inbound};
use crate::person::Person;
pub use crate::trust::Trust;

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
    /// Whether its conversation is for this turn alone: a run of a job, a step of work. No one comes back to it.
    pub is_oneshot: bool,
}

impl TurnContext {
    /// The context of a turn that answers this message.
    pub fn of(turn: TurnId, inbound: &Inbound) -> Self {
        Self {
            session: inbound.session.clone(),
            turn,
            channel: inbound.channel.clone(),
            sender: inbound.sender.clone(),
            person: inbound.behalf.person.clone(),
            reply_to: inbound.deliver_to.clone(),
            agent: inbound.agent.clone(),
            kind: inbound.kind,
            untrusted: inbound.is_from_outside(),
            is_oneshot: inbound.oneshot,
        }
    }

    /// Returns how far the turn may go.
    pub fn trust(&self) -> Trust {
        Trust::of(&self.person, self.untrusted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SessionId;

    #[test]
    fn trust_follows_from_whose_words_began_the_turn() {
        let say = || Inbound::say(SessionId::of("webchat", "a").unwrap(), "hi");
        let ben = Person::member("ben").unwrap();
        for (inbound, expected) in [
            (say(), Trust::Owner),
            (say().via("webhook"), Trust::Outside),
            (say().with_untrusted(true), Trust::Outside),
            (say().with_outside(true), Trust::Outside),
            (say().for_person(ben), Trust::Guest),
            (say().for_person(Person::everybody()), Trust::Guest),
            (say().for_person(Person::guest("telegram", "1")).with_untrusted(true), Trust::Guest),
        ] {
            let turn = TurnContext::of(TurnId::existing("t"), &inbound);
            assert_eq!((turn.trust(), inbound.trust()), (expected, expected), "{inbound:?}");
        }
    }
}
