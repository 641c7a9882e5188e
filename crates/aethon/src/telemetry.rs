//! The telemetry task: redacts events and then cuts them, publishes them to live watchers, and stores them in batches.
//!
//! Nothing that is measured waits for it. While the storage fails, the task keeps one batch and retries; further events wait
//! in the queue of [`Telemetry`], and are dropped and counted when that is full.

mod export;
mod span;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aethon_core::event::{Event, EventBus};
use aethon_core::live::Live;
use aethon_core::shutdown::{Shutdown, ShutdownTrigger};
use aethon_core::telemetry::{MAX_DETAIL, MAX_NAME, Telemetry, TelemetryEvent, TelemetryLog};
use aethon_guard::redact::Redactor;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

pub(crate) use export::Collector;
use export::Exporter;

/// How long events are collected before they are stored.
const GATHERED: Duration = Duration::from_millis(500);

/// How long an event waits for others before live watchers hear of them.
const TOGETHER: Duration = Duration::from_millis(25);

/// The maximum number of events per batch.
const BATCH: usize = 512;

/// The time limit for storing a batch.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How often storing a batch is tried while the program runs, and the pause between.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(2);

/// The running task.
pub(crate) struct TelemetryTask {
    trigger: ShutdownTrigger,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl TelemetryTask {
    /// Starts the task. The bus's [`Telemetry`] decides whether events are kept; those that are go to the collector too.
    pub(crate) fn start(
        log: Arc<dyn TelemetryLog>,
        bus: EventBus,
        redactor: Live<Redactor>,
        collector: Option<Collector>,
    ) -> Self {
        let (trigger, shutdown) = ShutdownTrigger::pair();
        let exporter = collector.map(Exporter::start);
        let writer = Writer { log, telemetry: bus.telemetry().clone(), bus, redactor, shutdown, exporter };
        Self { trigger, task: Mutex::new(Some(tokio::spawn(writer.run()))) }
    }

    /// Stores the queued events and ends the task.
    pub(crate) async fn stop(&self) {
        self.trigger.trigger();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && task.await.is_err()
        {
            tracing::warn!("the task that stores telemetry panicked");
        }
    }
}

struct Writer {
    log: Arc<dyn TelemetryLog>,
    telemetry: Telemetry,
    bus: EventBus,
    redactor: Live<Redactor>,
    shutdown: Shutdown,
    exporter: Option<Exporter>,
}

impl Writer {
    async fn run(mut self) {
        let (mut batch, mut store_at) = (Vec::new(), Instant::now());
        loop {
            let is_over = {
                let (telemetry, mut shutdown) = (self.telemetry.clone(), self.shutdown.clone());
                let arrived = async {
                    telemetry.arrived().await;
                    // Several at once: waking the task for each of them costs a busy session more than all else about them.
                    sleep(TOGETHER).await;
                };
                tokio::select! {
                    () = shutdown.requested() => true,
                    () = arrived => false,
                    () = sleep_until(store_at), if !batch.is_empty() => false,
                }
            };
            if batch.is_empty() {
                store_at = Instant::now() + GATHERED;
            }
            self.gather(&mut batch).await;
            if is_over || Instant::now() >= store_at {
                self.store(std::mem::take(&mut batch)).await;
            }
            if is_over {
                break;
            }
        }
        if let Some(exporter) = self.exporter {
            exporter.stop().await;
        }
    }

    /// Takes queued events, publishes them to watchers, and stores full batches.
    async fn gather(&mut self, batch: &mut Vec<TelemetryEvent>) {
        loop {
            let events = self.telemetry.take(BATCH);
            if events.is_empty() {
                return;
            }
            let redactor = self.redactor.get();
            for mut event in events {
                event.name = redactor.redact_beginning(&event.name, MAX_NAME);
                event.detail = redactor.redact_beginning(&event.detail, MAX_DETAIL);
                self.bus.publish(|| Event::Telemetry(Arc::new(event.clone())));
                batch.push(event);
            }
            if batch.len() >= BATCH {
                self.store(std::mem::take(batch)).await;
            }
        }
    }

    async fn store(&mut self, batch: Vec<TelemetryEvent>) {
        if batch.is_empty() {
            return;
        }
        if let Some(exporter) = &mut self.exporter {
            exporter.offer(&batch);
        }
        let mut shutdown = self.shutdown.clone();
        for attempt in 1..=ATTEMPTS {
            let why = match timeout(TIMEOUT, self.log.keep_events(batch.clone())).await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "it took too long".to_owned(),
            };
            // Not logged as an error: errors are telemetry events, so this would feed itself.
            tracing::warn!(attempt, events = batch.len(), why, "telemetry could not be stored");
            if shutdown.is_requested() {
                break;
            }
            tokio::select! {
                () = shutdown.requested() => {}
                () = sleep(PAUSE) => {}
            }
        }
        self.telemetry.note_lost(batch.len());
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::secret::Secret;
    use aethon_core::telemetry::{TelemetryKind, TelemetryQuery, TelemetryStatus};
    use aethon_core::testkit::MemoryStore;
    use jiff::Timestamp;

    use super::*;

    fn event(detail: &str) -> TelemetryEvent {
        let (kind, status) = (TelemetryKind::ToolCall, TelemetryStatus::Error);
        TelemetryEvent::new(kind, "shell", status, Timestamp::UNIX_EPOCH).with_detail(detail)
    }

    async fn stored(store: &MemoryStore) -> Vec<String> {
        let query = TelemetryQuery { limit: 10_000, ..TelemetryQuery::default() };
        store.events(query).await.unwrap().into_iter().map(|stored| stored.event.detail).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn telemetry_is_stored_without_secrets_at_shutdown() {
        let (store, bus) = (Arc::new(MemoryStore::default()), EventBus::default());
        let redactor = Live::new(Redactor::new([Secret::new("hunter2-hunter2")]));
        let task = TelemetryTask::start(store.clone(), bus.clone(), redactor, None);
        bus.telemetry().keep(true);
        let mut watched = bus.subscribe();
        bus.record(event("the key hunter2-hunter2 is wrong"));
        bus.record(event(&format!("{}hunter2-hunter2", "x".repeat(MAX_DETAIL - 14))));
        for _ in 0..BATCH {
            bus.record(event(""));
        }
        task.stop().await;
        let stored = stored(&store).await;
        assert_eq!((stored.len(), stored.last().unwrap().as_str()), (BATCH + 2, "the key *** is wrong"));
        assert!(stored.iter().all(|detail| !detail.contains("hunter")), "none is cut before it is masked");
        let Event::Telemetry(event) = watched.recv().await.unwrap() else { panic!("not telemetry") };
        assert_eq!(event.detail, "the key *** is wrong");
        assert_eq!(bus.telemetry().dropped(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_storage_that_fails_for_a_moment_loses_nothing() {
        let (store, bus) = (Arc::new(MemoryStore::default()), EventBus::default());
        store.fail("keep_events", 2);
        bus.telemetry().keep(true);
        let task = TelemetryTask::start(store.clone(), bus.clone(), Live::default(), None);
        bus.record(event("a"));
        while stored(&store).await.is_empty() {
            sleep(Duration::from_secs(1)).await;
        }
        store.fail("keep_events", 100);
        bus.record(event("b"));
        while bus.telemetry().dropped() == 0 {
            sleep(Duration::from_secs(1)).await;
        }
        task.stop().await;
        assert_eq!(stored(&store).await, ["a"]);
    }
}
