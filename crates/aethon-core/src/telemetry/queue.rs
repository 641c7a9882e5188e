//! The queue between those who record events and the task that stores them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::counters::Counters;
use super::{TelemetryEvent, TelemetryKind, TelemetryStatus};
use crate::weight::{CacheSizes, Weight, list};

/// How many events may wait. A writer that is this far behind has a failing storage; further events are dropped and
/// counted.
const MAX_WAITING: usize = 8_192;

/// How many bytes their texts may take. They wait whole, because they are cut after secrets were removed.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// Where events are recorded. Cheap to clone; clones share everything. Until a task [keeps](Self::keep) events, they
/// are only counted.
#[derive(Clone, Default)]
pub struct Telemetry(Arc<Inner>);

#[derive(Default)]
struct Inner {
    waiting: Mutex<Waiting>,
    counters: Mutex<Counters>,
    news: Notify,
    caches: CacheSizes,
}

#[derive(Default)]
struct Waiting {
    is_kept: bool,
    events: VecDeque<TelemetryEvent>,
    /// What the texts of the events take.
    bytes: usize,
    dropped: u64,
}

impl Telemetry {
    /// Records an event. Never waits.
    pub fn record(&self, event: TelemetryEvent) {
        self.0.counters.lock().unwrap_or_else(PoisonError::into_inner).count(&event);
        let mut waiting = self.waiting();
        if !waiting.is_kept {
            return;
        }
        let bytes = waiting.bytes + text_bytes(&event);
        if waiting.events.len() == MAX_WAITING || bytes > MAX_WAITING_BYTES {
            waiting.dropped += 1;
            return;
        }
        waiting.bytes = bytes;
        waiting.events.push_back(event);
        drop(waiting);
        self.0.news.notify_one();
    }

    /// Sets whether events are queued from now on. Those already waiting stay.
    pub fn keep(&self, is_kept: bool) {
        self.waiting().is_kept = is_kept;
    }

    /// Returns whether events are queued.
    pub fn is_kept(&self) -> bool {
        self.waiting().is_kept
    }

    /// Takes the oldest waiting events, at most `most` of them.
    pub fn take(&self, most: usize) -> Vec<TelemetryEvent> {
        let mut waiting = self.waiting();
        let count = waiting.events.len().min(most);
        let taken: Vec<TelemetryEvent> = waiting.events.drain(..count).collect();
        waiting.bytes -= taken.iter().map(text_bytes).sum::<usize>();
        taken
    }

    /// Waits until an event is queued. One that was queued before the wait counts.
    pub async fn arrived(&self) {
        self.0.news.notified().await;
    }

    /// Counts events that were taken and could not be stored.
    pub fn note_lost(&self, events: usize) {
        self.waiting().dropped += events as u64;
    }

    /// Returns how many events were dropped.
    pub fn dropped(&self) -> u64 {
        self.waiting().dropped
    }

    /// Returns the counters since the program started.
    pub fn counters(&self) -> Counters {
        self.0.counters.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how many events of this kind had this status since the program started.
    pub fn count_of(&self, kind: TelemetryKind, status: TelemetryStatus) -> u64 {
        self.0.counters.lock().unwrap_or_else(PoisonError::into_inner).count_of(kind, status)
    }

    /// Returns where those who keep something in memory say how much it takes.
    pub fn caches(&self) -> &CacheSizes {
        &self.0.caches
    }

    /// Returns the bytes that the waiting events take.
    pub fn waiting_bytes(&self) -> usize {
        let waiting = self.waiting();
        list::<TelemetryEvent>(waiting.events.capacity()) + waiting.bytes
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn text_bytes(event: &TelemetryEvent) -> usize {
    event.name.heap() + event.detail.heap()
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn event(name: &str) -> TelemetryEvent {
        TelemetryEvent::new(
            TelemetryKind::ToolCall,
            name,
            TelemetryStatus::Ok,
            Timestamp::from_second(1).unwrap(),
        )
    }

    #[test]
    fn overflowing_telemetry_events_are_dropped_and_counted() {
        let telemetry = Telemetry::default();
        telemetry.record(event("a"));
        assert!(telemetry.take(10).is_empty(), "nobody keeps events yet");
        telemetry.keep(true);
        for _ in 0..MAX_WAITING + 3 {
            telemetry.record(event("a"));
        }
        assert_eq!(telemetry.dropped(), 3);
        assert_eq!(telemetry.take(100).len(), 100);
        telemetry.record(event("b"));
        let rest = telemetry.take(usize::MAX);
        assert_eq!((rest.len(), rest.last().unwrap().name.as_str()), (MAX_WAITING - 99, "b"));
        // All of them are counted, stored or not.
        let all = telemetry.count_of(TelemetryKind::ToolCall, TelemetryStatus::Ok);
        assert_eq!(all, MAX_WAITING as u64 + 5);
    }

    #[test]
    fn long_texts_that_wait_take_bounded_memory() {
        let telemetry = Telemetry::default();
        telemetry.keep(true);
        let long = "x".repeat(MAX_WAITING_BYTES / 4);
        for _ in 0..10 {
            telemetry.record(event("a").with_detail(&long));
        }
        let taken = telemetry.take(usize::MAX);
        assert!((3..=4).contains(&taken.len()), "{}", taken.len());
        assert_eq!(telemetry.dropped(), 10 - taken.len() as u64);
        telemetry.record(event("b").with_detail(&long));
        assert_eq!(telemetry.take(usize::MAX).len(), 1, "what was taken makes room");
    }
}
