//! History of agent runs: append-only, bounded, read newest first.

use aethon_core::agents::{AgentHistory, AgentRun};
use aethon_core::error::{Error as CoreError, Result as CoreResult};
use async_trait::async_trait;

use crate::db::Sql;
use crate::store::Store;

/// Retention limit, and how far it may be exceeded before the oldest rows are removed in one batch.
const KEPT: i64 = 2_000;
const OVER: i64 = 64;

#[async_trait]
impl AgentHistory for Store {
    async fn add(&self, run: AgentRun) -> CoreResult<()> {
        const ADD: &str = "INSERT INTO agent_runs (run) VALUES ($1) RETURNING run_key";
        const BOUND: &str = "DELETE FROM agent_runs WHERE run_key <= $1";
        let run = serde_json::to_string(&run)
            .map_err(|error| CoreError::internal("what an agent did could not be written").because(error))?;
        let add = move |sql: &Sql<'_>| {
            let key = sql.insert(ADD, [&run])?;
            if key % OVER == 0 {
                sql.execute(BOUND, [key - KEPT])?;
            }
            Ok(())
        };
        Ok(self.write(add).await?)
    }

    async fn newest(&self, limit: usize) -> CoreResult<Vec<AgentRun>> {
        const NEWEST: &str = "SELECT run FROM agent_runs ORDER BY run_key DESC LIMIT $1";
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.read(move |sql| sql.all(NEWEST, [most], |row| row.get::<String>(0))).await?;
        // Rows written by another version may not parse; skip them.
        Ok(rows.iter().filter_map(|run| serde_json::from_str(run).ok()).collect())
    }
}
