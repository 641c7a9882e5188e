//! Maintenance: removes expired rows, and checks the integrity of the file.

use std::time::Duration;

use aethon_core::error::Result as CoreResult;
use aethon_core::session::Clear;
use aethon_core::storage::{OneshotLimit, Oneshots, Removed, Retention, StorageMarks, Upkeep};
use async_trait::async_trait;

use crate::db::{Sql, VERSION, indexes};
use crate::error::Error;
use crate::store::{OpenMode, Store};
use crate::time::{day_number, days};
use crate::{
    bin, channel_records, clock_jumps, ledger, marks, oneshots, outbox, purge, telemetry, turns, vectors,
};

/// Days that deliveries are kept after they arrived or were given up, so that a person can look them up.
const SETTLED_DAYS: u32 = 7;

/// Days that the keys of posted messages are kept. They belong to deliveries, which expire long before.
const POSTED_DAYS: u32 = 90;

/// How many faults of a damaged file are named.
const MAX_PROBLEMS: usize = 20;

/// Rows removed per transaction.
const STEP: i64 = 128;

/// Sessions detached per transaction.
const STEP_SESSIONS: usize = 128;

/// Result of [`Store::check`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// The schema version of the database.
    pub version: i64,
    /// The size of the main file in bytes.
    pub size: u64,
    /// The damage found; empty if the file is sound.
    pub problems: Vec<String>,
}

impl Health {
    /// Returns the damage as an error, which names the remedy.
    pub fn damage(&self) -> Option<Error> {
        (!self.problems.is_empty()).then(|| Error::damaged(&self.problems.join("; ")))
    }
}

#[async_trait]
impl Upkeep for Store {
    async fn maintain(&self, retention: Retention) -> CoreResult<Removed> {
        let now = self.now();
        self.write(move |sql| clock_jumps::undo_future_times(sql, now)).await?;
        let aged = self.write(move |sql| marks::advance_purge_clock(sql, now)).await?;
        let mut removed = Removed::default();
        let oneshots_before = aged.saturating_sub(days(retention.oneshots));
        removed.sessions = self.repeat(move |sql| forget_oneshots(sql, oneshots_before, now)).await?;
        let binned_before = aged.saturating_sub(days(retention.bin));
        removed.binned = self.repeat(move |sql| bin::discard_before(sql, binned_before, now)).await?;
        self.purge().await?;
        let settled_before = aged.saturating_sub(days(SETTLED_DAYS));
        removed.deliveries = self.repeat(move |sql| outbox::forget_before(sql, settled_before, STEP)).await?;
        removed.dedupe_ids = self.repeat(move |sql| turns::release_expired(sql, aged, STEP)).await?;
        let posted_before = aged.saturating_sub(days(POSTED_DAYS));
        removed.dedupe_ids += self.write(move |sql| forget_posted(sql, posted_before)).await?;
        let forget = move |sql: &Sql<'_>| channel_records::forget_expired(sql, aged, STEP);
        removed.dedupe_ids += self.repeat(forget).await?;
        // No call takes a whole day, so a reservation from before yesterday belongs to a program that is gone.
        let today = self.day();
        self.write(move |sql| ledger::write_off(sql, today - 1, OpenMode::Guest)).await?;
        let calls_before = today.min(day_number(aged)) - i64::from(retention.calls);
        removed.calls = self.repeat(move |sql| ledger::forget_before(sql, calls_before, STEP)).await?;
        removed.events = self.repeat(move |sql| telemetry::forget_before(sql, calls_before, STEP)).await?;
        self.flush().await?;
        let most = i64::from(retention.vectors);
        if let Some(through) = self.read(move |sql| vectors::surplus(sql, most)).await? {
            removed.vectors = self.repeat(move |sql| vectors::forget_through(sql, through, STEP)).await?;
        }
        self.write(move |sql| marks::note_upkeep(sql, now)).await?;
        Ok(removed)
    }

    async fn limit_oneshots(&self, limit: OneshotLimit) -> CoreResult<Oneshots> {
        let now = self.now();
        self.flush().await?;
        let all = self.read(oneshots::all).await?;
        let count = all.len() as u64;
        let (surplus, bytes) = oneshots::surplus(all, limit);
        let mut removed = 0;
        for some in surplus.chunks(STEP_SESSIONS) {
            let some = some.to_vec();
            removed += self.write(move |sql| detach_unused(sql, &some, now)).await? as u64;
        }
        if removed > 0 {
            self.purge().await?;
        }
        if let Some(growth) = self.oneshots() {
            growth.know(bytes);
        }
        Ok(Oneshots { left: count.saturating_sub(removed), bytes, removed })
    }

    async fn marks(&self) -> CoreResult<StorageMarks> {
        Ok(self.read(marks::read).await?)
    }

    async fn note_uptime(&self, uptime: Duration) -> CoreResult<()> {
        let millis = i64::try_from(uptime.as_millis()).unwrap_or(i64::MAX);
        Ok(self.write(move |sql| marks::note_uptime(sql, millis)).await?)
    }

    async fn close(&self) {
        Self::close(self).await;
    }
}

impl Store {
    /// Checks the integrity of the file. Reads all of it.
    pub async fn check(&self) -> Result<Health, Error> {
        self.read(|sql| {
            let number = |pragma: &'static str| sql.one(pragma, [], |row| row.get::<_, i64>(0));
            let size = number("PRAGMA page_count")?.saturating_mul(number("PRAGMA page_size")?);
            let mut problems = indexes::faults(sql.connection(), "PRAGMA quick_check(1000000)")?;
            problems.truncate(MAX_PROBLEMS);
            let version = number("PRAGMA user_version")?;
            if version != VERSION {
                problems.push(format!("the format is {version}, but should be {VERSION}"));
            }
            Ok(Health { version, size: size.unsigned_abs(), problems })
        })
        .await
    }

    /// Keeps one-shot sessions within their bytes, if they may have grown beyond that.
    pub(crate) async fn limit_grown_oneshots(&self) {
        let Some(growth) = self.oneshots() else { return };
        let Some(_adding_up) = growth.due() else { return };
        match self.limit_oneshots(OneshotLimit::of(u32::MAX).with_bytes(growth.limit())).await {
            Ok(Oneshots { removed: 0, .. }) => {}
            Ok(Oneshots { removed, .. }) => tracing::info!(
                removed,
                "one-shot sessions had more than `session.oneshot_max_mb`; those of webhooks and the longest unused went"
            ),
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "one-shot sessions were not limited"
                );
            }
        }
    }

    /// Removes everything that is detached but not yet deleted.
    pub(crate) async fn purge(&self) -> Result<(), Error> {
        while self.write(purge::purge_some).await? {}
        Ok(())
    }

    /// Repeats a step until it removes nothing more, each time in its own transaction. Returns the total.
    async fn repeat(
        &self,
        step: impl Fn(&Sql<'_>) -> Result<usize, Error> + Copy + Send + 'static,
    ) -> Result<usize, Error> {
        let mut sum = 0;
        loop {
            match self.write(step).await? {
                0 => return Ok(sum),
                some => sum += some,
            }
        }
    }
}

fn forget_oneshots(sql: &Sql<'_>, before: i64, now: i64) -> Result<usize, Error> {
    const OLD: &str = "SELECT id FROM sessions WHERE updated_at < ?1 AND is_oneshot AND NOT EXISTS
        (SELECT 1 FROM turns WHERE turns.session_key = sessions.session_key AND phase < 2)
        ORDER BY updated_at LIMIT ?2";
    let old: Vec<String> = sql.all(OLD, [before, STEP], |row| row.get(0))?;
    for id in &old {
        purge::detach(sql, id, &Clear::Delete, now)?;
    }
    Ok(old.len())
}

/// Removes those of these sessions in which no turn is open by now. Returns how many.
fn detach_unused(sql: &Sql<'_>, ids: &[String], now: i64) -> Result<usize, Error> {
    const IS_UNUSED: &str =
        "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1 AND is_oneshot AND NOT EXISTS
        (SELECT 1 FROM turns WHERE turns.session_key = sessions.session_key AND phase < 2))";
    let mut gone = 0;
    for id in ids {
        if sql.one(IS_UNUSED, [id], |row| row.get(0))? {
            gone += usize::from(purge::detach(sql, id, &Clear::Delete, now)?.is_some());
        }
    }
    Ok(gone)
}

fn forget_posted(sql: &Sql<'_>, before: i64) -> Result<usize, Error> {
    const FORGET: &str = "DELETE FROM posted WHERE posted_at < ?1";
    Ok(sql.execute(FORGET, [before])?)
}
