//! The storage as a program sees it: the one in memory that keeps to the contract, behind steps at which the program may be
//! held up or killed, and failures that change nothing, as the contract says.
//!
//! A planted mutant stands in here for a storage, or an engine, that does not keep to it.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::channel::{
    Delivery, DeliveryOutcome, DeliveryPage, DeliveryState, NewDelivery, Outbox, WaitingDeliveries,
};
use aethon_core::error::Result;
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::import::{NewSession, SessionImport};
use aethon_core::message::{Inbound, Message};
use aethon_core::owner::{EndedElsewhere, Owners};
use aethon_core::schedule::{BeginRun, Due, EndRun, Job, JobId, JobRecord, JobStore, RunLog, RunRecord};
use aethon_core::session::{
    Accepted, Begin, Begun, BinPage, BinQuery, Binned, Clear, Discard, Finish, Finished, SessionKeeping,
    SessionPage, SessionPatch, SessionQuery, SessionSummary, Transcripts, TurnLog, TurnLookup, TurnRecord,
};
use aethon_core::testkit::MemoryStore;
use aethon_core::version::Expected;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::mutants;
use crate::world::{Life, World};

pub struct FaultyStore {
    pub world: Arc<World>,
    pub life: Arc<Life>,
    pub base: Arc<MemoryStore>,
}

impl FaultyStore {
    async fn write<T>(&self, what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.around(what, true, work).await
    }

    async fn read<T>(&self, what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.around(what, false, work).await
    }

    async fn around<T>(
        &self,
        what: &str,
        is_write: bool,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        self.world.step(&self.life, what).await;
        self.world.storage_fails(is_write)?;
        let done = work.await;
        self.world.step(&self.life, what).await;
        done
    }

    /// Notes the new owner of a turn. A turn must not be taken from a program that lives, has not released it and can renew
    /// its lease.
    fn taken(&self, turn: &TurnId) {
        let before = self.world.holds(turn, &self.life);
        let is_taken_away =
            before.is_some_and(|before| before.holds_its_turns() && before.number != self.life.number);
        if is_taken_away && !self.world.has_storage_faults() {
            self.world.violated(format!("{turn} was taken from a program that lives"));
        }
    }
}

#[async_trait]
impl SessionImport for FaultyStore {
    async fn import(&self, session: NewSession) -> Result<bool> {
        self.write("import", self.base.import(session)).await
    }
}

#[async_trait]
impl TurnLog for FaultyStore {
    async fn accept(&self, turn: &TurnId, inbound: &Inbound, begin: Option<Begin>) -> Result<Accepted> {
        let accept = async {
            let accepted = mutants::accept(self, turn, inbound, begin).await?;
            if let Accepted::New(_) = &accepted {
                self.taken(turn);
            }
            Ok(accepted)
        };
        self.write("accept", accept).await
    }

    async fn begin(&self, turn: &TurnId, begin: Begin) -> Result<Begun> {
        self.write("begin", mutants::begin(self, turn, begin)).await
    }

    async fn is_ours(&self, turn: &TurnId) -> Result<bool> {
        self.read("is_ours", self.base.is_ours(turn)).await
    }

    async fn append(&self, turn: &TurnId, messages: Vec<Message>) -> Result<Vec<MessageId>> {
        self.write("append", mutants::append(self, turn, messages)).await
    }

    async fn finish(&self, finish: Finish) -> Result<Finished> {
        self.write("finish", mutants::finish(self, finish)).await
    }

    async fn window(&self, session: &SessionId, limit: usize) -> Result<Vec<Message>> {
        self.read("window", self.base.window(session, limit)).await
    }
}

#[async_trait]
impl TurnLookup for FaultyStore {
    async fn known(&self, channel: &str, dedupe_id: &str) -> Result<Option<TurnRecord>> {
        self.read("known", self.base.known(channel, dedupe_id)).await
    }

    async fn turn(&self, turn: &TurnId) -> Result<Option<TurnRecord>> {
        self.read("turn", self.base.turn(turn)).await
    }

    async fn unfinished(&self) -> Result<Vec<TurnRecord>> {
        self.read("unfinished", self.base.unfinished()).await
    }
}

impl aethon_core::instance::Instances for FaultyStore {}

#[async_trait]
impl Owners for FaultyStore {
    fn lease(&self) -> Duration {
        self.base.lease()
    }

    async fn renew(&self) -> Result<()> {
        self.write("renew", self.base.renew()).await
    }

    async fn orphaned(&self) -> Result<Vec<SessionId>> {
        self.read("orphaned", mutants::orphaned(self)).await
    }

    async fn take_over(&self, session: &SessionId) -> Result<Vec<TurnRecord>> {
        let take_over = async {
            let records = mutants::take_over(self, session).await?;
            records.iter().for_each(|record| self.taken(&record.turn));
            Ok(records)
        };
        self.write("take_over", take_over).await
    }

    async fn ended_elsewhere(&self, after: Option<MessageId>) -> Result<EndedElsewhere> {
        self.read("ended_elsewhere", self.base.ended_elsewhere(after)).await
    }

    async fn release(&self) -> Result<()> {
        let release = async {
            self.base.release().await?;
            self.life.release_turns();
            Ok(())
        };
        self.write("release", release).await
    }
}

#[async_trait]
impl SessionKeeping for FaultyStore {
    async fn mark_read(&self, id: &SessionId) -> Result<bool> {
        self.write("mark_read", self.base.mark_read(id)).await
    }

    async fn suggest_title(&self, id: &SessionId, title: &str) -> Result<bool> {
        self.write("suggest_title", self.base.suggest_title(id, title)).await
    }

    async fn binned(&self, query: BinQuery) -> Result<BinPage> {
        self.read("binned", self.base.binned(query)).await
    }

    async fn restore(&self, which: Binned) -> Result<Option<SessionId>> {
        self.write("restore", self.base.restore(which)).await
    }

    async fn discard(&self, which: Discard) -> Result<u64> {
        self.write("discard", self.base.discard(which)).await
    }
}

#[async_trait]
impl Transcripts for FaultyStore {
    async fn sessions(&self, query: SessionQuery) -> Result<SessionPage> {
        self.read("sessions", self.base.sessions(query)).await
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionSummary>> {
        self.read("session", self.base.session(id)).await
    }

    async fn messages(
        &self,
        id: &SessionId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Message>> {
        self.read("messages", self.base.messages(id, before, limit)).await
    }

    async fn pending(&self, id: &SessionId) -> Result<Vec<TurnRecord>> {
        self.read("pending", self.base.pending(id)).await
    }

    async fn patch(&self, id: &SessionId, patch: &SessionPatch, expected: Expected) -> Result<bool> {
        self.write("patch", self.base.patch(id, patch, expected)).await
    }

    async fn clear(&self, id: &SessionId, how: Clear) -> Result<bool> {
        self.write("clear", mutants::clear(self, id, how)).await
    }

    async fn post(&self, id: &SessionId, key: &str, message: Message) -> Result<Option<MessageId>> {
        self.write("post", self.base.post(id, key, message)).await
    }
}

#[async_trait]
impl WaitingDeliveries for FaultyStore {
    async fn make_due(&self, channel: &str) -> Result<usize> {
        self.write("make_due", self.base.make_due(channel)).await
    }

    async fn has_waiting(&self, channel: &str, recipient: &str) -> Result<bool> {
        self.read("has_waiting", self.base.has_waiting(channel, recipient)).await
    }
}

#[async_trait]
impl Outbox for FaultyStore {
    async fn enqueue(&self, session: &SessionId, turn: &TurnId, content: NewDelivery) -> Result<i64> {
        self.write("enqueue", self.base.enqueue(session, turn, content)).await
    }

    async fn due(&self, now: Timestamp, limit: usize, but: &[String]) -> Result<Vec<Delivery>> {
        self.read("due", Outbox::due(&*self.base, now, limit, but)).await
    }

    async fn next_due(&self, but: &[String]) -> Result<Option<Timestamp>> {
        self.read("next_due", Outbox::next_due(&*self.base, but)).await
    }

    async fn settle(&self, id: i64, outcome: DeliveryOutcome) -> Result<()> {
        self.write("settle", mutants::settle(self, id, outcome)).await
    }

    async fn undelivered(&self, state: DeliveryState, limit: usize) -> Result<DeliveryPage> {
        self.read("undelivered", self.base.undelivered(state, limit)).await
    }

    async fn retry_delivery(&self, id: i64, expires_at: Timestamp) -> Result<bool> {
        self.write("retry_delivery", self.base.retry_delivery(id, expires_at)).await
    }

    async fn remove_delivery(&self, id: i64) -> Result<bool> {
        self.write("remove_delivery", self.base.remove_delivery(id)).await
    }
}

#[async_trait]
impl JobStore for FaultyStore {
    async fn jobs(&self) -> Result<Vec<JobRecord>> {
        self.read("jobs", self.base.jobs()).await
    }

    async fn job(&self, id: &JobId) -> Result<Option<JobRecord>> {
        self.read("job", self.base.job(id)).await
    }

    async fn add(&self, job: &Job, next_run: Option<Timestamp>, most: usize) -> Result<bool> {
        self.write("add", self.base.add(job, next_run, most)).await
    }

    async fn replace(&self, job: &Job, next_run: Option<Timestamp>, expected: Expected) -> Result<()> {
        self.write("replace", self.base.replace(job, next_run, expected)).await
    }

    async fn remove(&self, id: &JobId, expected: Expected) -> Result<bool> {
        self.write("remove", self.base.remove(id, expected)).await
    }

    async fn reschedule(&self, id: &JobId, seen: Due, next: Due) -> Result<bool> {
        self.write("reschedule", self.base.reschedule(id, seen, next)).await
    }
}

#[async_trait]
impl RunLog for FaultyStore {
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<JobRecord>> {
        self.read("due_jobs", RunLog::due(&*self.base, now, limit)).await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>> {
        self.read("next_due_job", RunLog::next_due(&*self.base)).await
    }

    async fn begin(&self, begin: BeginRun) -> Result<Option<RunRecord>> {
        let begin = async {
            let begun = mutants::begin_run(self, begin).await?;
            if let Some(run) = begun.as_ref().filter(|run| run.attempt == 0)
                && !self.world.history(|history| history.begun.insert((run.job_id.to_string(), run.due)))
            {
                self.world.violated(format!("{} was begun twice for {:?}", run.job_id, run.due));
            }
            Ok(begun)
        };
        self.write("begin_run", begin).await
    }

    async fn end(&self, run: &str, end: EndRun) -> Result<bool> {
        self.write("end_run", self.base.end(run, end)).await
    }

    async fn open(&self) -> Result<Vec<RunRecord>> {
        self.read("open_runs", self.base.open()).await
    }

    async fn runs(&self, job: &JobId, limit: usize) -> Result<Vec<RunRecord>> {
        self.read("runs", self.base.runs(job, limit)).await
    }

    async fn note_seen(&self, through: Option<Timestamp>) -> Result<Option<Timestamp>> {
        self.write("note_seen", self.base.note_seen(through)).await
    }
}
