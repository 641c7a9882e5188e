//! An assistant that remembers what it is given and never answers, and a way out whose words can be read.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;

use crate::assistant::{ActiveTurn, Assistant, PendingReply, Posting, Submitted};
use crate::channel::{Courier, NewDelivery};
use crate::error::{Error, Result};
use crate::ids::{SessionId, TurnId};
use crate::message::Inbound;
use crate::session::Clear;
use crate::surface::Surface;

/// Remembers every message that it is given. One with an id that came before is offered, and not new. Its turns run until they
/// are stopped.
#[derive(Default)]
pub struct CollectingAssistant(Mutex<Collected>);

#[derive(Default)]
struct Collected {
    inbound: Vec<Inbound>,
    surface: Option<Arc<dyn Surface>>,
    known: BTreeSet<String>,
    refusals: u32,
    active: Vec<ActiveTurn>,
}

impl CollectingAssistant {
    /// The ids under which it came, of what was new and had one.
    pub fn dedupe_ids(&self) -> Vec<String> {
        let collected = self.collected();
        collected.inbound.iter().filter_map(|inbound| Some(inbound.dedupe.as_ref()?.id.clone())).collect()
    }

    /// What was new, in the order in which it came.
    pub fn inbound(&self) -> Vec<Inbound> {
        self.collected().inbound.clone()
    }

    /// The texts of what was new.
    pub fn texts(&self) -> Vec<String> {
        self.collected().inbound.iter().map(|inbound| inbound.text.clone()).collect()
    }

    /// How many messages were new.
    pub fn count(&self) -> usize {
        self.collected().inbound.len()
    }

    /// The first message, if there was any.
    pub fn first(&self) -> Option<Inbound> {
        self.collected().inbound.first().cloned()
    }

    /// The last message that was new, if there was any.
    pub fn last(&self) -> Option<Inbound> {
        self.collected().inbound.last().cloned()
    }

    /// The surface of the last message that was new.
    pub fn surface(&self) -> Option<Arc<dyn Surface>> {
        self.collected().surface.clone()
    }

    /// Forgets the messages, but not their ids; returns them.
    pub fn take(&self) -> Vec<Inbound> {
        std::mem::take(&mut self.collected().inbound)
    }

    /// Takes none of the next messages, as when nothing can be stored.
    pub fn refuse(&self, count: u32) {
        self.collected().refusals = count;
    }

    fn collected(&self) -> MutexGuard<'_, Collected> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Assistant for CollectingAssistant {
    async fn submit(&self, inbound: Inbound, surface: Arc<dyn Surface>) -> Result<Submitted> {
        let mut collected = self.collected();
        if let Some(left) = collected.refusals.checked_sub(1) {
            collected.refusals = left;
            return Err(Error::full("nothing can be stored"));
        }
        let is_new = inbound.dedupe.as_ref().is_none_or(|dedupe| collected.known.insert(dedupe.id.clone()));
        let turn = TurnId::fresh();
        if is_new {
            let session_id = inbound.session.clone();
            let since = Timestamp::UNIX_EPOCH;
            collected.active.push(ActiveTurn { session_id, turn: turn.clone(), state: "running", since });
            collected.inbound.push(inbound);
            collected.surface = Some(surface);
        }
        Ok(Submitted { turn, queued: 0, is_new, reply: PendingReply::pair().1 })
    }

    async fn stop(&self, session: &SessionId, turn: Option<&TurnId>) -> usize {
        let mut collected = self.collected();
        let before = collected.active.len();
        let is_meant = |active: &ActiveTurn| {
            active.session_id == *session && turn.is_none_or(|turn| active.turn == *turn)
        };
        collected.active.retain(|active| !is_meant(active));
        before - collected.active.len()
    }

    fn activity(&self) -> Vec<ActiveTurn> {
        self.collected().active.clone()
    }

    fn is_busy(&self, _session: &SessionId) -> bool {
        false
    }

    async fn clear(&self, _session: &SessionId, _how: Clear) -> Result<bool> {
        Ok(true)
    }

    async fn post(&self, _session: &SessionId, _key: &str, _posting: &Posting) -> Result<bool> {
        Ok(true)
    }
}

/// Remembers what the program sends of its own accord, and what came back.
#[derive(Default)]
pub struct CollectingCourier {
    sent: Mutex<Vec<NewDelivery>>,
    returned: Mutex<Vec<(i64, String)>>,
    is_waiting: AtomicBool,
}

impl CollectingCourier {
    /// What was sent, in its order.
    pub fn sent(&self) -> Vec<NewDelivery> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The texts of what was sent.
    pub fn texts(&self) -> Vec<String> {
        self.sent().into_iter().map(|content| content.text).collect()
    }

    /// Forgets what was sent; returns its texts.
    pub fn take(&self) -> Vec<String> {
        let sent = std::mem::take(&mut *self.sent.lock().unwrap_or_else(PoisonError::into_inner));
        sent.into_iter().map(|content| content.text).collect()
    }

    /// From now on something is on its way to every recipient, or nothing any more.
    pub fn set_waiting(&self, is_waiting: bool) {
        self.is_waiting.store(is_waiting, Ordering::Relaxed);
    }

    /// Which deliveries came back, each with its error.
    pub fn returned_deliveries(&self) -> Vec<(i64, String)> {
        self.returned.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Courier for CollectingCourier {
    fn channels(&self) -> Vec<String> {
        Vec::new()
    }

    async fn send(&self, _session: &SessionId, _turn: &TurnId, content: NewDelivery) -> Result<()> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(content);
        Ok(())
    }

    async fn is_waiting(&self, _channel: &str, _recipient: &str) -> Result<bool> {
        Ok(self.is_waiting.load(Ordering::Relaxed))
    }

    async fn returned(&self, delivery: i64, error: &str) -> Result<()> {
        let mut returned = self.returned.lock().unwrap_or_else(PoisonError::into_inner);
        returned.push((delivery, error.to_owned()));
        Ok(())
    }
}
