//! Money: reserved, grown, settled, and summed by day.
//!
//! What happens to reservations after a crash depends on how a backend is opened, so the backend's own tests cover it.

use jiff::{SignedDuration, ToSpan};

use super::stage::*;
use crate::ledger::{Claim, DaySpend, LedgerEntry, Reserved, UsageRow, WorkKind};
use crate::model::Usage;
use crate::usage::day_of;

const DAY: i64 = 86_400;

fn call(cost_usd: f64) -> LedgerEntry {
    let usage = Usage { input_tokens: 7, output_tokens: 5, cached_tokens: 2, cost_usd, ..Usage::default() };
    LedgerEntry {
        at: start(),
        session: None,
        turn: None,
        provider: "p".into(),
        model: "m".into(),
        kind: WorkKind::Turn,
        usage,
        saved_usd: cost_usd / 2.0,
        is_ok: true,
    }
}

/// A claim under a ceiling of one dollar.
fn claim(least_usd: f64, most_usd: f64) -> Claim {
    Claim { most_usd, least_usd, ceiling_usd: 1.0, estimate_usd: least_usd }
}

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-6
}

impl Stage {
    async fn reserve(&self, claim: Claim) -> Option<Reserved> {
        self.storage.ledger.reserve("p", "m", claim).await.unwrap()
    }

    async fn grow(&self, reserved: Reserved, claim: Claim) -> Option<f64> {
        self.storage.ledger.grow(reserved.id, claim).await.unwrap().map(|grown| grown.amount_usd)
    }

    async fn settle(&self, reserved: Option<Reserved>, entry: LedgerEntry) {
        self.storage.ledger.settle(reserved.map(|reserved| reserved.id), entry).await.unwrap();
    }

    async fn assert_today(&self, spent_usd: f64, reserved_usd: f64) -> DaySpend {
        let today = self.storage.ledger.today().await.unwrap();
        let is_so = is_near(today.spent_usd, spent_usd) && is_near(today.reserved_usd, reserved_usd);
        assert!(is_so, "{today:?} is not {spent_usd} spent and {reserved_usd} reserved");
        today
    }

    async fn report(&self, days: u32) -> Vec<UsageRow> {
        self.storage.ledger.report(days).await.unwrap()
    }
}

pub async fn what_is_reserved_counts_until_it_is_settled(stage: Stage) {
    stage.assert_today(0.0, 0.0).await;
    assert!(stage.report(1).await.is_empty());
    let first = stage.reserve(Claim::exactly(0.6, 1.0)).await;
    assert!(first.is_some());
    stage.assert_today(0.0, 0.6).await;
    assert_eq!(stage.reserve(Claim::exactly(0.5, 1.0)).await, None);
    let second = stage.reserve(Claim::exactly(0.4, 1.0)).await;
    assert!(second.is_some() && second != first, "0.6 and 0.4 are 1");
    stage.settle(first, call(0.05)).await;
    stage.assert_today(0.05, 0.4).await;
    assert!(stage.reserve(Claim::exactly(0.55, 1.0)).await.is_some());
    assert_eq!(stage.reserve(Claim::exactly(0.001, 1.0)).await, None);
    stage.settle(None, call(0.2)).await;
    stage.assert_today(0.25, 0.95).await;
}

pub async fn a_claim_gets_what_is_left_and_nothing_below_its_least(stage: Stage) {
    let check = async |wanted: Claim, expected: Option<(f64, f64)>| {
        let found = stage.reserve(wanted).await.map(|reserved| (reserved.amount_usd, reserved.left_usd));
        let is_so = match (found, expected) {
            (Some((amount, left)), Some((of, rest))) => is_near(amount, of) && is_near(left, rest),
            (found, expected) => found.is_none() && expected.is_none(),
        };
        assert!(is_so, "{wanted:?}: {found:?} is not {expected:?}");
    };
    check(claim(0.1, 0.7), Some((0.7, 0.3))).await;
    check(claim(0.4, 0.9), None).await;
    check(claim(0.1, 0.9), Some((0.3, 0.0))).await;
    check(claim(0.01, 0.9), None).await;
    check(claim(0.0, 0.9), Some((0.0, 0.0))).await;
    check(Claim { ceiling_usd: 2.0, ..claim(0.5, 0.5) }, Some((0.5, 0.5))).await;
}

pub async fn a_reservation_grows_until_the_day_is_spent(stage: Stage) {
    let first = stage.reserve(claim(0.2, 0.2)).await.unwrap();
    stage.settle(None, call(0.1)).await;
    let grown = stage.grow(first, claim(0.3, 0.3)).await;
    assert!(grown.is_some_and(|amount| is_near(amount, 0.3)), "{grown:?}");
    stage.assert_today(0.1, 0.5).await;
    stage.storage.ledger.note(first.id, 0.45).await.unwrap();
    stage.assert_today(0.1, 0.5).await;
    assert_eq!(stage.grow(first, claim(0.5, 0.6)).await, None, "less than the least of it is left");
    let rest = stage.grow(first, claim(0.1, 0.6)).await;
    assert!(rest.is_some_and(|amount| is_near(amount, 0.4)), "the last cent is of use: {rest:?}");
    assert_eq!(stage.grow(first, claim(0.1, 0.1)).await, None);
    stage.settle(Some(first), call(0.85)).await;
    stage.assert_today(0.95, 0.0).await;
}

pub async fn callers_side_by_side_never_pass_the_ceiling(stage: Stage) {
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let ledger = stage.storage.ledger.clone();
            tokio::spawn(async move {
                let Some(mine) = ledger.reserve("p", "m", claim(0.03, 0.04)).await.unwrap() else {
                    return 0.0;
                };
                let mut held = mine.amount_usd;
                while let Some(step) = ledger.grow(mine.id, claim(0.001, 0.013)).await.unwrap() {
                    held += step.amount_usd;
                }
                held
            })
        })
        .collect();
    let mut held = 0.0;
    for task in tasks {
        held += task.await.unwrap();
    }
    assert!(held > 0.99 && held <= 1.0 + 1e-6, "{held}");
    stage.assert_today(0.0, held).await;
}

pub async fn a_refusal_is_told_until_somebody_gets_money_again(stage: Stage) {
    let refused = async || stage.storage.ledger.today().await.unwrap().refused_usd;
    let low = |amount: f64| Claim::exactly(amount, 0.5);
    let first = stage.reserve(claim(0.5, 0.5)).await;
    assert_eq!(refused().await, 0.0);
    assert_eq!(stage.reserve(low(0.1)).await, None);
    assert_eq!(refused().await, 0.5, "under a lower ceiling");
    assert!(stage.reserve(claim(0.1, 0.1)).await.is_some());
    assert_eq!(refused().await, 0.0);
    assert_eq!(stage.reserve(claim(0.9, 0.9)).await, None);
    assert_eq!(refused().await, 1.0);
    stage.settle(first, call(0.1)).await;
    assert!(stage.reserve(low(0.1)).await.is_some());
    assert_eq!(refused().await, 1.0, "what fits under half of the ceiling says nothing of the whole");
    stage.advance(DAY);
    assert_eq!(refused().await, 0.0, "of yesterday");
}

pub async fn a_call_belongs_to_the_day_of_its_reservation(stage: Stage) {
    let late = stage.reserve(claim(0.8, 0.8)).await.unwrap();
    stage.advance(DAY);
    stage.assert_today(0.0, 0.0).await;
    assert!(stage.reserve(claim(0.9, 0.9)).await.is_some(), "a new day has new money");
    assert!(stage.grow(late, claim(0.1, 0.1)).await.is_some(), "its own day has some left");
    assert_eq!(stage.grow(late, claim(0.2, 0.2)).await, None);
    assert_eq!(stage.assert_today(0.0, 0.9).await.refused_usd, 0.0, "it was the day before that ran out");
    let now = start() + SignedDuration::from_secs(DAY);
    stage.settle(Some(late), LedgerEntry { at: now, ..call(0.85) }).await;
    stage.assert_today(0.0, 0.9).await;
    stage.settle(None, LedgerEntry { at: now, ..call(0.25) }).await;
    let rows = stage.report(2).await;
    let days: Vec<_> = rows.iter().map(|row| (row.day, row.usage.cost_usd)).collect();
    let today = day_of(now);
    assert_eq!(days, [(today, 0.25), (today.saturating_sub(1.day()), 0.85)], "newest first");
    assert_eq!(stage.report(1).await.len(), 1);
}

pub async fn a_reservation_that_is_gone_grows_no_more_and_loses_no_entry(stage: Stage) {
    let reserved = stage.reserve(claim(0.3, 0.3)).await.unwrap();
    stage.settle(Some(reserved), call(0.1)).await;
    assert_eq!(stage.grow(reserved, claim(0.1, 0.1)).await, None);
    assert_eq!(stage.assert_today(0.1, 0.0).await.refused_usd, 0.0, "that says nothing of the day's money");
    stage.storage.ledger.note(reserved.id, 0.9).await.unwrap();
    stage.settle(Some(reserved), call(0.2)).await;
    stage.assert_today(0.3, 0.0).await;
    let again = stage.reserve(claim(0.1, 0.1)).await.unwrap();
    assert_ne!(again.id, reserved.id, "a number is given once");
}

pub async fn a_report_adds_up_by_day_model_and_kind(stage: Stage) {
    for n in 0..12 {
        let (model, kind) = (format!("model-{}", n % 2), WorkKind::ALL[n % 3]);
        stage.settle(None, LedgerEntry { model, kind, is_ok: n != 5, ..call(0.01) }).await;
    }
    stage.settle(None, LedgerEntry { provider: "q".into(), ..call(0.01) }).await;
    let rows = stage.report(1).await;
    assert_eq!(rows.len(), 7, "{rows:?}");
    for row in rows.iter().filter(|row| row.provider == "p") {
        assert_eq!((row.day, row.requests), (day_of(start()), 2));
        let usage = &row.usage;
        assert_eq!((usage.input_tokens, usage.output_tokens, usage.cached_tokens), (14, 10, 4));
        assert!(is_near(usage.cost_usd, 0.02) && is_near(row.saved_usd, 0.01), "{row:?}");
    }
    let failed: Vec<_> = rows.iter().filter(|row| row.failed > 0).collect();
    assert_eq!(failed.len(), 1, "{rows:?}");
    let failed = (failed[0].model.as_str(), failed[0].kind, failed[0].failed);
    assert_eq!(failed, ("model-1", WorkKind::ALL[2], 1));
    stage.assert_today(0.13, 0.0).await;
}

pub async fn what_is_no_amount_is_neither_reserved_nor_booked(stage: Stage) {
    for (amount_usd, ceiling_usd) in [(f64::NAN, 1.0), (-1.0, 1.0), (f64::INFINITY, 1.0), (0.1, f64::NAN)] {
        let claim = Claim::exactly(amount_usd, ceiling_usd);
        let refused = stage.storage.ledger.reserve("p", "m", claim).await;
        assert!(refused.is_err_and(|error| error.is_invalid()), "{claim:?}");
    }
    assert!(stage.storage.ledger.reserve("p", "m", claim(0.2, 0.1)).await.is_err(), "less than its least");
    let reserved = stage.reserve(claim(0.1, 0.1)).await.unwrap();
    let nothing = Claim::exactly(f64::NAN, 1.0);
    assert!(stage.storage.ledger.grow(reserved.id, nothing).await.is_err());
    stage.settle(Some(reserved), call(f64::NAN)).await;
    stage.settle(None, call(-3.0)).await;
    stage.assert_today(0.0, 0.0).await;
    assert_eq!(stage.report(1).await[0].requests, 2);
    assert!(stage.reserve(Claim::exactly(1.0, f64::INFINITY)).await.is_some());
}
