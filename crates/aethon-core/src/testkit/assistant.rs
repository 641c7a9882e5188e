//! An assistant that collects messages and never answers, and a courier whose messages can be read.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

/// Collects every message that it is given. One with a known id is recorded as offered, but not as new. Its turns run
/// until they are stopped.
#[derive(Default)]
pub struct CollectingAssistant(Mutex<Collected>);

#[derive(Default)]
struct Collected {
    inbound: Vec<Inbound>,
    surface: Option<Arc<dyn Surface>>,
    known: BTreeSet<String>,
    refusals: u32,
    crowded: u32,
    active: Vec<ActiveTurn>,
}

impl CollectingAssistant {
    /// Returns the dedupe ids of the new messages that had one.
    pub fn dedupe_ids(&self) -> Vec<String> {
        let collected = self.collected();
        collected.inbound.iter().filter_map(|inbound| Some(inbound.dedupe.as_ref()?.id.clone())).collect()
    }

    /// Returns the new messages, in order of arrival.
    pub fn inbound(&self) -> Vec<Inbound> {
        self.collected().inbound.clone()
    }

    /// Returns the texts of the new messages.
    pub fn texts(&self) -> Vec<String> {
        self.collected().inbound.iter().map(|inbound| inbound.text.clone()).collect()
    }

    /// Returns how many messages were new.
    pub fn count(&self) -> usize {
        self.collected().inbound.len()
    }

    /// Returns the first message, if any.
    pub fn first(&self) -> Option<Inbound> {
        self.collected().inbound.first().cloned()
    }

    /// Returns the last new message, if any.
    pub fn last(&self) -> Option<Inbound> {
        self.collected().inbound.last().cloned()
    }

    /// Returns the surface of the last new message.
    pub fn surface(&self) -> Option<Arc<dyn Surface>> {
        self.collected().surface.clone()
    }

    /// Forgets the messages, but not their ids, and returns them.
    pub fn take(&self) -> Vec<Inbound> {
        std::mem::take(&mut self.collected().inbound)
    }

    /// Refuses the next `count` messages, as if nothing could be stored.
    pub fn refuse(&self, count: u32) {
        self.collected().refusals = count;
    }

    /// Refuses the next `count` messages, as if others had used up their share.
    pub fn crowd(&self, count: u32) {
        self.collected().crowded = count;
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
            return Err(Error::unavailable("nothing can be stored"));
        }
        if let Some(left) = collected.crowded.checked_sub(1) {
            collected.crowded = left;
            return Err(Error::full("too many turns run at the same time"));
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

/// Collects what the program sends on its own initiative, and what came back.
#[derive(Default)]
pub struct CollectingCourier {
    sent: Mutex<Vec<NewDelivery>>,
    returned: Mutex<Vec<(i64, String)>>,
    is_waiting: AtomicBool,
    recoveries: AtomicUsize,
}

impl CollectingCourier {
    /// Returns what was sent, in order.
    pub fn sent(&self) -> Vec<NewDelivery> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the texts of what was sent.
    pub fn texts(&self) -> Vec<String> {
        self.sent().into_iter().map(|content| content.text).collect()
    }

    /// Forgets what was sent, and returns its texts.
    pub fn take(&self) -> Vec<String> {
        let sent = std::mem::take(&mut *self.sent.lock().unwrap_or_else(PoisonError::into_inner));
        sent.into_iter().map(|content| content.text).collect()
    }

    /// Sets whether something counts as on its way to every recipient.
    pub fn set_waiting(&self, is_waiting: bool) {
        self.is_waiting.store(is_waiting, Ordering::Relaxed);
    }

    /// Returns how often channels have recovered.
    pub fn recoveries(&self) -> usize {
        self.recoveries.load(Ordering::Relaxed)
    }

    /// Returns which deliveries came back, each with its error.
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

    async fn recovered(&self, _channel: &str) -> Result<()> {
        self.recoveries.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn returned(&self, delivery: i64, error: &str) -> Result<()> {
        let mut returned = self.returned.lock().unwrap_or_else(PoisonError::into_inner);
        returned.push((delivery, error.to_owned()));
        Ok(())
    }
}
