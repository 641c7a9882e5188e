//! The context of a tool call.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::ids::{AgentName, SessionId, TurnId};
use crate::message::{Destination, ToolCall};
use crate::person::Person;
use crate::surface::{Surface, ToolPhase, ToolState, TurnEvent};
use crate::turn::{Trust, TurnContext};

/// The context of a tool call.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolContext {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The channel that brought the turn.
    pub channel: String,
    /// Its sender.
    pub sender: String,
    /// The person the turn is for.
    pub person: Person,
    /// Where the turn's reply is also delivered.
    pub reply_to: Option<Destination>,
    /// The agent that makes the call.
    pub agent: AgentName,
    /// Whether a stranger may have written the message that the turn answers.
    pub untrusted: bool,
    /// Where the turn is watched and questions are asked.
    pub surface: Arc<dyn Surface>,
    /// Set when the call has passed everything that may hold it back, so that whoever ends it knows whether it may have
    /// had an effect.
    pub has_begun: Arc<AtomicBool>,
    /// The most characters of output that are useful here.
    pub max_output_chars: usize,
    /// The call's id and the name of its tool; empty for a context without a call.
    call: Arc<(String, String)>,
}

impl ToolContext {
    /// The context for the calls of this turn.
    pub fn of(turn: &TurnContext, surface: Arc<dyn Surface>, max_output_chars: usize) -> Self {
        Self {
            session: turn.session.clone(),
            turn: turn.turn.clone(),
            channel: turn.channel.clone(),
            sender: turn.sender.clone(),
            person: turn.person.clone(),
            reply_to: turn.reply_to.clone(),
            agent: turn.agent.clone(),
            untrusted: turn.untrusted,
            surface,
            has_begun: Arc::default(),
            max_output_chars,
            call: Arc::default(),
        }
    }

    /// Returns how far the turn may go.
    pub fn trust(&self) -> Trust {
        Trust::of(&self.person, self.untrusted)
    }

    /// Returns whether the turn may view and change a job or a piece of work that was made for `whose`. `untrusted`:
    /// whether text from outside asked for it. A turn that such text began reaches what such text made, and nothing else
    /// of the owner's.
    pub fn may_see(&self, whose: &Person, untrusted: bool) -> bool {
        match self.trust() {
            Trust::Owner => true,
            Trust::Outside => whose.is_owner() && untrusted,
            Trust::Guest => self.person == *whose,
        }
    }

    /// The context for this call, which has not begun, whatever the others have.
    #[must_use]
    pub fn for_call(&self, call: &ToolCall) -> Self {
        let call = Arc::new((call.id.clone(), call.name.clone()));
        Self { has_begun: Arc::default(), call, ..self.clone() }
    }

    /// Shows the output so far to those who watch, replacing what was shown before. For display only: keep it short,
    /// remove what must not be seen, and call this at most a few times a second.
    pub fn show_output(&self, output: impl Into<String>) {
        let (call, name) = &*self.call;
        if call.is_empty() {
            return;
        }
        let state = ToolState {
            call: call.clone(),
            name: name.clone(),
            phase: ToolPhase::Running,
            input: None,
            output: Some(output.into()),
            blocks: Vec::new(),
            milliseconds: None,
        };
        self.surface.emit(&self.turn, TurnEvent::Tool(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Inbound;
    use crate::surface::Unattended;

    #[test]
    fn a_turn_sees_what_was_made_for_its_person_and_text_from_outside_what_such_text_made() {
        let (owner, ben) = (Person::default(), Person::member("ben").unwrap());
        let guest = Person::guest("telegram", "7");
        let made = [(&owner, false), (&owner, true), (&ben, false), (&guest, true)];
        for (person, outside, expected) in [
            (&owner, false, [true; 4]),
            (&owner, true, [false, true, false, false]),
            (&ben, false, [false, false, true, false]),
            (&ben, true, [false, false, true, false]),
            (&guest, true, [false, false, false, true]),
        ] {
            let inbound = Inbound::say(SessionId::of("webchat", "a").unwrap(), "x")
                .for_person(person.clone())
                .with_outside(outside);
            let turn = TurnContext::of(TurnId::existing("t"), &inbound);
            let context = ToolContext::of(&turn, Arc::new(Unattended), 1_000);
            let seen = made.map(|(whose, untrusted)| context.may_see(whose, untrusted));
            assert_eq!(seen, expected, "{person} {outside}");
        }
    }
}
