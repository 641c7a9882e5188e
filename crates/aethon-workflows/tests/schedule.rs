//! The scheduler over a storage in memory, with an assistant that only counts.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    reason = "tests, and the functions that they share"
)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_core::assistant::{ActiveTurn, Assistant, PendingReply, Posting, Submitted};
use aethon_core::channel::{Channel, Channels, Delivery, DeliveryError};
use aethon_core::clock::Clock;
use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::ledger::WorkKind;
use aethon_core::live::Live;
use aethon_core::message::{EndReason, Failure, Handling, Inbound, Reply, TurnEnd};
use aethon_core::model::Usage;
use aethon_core::person::Person;
use aethon_core::schedule::{JobRefusal, JobRequest, Origin, RunRecord, RunStatus, Schedule};
use aethon_core::session::Clear;
use aethon_core::shutdown::{Shutdown, ShutdownTrigger};
use aethon_core::surface::Surface;
use aethon_core::testkit::MemoryStore;
use aethon_core::version::Expected;
use aethon_workflows::schedule::{BookOptions, BookParts, JobBook, Scheduler, SchedulerParts, StrangerJobs};
use aethon_workflows::sop::SopFolder;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep};

fn now() -> Timestamp {
    "2026-02-03T04:05:06Z".parse().unwrap()
}

/// A clock that goes with tokio's, and can be set.
struct Clockwork {
    begin: Instant,
    ahead: Mutex<SignedDuration>,
}

impl Clock for Clockwork {
    fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.begin.elapsed()).unwrap();
        now() + passed + *self.ahead.lock().unwrap()
    }
}

/// Answers every message after a while, and each only once. A text with "fail" in it fails so often.
#[derive(Default)]
struct Counting {
    running: AtomicUsize,
    most: AtomicUsize,
    failures: AtomicUsize,
    known: Mutex<HashMap<String, Inbound>>,
}

impl Counting {
    fn texts(&self) -> Vec<String> {
        let known = self.known.lock().unwrap();
        let said = |inbound: &Inbound| match &inbound.handling {
            Handling::Program { answer } => answer.clone(),
            _ => inbound.text.clone(),
        };
        let mut texts: Vec<String> = known.values().map(said).collect();
        texts.sort();
        texts
    }
}

/// The way to it.
struct Counter(Arc<Counting>);

#[async_trait]
impl Assistant for Counter {
    async fn submit(&self, inbound: Inbound, _surface: Arc<dyn Surface>) -> Result<Submitted> {
        assert_eq!(inbound.kind, WorkKind::Scheduled);
        let id = inbound.dedupe.clone().unwrap().id;
        let is_new = self.0.known.lock().unwrap().insert(id, inbound.clone()).is_none();
        let (sender, reply) = PendingReply::pair();
        let (turn, this) = (TurnId::fresh(), self.0.clone());
        let given = turn.clone();
        tokio::spawn(async move {
            let running = this.running.fetch_add(1, Ordering::SeqCst) + 1;
            this.most.fetch_max(running, Ordering::SeqCst);
            sleep(Duration::from_millis(200)).await;
            this.running.fetch_sub(1, Ordering::SeqCst);
            let left = |left: usize| left.checked_sub(1);
            let fails = this.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_ok();
            let failure = fails.then(|| Failure::new(EndReason::Internal, "the model is tired"));
            let end = if fails { TurnEnd::Error } else { TurnEnd::End };
            let (session, text) = (inbound.session, inbound.text);
            let usage = Usage::default();
            let reply = Reply { turn, session, text, end, model: "m".into(), usage, failure };
            sender.send_replace(Some(Arc::new(reply)));
        });
        Ok(Submitted { turn: given, queued: 0, is_new, reply })
    }

    async fn stop(&self, _session: &SessionId, _turn: Option<&TurnId>) -> usize {
        0
    }

    fn activity(&self) -> Vec<ActiveTurn> {
        Vec::new()
    }

    fn is_busy(&self, _session: &SessionId) -> bool {
        false
    }

    async fn clear(&self, _session: &SessionId, _how: Clear) -> Result<bool> {
        Ok(false)
    }

    async fn post(&self, _session: &SessionId, _key: &str, _posting: &Posting) -> Result<bool> {
        Ok(true)
    }
}

struct Pigeon;

#[async_trait]
impl Channel for Pigeon {
    fn name(&self) -> &str {
        "pigeon"
    }

    async fn send(&self, _delivery: &Delivery) -> std::result::Result<(), DeliveryError> {
        Ok(())
    }
}

/// A home with its jobs.
struct Bench {
    store: Arc<MemoryStore>,
    clock: Arc<Clockwork>,
    assistant: Arc<Counting>,
}

impl Bench {
    fn new() -> Self {
        let clock = Arc::new(Clockwork { begin: Instant::now(), ahead: Mutex::default() });
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self { store, clock, assistant: Arc::default() }
    }

    fn book(&self, store: &Arc<MemoryStore>) -> JobBook {
        let sops = Arc::new(SopFolder::new("/nonexistent", Live::default()));
        let channels = vec!["pigeon".to_owned(), "gone".to_owned(), "owl".to_owned()];
        let options = BookOptions {
            is_enabled: true,
            default_channel: "pigeon".into(),
            channels,
            without_home: vec!["owl".to_owned()],
        };
        JobBook::new(BookParts {
            jobs: store.clone(),
            runs: store.clone(),
            sops,
            options,
            clock: self.clock.clone(),
            bus: Default::default(),
        })
    }

    async fn add(&self, request: JobRequest) {
        self.book(&self.store).add(request, Origin::Owner).await.unwrap();
    }

    /// A program that runs jobs.
    fn start(&self, store: &Arc<MemoryStore>, shutdown: Shutdown) -> tokio::task::JoinHandle<()> {
        let channels = Channels::new([Arc::new(Pigeon) as Arc<dyn Channel>]).unwrap();
        let (book, assistant) = (self.book(store), Arc::new(Counter(self.assistant.clone())));
        tokio::spawn(Scheduler::new(SchedulerParts { book, assistant, channels }).run(shutdown))
    }

    /// Runs one for so long.
    async fn run_for(&self, seconds: u64) {
        let (trigger, shutdown) = ShutdownTrigger::pair();
        let task = self.start(&self.store, shutdown);
        sleep(Duration::from_secs(seconds)).await;
        trigger.trigger();
        task.await.unwrap();
    }

    fn set_clock(&self, seconds: i64) {
        *self.clock.ahead.lock().unwrap() += SignedDuration::from_secs(seconds);
    }

    async fn runs(&self, job: &str) -> Vec<(RunStatus, u32)> {
        let runs: Vec<RunRecord> = self.book(&self.store).runs(job, 99).await.unwrap();
        runs.iter().rev().map(|run| (run.status, run.attempt)).collect()
    }

    async fn last(&self, job: &str) -> (Option<RunStatus>, Option<String>, Option<Timestamp>) {
        let jobs = self.book(&self.store).jobs().await.unwrap();
        let record = jobs.into_iter().find(|record| record.job.job_id.as_str() == job).unwrap();
        (record.last_status, record.last_error, record.next_run)
    }
}

fn job(id: &str, cron: &str, change: impl FnOnce(&mut JobRequest)) -> JobRequest {
    let some = |text: &str| Some(text.to_owned());
    let mut request =
        JobRequest { job_id: some(id), cron: some(cron), prompt: some(id), ..JobRequest::default() };
    request.timezone = some("UTC");
    change(&mut request);
    request
}

// The time of these tests begins at 04:05:06.

#[tokio::test(start_paused = true)]
async fn due_job_runs_once_and_moves_to_its_next_time() {
    let bench = Bench::new();
    bench.add(job("hourly", "10 * * * *", |_| {})).await;
    bench.run_for(400).await;
    assert_eq!(bench.runs("hourly").await, [(RunStatus::Ok, 0)]);
    let next: Timestamp = "2026-02-03T05:10:00Z".parse().unwrap();
    assert_eq!(bench.last("hourly").await, (Some(RunStatus::Ok), None, Some(next)));
    // A clock that is set back runs nothing twice.
    bench.set_clock(-600);
    bench.run_for(900).await;
    assert_eq!(bench.runs("hourly").await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn job_of_a_stranger_keeps_the_strangers_trust() {
    let bench = Bench::new();
    bench.add(job("theirs", "10 * * * *", |request| request.untrusted = true)).await;
    bench.add(job("own", "10 * * * *", |_| {})).await;
    bench.run_for(400).await;
    let known = bench.assistant.known.lock().unwrap();
    let mut marked: Vec<_> =
        known.values().map(|inbound| (inbound.sender.as_str(), inbound.untrusted)).collect();
    marked.sort_unstable();
    assert_eq!(marked, [("own", false), ("theirs", true)]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_missed_is_recorded_or_made_up_once() {
    let bench = Bench::new();
    bench.add(job("skip", "10 * * * *", |_| {})).await;
    bench.add(job("catch-up", "10 * * * *", |request| request.missed = Some("run_once".into()))).await;
    sleep(Duration::from_secs(3 * 3600)).await;
    bench.run_for(10).await;
    assert_eq!(bench.runs("skip").await, [(RunStatus::Missed, 0)]);
    assert_eq!(bench.runs("catch-up").await, [(RunStatus::Ok, 0)]);
    let texts = bench.assistant.texts();
    assert!(
        texts.iter().any(|text| text.contains("`skip` at 2026-02-03T04:10:00.000Z did not run")),
        "{texts:?}"
    );
    // The machine sleeps while the program runs.
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let task = bench.start(&bench.store, shutdown);
    sleep(Duration::from_secs(20)).await;
    bench.set_clock(2 * 3600);
    sleep(Duration::from_secs(20)).await;
    trigger.trigger();
    task.await.unwrap();
    assert_eq!(bench.runs("skip").await, [(RunStatus::Missed, 0), (RunStatus::Missed, 0)]);
    assert_eq!(bench.runs("catch-up").await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn missed_reminder_runs_late_and_skipped_one_is_reported() {
    let bench = Bench::new();
    let once = |id: &str, missed: Option<&str>| {
        job(id, "", |request| {
            (request.cron, request.run_at) = (None, Some("2026-02-03T04:10:00.000999Z".into()));
            request.missed = missed.map(str::to_owned);
            request.prompt = Some(format!("mind the {id}"));
        })
    };
    bench.add(once("tea", None)).await;
    bench.add(once("cat", Some("skip"))).await;
    sleep(Duration::from_secs(3600)).await;
    bench.run_for(10).await;
    let texts = bench.assistant.texts();
    assert!(texts.iter().any(|text| text == "mind the tea"), "{texts:?}");
    assert!(texts.iter().any(|text| text.ends_with("Its task was:\n\n> mind the cat")), "{texts:?}");
    assert_eq!(texts.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_time_finer_than_a_millisecond_is_one_run() {
    let bench = Bench::new();
    for number in 0..50 {
        let run_at = format!("2026-02-03T04:05:10.{:06}Z", 150_000 + number * 37);
        bench
            .add(job(&format!("j{number}"), "", |request| {
                (request.cron, request.run_at) = (None, Some(run_at))
            }))
            .await;
    }
    bench.run_for(60).await;
    for number in 0..50 {
        let id = format!("j{number}");
        assert_eq!(bench.runs(&id).await, [(RunStatus::Ok, 0)], "{id}");
        assert_eq!(bench.last(&id).await.2, None);
    }
}

#[tokio::test(start_paused = true)]
async fn run_waiting_for_a_place_is_not_missed_after_a_restart() {
    let bench = Bench::new();
    for number in 0..40 {
        bench.add(job(&format!("j{number:02}"), "6 4 * * *", |_| {})).await;
    }
    // The first runs begin at 04:06:00, four at a time; the program ends 300 ms later.
    bench.run_for(54).await;
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let task = bench.start(&bench.store, shutdown);
    sleep(Duration::from_millis(300)).await;
    trigger.trigger();
    task.await.unwrap();
    let jobs = bench.book(&bench.store).jobs().await.unwrap();
    let waiting = jobs.iter().filter(|record| record.last_status.is_none()).count();
    assert!(waiting > 20, "{waiting}");
    sleep(Duration::from_secs(3600)).await;
    bench.run_for(120).await;
    for record in bench.book(&bench.store).jobs().await.unwrap() {
        assert_eq!(record.last_status, Some(RunStatus::Ok), "{:?}", record.last_error);
    }
}

#[tokio::test(start_paused = true)]
async fn a_time_that_a_wrong_clock_left_behind_is_corrected() {
    const DAY: i64 = 86_400;
    // How far the clock was off, and whether the program was restarted when it was right again.
    for (off, is_restarted) in [
        (DAY, false),
        (DAY, true),
        (3650 * DAY, false),
        (3650 * DAY, true),
        (-3650 * DAY, false),
        (-3650 * DAY, true),
    ] {
        let bench = Bench::new();
        bench.add(job("minutely", "* * * * *", |_| {})).await;
        let (trigger, shutdown) = ShutdownTrigger::pair();
        let mut task = bench.start(&bench.store, shutdown.clone());
        sleep(Duration::from_secs(90)).await;
        bench.set_clock(off);
        sleep(Duration::from_secs(90)).await;
        bench.set_clock(-off);
        if is_restarted {
            task.abort();
            let _ = task.await;
            task = bench.start(&bench.store, shutdown);
        }
        let before = bench.runs("minutely").await.len();
        sleep(Duration::from_secs(90)).await;
        let after = bench.runs("minutely").await.len();
        assert!((1..=3).contains(&(after - before)), "{off} {is_restarted}: {before} {after}");
        let (_, _, next) = bench.last("minutely").await;
        let wait = next.unwrap().duration_since(bench.clock.now());
        assert!(wait <= SignedDuration::from_secs(60), "{off} {is_restarted}: {wait}");
        trigger.trigger();
        task.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_tried_again_in_runs_of_their_own() {
    let bench = Bench::new();
    bench.assistant.failures.store(3, Ordering::SeqCst);
    bench.add(job("flaky", "6 4 * * *", |request| request.retries = Some(2))).await;
    bench.run_for(120).await;
    assert_eq!(
        bench.runs("flaky").await,
        [(RunStatus::Error, 0), (RunStatus::Error, 1), (RunStatus::Error, 2)]
    );
    let (status, error, _) = bench.last("flaky").await;
    assert_eq!((status, error.as_deref()), (Some(RunStatus::Error), Some("the model is tired")));
}

#[tokio::test(start_paused = true)]
async fn job_for_an_unavailable_channel_fails_without_a_turn() {
    let bench = Bench::new();
    bench.add(job("lost", "6 4 * * *", |request| request.channel = Some("gone".into()))).await;
    bench.run_for(120).await;
    let (status, error, _) = bench.last("lost").await;
    assert!(status == Some(RunStatus::Error) && error.unwrap().contains("\"gone\""));
    assert!(bench.assistant.texts().is_empty(), "no money is spent on it");
}

#[tokio::test(start_paused = true)]
async fn two_programs_run_a_job_once_and_continue_its_turn() {
    let bench = Bench::new();
    bench.add(job("one", "6 4 * * *", |_| {})).await;
    let beside = Arc::new(bench.store.beside());
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let tasks = [bench.start(&bench.store, shutdown.clone()), bench.start(&beside, shutdown)];
    // The run begins at 04:06:00 and is cut off in the middle.
    sleep(Duration::from_millis(54_100)).await;
    trigger.trigger();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(bench.runs("one").await, [(RunStatus::Running, 0)]);
    bench.run_for(10).await;
    assert_eq!(bench.runs("one").await, [(RunStatus::Ok, 0)]);
    assert_eq!(bench.assistant.texts(), ["one"], "a second turn would be a second text");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_due_jobs_run_once_each_a_few_at_a_time() {
    let bench = Bench::new();
    for number in 0..1000 {
        bench.add(job(&format!("j{number:04}"), "6 4 * * *", |_| {})).await;
    }
    bench.run_for(300).await;
    let jobs = bench.book(&bench.store).jobs().await.unwrap();
    assert!(jobs.iter().all(|record| record.last_status == Some(RunStatus::Ok)));
    assert_eq!(bench.assistant.texts().len(), 1000);
    let most = bench.assistant.most.load(Ordering::SeqCst);
    assert!((2..=4).contains(&most), "{most}");
}

#[tokio::test(start_paused = true)]
async fn requested_run_begins_at_once_and_only_one_at_a_time() {
    let bench = Bench::new();
    bench.add(job("yearly", "@yearly", |_| {})).await;
    let book = bench.book(&bench.store);
    assert_eq!(book.run("yearly").await.unwrap().status, RunStatus::Running);
    assert!(matches!(book.run("yearly").await, Err(JobRefusal::Conflict(_))));
    assert!(matches!(book.run("none").await, Err(JobRefusal::Unknown(_))));
    bench.run_for(10).await;
    assert_eq!(bench.runs("yearly").await, [(RunStatus::Ok, 0)]);
    book.remove("yearly", Expected::Anything).await.unwrap();
    assert!(matches!(book.remove("yearly", Expected::Anything).await, Err(JobRefusal::Unknown(_))));
}

#[tokio::test]
async fn job_faults_name_their_field() {
    let bench = Bench::new();
    let check = async |change: fn(&mut JobRequest), expected: &str| {
        let refused = bench.book(&bench.store).add(job("x", "@daily", change), Origin::Owner).await;
        let Err(JobRefusal::Fields(faults)) = refused else { panic!("{expected}: {refused:?}") };
        let fields: Vec<&str> = faults.iter().map(|fault| fault.field).collect();
        assert_eq!(fields.join(","), expected, "{faults:?}");
    };
    check(|request| request.cron = Some("0 0 30 2 *".into()), "cron").await;
    check(|request| request.cron = Some("often".into()), "cron").await;
    check(|request| request.cron = None, "cron").await;
    check(|request| request.run_at = Some("2030-01-01T00:00:00Z".into()), "run_at").await;
    check(|request| (request.cron, request.run_at) = (None, Some("2020-01-01T00:00:00Z".into())), "run_at")
        .await;
    check(|request| (request.cron, request.run_at) = (None, Some("soon".into())), "run_at").await;
    check(|request| request.prompt = Some("  ".into()), "prompt").await;
    check(|request| request.sop_name = Some("none".into()), "sop_name").await;
    check(|request| request.sop_name = Some("Not A Name".into()), "sop_name").await;
    check(|request| request.channel = Some("telepathy".into()), "channel").await;
    check(|request| request.channel = Some("owl".into()), "recipient").await;
    check(|request| request.timezone = Some("Mars/Base".into()), "timezone").await;
    check(|request| request.missed = Some("maybe".into()), "missed").await;
    check(|request| request.job_id = Some("a b".into()), "job_id").await;
    check(|request| (request.retries, request.channel) = (Some(99), Some("x".into())), "channel,retries")
        .await;
    // A model must give the input of a SOP at once; a person gets a warning.
    let wanted =
        || job("x", "@daily", |request| (request.sop_name, request.prompt) = (Some("pdd".into()), None));
    let book = bench.book(&bench.store);
    let refused = book.add(wanted(), Origin::Assistant).await.unwrap_err();
    assert!(format!("{refused:?}").contains("rough_idea"), "{refused:?}");
    let warning = book.add(wanted(), Origin::Owner).await.unwrap().warning.unwrap();
    assert!(warning.contains("rough_idea"), "{warning}");
}

#[tokio::test]
async fn stranger_jobs_are_limited_per_day_over_all_programs() {
    let bench = Bench::new();
    let limit = || StrangerJobs::new(bench.store.clone(), 2);
    let (one, other) = (
        bench.book(&bench.store).with_stranger_limit(limit()),
        bench.book(&bench.store).with_stranger_limit(limit()),
    );
    let ben = Person::member("ben").unwrap();
    let theirs = |id: &str| job(id, "10 * * * *", |request| request.untrusted = true);
    let bens = |id: &str| job(id, "10 * * * *", |request| request.person = ben.clone());
    let add = async |book: &JobBook, request: JobRequest| {
        book.add(request, Origin::Assistant).await.map(drop).map_err(|refusal| refusal.to_string())
    };
    let check = |added: std::result::Result<(), String>| {
        let refusal = added.unwrap_err();
        assert!(refusal.contains("`scheduler.max_stranger_jobs`"), "{refusal}");
    };
    add(&one, theirs("a")).await.unwrap();
    // A job that is not stored takes no place.
    assert!(add(&one, bens("a")).await.unwrap_err().contains("there is a job"));
    add(&other, bens("b")).await.unwrap();
    check(add(&one, bens("c")).await);
    check(add(&other, theirs("c")).await);
    one.remove("a", Expected::Anything).await.unwrap();
    check(add(&one, theirs("a")).await);
    add(&one, job("owners", "10 * * * *", |_| {})).await.unwrap();
    // A day later there is room again, up to the limit in total.
    let mut day = 0;
    for number in 1..10 {
        day += 1;
        *bench.clock.ahead.lock().unwrap() = SignedDuration::from_hours(24 * day + day);
        for place in 0..2 {
            add(&one, theirs(&format!("day-{number}-{place}"))).await.unwrap();
        }
    }
    day += 1;
    *bench.clock.ahead.lock().unwrap() = SignedDuration::from_hours(24 * day + day);
    add(&one, theirs("the-twentieth")).await.unwrap();
    let refusal = add(&one, theirs("one-more")).await.unwrap_err();
    assert!(refusal.contains("there are 20 jobs already"), "{refusal}");
}

#[tokio::test]
async fn stranger_jobs_counted_by_a_fast_clock_expire_in_a_day() {
    let bench = Bench::new();
    let book = bench.book(&bench.store).with_stranger_limit(StrangerJobs::new(bench.store.clone(), 2));
    let add = async |id: &str| {
        let request = job(id, "10 * * * *", |request| request.untrusted = true);
        book.add(request, Origin::Assistant).await.map(drop).map_err(|refusal| refusal.to_string())
    };
    let set = |hours: i64| *bench.clock.ahead.lock().unwrap() = SignedDuration::from_hours(hours);
    set(24 * 365);
    add("a").await.unwrap();
    add("b").await.unwrap();
    set(0);
    assert!(add("c").await.is_err(), "they count as taken now");
    set(23);
    assert!(add("c").await.is_err());
    set(25);
    add("c").await.unwrap();
    add("d").await.unwrap();
    assert!(add("e").await.is_err());
}
