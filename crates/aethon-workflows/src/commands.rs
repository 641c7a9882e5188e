//! The entry point in front of the engine: recognises messages that are commands to the program, and passes all others on.
//!
//! A handler that claims a message prepares it before the engine has it, because its turn may begin before `submit`
//! returns. Whatever it changes for that is confirmed once the engine has accepted the message, and undone if the engine
//! refused it or had it already: a message that is not accepted changes nothing, and a second delivery does not count.

use std::sync::Arc;

use aethon_core::assistant::{ActiveTurn, Assistant, Posting, Submitted};
use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::Inbound;
use aethon_core::session::Clear;
use aethon_core::surface::Surface;
use async_trait::async_trait;

/// Recognises one kind of command.
#[async_trait]
pub trait CommandHandler: Send + Sync {
    /// Claims a message that is such a command, and rewrites it for the engine. Leaves all other messages unchanged.
    async fn claim(&self, inbound: &mut Inbound) -> Result<Option<Box<dyn Claim>>>;

    /// Ends what waits in a session that was emptied or removed.
    async fn forget(&self, _session: &SessionId) -> Result<()> {
        Ok(())
    }
}

/// The changes made for a claimed message. Exactly one of the two methods is called.
#[async_trait]
pub trait Claim: Send {
    /// Completes the command: this turn, which is new, works on it.
    async fn confirm(self: Box<Self>, turn: &TurnId) -> Result<()>;

    /// Restores the state before the command.
    async fn undo(self: Box<Self>) -> Result<()>;
}

/// A command that is done once its message is answered or rewritten: it changed nothing, or what it did may be done again,
/// so there is nothing to undo.
pub(crate) struct Answered;

#[async_trait]
impl Claim for Answered {
    async fn confirm(self: Box<Self>, _turn: &TurnId) -> Result<()> {
        Ok(())
    }

    async fn undo(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// An assistant with commands: the engine behind a list of handlers, of which the first that claims a message gets it.
pub struct Commands {
    engine: Arc<dyn Assistant>,
    handlers: Vec<Arc<dyn CommandHandler>>,
}

impl Commands {
    /// Puts these handlers, in this order, in front of an engine.
    pub fn new(engine: Arc<dyn Assistant>, handlers: Vec<Arc<dyn CommandHandler>>) -> Self {
        Self { engine, handlers }
    }

    async fn claim(&self, inbound: &mut Inbound) -> Result<Option<Box<dyn Claim>>> {
        for handler in &self.handlers {
            if let Some(claim) = handler.claim(inbound).await? {
                return Ok(Some(claim));
            }
        }
        Ok(None)
    }
}

#[async_trait]
impl Assistant for Commands {
    async fn submit(&self, mut inbound: Inbound, surface: Arc<dyn Surface>) -> Result<Submitted> {
        let claim = self.claim(&mut inbound).await?;
        let submitted = self.engine.submit(inbound, surface).await;
        let Some(claim) = claim else { return submitted };
        match &submitted {
            Ok(submitted) if submitted.is_new => claim.confirm(&submitted.turn).await?,
            Ok(_) | Err(_) => claim.undo().await?,
        }
        submitted
    }

    async fn stop(&self, session: &SessionId, turn: Option<&TurnId>) -> usize {
        self.engine.stop(session, turn).await
    }

    fn activity(&self) -> Vec<ActiveTurn> {
        self.engine.activity()
    }

    fn is_busy(&self, session: &SessionId) -> bool {
        self.engine.is_busy(session)
    }

    async fn clear(&self, session: &SessionId, how: Clear) -> Result<bool> {
        let cleared = self.engine.clear(session, how).await?;
        for handler in &self.handlers {
            handler.forget(session).await?;
        }
        Ok(cleared)
    }

    async fn post(&self, session: &SessionId, key: &str, posting: &Posting) -> Result<bool> {
        self.engine.post(session, key, posting).await
    }
}
