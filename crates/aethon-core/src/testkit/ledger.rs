//! A ledger in memory that keeps to the contract of [`Ledger`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::ToSpan;
use jiff::civil::Date;

use crate::clock::Clock;
use crate::error::Result;
use crate::ledger::{DaySpend, Ledger, LedgerEntry, UsageRow};
use crate::usage::day_of;

/// A ledger in memory.
pub struct MemoryLedger {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: i64,
    reservations: BTreeMap<i64, (Date, f64)>,
    entries: Vec<(Date, LedgerEntry)>,
}

impl MemoryLedger {
    /// An empty one whose days follow this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default() }
    }

    /// Every call that was settled, in order.
    pub fn entries(&self) -> Vec<LedgerEntry> {
        self.lock().entries.iter().map(|(_, entry)| entry.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn day(&self) -> Date {
        day_of(self.clock.now())
    }
}

impl State {
    fn spend(&self, day: Date) -> DaySpend {
        let on_day = |(of, amount): (Date, f64)| if of == day { amount } else { 0.0 };
        DaySpend {
            spent_usd: self.entries.iter().map(|(of, entry)| on_day((*of, entry.usage.cost_usd))).sum(),
            reserved_usd: self.reservations.values().copied().map(on_day).sum(),
            refused_usd: 0.0,
        }
    }
}

#[async_trait]
impl Ledger for MemoryLedger {
    async fn reserve(&self, amount_usd: f64, ceiling_usd: f64) -> Result<Option<i64>> {
        let (day, mut state) = (self.day(), self.lock());
        let spend = state.spend(day);
        // A billionth of a dollar is nothing: sums of decimals are not exact.
        if spend.spent_usd + spend.reserved_usd + amount_usd > ceiling_usd + 1e-9 {
            return Ok(None);
        }
        state.next += 1;
        let id = state.next;
        state.reservations.insert(id, (day, amount_usd));
        Ok(Some(id))
    }

    async fn settle(&self, reservation: Option<i64>, entry: LedgerEntry) -> Result<()> {
        let mut state = self.lock();
        let reserved = reservation.and_then(|id| state.reservations.remove(&id));
        let day = reserved.map_or_else(|| day_of(entry.at), |(day, _)| day);
        state.entries.push((day, entry));
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
