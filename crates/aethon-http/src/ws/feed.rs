//! Live events, prepared once for all open dashboards.
//!
//! All dashboards want the same events in the same form. While any is open, one task listens to the event bus. The
//! first dashboard that wants an event formats it, and the others share the text. A slow reader is told how much it
//! missed.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use aethon_core::event::{Event, EventBus};
use tokio::sync::broadcast::{Receiver, Sender, channel, error::RecvError};

/// How many events a dashboard may lag behind.
const CAPACITY: usize = 1024;

/// The events for dashboards. Cheap to clone; clones share the task.
#[derive(Clone, Default)]
pub(crate) struct Feed(Arc<Mutex<Option<Sender<Arc<News>>>>>);

/// An item of the feed.
pub(super) enum News {
    /// An event of the program.
    Event(SharedEvent),
    /// How many events came too fast for the task itself.
    Missed(u64),
}

/// An event and its shared text.
pub(super) struct SharedEvent {
    pub(super) event: Event,
    text: OnceLock<String>,
}

impl SharedEvent {
    /// Returns the text of the event, formatted on first use. All callers must pass the same `make`.
    pub(super) fn text(&self, make: impl FnOnce(&Event) -> String) -> &str {
        self.text.get_or_init(|| make(&self.event))
    }
}

impl Feed {
    /// Subscribes to events from now on.
    pub(super) fn subscribe(&self, bus: &EventBus) -> Receiver<Arc<News>> {
        let mut slot = self.lock();
        if let Some(sender) = &*slot {
            return sender.subscribe();
        }
        let (sender, receiver) = channel(CAPACITY);
        *slot = Some(sender.clone());
        tokio::spawn(pass_on(bus.subscribe(), sender, self.clone()));
        receiver
    }

    /// Forgets the sender if nobody listens any more.
    fn is_left(&self, sender: &Sender<Arc<News>>) -> bool {
        let mut slot = self.lock();
        // Subscribing takes the same lock, so no new listener can be missed.
        let is_left = sender.receiver_count() == 0;
        if is_left {
            *slot = None;
        }
        is_left
    }

    fn lock(&self) -> MutexGuard<'_, Option<Sender<Arc<News>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn pass_on(mut events: Receiver<Event>, sender: Sender<Arc<News>>, feed: Feed) {
    loop {
        let news = tokio::select! {
            () = sender.closed() => {
                if feed.is_left(&sender) {
                    return;
                }
                continue;
            }
            event = events.recv() => match event {
                Ok(event) => News::Event(SharedEvent { event, text: OnceLock::new() }),
                Err(RecvError::Lagged(missed)) => News::Missed(missed),
                // The program is shutting down.
                Err(RecvError::Closed) => {
                    *feed.lock() = None;
                    return;
                }
            },
        };
        // An error means that the last listener just left, which is handled next.
        let _ = sender.send(Arc::new(news));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aethon_core::event::SessionChange;
    use aethon_core::ids::SessionId;

    use super::*;

    fn happened(bus: &EventBus) {
        let session = SessionId::of("webchat", "a").unwrap();
        bus.publish(|| Event::Session { session, change: SessionChange::Created });
    }

    async fn text(receiver: &mut Receiver<Arc<News>>, mine: &str) -> String {
        match &*receiver.recv().await.unwrap() {
            News::Event(shared) => shared.text(|_| mine.to_owned()).to_owned(),
            News::Missed(missed) => panic!("{missed} were missed"),
        }
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

    #[tokio::test]
    async fn who_listens_is_told_what_came_too_fast_for_anybody() {
        let (feed, bus) = (Feed::default(), EventBus::default());
        let mut listener = feed.subscribe(&bus);
        // The task cannot run in between.
        for _ in 0..CAPACITY + 7 {
            happened(&bus);
        }
        assert!(matches!(&*listener.recv().await.unwrap(), News::Missed(7)));
        assert_eq!(text(&mut listener, "the next").await, "the next");
    }
}
