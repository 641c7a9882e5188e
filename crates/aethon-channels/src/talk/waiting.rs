//! Messages whose files are still being fetched, and later messages in the same chat.
//!
//! A file may take a minute, and commands and presses must not wait for it. So such a message is stored, at which
//! point it may be acknowledged to the platform, and processed in the background: chats in parallel, the messages of
//! a chat in order. What was not processed when the program ended is resumed at the next start.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::error::{Error, Result};
use aethon_core::ids::SessionId;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::outlet::RateLimitedSender;
use super::platform::Arrival;

/// How many may wait. Beyond that, receiving blocks.
const MAX_COUNT: usize = 200;
/// How long one is kept.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Where they are stored, in the order of their names.
const RECORDS: &str = "arrived:";

/// The messages of a channel that wait for their files.
pub(super) struct Waiting {
    outlet: Arc<RateLimitedSender>,
    list: Mutex<List>,
    changed: Notify,
}

#[derive(Default)]
struct List {
    entries: VecDeque<Arc<Entry>>,
    /// The chats that have a message in progress.
    busy: BTreeSet<String>,
    last: u64,
}

/// One waiting message.
pub(super) struct Entry {
    name: String,
    pub(super) kept: Kept,
}

/// Its stored form.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) arrival: Arrival,
    /// The conversation it belongs to, even if a new one starts meanwhile.
    pub(super) session: SessionId,
}

impl Waiting {
    pub(super) fn new(outlet: Arc<RateLimitedSender>) -> Self {
        Self { outlet, list: Mutex::default(), changed: Notify::new() }
    }

    /// Loads what the previous run left.
    pub(super) async fn load(&self) -> Result<()> {
        let stored = self.outlet.services.records.list(self.outlet.channel(), RECORDS, MAX_COUNT).await?;
        let mut list = self.lock();
        for (name, kept) in stored {
            let number = name.strip_prefix(RECORDS).and_then(|number| number.parse().ok());
            list.last = list.last.max(number.unwrap_or(0));
            let is_known = list.entries.iter().any(|entry| entry.name == name);
            match serde_json::from_str(&kept) {
                Ok(kept) if !is_known => list.entries.push_back(Arc::new(Entry { name, kept })),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(channel = self.outlet.channel(), %error, "a message that waited cannot be read");
                }
            }
        }
        self.changed.notify_waiters();
        Ok(())
    }

    /// Returns whether something waits in this chat, so that the next message must wait behind it.
    pub(super) fn is_behind(&self, chat: &str) -> bool {
        self.lock().entries.iter().any(|entry| entry.kept.arrival.chat == chat)
    }

    /// Stores a message, unless it is already waiting.
    pub(super) async fn put(&self, kept: Kept) -> Result<()> {
        loop {
            let changed = self.changed.notified();
            if self.lock().entries.len() < MAX_COUNT {
                break;
            }
            changed.await;
        }
        let name = {
            let mut list = self.lock();
            if list.entries.iter().any(|entry| entry.kept.arrival.id == kept.arrival.id) {
                return Ok(());
            }
            list.last += 1;
            format!("{RECORDS}{:012}", list.last)
        };
        let stored = serde_json::to_string(&kept).map_err(|error| Error::internal(error.to_string()))?;
        let until = self.now() + KEPT_FOR;
        self.outlet.services.records.put(self.outlet.channel(), &name, &stored, Some(until)).await?;
        self.lock().entries.push_back(Arc::new(Entry { name, kept }));
        self.changed.notify_waiters();
        Ok(())
    }

    /// Waits for the first message of a chat that has none in progress, and marks the chat as busy.
    pub(super) async fn next(&self) -> Arc<Entry> {
        loop {
            let changed = self.changed.notified();
            if let Some(entry) = self.begin() {
                return entry;
            }
            changed.await;
        }
    }

    /// Like [`Waiting::next`], but without waiting.
    pub(super) fn begin(&self) -> Option<Arc<Entry>> {
        let mut list = self.lock();
        let is_free = |entry: &&Arc<Entry>| !list.busy.contains(&entry.kept.arrival.chat);
        let entry = list.entries.iter().find(is_free).cloned()?;
        list.busy.insert(entry.kept.arrival.chat.clone());
        Some(entry)
    }

    /// Returns whether a message is still wanted.
    pub(super) fn is_wanted(&self, entry: &Entry) -> bool {
        self.lock().entries.iter().any(|other| other.name == entry.name)
    }

    /// Removes a message that was processed.
    pub(super) async fn done(&self, entry: &Entry) {
        self.forget(entry).await;
        let mut list = self.lock();
        list.busy.remove(&entry.kept.arrival.chat);
        list.entries.retain(|other| other.name != entry.name);
        drop(list);
        self.changed.notify_waiters();
    }

    /// Drops the matching messages and returns their number.
    pub(super) async fn drop_those(&self, is_meant: impl Fn(&Arrival) -> bool) -> usize {
        let dropped: Vec<Arc<Entry>> = {
            let mut list = self.lock();
            let (dropped, kept) = list.entries.drain(..).partition(|entry| is_meant(&entry.kept.arrival));
            list.entries = kept;
            Vec::from(dropped)
        };
        for entry in &dropped {
            self.forget(entry).await;
        }
        self.changed.notify_waiters();
        dropped.len()
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
