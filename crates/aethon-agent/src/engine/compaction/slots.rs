//! The background summaries by session: those being made, those that are ready, and those that failed. `ahead` makes
//! them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::ids::SessionId;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout_at};

use super::silent::{SILENCE, SilentSummarisers};
use super::summarised::Summarised;
use crate::control::{Cause, StopSignal, StopSwitch};
use crate::window::{ContextWindow, Prefix};

/// How many summaries are made at the same time.
const AT_ONCE: usize = 2;

/// The background summaries of all sessions that are being made or wait to be used.
pub(in crate::engine) struct Ahead {
    slots: Mutex<Slots>,
    /// A task needs one of these to make a summary.
    pub(super) permits: Semaphore,
    /// The models that are not asked for summaries now.
    pub(super) silent: SilentSummarisers,
    most: usize,
}

#[derive(Default)]
struct Slots {
    of: HashMap<SessionId, Slot>,
    number: u64,
    is_ending: bool,
}

struct Slot {
    /// Tells it from an earlier one in the same slot.
    number: u64,
    prefix: Prefix,
    stop: StopSwitch,
    /// Its progress; the channel closes early if nothing comes of it.
    stage: watch::Receiver<Stage>,
}

#[derive(Debug, Clone)]
pub(super) enum Stage {
    /// Other summaries come first.
    Waiting,
    /// A model is being asked. Sent again with every part that it has summarised.
    Begun,
    /// It is ready.
    Ready(Prepared),
}

/// A finished summary.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub(super) summarised: Summarised,
    /// The budget warning for the owner.
    pub(super) warning: Option<String>,
}

impl Ahead {
    /// Holds the summaries of at most this many sessions.
    pub(in crate::engine) fn new(most: usize) -> Self {
        let silent = SilentSummarisers::default();
        Self { slots: Mutex::default(), permits: Semaphore::new(AT_ONCE), silent, most }
    }

    /// Drops a session's summary if the conversation no longer begins the same way. Returns whether one remains, ready
    /// or in progress.
    pub(in crate::engine) fn revise(&self, session: &SessionId, window: &ContextWindow) -> bool {
        let mut slots = self.lock();
        let Some(slot) = slots.of.get(session) else { return false };
        let still_begins_so = window.prefix(slot.prefix.len) == Some(slot.prefix);
        if !still_begins_so {
            slots.remove(session);
        }
        still_begins_so
    }

    /// Drops a session's summary, finished or not.
    pub(in crate::engine) fn cancel(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    /// Returns the bytes that the finished summaries take. They cost money and are small, so that only their number is
    /// bounded.
    pub(in crate::engine) fn bytes(&self) -> usize {
        let slots = self.lock();
        let texts = slots.of.values().map(|slot| match &*slot.stage.borrow() {
            Stage::Ready(prepared) => prepared.summarised.bytes(),
            Stage::Waiting | Stage::Begun => 0,
        });
        texts.sum::<usize>() + slots.of.len() * size_of::<(SessionId, Slot)>()
    }

    /// Stops everything and accepts nothing more.
    pub(in crate::engine) fn end(&self) {
        let mut slots = self.lock();
        slots.is_ending = true;
        for (_, slot) in slots.of.drain() {
            slot.stop.stop(Cause::Shutdown);
        }
    }

    /// Returns whether a session's summary is ready.
    pub(super) fn is_ready(&self, session: &SessionId) -> bool {
        let slots = self.lock();
        slots.of.get(session).is_some_and(|slot| matches!(*slot.stage.borrow(), Stage::Ready(_)))
    }

    /// Returns whether a model is being asked for a session's summary.
    pub(super) fn is_in_progress(&self, session: &SessionId) -> bool {
        let slots = self.lock();
        slots.of.get(session).is_some_and(|slot| matches!(*slot.stage.borrow(), Stage::Begun))
    }

    /// Returns the summary for a session with this window, waiting for one in progress for at most this long, and only
    /// while it makes progress. One that has not even started is not worth waiting for.
    pub(super) fn take(
        &self,
        session: &SessionId,
        window: &ContextWindow,
        time: Duration,
    ) -> impl Future<Output = Option<Prepared>> + use<> {
        self.revise(session, window);
        let stage = self.lock().of.get(session).map(|slot| slot.stage.clone());
        async move {
            let mut stage = stage.filter(|stage| !matches!(*stage.borrow(), Stage::Waiting))?;
            let until = Instant::now() + time;
            loop {
                if let Stage::Ready(prepared) = &*stage.borrow_and_update() {
                    return Some(prepared.clone());
                }
                // An error means that the task ended without a summary.
                timeout_at(until.min(Instant::now() + SILENCE), stage.changed()).await.ok()?.ok()?;
            }
        }
    }

    /// Claims the slot for a summary of this beginning of a session; `None` if one exists or is being made.
    pub(super) fn claim(
        &self,
        session: &SessionId,
        prefix: Prefix,
    ) -> Option<(u64, StopSignal, watch::Sender<Stage>)> {
        let mut slots = self.lock();
        if slots.is_ending || slots.of.contains_key(session) || slots.of.len() >= self.most {
            return None;
        }
        let (stop, signal) = StopSwitch::pair();
        let (sender, stage) = watch::channel(Stage::Waiting);
        slots.number += 1;
        let number = slots.number;
        slots.of.insert(session.clone(), Slot { number, prefix, stop, stage });
        Some((number, signal, sender))
    }

    /// Frees a slot whose summary failed.
    pub(super) fn give_up(&self, session: &SessionId, number: u64) {
        let mut slots = self.lock();
        if slots.of.get(session).is_some_and(|slot| slot.number == number) {
            slots.of.remove(session);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slots {
    fn remove(&mut self, session: &SessionId) {
        if let Some(slot) = self.of.remove(session) {
            slot.stop.stop(Cause::Person);
        }
    }
}
