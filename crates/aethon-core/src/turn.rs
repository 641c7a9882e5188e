//! The context of a turn: its session, who brought it and which agent works on it.
//!
//! The engine builds it from the inbound message. Hooks see it directly; a tool gets it as part of its
//! [`crate::tool::ToolContext`]. [`Trust`] says how far a turn may go; it follows from whose words began it, and not from
//! what the turn reads later (that is taint).

use crate::ids::{AgentName, SessionId, TurnId};
use crate::ledger::WorkKind;
use crate::message::{Destination, Inbound};
use crate::person::Person;

/// How far a turn may go, by whose words began it. A job, a piece of work and a specialist's turn have the trust of the turn
/// that asked for them. Ordered from least to most restricted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trust {
    /// The owner's own words.
    Owner,
    /// Text from outside that is handled for the owner, such as a webhook's payload. The turn may act, but changes nothing
    /// that acts later: no page, SOP, agent, skill, memory or setting, and few jobs.
    Outside,
    /// The words of somebody who is not the owner: a guest, a member of the household, a group. In addition to the limits
    /// of [`Trust::Outside`], the turn reaches only the workspace, and only the tools that the owner opened.
    Guest,
}

impl Trust {
    /// The trust of a turn that acts for this person. `untrusted`: whether a stranger may have written its message.
    pub fn of(person: &Person, untrusted: bool) -> Self {
        match (person.is_owner(), untrusted) {
            (false, _) => Self::Guest,
            (true, true) => Self::Outside,
            (true, false) => Self::Owner,
        }
    }

    /// Returns whether the owner's own words began the turn.
    pub fn is_owner(self) -> bool {
        self == Self::Owner
    }
}

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
            person: inbound.behalf.person.clone(),
            reply_to: inbound.deliver_to.clone(),
            agent: inbound.agent.clone(),
            kind: inbound.kind,
            untrusted: inbound.is_from_outside(),
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
