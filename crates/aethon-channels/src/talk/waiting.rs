//! Acts that wait for more of their messages or for their files, and later messages in the same chat.
//!
//! A file may take a minute, and commands and presses must not wait for it. So each message is stored, at which point it
//! may be acknowledged to the platform, and processed in the background: chats in parallel, the acts of a chat in
//! order. Messages that were not processed when the program ended are resumed at the next start.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::error::{Error, Result};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::act::Act;
use super::outlet::RateLimitedSender;
use super::platform::Arrival;

/// How many may wait. Beyond that, receiving blocks.
const MAX_COUNT: usize = 200;
/// How long one is kept.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Where they are stored, in the order of their names.
pub(super) const RECORDS: &str = "arrived:";
/// How long an act of the time before the start waits for more of its messages, which the platform still has.
const AFTER_START: Duration = Duration::from_secs(2);

/// The acts of a channel that wait.
pub(super) struct Waiting {
    outlet: Arc<RateLimitedSender>,
    list: Mutex<List>,
    changed: Notify,
    states: AtomicU64,
}

#[derive(Default)]
struct List {
    entries: VecDeque<Arc<Entry>>,
    /// The chats that have one in progress.
    busy: BTreeSet<String>,
    last: u64,
}

/// One waiting act, as it was at some time.
#[derive(Clone)]
pub(super) struct Entry {
    name: String,
    chat: String,
    pub(super) act: Act,
    /// When its last message came.
    pub(super) changed_at: Instant,
    /// When it has waited long enough for more.
    ready_at: Instant,
    /// Whether processing it takes long, because files must be fetched.
    is_slow: bool,
    /// Changes with its content.
    state: u64,
}

impl Entry {
    /// Returns whether processing it takes long.
    pub(super) fn is_slow(&self) -> bool {
        self.is_slow
    }

    /// Returns whether two views of an act have the same content.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

/// The next step for the waiting acts.
enum Next {
    Begin(Arc<Entry>),
    WaitUntil(Instant),
    Wait,
}

impl Waiting {
    pub(super) fn new(outlet: Arc<RateLimitedSender>) -> Self {
        Self { outlet, list: Mutex::default(), changed: Notify::new(), states: AtomicU64::new(0) }
    }

    /// Loads the acts that the previous run left, and returns them.
    pub(super) async fn load(&self) -> Result<Vec<Arc<Entry>>> {
        let stored = self.outlet.services.records.list(self.outlet.channel(), RECORDS, MAX_COUNT).await?;
        let mut list = self.lock();
        for (name, act) in stored {
            let number = name.strip_prefix(RECORDS).and_then(|number| number.parse().ok());
            list.last = list.last.max(number.unwrap_or(0));
            let is_known = list.entries.iter().any(|entry| entry.name == name);
            match Act::read(&act) {
                Ok(act) if !is_known && !act.parts.is_empty() => {
                    let mut entry = self.entry(name, act);
                    entry.ready_at = Instant::now() + AFTER_START;
                    list.entries.push_back(Arc::new(entry));
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(channel = self.outlet.channel(), %error, "a message that waited cannot be read");
                }
            }
        }
        let entries = list.entries.iter().cloned().collect();
        drop(list);
        self.changed.notify_waiters();
        Ok(entries)
    }

    fn entry(&self, name: String, act: Act) -> Entry {
        let dialect = self.outlet.platform.dialect();
        let is_slow = act.parts.iter().any(|part| super::files::are_to_be_fetched(&self.outlet, part));
        let chat = act.parts.first().map(|part| part.chat.clone()).unwrap_or_default();
        let state = self.states.fetch_add(1, Ordering::Relaxed);
        let changed_at = Instant::now();
        Entry { name, chat, changed_at, ready_at: changed_at + act.patience(&dialect), is_slow, act, state }
    }

    /// Returns once there is room for another one.
    pub(super) async fn has_room(&self) {
        loop {
            let changed = self.changed.notified();
            if self.lock().entries.len() < MAX_COUNT {
                return;
            }
            changed.await;
        }
    }

    /// Returns the waiting act that contains a message, with its current state.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Entry>> {
        self.lock().entries.iter().find(|entry| entry.act.contains(id)).cloned()
    }

    /// Returns the last waiting act of the sender of a message in its chat.
    pub(super) fn last_of(&self, arrival: &Arrival) -> Option<Arc<Entry>> {
        self.lock().entries.iter().rev().find(|entry| entry.act.is_by(arrival)).cloned()
    }

    /// Stores an act.
    pub(super) async fn put(&self, act: Act) -> Result<()> {
        let name = {
            let mut list = self.lock();
            list.last += 1;
            format!("{RECORDS}{:012}", list.last)
        };
        self.store(&name, &act).await?;
        let entry = Arc::new(self.entry(name, act));
        self.lock().entries.push_back(entry);
        self.changed.notify_waiters();
        Ok(())
    }

    /// Replaces a waiting act by one with other messages, in the same place.
    pub(super) async fn replace(&self, entry: &Entry, act: Act) -> Result<()> {
        self.store(&entry.name, &act).await?;
        let next = self.entry(entry.name.clone(), act);
        self.set(next);
        Ok(())
    }

    /// Stores an act with the message for the turn that is about to begin. Its content stays the same.
    pub(super) async fn note(&self, entry: &Entry, act: Act) -> Result<Arc<Entry>> {
        self.store(&entry.name, &act).await?;
        let next = Entry { act, ..entry.clone() };
        self.set(next.clone());
        Ok(Arc::new(next))
    }

    /// Lets the waiting acts of the sender of a message begin, because that message is not one of theirs.
    pub(super) fn close_before(&self, arrival: &Arrival) {
        for entry in self.lock().entries.iter_mut().filter(|entry| entry.act.is_by(arrival)) {
            *entry = Arc::new(Entry { ready_at: Instant::now(), ..Entry::clone(entry) });
        }
        self.changed.notify_waiters();
    }

    fn set(&self, next: Entry) {
        let mut list = self.lock();
        if let Some(entry) = list.entries.iter_mut().find(|entry| entry.name == next.name) {
            *entry = Arc::new(next);
        }
        drop(list);
        self.changed.notify_waiters();
    }

    async fn store(&self, name: &str, act: &Act) -> Result<()> {
        let stored = serde_json::to_string(act).map_err(|error| Error::internal(error.to_string()))?;
        let until = self.now() + KEPT_FOR;
        self.outlet.services.records.put(self.outlet.channel(), name, &stored, Some(until)).await
    }

    /// Waits for an act that may begin and whose chat has none in progress, and marks the chat as busy. `with_slow` says
    /// whether it may be one that takes long.
    pub(super) async fn next(&self, with_slow: bool) -> Arc<Entry> {
        loop {
            let changed = self.changed.notified();
            match self.look(with_slow, Instant::now()) {
                Next::Begin(entry) => return entry,
                Next::Wait => changed.await,
                Next::WaitUntil(at) => {
                    tokio::select! {
                        () = changed => {}
                        () = sleep_until(at) => {}
                    }
                }
            }
        }
    }

    fn look(&self, with_slow: bool, now: Instant) -> Next {
        let mut list = self.lock();
        let (mut passed, mut wake) = (BTreeSet::new(), None::<Instant>);
        let mut found = None;
        for entry in &list.entries {
            // Only the first of each chat, so that they stay in order.
            if list.busy.contains(&entry.chat) || !passed.insert(entry.chat.as_str()) {
                continue;
            }
            if entry.is_slow && !with_slow {
                continue;
            }
            if entry.ready_at <= now {
                found = Some(entry.clone());
                break;
            }
            wake = Some(wake.map_or(entry.ready_at, |wake| wake.min(entry.ready_at)));
        }
        match (found, wake) {
            (Some(entry), _) => {
                list.busy.insert(entry.chat.clone());
                Next::Begin(entry)
            }
            (None, Some(wake)) => Next::WaitUntil(wake),
            (None, None) => Next::Wait,
        }
    }

    /// Begins the first one that may, as if all had waited long enough.
    #[cfg(test)]
    pub(super) fn begin(&self, with_slow: bool) -> Option<Arc<Entry>> {
        match self.look(with_slow, Instant::now() + Duration::from_secs(3600)) {
            Next::Begin(entry) => Some(entry),
            Next::WaitUntil(_) | Next::Wait => None,
        }
    }

    /// Returns the state of an act that was begun; `None` if it is no longer wanted.
    pub(super) fn current(&self, entry: &Entry) -> Option<Arc<Entry>> {
        self.lock().entries.iter().find(|other| other.name == entry.name).cloned()
    }

    /// Returns whether an act is still wanted.
    pub(super) fn is_wanted(&self, entry: &Entry) -> bool {
        self.current(entry).is_some()
    }

    /// Removes an act that was processed.
    pub(super) async fn remove(&self, entry: &Entry) {
        self.forget(entry).await;
        self.lock().entries.retain(|other| other.name != entry.name);
        self.changed.notify_waiters();
    }

    /// Lets the next act of a chat begin.
    pub(super) fn done(&self, entry: &Entry) {
        self.lock().busy.remove(&entry.chat);
        self.changed.notify_waiters();
    }

    /// Returns the acts with matching messages.
    pub(super) fn those(&self, is_meant: impl Fn(&Arrival) -> bool) -> Vec<Arc<Entry>> {
        let list = self.lock();
        list.entries.iter().filter(|entry| entry.act.parts.iter().any(&is_meant)).cloned().collect()
    }

    async fn forget(&self, entry: &Entry) {
        // If this fails, it is processed once more and recognised by its id.
        if let Err(error) = self.outlet.services.records.take(self.outlet.channel(), &entry.name).await {
            tracing::debug!(channel = self.outlet.channel(), %error, "a message that was dealt with is still stored");
        }
    }

    fn now(&self) -> Timestamp {
        self.outlet.services.clock.now()
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        // Every statement leaves the list consistent, so a poisoned lock is usable.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
