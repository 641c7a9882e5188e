//! Costs of model calls, and reservations for the calls that are running.
//!
//! Every call is a row and is added to the totals of its day in the same transaction; queries read the totals. Making
//! or growing a reservation checks and writes in one transaction, which locks out all other writers, so no two callers can both take the last of the budget. A reservation counts until it is settled; a call whose cost
//! nothing limits has one of 0, so that it is known after a crash. Reservations
//! of a crashed daemon are booked, at the last estimate of what their calls had cost: by the next one of its instance, or by another
//! instance that takes over its turns or has no money left. Those of a program beside it count for the rest of their day.

use aethon_core::error::{Error as CoreError, Result as CoreResult};
use aethon_core::ledger::{Claim, DaySpend, Ledger, LedgerEntry, Reserved, UsageRow, WorkKind};
use aethon_core::model::Usage;
use aethon_core::usage::day_of;
use async_trait::async_trait;

use crate::db::{Row, Sql, params};
use crate::error::Error;
use crate::money::{BILLIONTHS_PER_USD, dollars};
use crate::sessions;
use crate::store::{OpenMode, Opener, Store};
use crate::time::{day_number, day_start, to_millis};

/// Upper bound for one cost or claim, a million dollars, so that sums stay far from overflow.
const MAX_COUNT: i64 = 1_000_000_000_000_000;

/// Maximum number of rows in a report.
const MAX_ROWS: i64 = 10_000;

#[async_trait]
impl Ledger for Store {
    async fn reserve(&self, provider: &str, model: &str, claim: Claim) -> CoreResult<Option<Reserved>> {
        let amounts = ClaimAmounts::of(claim)?;
        let (day, opener, now) = (self.day(), self.opener().clone(), self.now());
        let (provider, model) = (provider.to_owned(), model.to_owned());
        let reserved = self
            .write(move |sql| {
                reserve(sql, day, (&opener, now), &Payee { provider: &provider, model: &model }, amounts)
            })
            .await?;
        if claim.takes_money() {
            self.note_refusal(day, claim.ceiling_usd, reserved.is_none());
        }
        Ok(reserved)
    }

    async fn grow(&self, reservation: i64, claim: Claim) -> CoreResult<Option<Reserved>> {
        let amounts = ClaimAmounts::of(claim)?;
        let Some((day, reserved)) = self.write(move |sql| grow(sql, reservation, amounts)).await? else {
            return Ok(None);
        };
        self.note_refusal(day, claim.ceiling_usd, reserved.is_none());
        Ok(reserved)
    }

    async fn close(&self, reservation: i64, entry: LedgerEntry) -> CoreResult<()> {
        let call = Call::from(entry);
        let close = move |sql: &Sql<'_>| {
            release(sql, reservation)?;
            call.store(sql, call.day)
        };
        Ok(self.write(close).await?)
    }

    async fn note(&self, reservation: i64, estimate_usd: f64) -> CoreResult<()> {
        const NOTE: &str = "UPDATE reservations SET estimate = $2 WHERE id = $1";
        let estimate = billionths(estimate_usd);
        let note = move |sql: &Sql<'_>| sql.execute(NOTE, [reservation, estimate]).map(drop);
        Ok(self.write(note).await?)
    }

    async fn settle(&self, reservation: Option<i64>, entry: LedgerEntry) -> CoreResult<()> {
        let call = Call::from(entry);
        let settle = move |sql: &Sql<'_>| {
            let reserved_on = reservation.map(|id| release(sql, id)).transpose()?.flatten();
            call.store(sql, reserved_on.unwrap_or(call.day))
        };
        match reservation {
            Some(_) => self.write(settle).await?,
            None => self.write(settle).await?,
        }
        Ok(())
    }

    async fn today(&self) -> CoreResult<DaySpend> {
        let day = self.day();
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
            cached_tokens, cost, saved FROM spending WHERE day > $1
            ORDER BY day DESC, provider DESC, model DESC, kind DESC LIMIT $2";
        let after = self.day().saturating_sub(i64::from(days));
        Ok(self.read(move |sql| sql.all(ROWS, [after, MAX_ROWS], read)).await?)
    }
}

/// A call ready to be stored.
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

/// Cost and savings of a call, in billionths of a dollar.
#[derive(Clone, Copy)]
struct Money {
    cost: i64,
    saved: i64,
}

impl From<LedgerEntry> for Call {
    fn from(entry: LedgerEntry) -> Self {
        let ended_at = to_millis(entry.at);
        let whole = |count: u64| i64::try_from(count).unwrap_or(MAX_COUNT).min(MAX_COUNT);
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
    fn store(&self, sql: &Sql<'_>, day: i64) -> Result<(), Error> {
        const INSERT: &str =
            "INSERT INTO calls (day, ended_at, session_key, turn, provider, model, kind, is_ok,
            input_tokens, output_tokens, cached_tokens, cost, saved)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
        let session = match &self.session {
            Some(id) => sessions::key(sql, id)?,
            None => None,
        };
        let [input, output, cached] = self.tokens;
        sql.execute(
            INSERT,
            params![
                day,
                self.ended_at,
                session,
                self.turn,
                self.provider,
                self.model,
                self.kind,
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
        add(sql, day, &self.provider, &self.model, self.kind, &sum)
    }
}

/// Removes a reservation and returns its day, if it is there.
fn release(sql: &Sql<'_>, reservation: i64) -> Result<Option<i64>, Error> {
    const RELEASE: &str = "DELETE FROM reservations WHERE id = $1 RETURNING day";
    sql.first(RELEASE, [reservation], |row| row.get(0))
}

/// Amounts to add to a day.
struct Sum {
    requests: i64,
    failed: i64,
    tokens: [i64; 3],
    money: Money,
}

fn add(sql: &Sql<'_>, day: i64, provider: &str, model: &str, kind: &str, sum: &Sum) -> Result<(), Error> {
    const ADD: &str = "INSERT INTO spending VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        ON CONFLICT (day, provider, model, kind) DO UPDATE SET requests = spending.requests + $5,
        failed = spending.failed + $6, input_tokens = spending.input_tokens + $7,
        output_tokens = spending.output_tokens + $8, cached_tokens = spending.cached_tokens + $9,
        cost = spending.cost + $10, saved = spending.saved + $11";
    let ([input, output, cached], money) = (sum.tokens, sum.money);
    let (cost, saved) = (money.cost, money.saved);
    let row =
        params![day, provider, model, kind, sum.requests, sum.failed, input, output, cached, cost, saved];
    sql.execute(ADD, row)?;
    Ok(())
}

/// A claim in billionths of a dollar.
#[derive(Clone, Copy)]
struct ClaimAmounts {
    most: i64,
    least: i64,
    ceiling: i64,
    estimate: i64,
}

impl ClaimAmounts {
    fn of(claim: Claim) -> CoreResult<Self> {
        if !claim.is_sound() {
            return Err(CoreError::invalid(format!("{claim:?} is no amount that can be set aside")));
        }
        Ok(Self {
            most: billionths(claim.most_usd),
            least: billionths(claim.least_usd),
            ceiling: to_whole(claim.ceiling_usd),
            estimate: billionths(claim.estimate_usd),
        })
    }

    /// Returns how much of the claim can be granted on a day and how much is left then; `None` if less than the minimum
    /// is left.
    fn granted(&self, sql: &Sql<'_>, day: i64) -> Result<Option<(i64, i64)>, Error> {
        let (spent, reserved) = spend(sql, day)?;
        let left = self.ceiling.saturating_sub(spent.saturating_add(reserved));
        let granted = self.most.min(left);
        Ok((left >= self.least).then(|| (granted, left.saturating_sub(granted))))
    }
}

/// The service that a reservation is for.
struct Payee<'p> {
    provider: &'p str,
    model: &'p str,
}

fn reserve(
    sql: &Sql<'_>,
    day: i64,
    (opener, now): (&Opener, i64),
    payee: &Payee<'_>,
    amounts: ClaimAmounts,
) -> Result<Option<Reserved>, Error> {
    const INSERT: &str =
        "INSERT INTO reservations (day, is_daemons, instance, amount, estimate, provider, model)
        VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id";
    let mut granted = amounts.granted(sql, day)?;
    if granted.is_none() && write_off_gone(sql, opener, now)? > 0 {
        granted = amounts.granted(sql, day)?;
    }
    let Some((amount, left)) = granted else { return Ok(None) };
    let is_daemons = opener.mode == OpenMode::Daemon;
    let values = params![
        day,
        is_daemons,
        opener.about.instance,
        amount,
        amounts.estimate,
        payee.provider,
        payee.model
    ];
    let id = sql.insert(INSERT, values)?;
    Ok(Some(Reserved { id, amount_usd: dollars(amount), left_usd: dollars(left) }))
}

/// Grows a reservation. Returns its day and the granted amount; `None` if the reservation is gone.
fn grow(sql: &Sql<'_>, id: i64, amounts: ClaimAmounts) -> Result<Option<(i64, Option<Reserved>)>, Error> {
    const DAY: &str = "SELECT day FROM reservations WHERE id = $1";
    const GROW: &str = "UPDATE reservations SET amount = amount + $2, estimate = $3 WHERE id = $1";
    let Some(day) = sql.first(DAY, [id], |row| row.get(0))? else { return Ok(None) };
    let Some((amount, left)) = amounts.granted(sql, day)? else { return Ok(Some((day, None))) };
    sql.execute(GROW, [id, amount, amounts.estimate])?;
    let reserved = Reserved { id, amount_usd: dollars(amount), left_usd: dollars(left) };
    Ok(Some((day, Some(reserved))))
}

/// Returns the amounts spent and reserved on a day.
fn spend(sql: &Sql<'_>, day: i64) -> Result<(i64, i64), Error> {
    const SPEND: &str = "SELECT (SELECT coalesce(sum(cost), 0)::bigint FROM spending WHERE day = $1),
        (SELECT coalesce(sum(amount), 0)::bigint FROM reservations WHERE day = $1)";
    sql.one(SPEND, [day], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Books reservations that can no longer be settled, at the last estimate of the cost of their calls: those of
/// earlier days than `before`, and all that an earlier daemon of this instance left. Returns how many.
pub(crate) fn write_off(sql: &Sql<'_>, before: i64, instance: Option<&str>) -> Result<usize, Error> {
    // A call whose cost nothing limited has reserved nothing.
    const LEFT: &str = "SELECT day, provider, model, count(*),
        sum(CASE amount WHEN 0 THEN estimate ELSE least(estimate, amount) END)::bigint FROM reservations
        WHERE day < $1 OR (is_daemons AND instance = $2) GROUP BY day, provider, model";
    const REMOVE: &str = "DELETE FROM reservations WHERE day < $1 OR (is_daemons AND instance = $2)";
    let which = params![before, instance];
    let left: Vec<(i64, String, String, i64, i64)> = sql.all(LEFT, which.clone(), |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    })?;
    for (day, provider, model, requests, cost) in &left {
        let money = Money { cost: *cost, saved: 0 };
        let sum = Sum { requests: *requests, failed: *requests, tokens: [0; 3], money };
        add(sql, *day, provider, model, WorkKind::Interrupted.as_str(), &sum)?;
    }
    if left.is_empty() { Ok(0) } else { Ok(sql.execute(REMOVE, which)?) }
}

/// Books what daemons of other instances have left that are gone: their lease is over for as long again. Returns how many.
pub(crate) fn write_off_gone(sql: &Sql<'_>, opener: &Opener, now: i64) -> Result<usize, Error> {
    const GONE: &str = "SELECT DISTINCT instance FROM reservations WHERE is_daemons AND instance <> $1 AND NOT EXISTS
        (SELECT 1 FROM owners WHERE is_daemon AND owners.instance = reservations.instance AND lease_until > $2)";
    let since = opener.about.lease_now(sql, now)?.saturating_sub(opener.owner.lease);
    let gone: Vec<String> =
        sql.all(GONE, params![opener.about.instance, since], |row| Ok(row.text(0)?.to_owned()))?;
    let mut booked = 0;
    for instance in &gone {
        booked += write_off(sql, i64::MIN, Some(instance))?;
    }
    Ok(booked)
}

/// Removes up to `limit` calls of earlier days; their totals stay. Returns how many.
pub(crate) fn forget_before(sql: &Sql<'_>, day: i64, limit: i64) -> Result<usize, Error> {
    const FORGET: &str =
        "DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE day < $1 ORDER BY day LIMIT $2)";
    sql.execute(FORGET, [day, limit])
}

fn read(row: &Row<'_>) -> Result<UsageRow, Error> {
    let count = |column| row.get(column).map(i64::unsigned_abs);
    Ok(UsageRow {
        day: day_of(day_start(row.get(0)?)),
        provider: row.get(1)?,
        model: row.get(2)?,
        // An unknown word was put there by hand; its money must count all the same.
        kind: WorkKind::parse(row.text(3)?).unwrap_or(WorkKind::Background),
        requests: count(4)?,
        failed: count(5)?,
        usage: Usage {
            input_tokens: count(6)?,
            output_tokens: count(7)?,
            cached_tokens: count(8)?,
            cost_usd: dollars(row.get(9)?),
            ..Usage::default()
        },
        saved_usd: dollars(row.get(10)?),
    })
}

/// Returns an amount as it is stored. Values that are no valid amount become 0.
fn billionths(usd: f64) -> i64 {
    to_whole(usd).clamp(0, MAX_COUNT)
}

/// The cast saturates, and turns NaN into 0.
fn to_whole(usd: f64) -> i64 {
    (usd * BILLIONTHS_PER_USD).round() as i64
}
