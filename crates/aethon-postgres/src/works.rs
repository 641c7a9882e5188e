//! Work that takes more than one turn: one document each, and in a separate column the command of a person, because
//! another program may record a command while the work is running.

use aethon_core::error::{Error as CoreError, Result as CoreResult};
use aethon_core::work::{Work, WorkCommand, WorkStore};
use async_trait::async_trait;

use crate::db::{Row, Sql, params};
use crate::error::Error;
use crate::store::Store;

/// Maximum number of finished works kept.
const KEPT: i64 = 500;

#[async_trait]
impl WorkStore for Store {
    async fn add(&self, work: &Work) -> CoreResult<()> {
        const ADD: &str = "INSERT INTO works (work_id, is_open, work) VALUES ($1, $2, $3)";
        const BOUND: &str =
            "DELETE FROM works WHERE NOT is_open AND work_key <= (SELECT max(work_key) FROM works) - $1";
        let (id, is_open, document) = (work.work_id.clone(), !work.state.is_over(), work_json(work)?);
        let add = move |sql: &Sql<'_>| {
            sql.execute(ADD, params![id, is_open, document])?;
            sql.execute(BOUND, [KEPT]).map(drop)
        };
        Ok(self.write(add).await?)
    }

    async fn save(&self, work: &Work) -> CoreResult<bool> {
        const SAVE: &str = "UPDATE works SET is_open = $2, work = $3 WHERE work_id = $1";
        let (id, is_open, document) = (work.work_id.clone(), !work.state.is_over(), work_json(work)?);
        let save = move |sql: &Sql<'_>| Ok(sql.execute(SAVE, params![id, is_open, document])? > 0);
        Ok(self.write(save).await?)
    }

    async fn work(&self, id: &str) -> CoreResult<Option<Work>> {
        const WORK: &str = "SELECT work, wish FROM works WHERE work_id = $1";
        let id = id.to_owned();
        Ok(self.read(move |sql| sql.first(WORK, [&id], work)).await?.flatten())
    }

    async fn works(&self, open: bool, limit: usize) -> CoreResult<Vec<Work>> {
        const OPEN: &str = "SELECT work, wish FROM works WHERE is_open
            ORDER BY work_key LIMIT $1";
        const NEWEST: &str = "SELECT work, wish FROM works ORDER BY work_key DESC LIMIT $1";
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let query = if open { OPEN } else { NEWEST };
        let rows = self.read(move |sql| sql.all(query, [most], work)).await?;
        Ok(rows.into_iter().flatten().collect())
    }

    async fn set_command(&self, id: &str, command: Option<WorkCommand>) -> CoreResult<bool> {
        const SET: &str = "UPDATE works SET wish = $2 WHERE work_id = $1 AND is_open";
        let (id, command) = (id.to_owned(), command.map(WorkCommand::as_str));
        Ok(self.write(move |sql| Ok(sql.execute(SET, params![id, command])? > 0)).await?)
    }

    async fn switch(&self, name: &str) -> CoreResult<bool> {
        const IS_ON: &str = "SELECT EXISTS (SELECT 1 FROM switches WHERE name = $1)";
        let name = name.to_owned();
        Ok(self.read(move |sql| sql.one(IS_ON, [&name], |row| row.get(0))).await?)
    }

    async fn set_switch(&self, name: &str, on: bool) -> CoreResult<()> {
        const ON: &str = "INSERT INTO switches (name) VALUES ($1) ON CONFLICT DO NOTHING";
        const OFF: &str = "DELETE FROM switches WHERE name = $1";
        let (name, change) = (name.to_owned(), if on { ON } else { OFF });
        Ok(self.write(move |sql| sql.execute(change, [&name]).map(drop)).await?)
    }
}

fn work_json(work: &Work) -> CoreResult<String> {
    let plain = Work { command: None, ..work.clone() };
    serde_json::to_string(&plain)
        .map_err(|error| CoreError::internal("work could not be written").because(error))
}

/// Reads a work; `None` if another version wrote it.
fn work(row: &Row<'_>) -> Result<Option<Work>, Error> {
    let (document, command): (String, Option<String>) = (row.get(0)?, row.get(1)?);
    let command = command.as_deref().and_then(WorkCommand::parse);
    Ok(serde_json::from_str::<Work>(&document).ok().map(|work| Work { command, ..work }))
}
