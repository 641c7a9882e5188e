//! The context of a tool call.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use async_trait::async_trait;

use super::question::{Question, QuestionAnswer};
use crate::ids::{AgentName, SessionId, TurnId};
use crate::message::{Destination, ToolCall};
use crate::model::ModelRequest;
use crate::person::Person;
use crate::surface::{Surface, ToolPhase, ToolState, TurnEvent};
use crate::turn::{Trust, TurnContext};

/// Asks the person of a turn.
#[async_trait]
pub trait Questions: Send + Sync {
    /// Asks, and waits for the answer.
    async fn ask(&self, context: &ToolContext, question: Question) -> QuestionAnswer;
}

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
    /// Whether the conversation is for this turn alone, so that no one comes back to it.
    pub is_oneshot: bool,
    /// Where the turn is watched and questions are asked.
    pub surface: Arc<dyn Surface>,
    /// Set when the call has passed everything that may hold it back, so that whoever ends it knows whether it may have
    /// had an effect.
    pub has_begun: Arc<AtomicBool>,
    /// The most characters of output that are useful here.
    pub max_output_chars: usize,
    call: Arc<CallIdentity>,
    /// The window of the model that made this call before a restart.
    seen: Option<Arc<ModelRequest>>,
    /// Asks the person, while a call runs.
    questions: Option<Arc<dyn Questions>>,
}

/// Which call a context is for. Its texts are empty for a context without a call.
#[derive(Default)]
struct CallIdentity {
    id: String,
    tool: String,
    /// Whether it may have run before.
    is_again: bool,
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
            is_oneshot: turn.is_oneshot,
            surface,
            has_begun: Arc::default(),
            max_output_chars,
            call: Arc::default(),
            seen: None,
            questions: None,
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
        self.with_call(call, false)
    }

    /// The context for a call that a restart has cut off and that runs again.
    #[must_use]
    pub fn for_repeated_call(&self, call: &ToolCall) -> Self {
        self.with_call(call, true)
    }

    fn with_call(&self, call: &ToolCall, is_again: bool) -> Self {
        let call = CallIdentity { id: call.id.clone(), tool: call.name.clone(), is_again };
        Self { has_begun: Arc::default(), call: Arc::new(call), seen: None, ..self.clone() }
    }

    /// Sets the window of the model that made this call before a restart. No request goes to it before the call, so whoever
    /// judges the call by what the model has seen looks here.
    #[must_use]
    pub fn having_seen(self, request: Arc<ModelRequest>) -> Self {
        Self { seen: Some(request), ..self }
    }

    /// Returns the window of the model that made this call, if the call runs again.
    pub fn seen(&self) -> Option<&ModelRequest> {
        self.seen.as_deref()
    }

    /// Returns whether this call may have run before, and had its effect.
    pub fn is_again(&self) -> bool {
        self.call.is_again
    }

    /// Returns 32 hexadecimal digits that name this call: the same when it runs again, and others for any other call of any
    /// turn, because each call of a turn has an id of its own. `None` for a context without a call.
    pub fn call_key(&self) -> Option<String> {
        let call = &self.call.id;
        let hash = |seed: u64| {
            let bytes = self.turn.as_str().bytes().chain([0]).chain(call.bytes());
            // FNV-1a, because the name must be the same in the next version of the program.
            bytes.fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
        };
        (!call.is_empty())
            .then(|| format!("{:016x}{:016x}", hash(0xcbf2_9ce4_8422_2325), hash(0x8422_2325_cbf2_9ce4)))
    }

    /// Sets who asks the person.
    #[must_use]
    pub fn asking_with(&self, questions: Arc<dyn Questions>) -> Self {
        Self { questions: Some(questions), ..self.clone() }
    }

    /// Asks the person of the turn something that the call needs to know. Without a person, the question is declined.
    pub async fn ask(&self, question: Question) -> QuestionAnswer {
        match &self.questions {
            Some(questions) if self.surface.is_attended() => questions.ask(self, question).await,
            _ => QuestionAnswer::Declined,
        }
    }

    /// Returns the name of the tool that is called; empty for a context without a call.
    pub fn tool_name(&self) -> &str {
        &self.call.tool
    }

    /// Shows the output so far to those who watch, replacing what was shown before. For display only: keep it short,
    /// remove what must not be seen, and call this at most a few times a second.
    pub fn show_output(&self, output: impl Into<String>) {
        let CallIdentity { id: call, tool: name, .. } = &*self.call;
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
    use serde_json::Value;

    use super::*;
    use crate::message::Inbound;
    use crate::surface::Unattended;

    #[test]
    fn repeated_call_keeps_its_key_and_others_differ() {
        let call = |id: &str| ToolCall { id: id.into(), name: "x".into(), input: Value::Null, opaque: None };
        let of_turn = |turn: &str| {
            let inbound = Inbound::say(crate::ids::SessionId::parse("webchat:a").unwrap(), "x");
            let turn = TurnContext::of(crate::ids::TurnId::existing(turn), &inbound);
            ToolContext::of(&turn, Arc::new(Unattended), 12_000)
        };
        let first = of_turn("t").for_call(&call("1"));
        let again = of_turn("t").for_repeated_call(&call("1"));
        assert_eq!(first.call_key(), again.call_key());
        assert_eq!(first.call_key().unwrap().len(), 32);
        assert_eq!((first.is_again(), again.is_again()), (false, true));
        assert_ne!(first.call_key(), of_turn("t").for_call(&call("2")).call_key());
        assert_ne!(first.call_key(), of_turn("u").for_call(&call("1")).call_key());
        assert_eq!(of_turn("t").call_key(), None);
    }

    #[test]
    fn turn_sees_items_of_its_person_and_outside_turn_its_own() {
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
