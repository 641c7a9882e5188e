//! Live events, prepared once for all open dashboards.
//!
//! All dashboards want the same events in the same form. While any is open, one task listens to the event bus and passes
//! on in batches the events of a short time: waking every dashboard for every event would cost more than the turns
//! they show. The first dashboard that wants an event formats it, and the others share the text. Dashboards take a batch
//! one after the other, so that a turn never waits for the writing of all of them. Batches are numbered by events, so that
//! a slow reader knows how much it missed.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use aethon_core::event::{Event, EventBus};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::broadcast::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep, sleep_until};

/// How long events are collected before they are passed on.
const GATHERED: Duration = Duration::from_millis(20);

/// How many events are passed on together at most, and how many batches a dashboard may lag behind.
const TOGETHER: usize = 128;
const CAPACITY: usize = 32;

/// By how much each further dashboard takes a batch later than the one before it, and how many do so until the next batch
/// comes.
const STEP: Duration = Duration::from_millis(1);
const STEPS: u32 = (GATHERED.as_millis() / STEP.as_millis()) as u32;

/// The events for dashboards. Cheap to clone; clones share the task.
#[derive(Clone, Default)]
pub(crate) struct Feed(Arc<Mutex<Option<Open>>>);

/// The feed while it has listeners.
struct Open {
    sender: Sender<Arc<Batch>>,
    /// How many events have been passed on or missed.
    passed: u64,
    /// How many dashboards have subscribed.
    subscribed: u32,
}

/// A dashboard's subscription to the feed.
pub(super) struct Subscription {
    /// How many events came before.
    pub(super) before: u64,
    batches: Receiver<Arc<Batch>>,
    /// How long a batch is kept back.
    delay: Duration,
    kept: Option<(Arc<Batch>, Instant)>,
}

/// Events that came within a short time.
pub(super) struct Batch {
    /// How many events came before these since the task began, those that it missed itself included.
    pub(super) before: u64,
    pub(super) events: Vec<SharedEvent>,
}

/// An event and its shared text.
pub(super) struct SharedEvent {
    pub(super) event: Event,
    text: OnceLock<String>,
}

impl SharedEvent {
    fn of(event: Event) -> Self {
        Self { event, text: OnceLock::new() }
    }

    /// Returns the text of the event, formatted on first use. All callers must pass the same `make`.
    pub(super) fn text(&self, make: impl FnOnce(&Event) -> String) -> &str {
        self.text.get_or_init(|| make(&self.event))
    }
}

impl Feed {
    /// Subscribes to events from now on.
    pub(super) fn subscribe(&self, bus: &EventBus) -> Subscription {
        let mut slot = self.lock();
        let open = slot.get_or_insert_with(|| {
            let (sender, _) = channel(CAPACITY);
            tokio::spawn(pass_on(bus.subscribe(), sender.clone(), self.clone()));
            Open { sender, passed: 0, subscribed: 0 }
        });
        let delay = STEP * (open.subscribed % STEPS);
        open.subscribed = open.subscribed.wrapping_add(1);
        Subscription { before: open.passed, batches: open.sender.subscribe(), delay, kept: None }
    }

    /// Passes on events, `missed` of which were lost after them.
    fn send(&self, events: Vec<SharedEvent>, missed: u64) {
        // Subscribing takes the same lock, so that everybody knows which events come next.
        let mut slot = self.lock();
        let Some(Open { sender, passed, .. }) = &mut *slot else { return };
        let count = events.len() as u64;
        if count > 0 {
            // An error means that the last listener just left, which the task notices next.
            let _ = sender.send(Arc::new(Batch { before: *passed, events }));
        }
        *passed += count + missed;
    }

    /// Returns whether the sender has no listeners any more, and forgets it then.
    fn is_left(&self, sender: &Sender<Arc<Batch>>) -> bool {
        let mut slot = self.lock();
        // Subscribing takes the same lock, so no new listener can be missed.
        let is_left = sender.receiver_count() == 0;
        if is_left {
            *slot = None;
        }
        is_left
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    /// Returns the next batch, in its turn. Loses nothing when it is cancelled.
    pub(super) async fn next(&mut self) -> Result<Arc<Batch>, RecvError> {
        let (batch, due) = match self.kept.take() {
            Some(kept) => kept,
            None => (self.batches.recv().await?, Instant::now() + self.delay),
        };
        if !self.delay.is_zero() {
            self.kept = Some((batch.clone(), due));
            sleep_until(due).await;
            self.kept = None;
        }
        Ok(batch)
    }

    /// Returns a batch that has come already.
    pub(super) fn try_next(&mut self) -> Result<Arc<Batch>, TryRecvError> {
        self.batches.try_recv()
    }
}

async fn pass_on(mut events: Receiver<Event>, sender: Sender<Arc<Batch>>, feed: Feed) {
    loop {
        let first = tokio::select! {
            () = sender.closed() => {
                if feed.is_left(&sender) {
                    return;
                }
                continue;
            }
            first = events.recv() => match first {
                Ok(event) => SharedEvent::of(event),
                Err(RecvError::Lagged(missed)) => {
                    feed.send(Vec::new(), missed);
                    continue;
                }
                // The program is shutting down.
                Err(RecvError::Closed) => {
                    *feed.lock() = None;
                    return;
                }
            },
        };
        sleep(GATHERED).await;
        // Events beyond the limit wait in the bus, which counts those that it had to drop.
        let mut gathered = vec![first];
        let mut missed = 0;
        while gathered.len() < TOGETHER {
            match events.try_recv() {
                Ok(event) => gathered.push(SharedEvent::of(event)),
                Err(TryRecvError::Lagged(count)) => {
                    missed = count;
                    break;
                }
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        feed.send(gathered, missed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aethon_core::event::SessionChange;
    use aethon_core::ids::SessionId;

    use tokio::time::timeout;

    use super::*;

    fn happened(bus: &EventBus) {
        let session = SessionId::of("webchat", "a").unwrap();
        bus.publish(|| Event::Session { session, change: SessionChange::Created });
    }

    async fn text(subscription: &mut Subscription, mine: &str) -> String {
        subscription.next().await.unwrap().events[0].text(|_| mine.to_owned()).to_owned()
    }

    #[tokio::test]
    async fn all_listeners_share_the_text_and_the_last_one_ends_the_task() {
        let (feed, bus) = (Feed::default(), EventBus::default());
        for _ in 0..3 {
            let (mut one, mut other) = (feed.subscribe(&bus), feed.subscribe(&bus));
            happened(&bus);
            assert_eq!(text(&mut one, "first").await, "first");
            assert_eq!(text(&mut other, "second").await, "first");
            drop(one);
            happened(&bus);
            assert_eq!(text(&mut other, "third").await, "third");
            drop(other);
            while bus.has_listeners() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn batches_are_bounded_and_numbered_by_what_came() {
        let (feed, bus) = (Feed::default(), EventBus::default());
        let mut listener = feed.subscribe(&bus);
        assert_eq!(listener.before, 0);
        // The task cannot run in between.
        for _ in 0..TOGETHER * 2 + 7 {
            happened(&bus);
        }
        let mut heard = Vec::new();
        for _ in 0..3 {
            let batch = listener.next().await.unwrap();
            heard.push((batch.before, batch.events.len()));
        }
        let together = TOGETHER as u64;
        assert_eq!(heard, [(0, TOGETHER), (together, TOGETHER), (together * 2, 7)]);
    }

    #[tokio::test(start_paused = true)]
    async fn missed_events_are_a_gap_in_the_numbers() {
        const HELD: u64 = 1024;
        let (feed, bus) = (Feed::default(), EventBus::default());
        let mut listener = feed.subscribe(&bus);
        assert_eq!(listener.before, 0);
        for _ in 0..HELD + 7 {
            happened(&bus);
        }
        let first = listener.next().await.unwrap();
        assert_eq!((first.before, first.events.len()), (7, TOGETHER));
        let mut later = feed.subscribe(&bus);
        assert_eq!(later.before, 7 + TOGETHER as u64);
        assert_eq!(later.next().await.unwrap().before, later.before);
    }

    #[tokio::test(start_paused = true)]
    async fn dashboards_take_turns_and_lose_nothing_when_interrupted() {
        let (feed, bus) = (Feed::default(), EventBus::default());
        let mut subscriptions: Vec<_> = (0..=STEPS).map(|_| feed.subscribe(&bus)).collect();
        happened(&bus);
        let begun = Instant::now();
        let first = subscriptions[0].next().await.unwrap();
        assert_eq!((first.before, begun.elapsed()), (0, GATHERED));
        let mut third = subscriptions.remove(2);
        assert!(timeout(STEP, third.next()).await.is_err(), "it is not its turn yet");
        assert!(Arc::ptr_eq(&third.next().await.unwrap(), &first));
        let last = subscriptions.last_mut().unwrap();
        assert!(last.delay.is_zero() && Arc::ptr_eq(&last.next().await.unwrap(), &first));
    }
}
