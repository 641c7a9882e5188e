//! Spending reports: the page, the terminal and other programs show the same document.
//!
//! The ledger keeps the sums; here they are totalled, compared with the ceiling and given a state in one word.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::ledger::{DaySpend, Ledger, UsageRow};
use crate::model::Usage;

/// The share of a ceiling that counts as reached: the last call stops short of the ceiling itself when another token
/// would be too much.
const FULL: f64 = 0.999;

/// The daily budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// The ceiling in USD; 0 means none.
    pub daily_usd: f64,
    /// The share of the ceiling at which the owner is warned.
    pub warn_ratio: f64,
    /// Whether models without a price may be called although there is a ceiling. Its cost is then not counted.
    pub allows_unpriced: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self { daily_usd: 0.0, warn_ratio: 0.8, allows_unpriced: false }
    }
}

impl Budget {
    /// Returns whether there is a ceiling.
    pub fn is_limited(&self) -> bool {
        self.daily_usd > 0.0
    }

    /// Returns a day's state under this ceiling.
    pub fn state(&self, day: DaySpend) -> BudgetState {
        if self.daily_usd <= 0.0 {
            BudgetState::Ok
        } else if day.spent_usd + day.reserved_usd >= self.daily_usd * FULL
            || day.refused_usd >= self.daily_usd
        {
            BudgetState::Exhausted
        } else if day.spent_usd >= self.daily_usd * self.warn_ratio {
            BudgetState::Warn
        } else {
            BudgetState::Ok
        }
    }
}

/// A day's state under its ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum BudgetState {
    /// There is no ceiling, or it is far away.
    Ok,
    /// Spending has reached the share at which the owner is warned.
    Warn,
    /// Nothing is left.
    Exhausted,
}

/// The ceiling, and today's spending.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Budget")]
pub struct BudgetReport {
    /// The ceiling in USD; 0 means none.
    pub daily_usd: f64,
    /// Spent and reserved.
    #[serde(flatten)]
    pub today: DaySpend,
    /// The state in one word.
    pub state: BudgetState,
}

/// The totals of some rows.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(rename = "UsageTotals")]
pub struct Totals {
    /// How many calls there were.
    pub requests: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Total tokens and cost.
    #[serde(flatten)]
    pub usage: Usage,
    /// The money saved by the cache, in USD.
    #[serde(serialize_with = "crate::ledger::serialize_usd")]
    pub saved_usd: f64,
}

impl Totals {
    /// Sums up these rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a UsageRow>) -> Self {
        rows.into_iter().fold(Self::default(), |mut sum, row| {
            sum.requests += row.requests;
            sum.failed += row.failed;
            sum.usage += row.usage;
            sum.saved_usd += row.saved_usd;
            sum
        })
    }
}

/// The spending of some days.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UsageReport {
    /// Today, in UTC.
    pub day: Date,
    /// How many days it covers, including today.
    pub days: u32,
    /// Today's totals.
    pub today: Totals,
    /// The totals of all these days.
    pub total: Totals,
    /// By day, model and kind of work, newest day first.
    pub rows: Vec<UsageRow>,
    /// The ceiling.
    pub budget: BudgetReport,
}

impl UsageReport {
    /// Reads the last `days` days from the ledger.
    pub async fn read(ledger: &dyn Ledger, budget: &Budget, now: Timestamp, days: u32) -> Result<Self> {
        let rows = ledger.report(days).await?;
        let spend = ledger.today().await?;
        let day = day_of(now);
        Ok(Self {
            day,
            days,
            today: Totals::of(rows.iter().filter(|row| row.day == day)),
            total: Totals::of(&rows),
            rows,
            budget: BudgetReport { daily_usd: budget.daily_usd, today: spend, state: budget.state(spend) },
        })
    }
}

/// Returns the UTC day of a timestamp.
pub fn day_of(time: Timestamp) -> Date {
    TimeZone::UTC.to_datetime(time).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_follows_the_ceiling() {
        let check = |daily_usd: f64, spent_usd: f64, reserved_usd: f64, expected: BudgetState| {
            let budget = Budget { daily_usd, ..Budget::default() };
            let found = budget.state(DaySpend { spent_usd, reserved_usd, refused_usd: 0.0 });
            assert_eq!(found, expected, "{spent_usd} and {reserved_usd} of {daily_usd}");
        };
        check(0.0, 99.0, 1.0, BudgetState::Ok);
        check(1.0, 0.0, 0.0, BudgetState::Ok);
        check(1.0, 0.79, 0.1, BudgetState::Ok);
        check(1.0, 0.8, 0.0, BudgetState::Warn);
        check(1.0, 0.99, 0.0, BudgetState::Warn);
        let refused = DaySpend { spent_usd: 0.4, refused_usd: 1.0, ..DaySpend::default() };
        let state = |daily_usd| Budget { daily_usd, ..Budget::default() }.state(refused);
        assert_eq!((state(1.0), state(2.0)), (BudgetState::Exhausted, BudgetState::Ok));
        check(1.0, 0.8, 0.2, BudgetState::Exhausted);
        check(1.0, 0.9995, 0.0, BudgetState::Exhausted);
        check(1.0, 1.5, 0.0, BudgetState::Exhausted);
    }

    #[test]
    fn a_report_is_one_flat_document() {
        let row = UsageRow {
            day: day_of("2026-11-20T23:59:59Z".parse().unwrap()),
            provider: "fake".into(),
            model: "m".into(),
            kind: crate::ledger::WorkKind::Turn,
            requests: 2,
            failed: 1,
            usage: Usage {
                input_tokens: 5,
                output_tokens: 7,
                cached_tokens: 3,
                cost_usd: 0.5,
                ..Usage::default()
            },
            saved_usd: 0.25,
        };
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!(json["day"], "2026-11-20");
        assert_eq!((&json["kind"], &json["cost_usd"]), (&"turn".into(), &0.5.into()));
        let sum = Totals::of([&row, &row]);
        assert_eq!((sum.requests, sum.failed, sum.usage.input_tokens), (4, 2, 10));
    }
}
