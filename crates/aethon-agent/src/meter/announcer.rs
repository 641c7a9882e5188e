//! Reports settled calls to the watchers, together with the cost of the day.
//!
//! The cost of the day is in the ledger, and reading it waits until earlier entries are stored. No turn waits for
//! that: a separate task reads it, once for all calls of a short time. The day's cost after each of them follows from
//! their costs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::event::{Event, EventBus};
use aethon_core::ledger::{DaySpend, Ledger, LedgerEntry};
use tokio::time::sleep;

/// How long calls are collected before they are announced.
const GATHERED: Duration = Duration::from_millis(20);

/// Announces calls on the bus, in the order in which they were settled.
pub(super) struct Announcer(Arc<Shared>);

struct Shared {
    ledger: Arc<dyn Ledger>,
    bus: EventBus,
    queue: Mutex<Queue>,
}

/// The calls that are not announced yet.
#[derive(Default)]
struct Queue {
    settled: Vec<LedgerEntry>,
    /// Whether a task announces them.
    has_task: bool,
}

impl Announcer {
    pub(super) fn new(ledger: Arc<dyn Ledger>, bus: EventBus) -> Self {
        Self(Arc::new(Shared { ledger, bus, queue: Mutex::default() }))
    }

    /// Announces a settled call, a little later.
    pub(super) fn announce(&self, entry: LedgerEntry) {
        let mut queue = self.0.queue();
        queue.settled.push(entry);
        if !std::mem::replace(&mut queue.has_task, true) {
            tokio::spawn(self.0.clone().announce_all());
        }
    }
}

impl Shared {
    async fn announce_all(self: Arc<Self>) {
        loop {
            sleep(GATHERED).await;
            let settled = {
                let mut queue = self.queue();
                queue.has_task = !queue.settled.is_empty();
                std::mem::take(&mut queue.settled)
            };
            if settled.is_empty() {
                return;
            }
            match self.ledger.today().await {
                Ok(today) => {
                    let mut later: f64 = settled.iter().map(|entry| entry.usage.cost_usd).sum();
                    for entry in settled {
                        later -= entry.usage.cost_usd;
                        let spent_usd = (today.spent_usd - later).max(0.0);
                        let today = DaySpend { spent_usd, ..today };
                        self.bus.publish(|| Event::Usage { today, entry: Arc::new(entry) });
                    }
                }
                Err(error) => {
                    let calls = settled.len();
                    tracing::warn!(%error, calls, "the day's money could not be read; these calls are not shown live");
                }
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
