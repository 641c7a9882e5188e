//! Scheduled jobs: one row each, with the job as JSON and its state in columns.

use aethon_core::error::Result as CoreResult;
use aethon_core::schedule::{Due, Job, JobId, JobRecord, JobStore, RunStatus};
use aethon_core::version::Expected;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::db::{Row, Sql, params};
use crate::error::Error;
use crate::store::Store;
use crate::time::{from_millis, to_millis};

#[async_trait]
impl JobStore for Store {
    async fn jobs(&self) -> CoreResult<Vec<JobRecord>> {
        const JOBS: &str = "SELECT job, next_run, retry_at, attempt, last_run, last_status, last_error FROM jobs ORDER BY id";
        let rows = self.read(|sql| sql.all(JOBS, [], record)).await?;
        Ok(rows.into_iter().flatten().collect())
    }

    async fn job(&self, id: &JobId) -> CoreResult<Option<JobRecord>> {
        let id = id.clone();
        Ok(self.read(move |sql| sql.first(JOB, [id.as_str()], record)).await?.flatten())
    }

    async fn add(&self, job: &Job, next_run: Option<Timestamp>, most: usize) -> CoreResult<bool> {
        const COUNT: &str = "SELECT count(*) FROM jobs";
        const ADD: &str =
            "INSERT INTO jobs (id, job, next_run) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING";
        let (id, text, next) = (job.job_id.clone(), job_json(job)?, next_run.map(to_millis));
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let add = move |sql: &Sql<'_>| {
            if sql.one(COUNT, [], |row| row.get::<i64>(0))? >= most {
                return Ok(false);
            }
            Ok(sql.execute(ADD, params![id.as_str(), text, next])? > 0)
        };
        Ok(self.write(add).await?)
    }

    async fn replace(&self, job: &Job, next_run: Option<Timestamp>, expected: Expected) -> CoreResult<()> {
        const REPLACE: &str = "INSERT INTO jobs (id, job, next_run) VALUES ($1, $2, $3)
            ON CONFLICT (id) DO UPDATE SET job = $2, next_run = $3, retry_at = NULL, attempt = 0";
        let (id, text, next) = (job.job_id.clone(), job_json(job)?, next_run.map(to_millis));
        let replace = move |sql: &Sql<'_>| {
            check(sql, &id, &expected)?;
            sql.execute(REPLACE, params![id.as_str(), text, next])
        };
        self.write(replace).await?;
        Ok(())
    }

    async fn remove(&self, id: &JobId, expected: Expected) -> CoreResult<bool> {
        const REMOVE_RUNS: &str = "DELETE FROM job_runs WHERE job_key = $1";
        const REMOVE: &str = "DELETE FROM jobs WHERE job_key = $1";
        let id = id.clone();
        let remove = move |sql: &Sql<'_>| {
            check(sql, &id, &expected)?;
            let Some(key) = key(sql, &id)? else { return Ok(false) };
            sql.execute(REMOVE_RUNS, [key])?;
            Ok(sql.execute(REMOVE, [key])? > 0)
        };
        Ok(self.write(remove).await?)
    }

    async fn reschedule(&self, id: &JobId, seen: Due, next: Due) -> CoreResult<bool> {
        const MOVE: &str = "UPDATE jobs SET next_run = $4, retry_at = $5
            WHERE id = $1 AND next_run IS NOT DISTINCT FROM $2 AND retry_at IS NOT DISTINCT FROM $3";
        let (id, millis) = (id.clone(), |time: Option<Timestamp>| time.map(to_millis));
        let times = [seen.next_run, seen.retry_at, next.next_run, next.retry_at].map(millis);
        let reschedule = move |sql: &Sql<'_>| {
            let [next_run, retry_at, new_run, new_retry] = times;
            Ok(sql.execute(MOVE, params![id.as_str(), next_run, retry_at, new_run, new_retry])? > 0)
        };
        Ok(self.write(reschedule).await?)
    }
}

const JOB: &str =
    "SELECT job, next_run, retry_at, attempt, last_run, last_status, last_error FROM jobs WHERE id = $1";

/// Returns the key of a job's row.
pub(crate) fn key(sql: &Sql<'_>, id: &JobId) -> Result<Option<i64>, Error> {
    const KEY: &str = "SELECT job_key FROM jobs WHERE id = $1";
    sql.first(KEY, [id.as_str()], |row| row.get(0))
}

/// Refuses a change of a job that is not as expected.
fn check(sql: &Sql<'_>, id: &JobId, expected: &Expected) -> Result<(), Error> {
    if expected.is_anything() {
        return Ok(());
    }
    let present = sql.first(JOB, [id.as_str()], record)?.flatten();
    Ok(expected.check(|| present.map(|present| present.job.version()))?)
}

/// Reads a record; `None` if it cannot be read (another version wrote it, or the file was edited by hand).
pub(crate) fn record(row: &Row<'_>) -> Result<Option<JobRecord>, Error> {
    let text: String = row.get(0)?;
    let Ok(job) = serde_json::from_str::<Job>(&text) else {
        tracing::error!("a stored job cannot be read and is left out");
        return Ok(None);
    };
    let time = |column: usize| row.get::<Option<i64>>(column).map(|time| time.map(from_millis));
    let mut record = JobRecord::new(job, time(1)?);
    record.retry_at = time(2)?;
    record.attempt = row.get(3)?;
    record.last_run = time(4)?;
    record.last_status = row.get::<Option<String>>(5)?.and_then(|word| RunStatus::parse(&word));
    record.last_error = row.get(6)?;
    Ok(Some(record))
}

fn job_json(job: &Job) -> CoreResult<String> {
    serde_json::to_string(job)
        .map_err(|error| aethon_core::error::Error::internal("the job cannot be written down").because(error))
}
