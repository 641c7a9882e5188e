//! Runs of scheduled jobs. A run begins with a check and a write in one transaction, which locks out other programs on the
//! same file, so no run has two owners.

use aethon_core::error::Result as CoreResult;
use aethon_core::schedule::{BeginRun, Due, EndRun, JobId, JobRecord, RunLog, RunRecord, RunStatus};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::db::{Row, Sql, params};
use crate::error::Error;
use crate::jobs;
use crate::marks;
use crate::store::Store;
use crate::time::{from_millis, to_millis};

/// Runs kept per job.
const KEPT: i64 = 200;

/// Maximum number of open runs read at once.
const MAX_OPEN: i64 = 10_000;

#[async_trait]
impl RunLog for Store {
    async fn due(&self, now: Timestamp, limit: usize) -> CoreResult<Vec<JobRecord>> {
        const BY_TIME: &str =
            "SELECT job, next_run, retry_at, attempt, last_run, last_status, last_error FROM jobs
            WHERE next_run <= $1 ORDER BY next_run LIMIT $2";
        const BY_RETRY: &str =
            "SELECT job, next_run, retry_at, attempt, last_run, last_status, last_error FROM jobs
            WHERE retry_at <= $1 ORDER BY retry_at LIMIT $2";
        let (now, most) = (to_millis(now), i64::try_from(limit).unwrap_or(i64::MAX));
        let read = move |sql: &Sql<'_>| {
            let mut due: Vec<JobRecord> = Vec::new();
            for record in sql.all(BY_TIME, [now, most], jobs::record)?.into_iter().flatten() {
                due.push(record);
            }
            for record in sql.all(BY_RETRY, [now, most], jobs::record)?.into_iter().flatten() {
                if due.iter().all(|known| known.job.job_id != record.job.job_id) {
                    due.push(record);
                }
            }
            Ok(due)
        };
        let mut due = self.read(read).await?;
        due.truncate(limit);
        Ok(due)
    }

    async fn next_due(&self) -> CoreResult<Option<Timestamp>> {
        const BY_TIME: &str = "SELECT min(next_run) FROM jobs WHERE next_run IS NOT NULL";
        const BY_RETRY: &str = "SELECT min(retry_at) FROM jobs WHERE retry_at IS NOT NULL";
        let read = |sql: &Sql<'_>| {
            let time = |query| sql.one(query, [], |row| row.get::<Option<i64>>(0));
            let times = [time(BY_TIME)?, time(BY_RETRY)?];
            Ok(times.into_iter().flatten().min().map(from_millis))
        };
        Ok(self.read(read).await?)
    }

    async fn begin(&self, begin: BeginRun) -> CoreResult<Option<RunRecord>> {
        Ok(self.write(move |sql| begin_run(sql, &begin)).await?)
    }

    async fn end(&self, run: &str, end: EndRun) -> CoreResult<bool> {
        let run = run.to_owned();
        Ok(self.write(move |sql| end_run(sql, &run, &end)).await?)
    }

    async fn open(&self) -> CoreResult<Vec<RunRecord>> {
        const OPEN: &str =
            "SELECT run_id, jobs.id, due, started_at, ended_at, status, error, job_runs.attempt
            FROM job_runs JOIN jobs USING (job_key) WHERE ended_at IS NULL LIMIT $1";
        let mut open: Vec<RunRecord> =
            self.read(|sql| sql.all(OPEN, [MAX_OPEN], run)).await?.into_iter().flatten().collect();
        open.sort_by(|one, other| (one.started_at, &one.run_id).cmp(&(other.started_at, &other.run_id)));
        Ok(open)
    }

    async fn runs(&self, job: &JobId, limit: usize) -> CoreResult<Vec<RunRecord>> {
        const RUNS: &str =
            "SELECT run_id, jobs.id, due, started_at, ended_at, status, error, job_runs.attempt
            FROM jobs JOIN job_runs USING (job_key)
            WHERE jobs.id = $1 ORDER BY run_key DESC LIMIT $2";
        let (job, most) = (job.clone(), i64::try_from(limit).unwrap_or(i64::MAX));
        let rows = self.read(move |sql| sql.all(RUNS, params![job.as_str(), most], run)).await?;
        Ok(rows.into_iter().flatten().collect())
    }

    async fn note_seen(&self, through: Option<Timestamp>) -> CoreResult<Option<Timestamp>> {
        let Some(through) = through.map(to_millis) else { return Ok(self.read(marks::jobs_seen).await?) };
        Ok(self.write(move |sql| marks::note_jobs_seen(sql, through)).await?)
    }
}

fn begin_run(sql: &Sql<'_>, begin: &BeginRun) -> Result<Option<RunRecord>, Error> {
    const STATE: &str = "SELECT next_run, retry_at FROM jobs WHERE job_key = $1";
    const IS_OPEN: &str = "SELECT EXISTS (SELECT 1 FROM job_runs
        WHERE job_key = $1 AND ended_at IS NULL)";
    const ADD: &str =
        "INSERT INTO job_runs (run_id, job_key, due, started_at, ended_at, status, error, attempt)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    const MOVE_ON: &str = "UPDATE jobs SET next_run = $2, retry_at = NULL, attempt = $3 WHERE job_key = $1";
    const TELL: &str = "UPDATE jobs SET last_run = $2, last_status = $3, last_error = $4 WHERE job_key = $1";
    const TRIM: &str = "DELETE FROM job_runs WHERE job_key = $1 AND ended_at IS NOT NULL AND run_key <=
        (SELECT run_key FROM job_runs WHERE job_key = $1 ORDER BY run_key DESC LIMIT 1 OFFSET $2)";
    let Some(key) = jobs::key(sql, &begin.job)? else { return Ok(None) };
    let mut run = begin.run.clone();
    let is_busy = sql.one(IS_OPEN, [key], |row| row.get::<bool>(0))?;
    match begin.seen {
        None if is_busy => return Ok(None),
        None => {}
        Some(Due { next_run, retry_at }) => {
            let state: (Option<i64>, Option<i64>) =
                sql.one(STATE, [key], |row| Ok((row.get(0)?, row.get(1)?)))?;
            if state != (next_run.map(to_millis), retry_at.map(to_millis)) {
                return Ok(None);
            }
            sql.execute(MOVE_ON, params![key, begin.next_run.map(to_millis), run.attempt])?;
            if is_busy && run.status == RunStatus::Running {
                run.status = RunStatus::Skipped;
                run.ended_at = Some(run.started_at);
                run.error = Some("the run before it had not ended".to_owned());
            }
        }
    }
    let (started, ended) = (to_millis(run.started_at), run.ended_at.map(to_millis));
    let (due, status) = (run.due.map(to_millis), run.status.as_str());
    sql.execute(ADD, params![run.run_id, key, due, started, ended, status, run.error, run.attempt])?;
    sql.execute(TELL, params![key, to_millis(run.due.unwrap_or(run.started_at)), status, run.error])?;
    sql.execute(TRIM, [key, KEPT])?;
    Ok(Some(run))
}

fn end_run(sql: &Sql<'_>, run: &str, end: &EndRun) -> Result<bool, Error> {
    const FIND: &str = "SELECT job_key, attempt FROM job_runs WHERE run_id = $1 AND ended_at IS NULL";
    const END: &str = "UPDATE job_runs SET ended_at = $2, status = $3, error = $4 WHERE run_id = $1";
    const TELL: &str =
        "UPDATE jobs SET last_status = $2, last_error = $3, retry_at = $4, attempt = $5 WHERE job_key = $1";
    let found = sql.first(FIND, [run], |row| Ok((row.get::<i64>(0)?, row.get::<u32>(1)?)))?;
    let Some((key, attempt)) = found else { return Ok(false) };
    let status = end.status.as_str();
    sql.execute(END, params![run, to_millis(end.at), status, end.error])?;
    let attempt = if end.retry_at.is_some() { attempt + 1 } else { 0 };
    sql.execute(TELL, params![key, status, end.error, end.retry_at.map(to_millis), attempt])?;
    Ok(true)
}

/// Reads a run; `None` if another version wrote it or the file was edited by hand.
fn run(row: &Row<'_>) -> Result<Option<RunRecord>, Error> {
    let (id, word): (String, String) = (row.get(1)?, row.get(5)?);
    let (Ok(job_id), Some(status)) = (JobId::parse(&id), RunStatus::parse(&word)) else { return Ok(None) };
    Ok(Some(RunRecord {
        run_id: row.get(0)?,
        job_id,
        due: row.get::<Option<i64>>(2)?.map(from_millis),
        started_at: from_millis(row.get(3)?),
        ended_at: row.get::<Option<i64>>(4)?.map(from_millis),
        status,
        error: row.get(6)?,
        attempt: row.get(7)?,
    }))
}
