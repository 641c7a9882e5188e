//! The assistant of all instances: what is stopped or removed here, is so wherever it runs.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::{ActiveTurn, Assistant, Posting, Submitted};
use aethon_core::error::{Error, Result};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::Inbound;
use aethon_core::session::{Clear, Transcripts};
use aethon_core::surface::Surface;
use async_trait::async_trait;

use super::asking::Asking;
use super::news::{Asked, Done};
use super::state::Others;

/// How long another instance may take to say that it has stopped a turn.
const STOP: Duration = Duration::from_secs(1);

/// How long the turns of a session may take to end elsewhere. A little longer than they may take there.
const QUIET: Duration = Duration::from_secs(6);

/// The assistant of this instance, in front of those of the others.
pub(super) struct Everywhere {
    pub(super) here: Arc<dyn Assistant>,
    pub(super) others: Arc<Others>,
    pub(super) asking: Arc<Asking>,
    pub(super) transcripts: Arc<dyn Transcripts>,
}

#[async_trait]
impl Assistant for Everywhere {
    async fn submit(&self, inbound: Inbound, surface: Arc<dyn Surface>) -> Result<Submitted> {
        self.here.submit(inbound, surface).await
    }

    async fn stop(&self, session: &SessionId, turn: Option<&TurnId>) -> usize {
        let here = self.here.stop(session, turn).await;
        if turn.is_some() && here > 0 {
            return here;
        }
        let asked = Asked::Stop { session: session.clone(), turn: turn.cloned() };
        let told = self.asking.ask(self.others.alive(), asked, STOP).await;
        here + told.iter().map(|done| if let Done::Stopped(count) = done { *count } else { 0 }).sum::<usize>()
    }

    fn activity(&self) -> Vec<ActiveTurn> {
        self.here.activity()
    }

    fn is_busy(&self, session: &SessionId) -> bool {
        self.here.is_busy(session) || self.others.is_busy(session)
    }

    async fn clear(&self, session: &SessionId, how: Clear) -> Result<bool> {
        if let Clear::DeleteIf(expected) = &how {
            // Turns are not stopped without need.
            let present = self.transcripts.session(session).await?;
            expected.check(|| present.map(|present| present.version()))?;
        }
        let asked = Asked::Quiet { session: session.clone() };
        // One that does not answer is gone, or so slow that the storage ends its turn when it writes.
        if self.asking.ask(self.others.alive(), asked, QUIET).await.contains(&Done::Quiet(false)) {
            return Err(Error::full("the session is still busy; try again in a moment"));
        }
        self.here.clear(session, how).await
    }

    async fn post(&self, session: &SessionId, key: &str, posting: &Posting) -> Result<bool> {
        self.here.post(session, key, posting).await
    }
}
