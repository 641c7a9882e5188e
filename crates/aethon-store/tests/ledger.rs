//! The ledger: money set aside and spent, by day, across restarts, beside other programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::sync::Arc;

use aethon_core::ids::TurnId;
use aethon_core::ledger::{DaySpend, Ledger, LedgerEntry, UsageRow, WorkKind};
use aethon_core::model::Usage;
use aethon_core::session::{Clear, Transcripts};
use aethon_store::{Keep, Opener, Options, Store};
use common::*;
use jiff::{SignedDuration, Timestamp};

const S: &str = "webchat:default";
const DAY: i64 = 86_400;

fn call(at: Timestamp, cost_usd: f64) -> LedgerEntry {
    LedgerEntry {
        at,
        session: Some(session(S)),
        turn: Some(TurnId::existing("t1")),
        provider: "fake".into(),
        model: "fake-1".into(),
        kind: WorkKind::Turn,
        usage: Usage { input_tokens: 100, output_tokens: 10, cached_tokens: 40, cost_usd },
        saved_usd: cost_usd / 4.0,
        is_ok: true,
    }
}

fn daemon() -> Home {
    Home::with(Options { opener: Opener::Daemon, ..Options::default() })
}

/// Another program, or the same one after a restart, at the same file.
fn beside(home: &Home, opener: Opener) -> Store {
    Store::open(&home.path(), Options { opener, clock: home.clock.clone(), ..Options::default() }).unwrap()
}

fn money(spent_usd: f64, reserved_usd: f64) -> DaySpend {
    DaySpend { spent_usd, reserved_usd, refused_usd: 0.0 }
}

async fn settle(store: &Store, reservation: Option<i64>, entry: LedgerEntry) {
    Ledger::settle(store, reservation, entry).await.unwrap();
}

fn brief(rows: &[UsageRow]) -> Vec<(String, &'static str, u64, f64)> {
    rows.iter()
        .map(|row| (row.day.to_string(), row.kind.as_str(), row.requests, row.usage.cost_usd))
        .collect()
}

#[tokio::test]
async fn what_is_set_aside_counts_until_it_is_settled() {
    let home = Home::new();
    let first = home.store.reserve(0.6, 1.0).await.unwrap();
    assert!(first.is_some());
    assert_eq!(home.store.today().await.unwrap(), money(0.0, 0.6));
    assert_eq!(home.store.reserve(0.5, 1.0).await.unwrap(), None);
    let second = home.store.reserve(0.4, 1.0).await.unwrap();
    assert!(second.is_some(), "sums of decimals are exact: 0.6 and 0.4 are 1");
    settle(&home.store, first, call(start(), 0.05)).await;
    assert_eq!(home.store.today().await.unwrap(), money(0.05, 0.4));
    assert!(home.store.reserve(0.55, 1.0).await.unwrap().is_some());
    assert_eq!(home.store.reserve(0.000_000_001, 1.0).await.unwrap(), None);
    assert!(home.store.reserve(0.0, 1.0).await.unwrap().is_some(), "what is free always fits");
}

#[tokio::test]
async fn small_prices_add_up_exactly() {
    let home = Home::new();
    for _ in 0..1000 {
        settle(&home.store, None, call(start(), 0.000_001_3)).await;
    }
    assert_eq!(home.store.today().await.unwrap(), money(0.0013, 0.0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_side_by_side_never_pass_the_ceiling() {
    let home = daemon();
    let guest = beside(&home, Opener::Guest);
    let tasks: Vec<_> = (0..200)
        .map(|n| {
            // Two programs at one file, and calls that end meanwhile.
            let store = if n % 3 == 0 { guest.clone() } else { home.store.clone() };
            tokio::spawn(async move {
                let reservation = store.reserve(0.1, 1.0).await.unwrap();
                if n % 2 == 0 && reservation.is_some() {
                    settle(&store, reservation, call(start(), 0.1)).await;
                }
                let day = store.today().await.unwrap();
                assert!(day.spent_usd + day.reserved_usd <= 1.0 + 1e-9, "{day:?}");
                reservation.is_some()
            })
        })
        .collect();
    let mut granted = 0;
    for task in tasks {
        granted += usize::from(task.await.unwrap());
    }
    assert_eq!(granted, 10);
}

#[tokio::test]
async fn a_restart_forgets_nothing() {
    let home = daemon();
    settle(&home.store, None, call(start(), 0.25)).await;
    let kept = home.store.reserve(0.5, 1.0).await.unwrap();
    home.store.close().await;
    let store = beside(&home, Opener::Daemon);
    assert_eq!(store.today().await.unwrap(), money(0.75, 0.0), "what was cut off counts as spent");
    assert_eq!(store.reserve(0.3, 1.0).await.unwrap(), None);
    let rows = store.report(1).await.unwrap();
    let today = "2026-11-20".to_owned();
    assert_eq!(brief(&rows), [(today.clone(), "turn", 1, 0.25), (today, "interrupted", 1, 0.5)]);
    assert_eq!(rows[1].failed, 1);
    // A second restart does not count it again, and its number is not given to anybody else.
    store.close().await;
    let store = beside(&home, Opener::Daemon);
    assert_eq!(store.today().await.unwrap(), money(0.75, 0.0));
    assert!(store.reserve(0.1, 1.0).await.unwrap() > kept);
}

#[tokio::test]
async fn a_program_beside_the_daemon_leaves_its_reservations_alone() {
    let home = daemon();
    let running = home.store.reserve(0.5, 1.0).await.unwrap();
    let guest = beside(&home, Opener::Guest);
    assert_eq!(guest.today().await.unwrap(), money(0.0, 0.5));
    let of_guest = guest.reserve(0.4, 1.0).await.unwrap();
    assert_eq!(guest.reserve(0.2, 1.0).await.unwrap(), None);
    settle(&home.store, running, call(start(), 0.1)).await;
    let refused = DaySpend { refused_usd: 1.0, ..money(0.1, 0.4) };
    assert_eq!(guest.today().await.unwrap(), refused);
    // A daemon that starts now leaves the guest's call alone in turn.
    home.store.close().await;
    let store = beside(&home, Opener::Daemon);
    assert_eq!(store.today().await.unwrap(), money(0.1, 0.4));
    settle(&guest, of_guest, call(start(), 0.2)).await;
    assert_eq!(store.today().await.unwrap(), money(0.3, 0.0));
}

#[tokio::test]
async fn what_a_guest_left_behind_counts_in_its_day_and_is_written_off_later() {
    let home = daemon();
    beside(&home, Opener::Guest).reserve(0.5, 1.0).await.unwrap();
    assert_eq!(home.store.today().await.unwrap(), money(0.0, 0.5));
    home.advance(2 * DAY);
    home.store.maintain(Keep { oneshots: 30, calls: 30, vectors: 30 }).await.unwrap();
    assert_eq!(home.store.today().await.unwrap(), money(0.0, 0.0));
    assert_eq!(brief(&home.store.report(3).await.unwrap()), [("2026-11-20".into(), "interrupted", 1, 0.5)]);
}

#[tokio::test]
async fn midnight_begins_a_new_day_and_cuts_no_call_in_two() {
    let home = Home::new();
    home.clock.advance(SignedDuration::from_secs(14 * 3600 - 1));
    settle(&home.store, None, call(start(), 0.2)).await;
    let late = home.store.reserve(0.8, 1.0).await.unwrap();
    assert_eq!(home.store.reserve(0.1, 1.0).await.unwrap(), None);
    home.advance(2);
    assert_eq!(home.store.today().await.unwrap(), money(0.0, 0.0));
    assert!(home.store.reserve(1.0, 1.0).await.unwrap().is_some());
    // It was paid from the day before, so today's ceiling holds.
    let now = start() + SignedDuration::from_secs(14 * 3600 + 1);
    settle(&home.store, late, call(now, 0.7)).await;
    assert_eq!(home.store.today().await.unwrap(), money(0.0, 1.0));
    settle(&home.store, None, call(now, 0.25)).await;
    let rows = home.store.report(2).await.unwrap();
    assert_eq!(brief(&rows), [("2026-11-21".into(), "turn", 1, 0.25), ("2026-11-20".into(), "turn", 2, 0.9)]);
    assert_eq!(rows[1].saved_usd, 0.225);
    assert_eq!(home.store.report(1).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_report_tells_days_models_and_kinds_apart() {
    let home = Home::new();
    for n in 0..12 {
        let mut entry = call(start(), 0.01);
        entry.model = format!("model-{}", n % 2);
        entry.kind = WorkKind::ALL[n % 3];
        entry.is_ok = n != 5;
        settle(&home.store, None, entry).await;
    }
    let rows = home.store.report(1).await.unwrap();
    assert_eq!(rows.len(), 6);
    assert!(rows.iter().all(|row| row.requests == 2 && row.usage.cost_usd == 0.02));
    assert_eq!(rows.iter().map(|row| row.failed).sum::<u64>(), 1);
    assert_eq!(
        rows[0].usage,
        Usage { input_tokens: 200, output_tokens: 20, cached_tokens: 80, cost_usd: 0.02 }
    );
}

#[tokio::test]
async fn old_calls_go_and_their_sums_stay() {
    let home = Home::new();
    home.turn(S, "x", "y").await;
    for n in 0..300 {
        settle(&home.store, None, call(start() + SignedDuration::from_secs(n % 2 * 40 * DAY), 0.01)).await;
    }
    home.advance(40 * DAY);
    let removed = home.store.maintain(Keep { oneshots: 30, calls: 30, vectors: 30 }).await.unwrap();
    assert_eq!(removed.calls, 150);
    assert_eq!(home.count("SELECT count(*) FROM calls"), 150);
    let rows = home.store.report(60).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.requests).collect::<Vec<_>>(), [150, 150]);
    // The name of a session that was removed does not live on in its calls.
    home.store.clear(&session(S), Clear::Delete).await.unwrap();
    assert_eq!(
        home.count("SELECT count(*) FROM calls WHERE session_key IN (SELECT session_key FROM sessions)"),
        0
    );
}

#[tokio::test]
async fn an_entry_that_nobody_waited_for_is_there_with_the_next_commit() {
    let home = Home::new();
    settle(&home.store, None, call(start(), 0.5)).await;
    home.turn(S, "x", "y").await;
    assert_eq!(home.count("SELECT count(*) FROM calls"), 1, "without being flushed by a read");
    settle(&home.store, None, call(start(), 0.5)).await;
    home.store.close().await;
    assert_eq!(home.count("SELECT count(*) FROM calls"), 2, "closing stores what waits");
}

#[tokio::test]
async fn more_entries_than_the_queue_holds_are_all_stored() {
    let home = Home::new();
    let store = Arc::new(home.store.clone());
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..500 {
                    settle(&store, None, call(start(), 0.001)).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(home.store.today().await.unwrap(), money(4.0, 0.0));
    assert_eq!(home.count("SELECT count(*) FROM calls"), 4000);
}

#[tokio::test]
async fn amounts_that_are_none_are_refused_or_count_as_nothing() {
    let home = Home::new();
    for (amount, ceiling) in [(f64::NAN, 1.0), (-1.0, 1.0), (f64::INFINITY, 1.0), (0.1, f64::NAN)] {
        assert!(home.store.reserve(amount, ceiling).await.unwrap_err().is_invalid(), "{amount} of {ceiling}");
    }
    assert!(home.store.reserve(1.0, f64::INFINITY).await.unwrap().is_some());
    for cost in [f64::NAN, -3.0] {
        settle(&home.store, None, call(start(), cost)).await;
    }
    assert_eq!(home.store.today().await.unwrap(), money(0.0, 1.0));
    let mut huge = call(start(), f64::MAX);
    huge.usage.input_tokens = u64::MAX;
    for _ in 0..20 {
        settle(&home.store, None, huge.clone()).await;
    }
    assert_eq!(home.store.today().await.unwrap(), money(20e6, 1.0));
    assert!(home.store.reserve(0.1, 1e12).await.unwrap().is_some());
    // A reservation that nobody knows is no reason to lose the entry.
    settle(&home.store, Some(4711), call(start(), 0.5)).await;
    assert_eq!(home.store.report(1).await.unwrap()[0].requests, 23);
}
