//! Builds the ledger of multi-turn work and its runner from `[work]`.

use std::sync::Arc;
use std::time::Duration;

use aethon_config::Config;
use aethon_core::channel::Channels;
use aethon_core::clock::Clock;
use aethon_core::storage::Storage;
use aethon_workflows::work::{Idle, WorkOptions, WorkRunner, Works};

use crate::aethon::Aethon;

/// The ledger with its settings.
pub(crate) fn works(config: &Config, storage: &Storage, clock: Arc<dyn Clock>) -> Works {
    let work = &config.work;
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
pub(crate) fn runner(aethon: &Aethon, channels: &Channels) -> WorkRunner {
    let (work, parts) = (&aethon.config.work, &aethon.workflows.parts);
    let minutes = |minutes: u32| Duration::from_secs(u64::from(minutes) * 60);
    let idle = Idle {
        after: minutes(work.ambient.idle_minutes),
        prompt: work.ambient.prompt.clone(),
        every: minutes(work.ambient.every_minutes),
        pulse: (work.pulse_minutes > 0).then(|| minutes(work.pulse_minutes)),
    };
    let (works, limits) = (parts.works.clone(), parts.limits.clone());
    WorkRunner::new(works, limits, aethon.assistant(), channels.clone(), idle)
}
