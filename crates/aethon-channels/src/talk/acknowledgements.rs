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
/// How long after a start the reactions of an earlier run are removed, and how often a failed removal is tried again.
const SETTLED: Duration = Duration::from_secs(15);
const AGAIN: Duration = Duration::from_secs(300);
/// How long it is remembered that a message has a reaction.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Where that is stored.
const RECORDS: &str = "acknowledged:";
/// How many messages have one at a time.
const MAX_COUNT: usize = 500;

/// The reactions of a channel.
pub(super) struct Acknowledgements {
    outlet: Arc<RateLimitedSender>,
    /// The messages that have one, or soon will, and the turns that answer them; `None` once that has ended.
    open: Mutex<HashMap<String, watch::Sender<Option<TurnId>>>>,
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

    /// Adds a reaction to the message that began a turn. If the turn takes the place of another one, it stays.
    pub(super) fn begin(self: &Arc<Self>, chat: &str, message: &str, turn: &TurnId) {
        if !self.outlet.rules.acknowledges || self.is_off.load(Ordering::Relaxed) {
            return;
        }
        let mut answering = {
            let mut open = lock(&self.open);
            if let Some(answering) = open.get(message) {
                answering.send_replace(Some(turn.clone()));
                return;
            }
            if open.len() >= MAX_COUNT {
                return;
            }
            let answering = watch::Sender::new(Some(turn.clone()));
            let receiver = answering.subscribe();
            open.insert(message.to_owned(), answering);
            receiver
        };
        let stored = Stored { chat: chat.to_owned(), turn: turn.to_string(), reference: None };
        let (all, message) = (self.clone(), message.to_owned());
        self.spawn(async move {
            loop {
                let was_added = all.hold(&message, stored.clone(), &mut answering).await;
                let mut open = lock(&all.open);
                // Another turn may have begun to answer it while the reaction was removed.
                if !was_added || answering.borrow().is_none() || answering.has_changed().is_err() {
                    open.remove(&message);
                    return;
                }
            }
        });
    }

    /// Removes the reaction of a message, whose turn has ended. If another turn has taken its place, that still answers it.
    pub(super) fn end(self: &Arc<Self>, message: &str, turn: &TurnId) {
        if !self.outlet.rules.acknowledges {
            return;
        }
        if let Some(answering) = lock(&self.open).get(message) {
            answering.send_if_modified(|answering| answering.take_if(|other| other == turn).is_some());
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

    /// Removes reactions of an earlier run on messages that no turn answers any more, and those that an outage kept, while it is
    /// polled.
    pub(super) async fn clear_left(self: &Arc<Self>, assistant: &dyn Assistant) {
        let channel = self.outlet.channel();
        let mut pause = SETTLED;
        loop {
            sleep(std::mem::replace(&mut pause, AGAIN)).await;
            if self.outlet.health.closure().is_some() {
                continue;
            }
            let left =
                self.outlet.services.records.list(channel, RECORDS, MAX_COUNT).await.unwrap_or_default();
            for (name, stored) in left {
                let Some(message) = name.strip_prefix(RECORDS) else { continue };
                let Ok(stored) = serde_json::from_str::<Stored>(&stored) else { continue };
                let is_active = assistant.activity().iter().any(|active| active.turn.as_str() == stored.turn);
                if is_active {
                    continue;
                }
                // A very short turn may have ended before its message was noted.
                let is_open = lock(&self.open).contains_key(message);
                match is_open {
                    true => self.end(message, &TurnId::existing(&stored.turn)),
                    false => self.remove(message, &stored).await,
                }
            }
        }
    }

    /// Ends all tasks. The reactions that they leave are removed after the next start.
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

    /// Adds a reaction, and removes it when the turn has ended that answers the message. Returns whether it could be added.
    async fn hold(
        &self,
        message: &str,
        mut stored: Stored,
        answering: &mut watch::Receiver<Option<TurnId>>,
    ) -> bool {
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
                self.forget(message).await;
                return false;
            }
            // It may be there.
            Ok(Err(_)) | Err(_) => {}
        }
        loop {
            let turn = answering.borrow_and_update().clone();
            match turn {
                Some(turn) if turn.as_str() != stored.turn => {
                    stored.turn = turn.to_string();
                    self.store(message, &stored).await;
                }
                // An error means that its end will not be reported any more, which counts as an end.
                Some(_) if answering.changed().await.is_err() => break,
                Some(_) => {}
                None => {
                    sleep(HEAD_START).await;
                    if answering.borrow().is_none() {
                        break;
                    }
                }
            }
        }
        self.remove(message, &stored).await;
        true
    }

    /// Removes a reaction. In an outage it stays stored, and is removed later.
    async fn remove(&self, message: &str, stored: &Stored) {
        for _ in 0..MAX_TRIES {
            self.budget(&stored.chat).await;
            let removed =
                self.outlet.platform.withdraw(&stored.chat, message, stored.reference.as_deref()).await;
            match removed {
                Ok(()) | Err(Fault::Refused(_) | Fault::Gone(_)) => return self.forget(message).await,
                Err(Fault::Later { after, .. }) => sleep(after.unwrap_or(HEAD_START)).await,
                Err(Fault::Doubtful(_)) => sleep(HEAD_START).await,
                Err(Fault::Identity(_) | Fault::Unclear(_)) => return,
            }
        }
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
