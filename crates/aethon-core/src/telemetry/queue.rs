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
        if waiting.events.len() == MAX_WAITING {
            waiting.dropped += 1;
            return;
        }
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
        waiting.events.drain(..count).collect()
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
        let own = waiting.events.iter().map(|event| event.name.heap() + event.detail.heap());
        list::<TelemetryEvent>(waiting.events.capacity()) + own.sum::<usize>()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
}
