//! What happens in the program, once for all dashboards that are open.
//!
//! Every dashboard wants the same events in the same form. One task listens to the event bus while any of them does, and the
//! first that wants an event makes its text, which the others share. A reader that lags is told how much it missed.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use aethon_core::event::{Event, EventBus};
use tokio::sync::broadcast::{Receiver, Sender, channel, error::RecvError};

/// How many events a dashboard may lag behind.
const CAPACITY: usize = 1024;

/// The events for the dashboards. Cheap to clone; clones share the task.
#[derive(Clone, Default)]
pub(crate) struct Feed(Arc<Mutex<Option<Sender<Arc<News>>>>>);

/// What a dashboard is told.
pub(super) enum News {
    /// Something happened.
    Event(SharedEvent),
    /// So many events came too fast for anybody.
    Missed(u64),
}

/// An event, and the text that was made of it.
pub(super) struct SharedEvent {
    pub(super) event: Event,
    text: OnceLock<String>,
}

impl SharedEvent {
    /// The text of the event; it is made once, and everybody makes it in the same way.
    pub(super) fn text(&self, make: impl FnOnce(&Event) -> String) -> &str {
        self.text.get_or_init(|| make(&self.event))
    }
}

impl Feed {
    /// Listens from now on.
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

    /// Forgets the sender if nobody listens to it any more.
    fn is_left(&self, sender: &Sender<Arc<News>>) -> bool {
        let mut slot = self.lock();
        // Whoever came meanwhile has done so under the lock.
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
                // The program is on its way out.
                Err(RecvError::Closed) => {
                    *feed.lock() = None;
                    return;
                }
            },
        };
        // An error means that the last listener has just left, which comes next.
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
        // The task has no chance to run in between.
        for _ in 0..CAPACITY + 7 {
            happened(&bus);
        }
        assert!(matches!(&*listener.recv().await.unwrap(), News::Missed(7)));
        assert_eq!(text(&mut listener, "the next").await, "the next");
    }
}
