//! Acknowledgements: a reaction of ours on a message for as long as its turn waits or runs.
//!
//! It is a sign for the person and nothing else, so it waits for the chat's rate budget, is given up when that takes
//! too long, and never holds up a turn or a delivery. It is stored which messages have one, so that a crash leaves
//! none behind.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::assistant::Assistant;
use aethon_core::ids::TurnId;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::outlet::RateLimitedSender;
use super::platform::Fault;

/// The reaction, where the platform lets us choose one.
pub(crate) const EYES: &str = "\u{1f440}";
/// How long a reaction may wait for the rate budget before it is given up.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// How long the answer goes ahead of the removal.
const HEAD_START: Duration = Duration::from_secs(1);
/// How often a removal is tried.
const MAX_TRIES: usize = 4;
/// How long after a start what an earlier run left is removed.
const SETTLED: Duration = Duration::from_secs(15);
/// How long it is remembered that a message has a reaction.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Where that is stored.
const RECORDS: &str = "acknowledged:";
/// How many messages have one at a time.
const MAX_COUNT: usize = 500;

/// The reactions of a channel.
pub(super) struct Acknowledgements {
    outlet: Arc<RateLimitedSender>,
    /// The messages that have one, or soon will, and whether its turn has ended.
    open: Mutex<HashMap<String, watch::Sender<bool>>>,
    tasks: Mutex<JoinSet<()>>,
    /// Whether the platform lets us add none at all.
    is_off: AtomicBool,
}

/// A stored reaction.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Stored {
    chat: String,
    turn: String,
    /// The platform's reference; `None` until the reaction is there.
    reference: Option<String>,
}

impl Acknowledgements {
    pub(super) fn new(outlet: Arc<RateLimitedSender>) -> Self {
        Self { outlet, open: Mutex::default(), tasks: Mutex::default(), is_off: AtomicBool::new(false) }
    }

    /// Adds a reaction to the message that began a turn.
    pub(super) fn begin(self: &Arc<Self>, chat: &str, message: &str, turn: &TurnId) {
        if !self.outlet.rules.acknowledges || self.is_off.load(Ordering::Relaxed) {
            return;
        }
        let ended = {
            let mut open = lock(&self.open);
            if open.len() >= MAX_COUNT || open.contains_key(message) {
                return;
            }
            let ended = watch::Sender::new(false);
            let receiver = ended.subscribe();
            open.insert(message.to_owned(), ended);
            receiver
        };
        let stored = Stored { chat: chat.to_owned(), turn: turn.to_string(), reference: None };
        let (all, message) = (self.clone(), message.to_owned());
        self.spawn(async move {
            all.hold(&message, stored, ended).await;
            lock(&all.open).remove(&message);
        });
    }

    /// Removes the reaction of a message, whose turn has ended.
    pub(super) fn end(self: &Arc<Self>, message: &str) {
        if !self.outlet.rules.acknowledges {
            return;
        }
        if let Some(ended) = lock(&self.open).get(message) {
            ended.send_replace(true);
            return;
        }
        // It was added before a restart.
        let (all, message) = (self.clone(), message.to_owned());
        self.spawn(async move {
            let name = format!("{RECORDS}{message}");
            let stored = all.outlet.services.records.get(all.outlet.channel(), &name).await.ok().flatten();
            if let Some(stored) = stored.and_then(|stored| serde_json::from_str(&stored).ok()) {
                sleep(HEAD_START).await;
                all.remove(&message, &stored).await;
            }
        });
    }

    /// Removes what an earlier run left on messages that no turn answers any more.
    pub(super) async fn clear_left(self: &Arc<Self>, assistant: &dyn Assistant) {
        sleep(SETTLED).await;
        let channel = self.outlet.channel();
        let left = self.outlet.services.records.list(channel, RECORDS, MAX_COUNT).await.unwrap_or_default();
        for (name, stored) in left {
            let Some(message) = name.strip_prefix(RECORDS) else { continue };
            let Ok(stored) = serde_json::from_str::<Stored>(&stored) else { continue };
            let is_active = assistant.activity().iter().any(|active| active.turn.as_str() == stored.turn);
            if !is_active && !lock(&self.open).contains_key(message) {
                self.remove(message, &stored).await;
            }
        }
    }

    /// Ends all tasks. What they leave is removed after the next start.
    pub(super) async fn shutdown(&self) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        tasks.shutdown().await;
        lock(&self.open).clear();
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        // Finished tasks are removed.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Adds a reaction, and removes it when its turn has ended.
    async fn hold(&self, message: &str, mut stored: Stored, mut ended: watch::Receiver<bool>) {
        self.store(message, &stored).await;
        let added = timeout(MAX_WAIT, async {
            self.budget(&stored.chat).await;
            self.outlet.platform.acknowledge(&stored.chat, message).await
        });
        match added.await {
            Ok(Ok(reference)) => {
                stored.reference = Some(reference);
                self.store(message, &stored).await;
            }
            Ok(Err(Fault::Refused(why) | Fault::Gone(why))) => {
                self.note_refusal(&why);
                return self.forget(message).await;
            }
            // It may be there.
            Ok(Err(_)) | Err(_) => {}
        }
        // An error means that nobody waits for the end any more, which counts as one.
        let _ = ended.wait_for(|ended| *ended).await;
        sleep(HEAD_START).await;
        self.remove(message, &stored).await;
    }

    async fn remove(&self, message: &str, stored: &Stored) {
        for _ in 0..MAX_TRIES {
            self.budget(&stored.chat).await;
            let removed =
                self.outlet.platform.withdraw(&stored.chat, message, stored.reference.as_deref()).await;
            match removed {
                Err(Fault::Later { after, .. }) => sleep(after.unwrap_or(HEAD_START)).await,
                Err(Fault::Doubtful(_)) => sleep(HEAD_START).await,
                Ok(()) | Err(_) => break,
            }
        }
        self.forget(message).await;
    }

    /// Waits until the chat's rate budget has a call left.
    async fn budget(&self, chat: &str) {
        while let Err(wait) = self.outlet.take(chat) {
            sleep(wait).await;
        }
    }

    /// Says once that the platform lets us add no reactions, if it is about all of them.
    fn note_refusal(&self, why: &str) {
        let channel = self.outlet.channel();
        if !why.contains("scope") {
            tracing::debug!(channel, why, "a message could not be acknowledged");
            return;
        }
        if !self.is_off.swap(true, Ordering::Relaxed) {
            tracing::warn!(channel, why, "messages are not acknowledged");
            self.outlet.health.remark(&format!("channels.{channel}.acknowledge has no effect: {why}"));
        }
    }

    async fn store(&self, message: &str, stored: &Stored) {
        let (until, channel) = (self.outlet.services.clock.now() + REMEMBERED, self.outlet.channel());
        // This cannot fail.
        let value = serde_json::to_string(stored).unwrap_or_default();
        let name = format!("{RECORDS}{message}");
        if let Err(error) = self.outlet.services.records.put(channel, &name, &value, Some(until)).await {
            tracing::debug!(channel, %error, "after a crash a reaction would be left behind");
        }
    }

    async fn forget(&self, message: &str) {
        let (channel, name) = (self.outlet.channel(), format!("{RECORDS}{message}"));
        if let Err(error) = self.outlet.services.records.take(channel, &name).await {
            tracing::debug!(channel, %error, "a reaction that was removed is still stored");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every statement leaves the contents consistent, so a poisoned lock is usable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
