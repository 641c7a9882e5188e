//! What model calls cost, and what is set aside for those that run.
//!
//! Every call is a row, and added to the sums of its day in the same transaction; whoever asks reads the sums. Setting
//! money aside looks and writes in one job of the writer, whose transaction locks out other programs at the same file, so
//! no two callers can both take the last of it. A reservation counts until it is settled. Those of a daemon that
//! crashed are counted as spent by the next daemon; those of a program beside it count for the rest of their day.

use aethon_core::error::{Error as CoreError, Result as CoreResult};
use aethon_core::ledger::{DaySpend, Ledger, LedgerEntry, UsageRow, WorkKind};
use aethon_core::model::Usage;
use aethon_core::usage::day_of;
use async_trait::async_trait;
use rusqlite::{Row, params};

use crate::db::Sql;
use crate::error::Error;
use crate::sessions;
use crate::store::{Opener, Store};
use crate::time::{day_number, day_start, to_millis};

/// How many billionths a dollar has.
const BILLION: f64 = 1e9;

/// The most that one call may cost or count, so that sums stay far from where numbers end: a million dollars.
const MOST: i64 = 1_000_000_000_000_000;

/// How many rows a report has at most.
const MOST_ROWS: i64 = 10_000;

#[async_trait]
impl Ledger for Store {
    async fn reserve(&self, amount_usd: f64, ceiling_usd: f64) -> CoreResult<Option<i64>> {
        if !amount_usd.is_finite() || amount_usd < 0.0 || ceiling_usd.is_nan() {
            return Err(CoreError::invalid(format!(
                "{amount_usd} USD of {ceiling_usd} USD cannot be set aside"
            )));
        }
        let (day, opener) = (self.day(), self.opener());
        let (amount, ceiling) = (billionths(amount_usd), to_whole(ceiling_usd));
        let reservation = self.write(move |sql| reserve(sql, day, opener, amount, ceiling)).await?;
        let mut refused = self.refused();
        match reservation {
            None => *refused = Some((day, ceiling_usd)),
            Some(_) if refused.is_some_and(|(_, under)| ceiling_usd >= under) => *refused = None,
            Some(_) => {}
        }
        Ok(reservation)
    }

    async fn settle(&self, reservation: Option<i64>, entry: LedgerEntry) -> CoreResult<()> {
        let call = Call::from(entry);
        let settle = move |sql: &Sql<'_>| call.store(sql, reservation);
        match reservation {
            Some(_) => self.write(settle).await?,
            None => self.write_later(settle).await?,
        }
        Ok(())
    }

    async fn today(&self) -> CoreResult<DaySpend> {
        let day = self.day();
        self.flush().await?;
        let (spent, reserved) = self.read(move |sql| spend(sql, day)).await?;
        let refused = self.refused().filter(|(on, _)| *on == day);
        Ok(DaySpend {
            spent_usd: dollars(spent),
            reserved_usd: dollars(reserved),
            refused_usd: refused.map_or(0.0, |(_, ceiling)| ceiling),
        })
    }

    async fn report(&self, days: u32) -> CoreResult<Vec<UsageRow>> {
        const ROWS: &str = "SELECT day, provider, model, kind, requests, failed, input_tokens, output_tokens,
            cached_tokens, cost, saved FROM spending WHERE day > ?1
            ORDER BY day DESC, provider DESC, model DESC, kind DESC LIMIT ?2";
        let after = self.day().saturating_sub(i64::from(days));
        self.flush().await?;
        Ok(self.read(move |sql| Ok(sql.all(ROWS, [after, MOST_ROWS], read)?)).await?)
    }
}

/// A call that is ready to be stored.
struct Call {
    day: i64,
    ended_at: i64,
    session: Option<String>,
    turn: Option<String>,
    provider: String,
    model: String,
    kind: &'static str,
    is_ok: bool,
    tokens: [i64; 3],
    money: Money,
}

/// What it cost, and what was saved; in billionths of a dollar.
#[derive(Clone, Copy)]
struct Money {
    cost: i64,
    saved: i64,
}

impl From<LedgerEntry> for Call {
    fn from(entry: LedgerEntry) -> Self {
        let ended_at = to_millis(entry.at);
        let whole = |count: u64| i64::try_from(count).unwrap_or(MOST).min(MOST);
        let usage = entry.usage;
        Self {
            day: day_number(ended_at),
            ended_at,
            session: entry.session.map(|id| id.as_str().to_owned()),
            turn: entry.turn.map(|id| id.as_str().to_owned()),
            provider: entry.provider,
            model: entry.model,
            kind: entry.kind.as_str(),
            is_ok: entry.is_ok,
            tokens: [usage.input_tokens, usage.output_tokens, usage.cached_tokens].map(whole),
            money: Money { cost: billionths(usage.cost_usd), saved: billionths(entry.saved_usd) },
        }
    }
}

impl Call {
    fn store(&self, sql: &Sql<'_>, reservation: Option<i64>) -> Result<(), Error> {
        const INSERT: &str =
            "INSERT INTO calls (day, ended_at, session_key, turn, provider, model, kind, is_ok,
            input_tokens, output_tokens, cached_tokens, cost, saved)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
        const RELEASE: &str = "DELETE FROM reservations WHERE id = ?1 RETURNING day";
        let released = match reservation {
            Some(id) => sql.first(RELEASE, [id], |row| row.get(0))?,
            None => None,
        };
        let day = released.unwrap_or(self.day);
        let session = match &self.session {
            Some(id) => sessions::key(sql, id)?,
            None => None,
        };
        let [input, output, cached] = self.tokens;
        let names = (self.provider.as_str(), self.model.as_str(), self.kind);
        sql.execute(
            INSERT,
            params![
                day,
                self.ended_at,
                session,
                self.turn,
                names.0,
                names.1,
                names.2,
                self.is_ok,
                input,
                output,
                cached,
                self.money.cost,
                self.money.saved
            ],
        )?;
        let failed = i64::from(!self.is_ok);
        let sum = Sum { requests: 1, failed, tokens: self.tokens, money: self.money };
        add(sql, day, names, &sum)
    }
}

/// What is added to a day.
struct Sum {
    requests: i64,
    failed: i64,
    tokens: [i64; 3],
    money: Money,
}

fn add(sql: &Sql<'_>, day: i64, names: (&str, &str, &str), sum: &Sum) -> Result<(), Error> {
    const ADD: &str = "INSERT INTO spending VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
        ON CONFLICT DO UPDATE SET requests = requests + ?5, failed = failed + ?6,
        input_tokens = input_tokens + ?7, output_tokens = output_tokens + ?8,
        cached_tokens = cached_tokens + ?9, cost = cost + ?10, saved = saved + ?11";
    let ((provider, model, kind), [input, output, cached], money) = (names, sum.tokens, sum.money);
    let (cost, saved) = (money.cost, money.saved);
    let row =
        params![day, provider, model, kind, sum.requests, sum.failed, input, output, cached, cost, saved];
    sql.execute(ADD, row)?;
    Ok(())
}

fn reserve(sql: &Sql<'_>, day: i64, opener: Opener, amount: i64, ceiling: i64) -> Result<Option<i64>, Error> {
    const INSERT: &str = "INSERT INTO reservations (day, is_daemons, amount) VALUES (?1, ?2, ?3)";
    let (spent, reserved) = spend(sql, day)?;
    if spent.saturating_add(reserved).saturating_add(amount) > ceiling {
        return Ok(None);
    }
    Ok(Some(sql.insert(INSERT, params![day, opener == Opener::Daemon, amount])?))
}

/// What was spent on a day, and what is set aside.
fn spend(sql: &Sql<'_>, day: i64) -> Result<(i64, i64), Error> {
    const SPEND: &str = "SELECT (SELECT coalesce(sum(cost), 0) FROM spending WHERE day = ?1),
        (SELECT coalesce(sum(amount), 0) FROM reservations WHERE day = ?1)";
    Ok(sql.one(SPEND, [day], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// Whether there are reservations.
pub(crate) fn is_anything_set_aside(sql: &Sql<'_>) -> Result<bool, Error> {
    const ANY: &str = "SELECT EXISTS (SELECT 1 FROM reservations)";
    Ok(sql.one(ANY, [], |row| row.get(0))?)
}

/// Counts reservations as spent that nobody will settle any more: those from before the given day, and with
/// [`Opener::Daemon`] all that an earlier daemon left. Returns how many.
pub(crate) fn write_off(sql: &Sql<'_>, before: i64, opener: Opener) -> Result<usize, Error> {
    const LEFT: &str = "SELECT day, count(*), sum(amount) FROM reservations WHERE day < ?1 OR (?2 AND is_daemons) GROUP BY day";
    const REMOVE: &str = "DELETE FROM reservations WHERE day < ?1 OR (?2 AND is_daemons)";
    let which = params![before, opener == Opener::Daemon];
    let left: Vec<(i64, i64, i64)> =
        sql.all(LEFT, which, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    for &(day, requests, cost) in &left {
        let sum = Sum { requests, failed: requests, tokens: [0; 3], money: Money { cost, saved: 0 } };
        add(sql, day, ("", "", WorkKind::Interrupted.as_str()), &sum)?;
    }
    if left.is_empty() { Ok(0) } else { Ok(sql.execute(REMOVE, which)?) }
}

/// Removes some of the rows of single calls from before a day; their sums stay. Returns how many.
pub(crate) fn forget_before(sql: &Sql<'_>, day: i64, limit: i64) -> Result<usize, Error> {
    const FORGET: &str =
        "DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE day < ?1 ORDER BY day LIMIT ?2)";
    Ok(sql.execute(FORGET, [day, limit])?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<UsageRow> {
    let count = |column| row.get(column).map(i64::unsigned_abs);
    Ok(UsageRow {
        day: day_of(day_start(row.get(0)?)),
        provider: row.get(1)?,
        model: row.get(2)?,
        // A word that is not known was put there by hand; its money must count all the same.
        kind: WorkKind::parse(row.get_ref(3)?.as_str()?).unwrap_or(WorkKind::Background),
        requests: count(4)?,
        failed: count(5)?,
        usage: Usage {
            input_tokens: count(6)?,
            output_tokens: count(7)?,
            cached_tokens: count(8)?,
            cost_usd: dollars(row.get(9)?),
        },
        saved_usd: dollars(row.get(10)?),
    })
}

/// The cost of a call as it is stored. What is no amount counts as nothing.
fn billionths(usd: f64) -> i64 {
    to_whole(usd).clamp(0, MOST)
}

/// The cast takes what is too large as the largest, and what is no number as 0.
fn to_whole(usd: f64) -> i64 {
    (usd * BILLION).round() as i64
}

fn dollars(billionths: i64) -> f64 {
    billionths as f64 / BILLION
}
