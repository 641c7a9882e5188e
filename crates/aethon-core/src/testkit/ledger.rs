//! An in-memory ledger that follows the contract of [`Ledger`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::ToSpan;
use jiff::civil::Date;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::ledger::{Claim, DaySpend, Ledger, LedgerEntry, Reserved, UsageRow};
use crate::usage::day_of;

/// An in-memory ledger.
pub struct MemoryLedger {
    clock: Arc<dyn Clock>,
    books: Mutex<Books>,
}

/// The recorded data.
#[derive(Default)]
struct Books {
    next: i64,
    reservations: BTreeMap<i64, Reservation>,
    entries: Vec<(Date, LedgerEntry)>,
    /// The day on which money was last refused, and the ceiling.
    refused: Option<(Date, f64)>,
}

#[derive(Clone, Copy)]
struct Reservation {
    day: Date,
    amount_usd: f64,
    estimate_usd: f64,
}

impl MemoryLedger {
    /// An empty ledger whose days follow this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, books: Mutex::default() }
    }

    /// Returns every settled call, in order.
    pub fn entries(&self) -> Vec<LedgerEntry> {
        self.lock().entries.iter().map(|(_, entry)| entry.clone()).collect()
    }

    /// Returns what each open reservation holds, and what it counts for after a crash.
    pub fn reservations(&self) -> Vec<(f64, f64)> {
        let books = self.lock();
        books.reservations.values().map(|reserved| (reserved.amount_usd, reserved.estimate_usd)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn day(&self) -> Date {
        day_of(self.clock.now())
    }
}

impl Books {
    fn spend(&self, day: Date) -> DaySpend {
        let on_day = |(of, amount): (Date, f64)| if of == day { amount } else { 0.0 };
        let reserved = self.reservations.values().map(|reserved| (reserved.day, reserved.amount_usd));
        DaySpend {
            spent_usd: self.entries.iter().map(|(of, entry)| on_day((*of, entry.usage.cost_usd))).sum(),
            reserved_usd: reserved.map(on_day).sum(),
            refused_usd: self
                .refused
                .filter(|(of, _)| *of == day)
                .map_or(0.0, |(_, ceiling_usd)| ceiling_usd),
        }
    }

    /// What is granted of a claim on a day, and what is left afterwards. A billionth of a dollar is ignored, because
    /// sums of decimals are not exact.
    fn granted(&mut self, day: Date, claim: Claim) -> Option<(f64, f64)> {
        let spend = self.spend(day);
        let taken_usd = spend.spent_usd + spend.reserved_usd - 1e-9;
        let granted = claim.granted(taken_usd);
        if granted.is_none() {
            self.refused = Some((day, claim.ceiling_usd));
        } else if claim.takes_money()
            && self.refused.is_some_and(|(_, under_usd)| claim.ceiling_usd >= under_usd)
        {
            self.refused = None;
        }
        granted.map(|amount_usd| (amount_usd, claim.ceiling_usd - taken_usd - amount_usd))
    }
}

fn sound(claim: Claim) -> Result<Claim> {
    if claim.is_sound() {
        Ok(claim)
    } else {
        Err(Error::invalid(format!("{claim:?} is no amount that can be set aside")))
    }
}

/// An invalid amount counts as zero.
fn amount(usd: f64) -> f64 {
    if usd > 0.0 { usd } else { 0.0 }
}

#[async_trait]
impl Ledger for MemoryLedger {
    async fn reserve(&self, _provider: &str, _model: &str, claim: Claim) -> Result<Option<Reserved>> {
        let (claim, day, mut books) = (sound(claim)?, self.day(), self.lock());
        let Some((amount_usd, left_usd)) = books.granted(day, claim) else { return Ok(None) };
        books.next += 1;
        let id = books.next;
        books.reservations.insert(id, Reservation { day, amount_usd, estimate_usd: claim.estimate_usd });
        Ok(Some(Reserved { id, amount_usd, left_usd }))
    }

    async fn grow(&self, reservation: i64, claim: Claim) -> Result<Option<Reserved>> {
        let (claim, mut books) = (sound(claim)?, self.lock());
        let Some(mut reserved) = books.reservations.get(&reservation).copied() else { return Ok(None) };
        let Some((amount_usd, left_usd)) = books.granted(reserved.day, claim) else { return Ok(None) };
        reserved.amount_usd += amount_usd;
        reserved.estimate_usd = claim.estimate_usd;
        books.reservations.insert(reservation, reserved);
        Ok(Some(Reserved { id: reservation, amount_usd, left_usd }))
    }

    async fn note(&self, reservation: i64, estimate_usd: f64) -> Result<()> {
        if let Some(reserved) = self.lock().reservations.get_mut(&reservation) {
            reserved.estimate_usd = estimate_usd;
        }
        Ok(())
    }

    async fn settle(&self, reservation: Option<i64>, mut entry: LedgerEntry) -> Result<()> {
        let mut books = self.lock();
        let reserved = reservation.and_then(|id| books.reservations.remove(&id));
        let day = reserved.map_or_else(|| day_of(entry.at), |reserved| reserved.day);
        entry.usage.cost_usd = amount(entry.usage.cost_usd);
        entry.saved_usd = amount(entry.saved_usd);
        books.entries.push((day, entry));
        Ok(())
    }

    async fn today(&self) -> Result<DaySpend> {
        Ok(self.lock().spend(self.day()))
    }

    async fn report(&self, days: u32) -> Result<Vec<UsageRow>> {
        let first = self.day().saturating_sub(i64::from(days).saturating_sub(1).days());
        let mut rows: Vec<UsageRow> = Vec::new();
        for (day, entry) in self.lock().entries.iter().filter(|(day, _)| *day >= first) {
            let of = (*day, entry.provider.as_str(), entry.model.as_str(), entry.kind);
            let found = rows
                .iter_mut()
                .find(|row| (row.day, row.provider.as_str(), row.model.as_str(), row.kind) == of);
            match found {
                Some(row) => {
                    row.requests += 1;
                    row.failed += u64::from(!entry.is_ok);
                    row.usage += entry.usage;
                    row.saved_usd += entry.saved_usd;
                }
                None => rows.push(UsageRow {
                    day: *day,
                    provider: entry.provider.clone(),
                    model: entry.model.clone(),
                    kind: entry.kind,
                    requests: 1,
                    failed: u64::from(!entry.is_ok),
                    usage: entry.usage,
                    saved_usd: entry.saved_usd,
                }),
            }
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.day));
        Ok(rows)
    }
}
