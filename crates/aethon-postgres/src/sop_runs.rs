//! Runs of SOPs: one row each.

use std::collections::BTreeMap;

use aethon_core::error::Result as CoreResult;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::sop::{SopName, SopRun, SopRunChange, SopRunState, SopRuns};
use async_trait::async_trait;

use crate::db::{Row, Sql, params};
use crate::error::Error;
use crate::money::{BILLIONTHS_PER_USD, dollars};
use crate::store::Store;
use crate::time::{from_millis, to_millis};

/// Maximum number of runs kept.
const KEPT: i64 = 2_000;

#[async_trait]
impl SopRuns for Store {
    async fn open(&self, run: &SopRun) -> CoreResult<()> {
        let run = run.clone();
        Ok(self.write(move |sql| open(sql, &run)).await?)
    }

    async fn change(&self, run_id: &str, change: SopRunChange) -> CoreResult<bool> {
        const CHANGE: &str = "UPDATE sop_runs SET state = coalesce($2, state), turn = coalesce($3, turn),
            step = coalesce($4, step), steps_done = coalesce($5, steps_done), parameters = coalesce($6, parameters),
            cost = cost + $7, error = coalesce($8, error), updated_at = $9 WHERE run_id = $1";
        let (run_id, now) = (run_id.to_owned(), self.now());
        let parameters = change.parameters.as_ref().map(parameters_json);
        let write = move |sql: &Sql<'_>| {
            let (state, turn) =
                (change.state.map(SopRunState::as_str), change.turn.as_ref().map(TurnId::as_str));
            let more = billionths(change.more_usd);
            let (step, done) = (change.step, change.steps_done);
            let changed = params![run_id, state, turn, step, done, parameters, more, change.error, now];
            Ok(sql.execute(CHANGE, changed)? > 0)
        };
        Ok(self.write(write).await?)
    }

    async fn discard(&self, run_id: &str) -> CoreResult<()> {
        const DISCARD: &str = "DELETE FROM sop_runs WHERE run_id = $1";
        let run_id = run_id.to_owned();
        Ok(self.write(move |sql| sql.execute(DISCARD, [&run_id]).map(drop)).await?)
    }

    async fn of_turn(&self, turn: &TurnId) -> CoreResult<Option<SopRun>> {
        const OF_TURN: &str =
            "SELECT run_id, sop_name, session, turn, state, step, steps_done, steps, parameters,
            started_at, updated_at, cost, error FROM sop_runs WHERE turn = $1";
        let turn = turn.clone();
        Ok(self.read(move |sql| sql.first(OF_TURN, [turn.as_str()], run)).await?.flatten())
    }

    async fn run(&self, run_id: &str) -> CoreResult<Option<SopRun>> {
        const RUN: &str =
            "SELECT run_id, sop_name, session, turn, state, step, steps_done, steps, parameters,
            started_at, updated_at, cost, error FROM sop_runs WHERE run_id = $1";
        let run_id = run_id.to_owned();
        Ok(self.read(move |sql| sql.first(RUN, [&run_id], run)).await?.flatten())
    }

    async fn runs(&self, state: Option<SopRunState>, limit: usize) -> CoreResult<Vec<SopRun>> {
        const ALL: &str =
            "SELECT run_id, sop_name, session, turn, state, step, steps_done, steps, parameters,
            started_at, updated_at, cost, error FROM sop_runs ORDER BY run_key DESC LIMIT $1";
        const IN_STATE: &str =
            "SELECT run_id, sop_name, session, turn, state, step, steps_done, steps, parameters,
            started_at, updated_at, cost, error FROM sop_runs
            WHERE state = $2 ORDER BY run_key DESC LIMIT $1";
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let read = move |sql: &Sql<'_>| match state {
            None => Ok(sql.all(ALL, [most], run)?),
            Some(state) => Ok(sql.all(IN_STATE, params![most, state.as_str()], run)?),
        };
        Ok(self.read(read).await?.into_iter().flatten().collect())
    }
}

fn open(sql: &Sql<'_>, run: &SopRun) -> Result<(), Error> {
    const OPEN: &str = "INSERT INTO sop_runs (run_id, sop_name, session, turn, state, step, steps_done, steps,
        parameters, started_at, updated_at, cost, error) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    const TRIM: &str = "DELETE FROM sop_runs WHERE run_key <=
        (SELECT run_key FROM sop_runs ORDER BY run_key DESC LIMIT 1 OFFSET $1)";
    let turn = run.turn.as_ref().map(TurnId::as_str);
    let (name, session, state) = (run.sop_name.as_str(), run.session_id.as_str(), run.state.as_str());
    let (started, updated) = (to_millis(run.started_at), to_millis(run.updated_at));
    let (parameters, cost) = (parameters_json(&run.parameters), billionths(run.cost_usd));
    sql.execute(
        OPEN,
        params![
            run.run_id,
            name,
            session,
            turn,
            state,
            run.step,
            run.steps_done,
            run.steps,
            parameters,
            started,
            updated,
            cost,
            run.error
        ],
    )?;
    sql.execute(TRIM, [KEPT])?;
    Ok(())
}

/// Reads a run; `None` if another version wrote it or the file was edited by hand.
fn run(row: &Row<'_>) -> Result<Option<SopRun>, Error> {
    let (name, session): (String, String) = (row.get(1)?, row.get(2)?);
    let (word, parameters): (String, String) = (row.get(4)?, row.get(8)?);
    let (Ok(sop_name), Ok(session_id), Some(state)) =
        (SopName::parse(&name), SessionId::parse(&session), SopRunState::parse(&word))
    else {
        return Ok(None);
    };
    Ok(Some(SopRun {
        run_id: row.get(0)?,
        sop_name,
        session_id,
        turn: row.get::<Option<String>>(3)?.map(|turn| TurnId::existing(&turn)),
        state,
        step: row.get(5)?,
        steps_done: row.get(6)?,
        steps: row.get(7)?,
        parameters: serde_json::from_str(&parameters).unwrap_or_default(),
        started_at: from_millis(row.get(9)?),
        updated_at: from_millis(row.get(10)?),
        cost_usd: dollars(row.get(11)?),
        error: row.get(12)?,
    }))
}

fn parameters_json(parameters: &BTreeMap<String, String>) -> String {
    serde_json::to_string(parameters).unwrap_or_else(|_| "{}".to_owned())
}

#[expect(clippy::cast_possible_truncation, reason = "as casts of floats saturate, and a cost is small")]
fn billionths(usd: f64) -> i64 {
    (usd.max(0.0) * BILLIONTHS_PER_USD).round() as i64
}
