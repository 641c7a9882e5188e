//! The channel tasks: each channel runs in its own task, is restarted when it fails, and is joined at shutdown.
//!
//! A channel that keeps failing is restarted after growing pauses for as long as the program runs, so a messenger that is
//! down at night is back in the morning. [`Channels`] shows the state of each.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::Assistant;
use aethon_core::channel::{Channel, ChannelHealth, Channels};
use aethon_core::clock::Clock;
use aethon_core::error::Error;
use aethon_core::event::EventBus;
use aethon_core::shutdown::Shutdown;
use aethon_core::telemetry::{TelemetryEvent, TelemetryKind, TelemetryStatus};
use futures_util::FutureExt;
use jiff::SignedDuration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::holding::Holding;

/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause. A channel that ran for longer than this before failing starts again with the first pause.
const MAX_PAUSE: Duration = Duration::from_secs(300);

/// How long shutdown waits for channels to end.
const MAX_END: Duration = Duration::from_secs(5);

/// The running tasks.
pub(crate) struct ChannelTasks(JoinSet<()>);

impl ChannelTasks {
    /// Starts all channels: messengers while this instance holds them.
    pub(crate) fn start(supervision: &Supervision, holding: &Holding, shutdown: &Shutdown) -> Self {
        let mut tasks = JoinSet::new();
        for channel in supervision.channels.all() {
            let supervised = Supervised { channel: channel.clone(), supervision: supervision.clone() };
            // Each instance has its own page; a messenger is received by one.
            let holding = if channel.name() == "webchat" { Holding::always() } else { holding.clone() };
            tasks.spawn(holding.while_held(shutdown.clone(), move |end| supervised.clone().run(end)));
        }
        Self(tasks)
    }

    /// Waits for all channels to end after shutdown was triggered, and aborts those that do not.
    pub(crate) async fn join(mut self) {
        let ended = timeout(MAX_END, async { while self.0.join_next().await.is_some() {} }).await;
        if ended.is_err() {
            tracing::warn!(left = self.0.len(), "channels took too long to end and were cut off");
            self.0.shutdown().await;
        }
    }
}

/// What the supervision of channels works with.
#[derive(Clone)]
pub(crate) struct Supervision {
    pub(crate) channels: Channels,
    pub(crate) assistant: Arc<dyn Assistant>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) bus: EventBus,
}

/// A supervised channel.
#[derive(Clone)]
struct Supervised {
    channel: Arc<dyn Channel>,
    supervision: Supervision,
}

impl Supervised {
    async fn run(self, mut shutdown: Shutdown) {
        let (name, mut failures) = (self.channel.name(), 0);
        while !shutdown.is_requested() {
            self.note(name, ChannelHealth::Running);
            let started = Instant::now();
            let Err(error) = self.run_once(shutdown.clone()).await else { break };
            if shutdown.is_requested() {
                tracing::debug!(channel = name, %error, "a channel ended in an error, as the program does");
                break;
            }
            failures = if started.elapsed() > MAX_PAUSE { 1 } else { failures + 1 };
            let pause = pause_after(failures);
            tracing::warn!(channel = name, %error, failures, seconds = pause.as_secs(), "a channel failed and is started again");
            let at = SignedDuration::try_from(pause)
                .map_or(self.supervision.clock.now(), |pause| self.supervision.clock.now() + pause);
            let error = error.to_string();
            self.note(name, ChannelHealth::Restarting { error, failures, at });
            tokio::select! {
                () = shutdown.requested() => break,
                () = sleep(pause) => {}
            }
        }
        self.note(name, ChannelHealth::Ended);
    }

    /// Records the state of the channel and announces the change.
    fn note(&self, name: &str, health: ChannelHealth) {
        let (status, why) = match &health {
            ChannelHealth::Waiting | ChannelHealth::Running => (TelemetryStatus::Ok, "running"),
            ChannelHealth::Restarting { error, .. } => (TelemetryStatus::Error, error.as_str()),
            ChannelHealth::Ended => (TelemetryStatus::Stopped, "ended"),
        };
        let event = TelemetryEvent::new(TelemetryKind::Channel, name, status, self.supervision.clock.now());
        self.supervision.bus.record(event.with_detail(why));
        self.supervision.channels.note_health(name, health);
    }

    /// Runs the channel once. A panic counts as a failure: the other channels continue, and this one is restarted.
    async fn run_once(&self, shutdown: Shutdown) -> Result<(), Error> {
        let running =
            AssertUnwindSafe(self.channel.run(self.supervision.assistant.clone(), shutdown)).catch_unwind();
        running.await.unwrap_or_else(|_| Err(Error::internal("the channel panicked")))
    }
}

fn pause_after(failures: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(MAX_PAUSE)
}

#[cfg(test)]
mod tests;
