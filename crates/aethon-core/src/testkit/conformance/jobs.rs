//! Scheduled jobs and SOP runs.

use jiff::Timestamp;

use super::stage::*;
use crate::ids::{SessionId, TurnId};
use crate::person::Person;
use crate::schedule::{
    BeginRun, Cron, Due, EndRun, Job, JobId, Missed, Origin, RunRecord, RunStatus, Task, Timing,
};
use crate::sop::{SopName, SopRun, SopRunChange, SopRunState};
use crate::version::Expected;

fn job(id: &str) -> Job {
    let cron = Cron::parse("0 8 * * *").unwrap();
    Job {
        job_id: JobId::parse(id).unwrap(),
        timing: Timing::Cron { cron, timezone: "UTC".into() },
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
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(start().as_second() + seconds).unwrap()
}

fn run(id: &str, job: &Job, due: Option<Timestamp>) -> RunRecord {
    RunRecord {
        run_id: id.into(),
        job_id: job.job_id.clone(),
        due,
        started_at: at(0),
        ended_at: None,
        status: RunStatus::Running,
        error: None,
        attempt: 0,
    }
}

fn begin_run(run: RunRecord, seen: Option<Due>, next_run: Option<Timestamp>) -> BeginRun {
    BeginRun { job: run.job_id.clone(), seen, next_run, run }
}

pub async fn a_job_is_kept_whole_and_its_name_counts_once(stage: Stage) {
    let (jobs, job) = (&stage.storage.workflows.jobs, job("news"));
    assert!(jobs.add(&job, Some(at(60)), 2).await.unwrap());
    assert!(!jobs.add(&job, Some(at(90)), 2).await.unwrap());
    assert!(jobs.add(&self::job("a"), None, 2).await.unwrap());
    assert!(!jobs.add(&self::job("b"), None, 2).await.unwrap(), "there may be two");
    let found = jobs.job(&job.job_id).await.unwrap().unwrap();
    assert_eq!((&found.job, found.next_run, found.last_status), (&job, Some(at(60)), None));
    let names: Vec<String> =
        jobs.jobs().await.unwrap().iter().map(|record| record.job.job_id.to_string()).collect();
    assert_eq!(names, ["a", "news"]);
    let changed = Job { retries: 3, ..job.clone() };
    jobs.replace(&changed, Some(at(70)), Expected::Anything).await.unwrap();
    let found = jobs.job(&job.job_id).await.unwrap().unwrap();
    assert_eq!((found.job.retries, found.next_run), (3, Some(at(70))));
    // Whoever has seen another version changes and removes nothing.
    let (old, present) = (Expected::OneOf(vec![job.version()]), Expected::OneOf(vec![changed.version()]));
    let refused = jobs.replace(&job, None, old.clone()).await.unwrap_err();
    assert!(refused.is_changed_elsewhere());
    assert!(jobs.remove(&job.job_id, old).await.unwrap_err().is_changed_elsewhere());
    assert_eq!(jobs.job(&job.job_id).await.unwrap().unwrap().job, changed);
    jobs.replace(&changed, Some(at(70)), present).await.unwrap();
    assert!(jobs.remove(&job.job_id, Expected::Anything).await.unwrap());
    assert!(!jobs.remove(&job.job_id, Expected::Anything).await.unwrap());
    assert!(jobs.remove(&job.job_id, Expected::Existing).await.unwrap_err().is_changed_elsewhere());
    assert!(jobs.replace(&job, None, Expected::Existing).await.unwrap_err().is_changed_elsewhere());
    assert!(jobs.job(&job.job_id).await.unwrap().is_none());
}

pub async fn a_run_that_is_due_has_one_owner(stage: Stage) {
    let job = job("news");
    stage.storage.workflows.jobs.add(&job, Some(at(60)), 9).await.unwrap();
    let runs = [&stage.storage.workflows.job_runs, &stage.beside.workflows.job_runs];
    assert_eq!(runs[0].next_due().await.unwrap(), Some(at(60)));
    assert!(runs[0].due(at(59), 9).await.unwrap().is_empty());
    assert_eq!(runs[1].due(at(60), 9).await.unwrap().len(), 1);
    let seen = Some(Due { next_run: Some(at(60)), retry_at: None });
    let begin = |id: &str| begin_run(run(id, &job, Some(at(60))), seen, Some(at(120)));
    let (one, other) = (runs[0].begin(begin("r1")).await, runs[1].begin(begin("r2")).await);
    let begun: Vec<RunRecord> = [one.unwrap(), other.unwrap()].into_iter().flatten().collect();
    let [begun] = begun.as_slice() else { panic!("{begun:?}") };
    assert_eq!((begun.status, begun.due), (RunStatus::Running, Some(at(60))));
    assert!(runs[0].due(at(119), 9).await.unwrap().is_empty());
    let open = runs[1].open().await.unwrap();
    assert_eq!(open.iter().map(|run| &run.run_id).collect::<Vec<_>>(), [&begun.run_id]);
}

pub async fn a_job_is_moved_only_from_where_it_was_seen(stage: Stage) {
    let job = job("news");
    let (jobs, runs) = (&stage.storage.workflows.jobs, &stage.storage.workflows.job_runs);
    jobs.add(&job, Some(at(600)), 9).await.unwrap();
    let due = |next_run: i64, retry_at: Option<i64>| Due {
        next_run: Some(at(next_run)),
        retry_at: retry_at.map(at),
    };
    assert!(!jobs.reschedule(&job.job_id, due(601, None), due(60, None)).await.unwrap());
    assert!(!jobs.reschedule(&job.job_id, due(600, Some(1)), due(60, None)).await.unwrap());
    assert!(jobs.reschedule(&job.job_id, due(600, None), due(60, Some(30))).await.unwrap());
    let record = jobs.job(&job.job_id).await.unwrap().unwrap();
    assert_eq!((record.next_run, record.retry_at, record.attempt), (Some(at(60)), Some(at(30)), 0));
    assert_eq!(runs.next_due().await.unwrap(), Some(at(30)));
    let gone = JobId::parse("gone").unwrap();
    assert!(!jobs.reschedule(&gone, due(60, None), due(61, None)).await.unwrap());
}

pub async fn what_a_scheduler_has_seen_is_noted(stage: Stage) {
    let runs = [&stage.storage.workflows.job_runs, &stage.beside.workflows.job_runs];
    assert_eq!(runs[0].note_seen(None).await.unwrap(), None);
    assert_eq!(runs[0].note_seen(Some(at(5))).await.unwrap(), None);
    assert_eq!(runs[1].note_seen(Some(at(3))).await.unwrap(), Some(at(5)));
    assert_eq!(runs[1].note_seen(None).await.unwrap(), Some(at(3)));
}

pub async fn a_job_has_one_open_run(stage: Stage) {
    let job = job("news");
    let (jobs, runs) = (&stage.storage.workflows.jobs, &stage.storage.workflows.job_runs);
    jobs.add(&job, Some(at(60)), 9).await.unwrap();
    assert!(runs.begin(begin_run(run("r1", &job, None), None, None)).await.unwrap().is_some());
    assert!(runs.begin(begin_run(run("r2", &job, None), None, None)).await.unwrap().is_none());
    let seen = Some(Due { next_run: Some(at(60)), retry_at: None });
    let skipped =
        runs.begin(begin_run(run("r3", &job, Some(at(60))), seen, Some(at(120)))).await.unwrap().unwrap();
    assert_eq!(skipped.status, RunStatus::Skipped);
    assert!(skipped.ended_at.is_some() && skipped.error.is_some());
    let record = jobs.job(&job.job_id).await.unwrap().unwrap();
    assert_eq!((record.last_status, record.next_run), (Some(RunStatus::Skipped), Some(at(120))));
    let end =
        EndRun { at: at(5), status: RunStatus::Error, error: Some("no".into()), retry_at: Some(at(30)) };
    assert!(runs.end("r1", end.clone()).await.unwrap());
    assert!(!runs.end("r1", end).await.unwrap(), "it has ended");
    let record = jobs.job(&job.job_id).await.unwrap().unwrap();
    let told = (record.last_status, record.last_error.as_deref(), record.retry_at, record.attempt);
    assert_eq!(told, (Some(RunStatus::Error), Some("no"), Some(at(30)), 1));
    assert_eq!(runs.next_due().await.unwrap(), Some(at(30)));
    let due = runs.due(at(31), 9).await.unwrap();
    assert_eq!(due.len(), 1);
    let listed: Vec<String> =
        runs.runs(&job.job_id, 9).await.unwrap().into_iter().map(|run| run.run_id).collect();
    assert_eq!(listed, ["r3", "r1"]);
    assert!(jobs.remove(&job.job_id, Expected::Anything).await.unwrap());
    assert!(runs.runs(&job.job_id, 9).await.unwrap().is_empty());
}

pub async fn a_run_of_a_sop_is_kept_and_found_by_its_turn(stage: Stage) {
    let runs = &stage.storage.workflows.sop_runs;
    let new = |id: &str| SopRun {
        run_id: id.into(),
        sop_name: SopName::parse("pdd").unwrap(),
        session_id: SessionId::parse("webchat:a").unwrap(),
        turn: None,
        state: SopRunState::Asking,
        step: 0,
        steps_done: 0,
        steps: 5,
        parameters: [("rough_idea".to_owned(), "a \"shop\"".to_owned())].into(),
        started_at: at(0),
        updated_at: at(0),
        cost_usd: 0.0,
        error: None,
    };
    runs.open(&new("one")).await.unwrap();
    runs.open(&new("two")).await.unwrap();
    assert_eq!(runs.run("one").await.unwrap(), Some(new("one")));
    let turn = TurnId::existing("t1");
    let change = SopRunChange {
        state: Some(SopRunState::Running),
        turn: Some(turn.clone()),
        step: Some(3),
        more_usd: 0.25,
        ..SopRunChange::default()
    };
    stage.advance(7);
    assert!(runs.change("one", change.clone()).await.unwrap());
    assert!(runs.change("one", SopRunChange { more_usd: 0.5, ..SopRunChange::default() }).await.unwrap());
    assert!(!runs.change("none", change).await.unwrap());
    let found = runs.of_turn(&turn).await.unwrap().unwrap();
    assert_eq!((found.run_id.as_str(), found.state, found.step), ("one", SopRunState::Running, 3));
    assert!((found.cost_usd - 0.75).abs() < 1e-9 && found.updated_at == at(7));
    assert_eq!(found.parameters, new("one").parameters);
    let names = |runs: Vec<SopRun>| runs.into_iter().map(|run| run.run_id).collect::<Vec<_>>();
    assert_eq!(names(runs.runs(None, 9).await.unwrap()), ["two", "one"]);
    assert_eq!(names(runs.runs(Some(SopRunState::Running), 9).await.unwrap()), ["one"]);
    runs.discard("one").await.unwrap();
    assert_eq!(runs.of_turn(&turn).await.unwrap(), None);
}
