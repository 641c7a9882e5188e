//! Delivers replies elsewhere: takes due deliveries from the durable outbox and hands each to its channel.
//!
//! There is a single worker, so no delivery is ever in progress twice. It sleeps until the next one is due or until the
//! engine rings the [`DeliveryWake`] after storing one. Recipients do not wait for each other, however long one takes;
//! each has at most one delivery in progress, so their order is kept. Failures are retried with growing pauses until
//! the delivery is too old to be useful; then it is given up and logged.
//!
//! A channel whose platform cannot be reached takes no deliveries: they stay due, and no attempt counts. Once it takes them again,
//! the channel makes everything due that waits for it, whatever pauses earlier failures have caused.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::channel::{Channels, Delivery, DeliveryError, DeliveryOutcome, Outbox};
use aethon_core::clock::Clock;
use aethon_core::error::Result;
use aethon_core::event::EventBus;
use aethon_core::shutdown::Shutdown;
use aethon_core::telemetry::{TelemetryEvent, TelemetryKind, TelemetryStatus};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, timeout};

use crate::catch_panic::catch_panic;
use aethon_core::patience::retry_until_stored;

/// How many deliveries are in progress at once.
const SIDE_BY_SIDE: usize = 64;

/// How many of them go to the same channel, so that one whose platform hangs leaves room for the others.
const SIDE_BY_SIDE_ON_A_CHANNEL: usize = 40;

/// When a delivery that its channel holds back is handed over again, unless the channel makes it due before.
const HELD_FOR: SignedDuration = SignedDuration::from_secs(10);

/// The sleep while a channel takes no deliveries, unless it rings.
const SLEEP_WHILE_HELD: Duration = Duration::from_millis(500);

/// How long a channel may take for one delivery.
const MAX_SEND: Duration = Duration::from_secs(60);

/// The first pause after a failure; it doubles with every further one.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(5);

/// The longest pause.
const MAX_PAUSE: SignedDuration = SignedDuration::from_secs(600);

/// The longest sleep. It bounds how long a delivery waits that another program of this home has stored, since that
/// program cannot wake the worker, and how long a changed clock delays deliveries. A check costs one read of an
/// index.
const MAX_SLEEP: Duration = Duration::from_secs(5);

/// The shortest sleep, so that an unreadable row does not cause a busy loop.
const MIN_SLEEP: Duration = Duration::from_millis(50);

/// The sleep while a delivery is in progress. Those behind it stay due all the time, so the next due time says nothing.
const SLEEP_BESIDE: Duration = Duration::from_secs(1);

/// The pause after a storage failure.
const STORAGE_PAUSE: Duration = Duration::from_secs(5);

/// Wakes the worker. Cheap to clone; clones wake the same worker.
#[derive(Debug, Clone, Default)]
pub struct DeliveryWake(Arc<Notify>);

impl DeliveryWake {
    /// Signals that there is something to deliver.
    pub fn ring(&self) {
        self.0.notify_one();
    }
}

/// The deliveries in progress. Each is a task of its own: what the worker waits for meanwhile, such as the outbox, holds none up.
#[derive(Default)]
struct Sends {
    running: JoinSet<(i64, Result<()>)>,
    /// Their numbers, with the channel of each.
    taken: HashMap<i64, String>,
}

impl Sends {
    /// Returns the channels with as many deliveries in progress as they may have.
    fn full(&self) -> Vec<String> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for channel in self.taken.values() {
            *counts.entry(channel).or_default() += 1;
        }
        let full = counts.into_iter().filter(|(_, count)| *count >= SIDE_BY_SIDE_ON_A_CHANNEL);
        full.map(|(channel, _)| channel.to_owned()).collect()
    }

    /// Waits until a delivery is settled, and collects the others that are. Never returns if none is in progress. Cancel safe.
    async fn next(&mut self) -> Result<()> {
        let Some(ended) = self.running.join_next().await else { return std::future::pending().await };
        let mut settled = self.end(ended);
        while let Some(ended) = self.running.try_join_next() {
            settled = settled.and(self.end(ended));
        }
        settled
    }

    fn end(&mut self, ended: std::result::Result<(i64, Result<()>), JoinError>) -> Result<()> {
        // Channels' panics are caught, so this one is the worker's own.
        let (id, settled) = ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        self.taken.remove(&id);
        settled
    }
}

/// The delivery worker.
pub struct Worker {
    outbox: Arc<dyn Outbox>,
    channels: Channels,
    clock: Arc<dyn Clock>,
    wake: DeliveryWake,
    bus: EventBus,
}

impl Worker {
    /// Creates a worker with this wake signal.
    pub fn new(
        outbox: Arc<dyn Outbox>,
        channels: Channels,
        clock: Arc<dyn Clock>,
        wake: DeliveryWake,
    ) -> Self {
        Self { outbox, channels, clock, wake, bus: EventBus::default() }
    }

    /// Reports the progress of deliveries on this bus.
    #[must_use]
    pub fn telling(self, bus: EventBus) -> Self {
        Self { bus, ..self }
    }

    /// Delivers until the program shuts down, then waits for deliveries in progress.
    pub async fn run(self, mut shutdown: Shutdown) {
        let worker = Arc::new(self);
        let mut sends = Sends::default();
        while !shutdown.is_requested() {
            let begun = worker.begin(&mut sends, &shutdown).await;
            // After a failure, waking up would only lead to the same error.
            let (pause, is_readable) = match &begun {
                Ok(pause) => (*pause, true),
                Err(error) => {
                    tracing::error!(%error, "the outbox cannot be read");
                    (STORAGE_PAUSE, false)
                }
            };
            tokio::select! {
                biased;
                () = shutdown.requested() => break,
                settled = sends.next() => {
                    if let Err(error) = settled {
                        tracing::error!(%error, "what became of a delivery cannot be stored");
                        tokio::select! {
                            biased;
                            () = shutdown.requested() => break,
                            () = sleep(STORAGE_PAUSE) => {}
                        }
                    }
                }
                () = worker.wake.0.notified(), if is_readable => {}
                () = sleep(pause) => {}
            }
        }
        while !sends.taken.is_empty() {
            if let Err(error) = sends.next().await {
                tracing::error!(%error, "what became of a delivery cannot be stored");
            }
        }
    }

    /// Begins the deliveries that are due and have a place. Returns how long to wait before the next pass.
    async fn begin(self: &Arc<Self>, sends: &mut Sends, shutdown: &Shutdown) -> Result<Duration> {
        let holding = self.channels.holding();
        if sends.taken.len() < SIDE_BY_SIDE {
            let but = [holding.clone(), sends.full()].concat();
            // Deliveries in progress are due as well.
            for delivery in self.outbox.due(self.clock.now(), SIDE_BY_SIDE, &but).await? {
                let channel = delivery.content.channel.clone();
                let on_it = sends.taken.values().filter(|other| **other == channel).count();
                if on_it < SIDE_BY_SIDE_ON_A_CHANNEL && !sends.taken.contains_key(&delivery.id) {
                    sends.taken.insert(delivery.id, channel);
                    let (worker, shutdown) = (self.clone(), shutdown.clone());
                    sends.running.spawn(async move { worker.carry(delivery, shutdown).await });
                }
            }
        }
        let longest = if holding.is_empty() { MAX_SLEEP } else { SLEEP_WHILE_HELD };
        if !sends.taken.is_empty() {
            return Ok(SLEEP_BESIDE.min(longest));
        }
        let Some(next) = self.outbox.next_due(&holding).await? else { return Ok(longest) };
        let wait = next.duration_since(self.clock.now());
        Ok(Duration::try_from(wait).unwrap_or_default().clamp(MIN_SLEEP, longest))
    }

    /// Makes one delivery and records the outcome.
    async fn carry(&self, delivery: Delivery, shutdown: Shutdown) -> (i64, Result<()>) {
        let started = Instant::now();
        let outcome = self.deliver(&delivery).await;
        self.measure(&delivery, &outcome, started.elapsed());
        match self.record_outcome(delivery.id, outcome, shutdown).await {
            // It was removed meanwhile.
            Err(error) if error.is_not_found() => {
                tracing::info!(delivery = delivery.id, "a delivery was removed while it was under way");
                (delivery.id, Ok(()))
            }
            settled => (delivery.id, settled),
        }
    }

    fn measure(&self, delivery: &Delivery, outcome: &DeliveryOutcome, took: Duration) {
        let (status, why) = match outcome {
            DeliveryOutcome::Delivered => (TelemetryStatus::Ok, ""),
            // Nothing was attempted.
            DeliveryOutcome::Held { .. } => return,
            DeliveryOutcome::Retry { error, .. }
            | DeliveryOutcome::Failed { error }
            | DeliveryOutcome::Returned { error } => (TelemetryStatus::Error, error.as_str()),
        };
        let (channel, now) = (&delivery.content.channel, self.clock.now());
        let event = TelemetryEvent::new(TelemetryKind::Delivery, channel, status, now).took(took);
        self.bus.record(event.within(Some(&delivery.session), Some(&delivery.turn)).with_detail(why));
    }

    /// Records the outcome of a delivery, however long that takes: a delivery that is not recorded would be made again.
    async fn record_outcome(&self, id: i64, outcome: DeliveryOutcome, mut shutdown: Shutdown) -> Result<()> {
        let settle = || self.outbox.settle(id, outcome.clone());
        tokio::select! {
            biased;
            settled = retry_until_stored("what became of a delivery could not be stored; trying again", settle) => settled,
            () = shutdown.requested() => settle().await,
        }
    }

    async fn deliver(&self, delivery: &Delivery) -> DeliveryOutcome {
        let content = &delivery.content;
        if self.clock.now() >= content.expires_at {
            return given_up(delivery, "it was not delivered in time");
        }
        match self.send(delivery).await {
            Ok(()) => DeliveryOutcome::Delivered,
            Err(error) if error.is_held => {
                let at = self.clock.now().saturating_add(HELD_FOR).unwrap_or(content.expires_at);
                DeliveryOutcome::Held { at: at.min(content.expires_at), error: error.message }
            }
            Err(error) if !error.retryable => given_up(delivery, &error.message),
            Err(error) => {
                let requested = error.retry_after.and_then(|pause| SignedDuration::try_from(pause).ok());
                let pause = requested.unwrap_or_else(|| pause_after(delivery.attempts));
                let at = self.clock.now().saturating_add(pause).unwrap_or(content.expires_at);
                tracing::warn!(
                    delivery = delivery.id,
                    channel = content.channel,
                    error = error.message,
                    "a delivery failed and is tried again"
                );
                DeliveryOutcome::Retry { at: at.min(content.expires_at), error: error.message }
            }
        }
    }

    async fn send(&self, delivery: &Delivery) -> std::result::Result<(), DeliveryError> {
        let name = &delivery.content.channel;
        // Channels are fixed while the program runs, so one that is not set up will not appear in a minute.
        let channel = self.channels.get(name).map_err(|error| DeliveryError::lasting(error.to_string()))?;
        match timeout(MAX_SEND, catch_panic(channel.send(delivery))).await {
            Ok(Ok(sent)) => sent,
            Ok(Err(panic)) => {
                tracing::error!(channel = name, panic, "a channel panicked");
                Err(DeliveryError::lasting("the channel failed"))
            }
            Err(_) => Err(DeliveryError::passing("the channel took too long")),
        }
    }
}

fn pause_after(attempts: u32) -> SignedDuration {
    FIRST_PAUSE.saturating_mul(1 << attempts.min(10)).min(MAX_PAUSE)
}

fn given_up(delivery: &Delivery, why: &str) -> DeliveryOutcome {
    tracing::error!(
        delivery = delivery.id,
        channel = delivery.content.channel,
        session = %delivery.session,
        why,
        "a delivery was given up"
    );
    DeliveryOutcome::Failed { error: why.to_owned() }
}

/// Returns when a delivery that is stored now becomes too old.
pub(crate) fn expiry(now: Timestamp, lifetime: Duration) -> Timestamp {
    SignedDuration::try_from(lifetime).ok().and_then(|lifetime| now.checked_add(lifetime).ok()).unwrap_or(now)
}
