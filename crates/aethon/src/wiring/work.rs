//! Builds the ledger of multi-turn work and its runner from `[work]`.

use std::sync::Arc;
use std::time::Duration;

use aethon_config::schema::Work;
use aethon_core::assistant::Assistant;
use aethon_core::channel::Channels;
use aethon_core::clock::Clock;
use aethon_core::storage::Storage;
use aethon_workflows::work::{Idle, WorkLimits, WorkOptions, WorkRunner, Works};

/// The ledger with its settings.
pub(crate) fn works(work: &Work, storage: &Storage, clock: Arc<dyn Clock>) -> Works {
    let options = WorkOptions {
        is_enabled: work.enabled,
        is_ambient: work.enabled && work.ambient.enabled,
        approve_plan: work.approve_plan,
        max_iterations: work.max_iterations,
        max_attempts: work.max_attempts,
        max_seconds: f64::from(work.max_minutes) * 60.0,
        max_usd: work.max_usd,
    };
    Works::new(storage.workflows.work.clone(), options, clock)
}

/// The runner that carries out the work, for a daemon.
pub(crate) fn runner(
    work: &Work,
    works: Works,
    limits: WorkLimits,
    assistant: Arc<dyn Assistant>,
    channels: Channels,
) -> WorkRunner {
    let minutes = |minutes: u32| Duration::from_secs(u64::from(minutes) * 60);
    let idle = Idle {
        after: minutes(work.ambient.idle_minutes),
        prompt: work.ambient.prompt.clone(),
        every: minutes(work.ambient.every_minutes),
        pulse: (work.pulse_minutes > 0).then(|| minutes(work.pulse_minutes)),
    };
    WorkRunner::new(works, limits, assistant, channels, idle)
}
