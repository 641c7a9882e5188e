//! Takes over the turns of programs that are gone: `recover` decides what becomes of each, and what goes on joins the queue of
//! its session here.

use std::sync::Arc;

use aethon_core::assistant::PendingReply;
use aethon_core::error::{Error, Result};
use aethon_core::ids::SessionId;
use aethon_core::session::TurnRecord;
use aethon_core::surface::Surface;

use super::leases::Watchers;
use super::recover::stage_of;
use super::shared::Shared;
use crate::catch_panic::catch_panic;
use crate::dispatcher::Stage;
use aethon_core::storage_log::log_storage;

impl Shared {
    /// Looks after all that is left over. Returns how many go on.
    pub(super) async fn recover(self: &Arc<Self>, watchers: &Watchers) -> Result<usize> {
        let mut going_on = 0;
        for session in self.services.owners.orphaned().await? {
            going_on += self.take_over_session(&session, watchers).await;
        }
        if going_on > 0 {
            tracing::info!(turns = going_on, "interrupted turns continue");
        }
        Ok(going_on)
    }

    /// Takes over the turns that a dead program has left in a session, if no turn runs here in it: a running turn
    /// checks for earlier turns itself. Returns the number of resumed turns.
    pub(super) async fn take_over_session(
        self: &Arc<Self>,
        session: &SessionId,
        watchers: &Watchers,
    ) -> usize {
        if !self.queues.reserve(session) {
            return 0;
        }
        let taken_over = async {
            let records = self.services.owners.take_over(session).await?;
            Ok::<_, Error>(self.recovery.requeue(records, false, watchers).await)
        };
        let jobs = match catch_panic(taken_over).await {
            Ok(Ok(jobs)) => jobs,
            Ok(Err(error)) => {
                log_storage("interrupted turns could not be taken over", &error);
                Vec::new()
            }
            Err(panic) => {
                tracing::error!(%session, panic, "taking turns over panicked");
                Vec::new()
            }
        };
        let going_on = jobs.iter().filter(|(_, job)| job.stage != Stage::GivenUp).count();
        if let Some(next) = self.queues.release(session, jobs) {
            let shared = self.clone();
            self.tasks.spawn(async move { shared.run_queue(next).await });
        }
        going_on
    }

    /// Puts a stored turn into its queue, regardless of which program works on it.
    pub(super) async fn enqueue_stored(
        self: &Arc<Self>,
        record: TurnRecord,
        surface: Arc<dyn Surface>,
    ) -> Result<PendingReply> {
        let (live, job) = self.recovery.pair_of(&record, stage_of(&record), surface).await?;
        let reply = live.reply.clone();
        if let Some((reply, _)) = self.queues.find(job.session(), &job.turn) {
            return Ok(reply);
        }
        if let Some(job) = self.queues.enqueue_recovered(live, job) {
            let shared = self.clone();
            self.tasks.spawn(async move { shared.run_queue(job).await });
        }
        Ok(reply)
    }
}
