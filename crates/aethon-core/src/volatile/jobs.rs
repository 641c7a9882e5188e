//! Scheduled jobs, their runs and SOP runs, in memory.

use async_trait::async_trait;
use jiff::Timestamp;

use super::rows::JobTables;
use super::store::MemoryStore;
use crate::error::Result;
use crate::ids::TurnId;
use crate::schedule::{BeginRun, Due, EndRun, Job, JobId, JobRecord, JobStore, RunLog, RunRecord, RunStatus};
use crate::sop::{SopRun, SopRunChange, SopRunState, SopRuns};
use crate::version::Expected;

#[async_trait]
impl JobStore for MemoryStore {
    async fn jobs(&self) -> Result<Vec<JobRecord>> {
        Ok(self.enter("jobs")?.jobs.jobs.values().cloned().collect())
    }

    async fn job(&self, id: &JobId) -> Result<Option<JobRecord>> {
        Ok(self.enter("job")?.jobs.jobs.get(id).cloned())
    }

    async fn add(&self, job: &Job, next_run: Option<Timestamp>, most: usize) -> Result<bool> {
        let mut tables = self.enter("add")?;
        let jobs = &mut tables.jobs.jobs;
        if jobs.contains_key(&job.job_id) || jobs.len() >= most {
            return Ok(false);
        }
        jobs.insert(job.job_id.clone(), JobRecord::new(job.clone(), next_run));
        Ok(true)
    }

    async fn replace(&self, job: &Job, next_run: Option<Timestamp>, expected: Expected) -> Result<()> {
        let mut tables = self.enter("replace")?;
        let jobs = &mut tables.jobs.jobs;
        expected.check(|| Some(jobs.get(&job.job_id)?.job.version()))?;
        let record = jobs.entry(job.job_id.clone()).or_insert_with(|| JobRecord::new(job.clone(), next_run));
        (record.job, record.next_run, record.retry_at, record.attempt) = (job.clone(), next_run, None, 0);
        Ok(())
    }

    async fn remove(&self, id: &JobId, expected: Expected) -> Result<bool> {
        let mut tables = self.enter("remove")?;
        expected.check(|| Some(tables.jobs.jobs.get(id)?.job.version()))?;
        tables.jobs.runs.retain(|run| run.job_id != *id);
        Ok(tables.jobs.jobs.remove(id).is_some())
    }

    async fn reschedule(&self, id: &JobId, seen: Due, next: Due) -> Result<bool> {
        let mut tables = self.enter("reschedule")?;
        let Some(record) = tables.jobs.jobs.get_mut(id) else { return Ok(false) };
        if seen != (Due { next_run: record.next_run, retry_at: record.retry_at }) {
            return Ok(false);
        }
        (record.next_run, record.retry_at) = (next.next_run, next.retry_at);
        Ok(true)
    }
}

#[async_trait]
impl RunLog for MemoryStore {
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<JobRecord>> {
        let tables = self.enter("due_jobs")?;
        let when = |record: &JobRecord| record.next_run.into_iter().chain(record.retry_at).min();
        let is_due = |record: &&JobRecord| when(record).is_some_and(|at| at <= now);
        let mut due: Vec<JobRecord> = tables.jobs.jobs.values().filter(is_due).cloned().collect();
        due.sort_by_key(when);
        due.truncate(limit);
        Ok(due)
    }

    async fn next_due(&self) -> Result<Option<Timestamp>> {
        let tables = self.enter("next_due_job")?;
        Ok(tables
            .jobs
            .jobs
            .values()
            .flat_map(|record| record.next_run.into_iter().chain(record.retry_at))
            .min())
    }

    async fn begin(&self, begin: BeginRun) -> Result<Option<RunRecord>> {
        let mut tables = self.enter("begin_run")?;
        let JobTables { jobs, runs, .. } = &mut tables.jobs;
        let Some(record) = jobs.get_mut(&begin.job) else { return Ok(None) };
        let is_busy = runs.iter().any(|run| run.job_id == begin.job && run.ended_at.is_none());
        let mut run = begin.run;
        match begin.seen {
            None if is_busy => return Ok(None),
            None => {}
            Some(seen) => {
                if seen != (Due { next_run: record.next_run, retry_at: record.retry_at }) {
                    return Ok(None);
                }
                (record.next_run, record.retry_at, record.attempt) = (begin.next_run, None, run.attempt);
                if is_busy && run.status == RunStatus::Running {
                    run.status = RunStatus::Skipped;
                    run.ended_at = Some(run.started_at);
                    run.error = Some("the run before it had not ended".to_owned());
                }
            }
        }
        record.last_run = Some(run.due.unwrap_or(run.started_at));
        (record.last_status, record.last_error) = (Some(run.status), run.error.clone());
        runs.push(run.clone());
        Ok(Some(run))
    }

    async fn end(&self, run: &str, end: EndRun) -> Result<bool> {
        let mut tables = self.enter("end_run")?;
        let JobTables { jobs, runs, .. } = &mut tables.jobs;
        let open = runs.iter_mut().find(|known| known.run_id == run && known.ended_at.is_none());
        let Some(run) = open else { return Ok(false) };
        (run.ended_at, run.status, run.error) = (Some(end.at), end.status, end.error.clone());
        if let Some(record) = jobs.get_mut(&run.job_id) {
            record.attempt = if end.retry_at.is_some() { run.attempt + 1 } else { 0 };
            (record.last_status, record.last_error) = (Some(end.status), end.error);
            record.retry_at = end.retry_at;
        }
        Ok(true)
    }

    async fn open(&self) -> Result<Vec<RunRecord>> {
        let tables = self.enter("open_runs")?;
        Ok(tables.jobs.runs.iter().filter(|run| run.ended_at.is_none()).cloned().collect())
    }

    async fn runs(&self, job: &JobId, limit: usize) -> Result<Vec<RunRecord>> {
        let tables = self.enter("runs")?;
        Ok(tables.jobs.runs.iter().rev().filter(|run| run.job_id == *job).take(limit).cloned().collect())
    }

    async fn note_seen(&self, through: Option<Timestamp>) -> Result<Option<Timestamp>> {
        let mut tables = self.enter("note_seen")?;
        let before = tables.jobs.seen_through;
        tables.jobs.seen_through = through.or(before);
        Ok(before)
    }
}

#[async_trait]
impl SopRuns for MemoryStore {
    async fn open(&self, run: &SopRun) -> Result<()> {
        self.enter("open_sop_run")?.jobs.sop_runs.push(run.clone());
        Ok(())
    }

    async fn change(&self, run_id: &str, change: SopRunChange) -> Result<bool> {
        let now = self.clock.now();
        let mut tables = self.enter("change_sop_run")?;
        let Some(run) = tables.jobs.sop_runs.iter_mut().find(|run| run.run_id == run_id) else {
            return Ok(false);
        };
        run.state = change.state.unwrap_or(run.state);
        run.turn = change.turn.or_else(|| run.turn.take());
        run.step = change.step.unwrap_or(run.step);
        run.steps_done = change.steps_done.unwrap_or(run.steps_done);
        run.parameters = change.parameters.unwrap_or_else(|| run.parameters.clone());
        run.cost_usd += change.more_usd;
        run.error = change.error.or_else(|| run.error.take());
        run.updated_at = now;
        Ok(true)
    }

    async fn discard(&self, run_id: &str) -> Result<()> {
        self.enter("discard_sop_run")?.jobs.sop_runs.retain(|run| run.run_id != run_id);
        Ok(())
    }

    async fn of_turn(&self, turn: &TurnId) -> Result<Option<SopRun>> {
        let tables = self.enter("sop_run_of_turn")?;
        Ok(tables.jobs.sop_runs.iter().find(|run| run.turn.as_ref() == Some(turn)).cloned())
    }

    async fn run(&self, run_id: &str) -> Result<Option<SopRun>> {
        Ok(self.enter("sop_run")?.jobs.sop_runs.iter().find(|run| run.run_id == run_id).cloned())
    }

    async fn runs(&self, state: Option<SopRunState>, limit: usize) -> Result<Vec<SopRun>> {
        let tables = self.enter("sop_runs")?;
        let is_wanted = |run: &&SopRun| state.is_none_or(|state| run.state == state);
        Ok(tables.jobs.sop_runs.iter().rev().filter(is_wanted).take(limit).cloned().collect())
    }
}
