//! Learned facts about models: a few rows, read once at startup and written when a fact changes.

use aethon_core::error::Result as CoreResult;
use aethon_core::learned::{ModelFact, ModelKey, ModelMemory};
use async_trait::async_trait;

use crate::db::{Row, Sql, params};
use crate::error::Error;
use crate::store::Store;
use crate::time::days;

/// Days until a fact that was not confirmed expires.
const KEPT_DAYS: u32 = 30;

/// Maximum number of facts; the oldest are dropped.
const MAX_COUNT: i64 = 256;

#[async_trait]
impl ModelMemory for Store {
    async fn recall(&self) -> CoreResult<Vec<(ModelKey, ModelFact)>> {
        let since = self.now().saturating_sub(days(KEPT_DAYS));
        let facts = self.read(move |sql| recall(sql, since)).await?;
        Ok(facts.into_iter().flatten().collect())
    }

    async fn remember(&self, model: &ModelKey, fact: ModelFact) -> CoreResult<()> {
        let (model, now) = (model.clone(), self.now());
        Ok(self.write(move |sql| remember(sql, &model, fact, now)).await?)
    }
}

fn recall(sql: &Sql<'_>, since: i64) -> Result<Vec<Option<(ModelKey, ModelFact)>>, Error> {
    const RECALL: &str = "SELECT provider, host, model, fact, value FROM learned WHERE learned_at >= $1
        ORDER BY learned_at DESC";
    sql.all(RECALL, [since], read)
}

fn remember(sql: &Sql<'_>, model: &ModelKey, fact: ModelFact, now: i64) -> Result<(), Error> {
    const REMEMBER: &str = "INSERT INTO learned (provider, host, model, fact, value, learned_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (provider, host, model, fact) DO UPDATE SET value = $5, learned_at = $6";
    const FORGET: &str = "DELETE FROM learned WHERE learned_at < $1";
    const BOUND: &str = "DELETE FROM learned WHERE learned_at <=
        (SELECT learned_at FROM learned ORDER BY learned_at DESC LIMIT 1 OFFSET $1)";
    let (word, value) = row_of(fact);
    sql.execute(REMEMBER, params![model.provider, model.host, model.model, word, value, now])?;
    sql.execute(FORGET, [now.saturating_sub(days(KEPT_DAYS))])?;
    sql.execute(BOUND, [MAX_COUNT])?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
fn row_of(fact: ModelFact) -> (&'static str, f64) {
    match fact {
        ModelFact::ContextWindow(tokens) => ("context_window", tokens as f64),
        ModelFact::TokenRatio(ratio) => ("token_ratio", ratio),
    }
}

/// Reads a fact; `None` if another version wrote it or the file was edited by hand.
fn read(row: &Row<'_>) -> Result<Option<(ModelKey, ModelFact)>, Error> {
    let model = ModelKey { provider: row.get(0)?, host: row.get(1)?, model: row.get(2)? };
    let (word, value): (String, f64) = (row.get(3)?, row.get(4)?);
    Ok(fact_of(&word, value).map(|fact| (model, fact)))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn fact_of(word: &str, value: f64) -> Option<ModelFact> {
    match word {
        "context_window" if (1.0..1e12).contains(&value) => Some(ModelFact::ContextWindow(value as u64)),
        "token_ratio" if (0.1..=100.0).contains(&value) => Some(ModelFact::TokenRatio(value)),
        _ => None,
    }
}
