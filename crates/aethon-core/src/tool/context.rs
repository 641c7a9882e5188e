//! What a call knows about where it happens.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::ids::{AgentName, SessionId, TurnId};
use crate::surface::Surface;
use crate::turn::TurnContext;

/// What a call knows about where it happens.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolContext {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The channel that brought the turn.
    pub channel: String,
    /// Who sent it.
    pub sender: String,
    /// The agent that makes the call.
    pub agent: AgentName,
    /// Who watches the turn and may be asked.
    pub surface: Arc<dyn Surface>,
    /// Set when the call has got past everything that may hold it back, so that who ends it knows whether it may have had
    /// an effect.
    pub has_begun: Arc<AtomicBool>,
    /// The most characters of output that make sense here.
    pub max_output_chars: usize,
}

impl ToolContext {
    /// The context of the calls of this turn.
    pub fn of(turn: &TurnContext, surface: Arc<dyn Surface>, max_output_chars: usize) -> Self {
        Self {
            session: turn.session.clone(),
            turn: turn.turn.clone(),
            channel: turn.channel.clone(),
            sender: turn.sender.clone(),
            agent: turn.agent.clone(),
            surface,
            has_begun: Arc::default(),
            max_output_chars,
        }
    }

    /// The context of one more call: it has not begun, whatever the others have.
    #[must_use]
    pub fn for_next_call(&self) -> Self {
        Self { has_begun: Arc::default(), ..self.clone() }
    }
}
