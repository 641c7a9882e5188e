//! Coexistence with other programs on the same storage: proving to be alive, taking over their abandoned turns, and
//! waiting for them where they write.
//!
//! A program that runs turns renews its lease, and checks now and then for turns whose program is gone. Such a
//! session has to be found twice in a row before it is taken over: a machine that slept wakes with every lease
//! expired, and a living program renews its own before the second check. A turn that may not begin yet, because
//! another program works in its session, polls until it may; the other program has ended its turn by then, or its
//! lease has expired and its turn is taken over here.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use aethon_core::ids::SessionId;
use aethon_core::surface::{TurnEvent, Unattended};
use jiff::Timestamp;
use tokio::time::{Instant, sleep, timeout};

use super::leases::{RENEWALS_PER_LEASE, Watchers};
use super::recover::stage_of;
use super::shared::Shared;
use crate::control::Cause;
use crate::dispatcher::Job;
use aethon_core::storage_log::log_storage;

/// How long a turn waits before it asks again whether it may begin.
const POLL: Duration = Duration::from_millis(100);

const WAITING: &str = "Another program of this home works in this conversation; this comes next.";

impl Shared {
    /// Starts the task; one an engine.
    pub(super) fn watch(self: &Arc<Self>, watchers: Arc<Watchers>) {
        let every = self.services.owners.lease() / RENEWALS_PER_LEASE;
        let watchers = self.watchers.get_or_init(|| watchers).clone();
        self.watch.start(|| watch(Arc::downgrade(self), every, watchers));
    }

    /// Lets another program of the same storage end its turn in a session, or takes over the turns it has left there.
    /// Returns the job that runs next.
    pub(super) async fn yield_to_other_processes(self: &Arc<Self>, mut job: Job) -> Option<Job> {
        let session = job.session().clone();
        let mut taken_over = if self.leases.is_left(&session, &mut job.left_since).await {
            self.services.owners.take_over(&session).await.unwrap_or_else(|error| {
                log_storage("interrupted turns could not be taken over", &error);
                Vec::new()
            })
        } else {
            Vec::new()
        };
        if taken_over.is_empty() {
            if !std::mem::replace(&mut job.has_waited, true) {
                let (code, message) = ("waiting".to_owned(), WAITING.to_owned());
                job.surface.emit(&job.turn, TurnEvent::Notice { code, message });
            }
            if job.stop.cause().is_some() {
                // It was looked at since it was stopped, and could not be ended.
                sleep(POLL).await;
            } else {
                // A stopped turn is checked once more, and ended.
                let _ = timeout(POLL, job.stop.stopped()).await;
            }
        }
        if let Some(own) = taken_over.iter().position(|record| record.turn == job.turn) {
            job.stage = stage_of(&taken_over.remove(own));
        }
        // The waiting turns of the other program may have been accepted after those that wait here.
        let order = if taken_over.is_empty() { Vec::new() } else { self.leases.order_of(&session).await };
        let watchers = self.watchers.get().cloned().unwrap_or_else(|| Arc::new(|_| Arc::new(Unattended)));
        let before = self.recovery.requeue(taken_over, true, &*watchers).await;
        self.queues.requeue_running(job, before, &order)
    }
}

impl Shared {
    /// Stops the turns that run here and that another program has taken over: their questions are withdrawn, and whoever watches
    /// them gets what the other program stores.
    async fn stop_what_was_taken_over(&self) {
        for (session, turn) in self.begun.list() {
            if matches!(self.services.turns.is_ours(&turn).await, Ok(false)) {
                tracing::warn!(%session, %turn, "another program has taken a turn over while this one stood still");
                self.queues.stop(&session, Some(&turn), Cause::TakenOver);
            }
        }
    }
}

async fn watch(shared: Weak<Shared>, every: Duration, watchers: Arc<Watchers>) {
    let mut found = BTreeSet::new();
    let mut sign = LastSign::default();
    loop {
        sleep(every).await;
        let Some(shared) = shared.upgrade() else { return };
        shared.windows.drop_idle();
        renew(&shared, &mut sign).await;
        found = adopt(&shared, &found, &*watchers).await;
    }
}

/// When this program last said that it lives, by a clock that stands still while the machine sleeps and by one that does not.
#[derive(Default)]
struct LastSign(Option<(Instant, Timestamp)>);

impl LastSign {
    /// Notes a sign. Returns whether others may have taken the program for gone before it.
    fn give(&mut self, now: Timestamp, lease: Duration) -> bool {
        let before = self.0.replace((Instant::now(), now));
        before.is_none_or(|(instant, time)| {
            instant.elapsed() >= lease || now.duration_since(time).unsigned_abs() >= lease
        })
    }
}

/// Announces that this program is alive, while it has turns. If it was silent for too long, the turns that others have taken over
/// are stopped here.
async fn renew(shared: &Shared, sign: &mut LastSign) {
    if shared.queues.is_empty() {
        return;
    }
    let (owners, clock) = (&shared.services.owners, &shared.services.clock);
    match owners.renew().await {
        Ok(()) if sign.give(clock.now(), owners.lease()) => shared.stop_what_was_taken_over().await,
        Ok(()) => {}
        Err(error) => {
            log_storage("the lease of the running turns could not be renewed; trying again", &error);
        }
    }
}

/// Takes over abandoned turns of others. Returns the sessions in which something was found for the first time.
async fn adopt(
    shared: &Arc<Shared>,
    found_before: &BTreeSet<SessionId>,
    watchers: &Watchers,
) -> BTreeSet<SessionId> {
    let orphaned = shared.leases.orphaned().await;
    for session in orphaned.iter().filter(|session| found_before.contains(*session)) {
        shared.take_over_session(session, watchers).await;
    }
    orphaned.into_iter().collect()
}
