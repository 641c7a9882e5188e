//! The work that one instance does for all: delivery, the schedule, multi-turn work.

use std::sync::Arc;

use aethon_agent::outbox;
use aethon_core::channel::Channels;
use aethon_core::shutdown::Shutdown;
use aethon_workflows::schedule::{Scheduler, SchedulerParts};
use aethon_workflows::work::WorkRunner;
use tokio::task::JoinHandle;

use crate::aethon::Aethon;
use crate::holding::Keeper;
use crate::wiring;

/// The parts of which each task is made again whenever this instance gets the role.
#[derive(Clone)]
pub(crate) struct Background {
    pub(crate) aethon: Arc<Aethon>,
    pub(crate) channels: Channels,
}

impl Background {
    /// Starts the tasks. They work while this instance holds the role.
    pub(crate) fn spawn(&self, keeper: &Keeper, shutdown: &Shutdown) -> [JoinHandle<()>; 3] {
        [
            self.while_held(keeper, shutdown, |parts, end| parts.delivery().run(end)),
            self.while_held(keeper, shutdown, |parts, end| parts.scheduler().run(end)),
            self.while_held(keeper, shutdown, |parts, end| parts.work().run(end)),
        ]
    }

    fn while_held<Running: Future<Output = ()> + Send + 'static>(
        &self,
        keeper: &Keeper,
        shutdown: &Shutdown,
        make: impl Fn(&Self, Shutdown) -> Running + Send + 'static,
    ) -> JoinHandle<()> {
        let parts = self.clone();
        tokio::spawn(keeper.holding().while_held(shutdown.clone(), move |end| make(&parts, end)))
    }

    /// The worker that delivers stored messages to the channels.
    fn delivery(&self) -> outbox::Worker {
        let Self { aethon, channels } = self;
        let (outbox, wake) = (aethon.storage.outbox.clone(), aethon.deliveries.wake.clone());
        let worker = outbox::Worker::new(outbox, channels.clone(), aethon.clock.clone(), wake);
        worker.telling(aethon.shared.bus.clone())
    }

    fn scheduler(&self) -> Scheduler {
        Scheduler::new(SchedulerParts {
            book: self.aethon.workflows.parts.book.clone(),
            assistant: self.aethon.assistant(),
            channels: self.channels.clone(),
        })
    }

    /// The runner of multi-turn work.
    fn work(&self) -> WorkRunner {
        let Self { aethon, channels } = self;
        let parts = &aethon.workflows.parts;
        let (works, limits) = (parts.works.clone(), parts.limits.clone());
        wiring::work::runner(&aethon.config.work, works, limits, aethon.assistant(), channels.clone())
    }
}
