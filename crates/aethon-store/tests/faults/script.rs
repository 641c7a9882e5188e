//! A run with everything that the store keeps: acknowledged writes are noted, and looked for afterwards.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_core::channel::{DeliveryOutcome, DeliveryState, Outbox};
use aethon_core::error::Result;
use aethon_core::ids::TurnId;
use aethon_core::ledger::{Claim, Ledger, LedgerEntry, WorkKind};
use aethon_core::memory::{Memory, MemoryListing, NewMemory};
use aethon_core::message::Role;
use aethon_core::model::Usage;
use aethon_core::person::Person;
use aethon_core::schedule::{
    BeginRun, EndRun, Job, JobId, JobStore, Missed, Origin, RunLog, RunRecord, RunStatus, Task, Timing,
};
use aethon_core::session::{Clear, Transcripts, TurnLog};
use aethon_core::storage::{Retention, Synchronous, Upkeep};
use aethon_core::testkit::ManualClock;
use aethon_core::testkit::phrases::*;
use aethon_store::{OpenMode, Options, Store};
use jiff::SignedDuration;

use crate::{disk, features};

/// How long the store may take to get over a fault that has passed.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Acknowledged writes.
#[derive(Default)]
pub struct Known {
    /// Messages that were accepted, and their answers, by session.
    said: Vec<(&'static str, String)>,
    removed: Vec<&'static str>,
    remembered: Vec<String>,
    /// Calls that were booked.
    booked: usize,
    jobs: Vec<JobId>,
    /// Runs that began, and whether they ended.
    runs: Vec<(JobId, String, bool)>,
    /// Deliveries that were stored, and settled.
    stored: usize,
    settled: usize,
    features: features::Known,
}

pub fn open(path: &Path) -> std::result::Result<Store, aethon_store::Error> {
    let options = Options::default().with(|options| {
        options.mode = OpenMode::Daemon;
        options.synchronous = Synchronous::Full;
        options.clock = Arc::new(ManualClock::at(start()));
    });
    Store::open(path, options)
}

/// Does something until it is acknowledged; `None` when the power is gone.
pub async fn until<T>(mut work: impl AsyncFnMut() -> Result<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        match work().await {
            Ok(done) => return Some(done),
            Err(_) if disk::is_out() => return None,
            Err(error) => {
                assert!(error.is_unavailable() || disk::has_failed(), "{error}");
                assert!(begun.elapsed() < TIMEOUT, "it does not get over it: {error}");
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    }
}

/// The whole run, as far as the power lasts.
pub async fn run(store: &Store, known: &mut Known) -> Option<()> {
    for number in 0..3 {
        turn(store, known, "webchat:a", number).await?;
    }
    turn(store, known, "webchat:b", 3).await?;
    money(store, known).await?;
    memories(store, known).await?;
    jobs(store, known).await?;
    deliveries(store, known).await?;
    features::run(store, &mut known.features).await?;
    // From here on it may be gone, whether or not that is acknowledged.
    known.said.retain(|(session, _)| *session != "webchat:b");
    until(async || store.clear(&session("webchat:b"), Clear::Delete).await).await?;
    known.removed.push("webchat:b");
    let _ = store.maintain(Retention::of_oneshots(7)).await;
    turn(store, known, "webchat:c", 4).await?;
    until(async || store.messages(&session("webchat:a"), None, 100).await).await?;
    store.close().await;
    Some(())
}

async fn turn(store: &Store, known: &mut Known, id: &'static str, number: usize) -> Option<()> {
    let (turn, text) = (TurnId::fresh(), format!("question {number}"));
    until(async || store.accept(&turn, &say(id, &text), Some(begin(&text))).await).await?;
    known.said.push((id, text));
    let step = message(Role::Assistant, &format!("step {number}"));
    // A fault between the commit and the answer would let it be stored twice, so nothing is acknowledged twice here.
    until(async || store.append(&turn, vec![step.clone()]).await).await?;
    known.said.push((id, format!("step {number}")));
    let answer = format!("answer {number}");
    let mut end = finish(&turn, id, &answer);
    end.deliveries = vec![delivery(&format!("delivery {number}"), 600)];
    until(async || store.finish(end.clone()).await).await?;
    known.said.push((id, answer));
    known.stored += 1;
    Some(())
}

async fn money(store: &Store, known: &mut Known) -> Option<()> {
    for _ in 0..2 {
        let reserved = until(async || store.reserve("p", "m", Claim::exactly(0.5, 100.0)).await).await??;
        let usage = Usage { cost_usd: 0.25, ..Usage::default() };
        let entry = LedgerEntry {
            at: start(),
            session: None,
            turn: None,
            provider: "p".into(),
            model: "m".into(),
            kind: WorkKind::Turn,
            usage,
            saved_usd: 0.0,
            is_ok: true,
        };
        until(async || Ledger::settle(store, Some(reserved.id), entry.clone()).await).await?;
        known.booked += 1;
    }
    Some(())
}

async fn memories(store: &Store, known: &mut Known) -> Option<()> {
    for number in 0..2 {
        let content = format!("Fact number {number} is worth keeping.");
        let memory = || NewMemory::new(&content, "facts", "api").unwrap();
        until(async || Memory::store(store, memory()).await).await?;
        known.remembered.push(content);
    }
    Some(())
}

async fn jobs(store: &Store, known: &mut Known) -> Option<()> {
    let job = Job {
        job_id: JobId::parse("news").unwrap(),
        timing: Timing::Once { run_at: start() + SignedDuration::from_secs(60) },
        task: Task { sop_name: None, prompt: Some("say hello".into()) },
        channel: "webchat".into(),
        recipient: None,
        missed: Missed::Skip,
        retries: 1,
        model: None,
        enabled: true,
        paused: false,
        origin: Origin::Owner,
        person: Person::default(),
        untrusted: false,
    };
    until(async || JobStore::add(store, &job, None, 10).await).await?;
    known.jobs.push(job.job_id.clone());
    let run = RunRecord {
        run_id: "r1".into(),
        job_id: job.job_id.clone(),
        due: None,
        started_at: start(),
        ended_at: None,
        status: RunStatus::Running,
        error: None,
        attempt: 0,
    };
    let begin = BeginRun { job: job.job_id.clone(), seen: None, next_run: None, run };
    until(async || RunLog::begin(store, begin.clone()).await).await?;
    known.runs.push((job.job_id.clone(), "r1".into(), false));
    let end = EndRun { at: start(), status: RunStatus::Ok, error: None, retry_at: None };
    until(async || RunLog::end(store, "r1", end.clone()).await).await?;
    known.runs.last_mut()?.2 = true;
    Some(())
}

async fn deliveries(store: &Store, known: &mut Known) -> Option<()> {
    let due = until(async || Outbox::due(store, start(), 10, &[]).await).await?;
    for delivery in due.iter().take(2) {
        until(async || Outbox::settle(store, delivery.id, DeliveryOutcome::Delivered).await).await?;
        known.settled += 1;
    }
    Some(())
}

/// Looks for all that was acknowledged.
pub async fn check(store: &Store, known: &Known, what: &str) {
    features::check(store, &known.features, what).await;
    for (id, text) in &known.said {
        let messages = store.messages(&session(id), None, 100).await.unwrap();
        let times = texts(&messages).iter().filter(|told| *told == text).count();
        assert_eq!(times, 1, "{what}: {text:?} is in {id} {times} times: {:?}", texts(&messages));
    }
    for id in &known.removed {
        assert!(store.session(&session(id)).await.unwrap().is_none(), "{what}: {id} is back");
    }
    let page = store.list(MemoryListing::newest(10)).await.unwrap();
    for content in &known.remembered {
        assert!(page.entries.iter().any(|entry| entry.content == *content), "{what}: {content:?}");
    }
    let today = store.today().await.unwrap();
    let least = 0.25 * known.booked as f64;
    assert!(today.spent_usd >= least - 1e-6, "{what}: {today:?}, {} calls were booked", known.booked);
    assert!(today.reserved_usd.abs() < 1e-9, "{what}: {today:?}");
    for job in &known.jobs {
        assert!(store.job(job).await.unwrap().is_some(), "{what}: the job {job} is gone");
    }
    for (job, run, is_ended) in &known.runs {
        let runs = RunLog::runs(store, job, 10).await.unwrap();
        let record = runs.iter().find(|record| record.run_id == *run);
        assert!(record.is_some(), "{what}: the run {run} is gone");
        assert!(!is_ended || record.is_some_and(|record| record.ended_at.is_some()), "{what}: {run} is open");
    }
    let waiting = Outbox::undelivered(store, DeliveryState::Waiting, 100).await.unwrap().count;
    let least = known.stored + usize::from(known.features.is_retried) - known.settled;
    assert!(waiting + 1 >= least as u64, "{what}: {waiting} deliveries wait, {least} should");
}
