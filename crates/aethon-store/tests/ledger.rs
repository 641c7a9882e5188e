//! The ledger in a file: across restarts, beside other programs, exact to a billionth. What every ledger promises is in the
//! conformance suite.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::sync::Arc;

use aethon_core::ids::TurnId;
use aethon_core::ledger::{Claim, DaySpend, Ledger, LedgerEntry, UsageRow, WorkKind};
use aethon_core::model::Usage;
use aethon_core::session::{Clear, Transcripts};
use aethon_core::storage::{Retention, Upkeep};
use aethon_store::{OpenMode, Options, Store};
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
        usage: Usage {
            input_tokens: 100,
            output_tokens: 10,
            cached_tokens: 40,
            cost_usd,
            ..Usage::default()
        },
        saved_usd: cost_usd / 4.0,
        is_ok: true,
    }
}

fn daemon() -> Home {
    Home::with(Options::default().with(|options| options.mode = OpenMode::Daemon))
}

/// Another program, or the same one after a restart, at the same file.
fn beside(home: &Home, mode: OpenMode) -> Store {
    Store::open(
        &home.path(),
        Options::default().with(|options| {
            options.mode = mode;
            options.clock = home.clock.clone();
        }),
    )
    .unwrap()
}

fn money(spent_usd: f64, reserved_usd: f64) -> DaySpend {
    DaySpend { spent_usd, reserved_usd, refused_usd: 0.0 }
}

async fn reserve(store: &Store, usd: f64, ceiling_usd: f64) -> Option<i64> {
    let claim = Claim::exactly(usd, ceiling_usd);
    store.reserve("fake", "fake-1", claim).await.unwrap().map(|reserved| reserved.id)
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
async fn reservations_count_until_they_are_settled() {
    let home = Home::new();
    let first = reserve(&home.store, 0.6, 1.0).await;
    assert!(first.is_some());
    assert_eq!(home.store.today().await.unwrap(), money(0.0, 0.6));
    assert_eq!(reserve(&home.store, 0.5, 1.0).await, None);
    let second = reserve(&home.store, 0.4, 1.0).await;
    assert!(second.is_some(), "sums of decimals are exact: 0.6 and 0.4 are 1");
    settle(&home.store, first, call(start(), 0.05)).await;
    assert_eq!(home.store.today().await.unwrap(), money(0.05, 0.4));
    assert!(reserve(&home.store, 0.55, 1.0).await.is_some());
    assert_eq!(reserve(&home.store, 0.000_000_001, 1.0).await, None);
    assert!(reserve(&home.store, 0.0, 1.0).await.is_some(), "what is free always fits");
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
    let guest = beside(&home, OpenMode::Guest);
    let tasks: Vec<_> = (0..200)
        .map(|n| {
            // Two programs at one file, and calls that end meanwhile.
            let store = if n % 3 == 0 { guest.clone() } else { home.store.clone() };
            tokio::spawn(async move {
                let reservation = reserve(&store, 0.1, 1.0).await;
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
async fn sums_survive_a_restart() {
    let home = daemon();
    settle(&home.store, None, call(start(), 0.25)).await;
    let kept = reserve(&home.store, 0.5, 1.0).await;
    home.store.close().await;
    let store = beside(&home, OpenMode::Daemon);
    assert_eq!(store.today().await.unwrap(), money(0.75, 0.0), "what was cut off counts as spent");
    assert_eq!(reserve(&store, 0.3, 1.0).await, None);
    let rows = store.report(1).await.unwrap();
    let today = "2026-11-20".to_owned();
    assert_eq!(brief(&rows), [(today.clone(), "turn", 1, 0.25), (today, "interrupted", 1, 0.5)]);
    assert_eq!(rows[1].failed, 1);
    // A second restart does not count it again, and its number is not given to anybody else.
    store.close().await;
    let store = beside(&home, OpenMode::Daemon);
    assert_eq!(store.today().await.unwrap(), money(0.75, 0.0));
    assert!(reserve(&store, 0.1, 1.0).await > kept);
}

#[tokio::test]
async fn call_without_a_ceiling_that_a_crash_cut_off_is_in_the_ledger() {
    let home = daemon();
    let open = async || home.store.reserve("p", "m", Claim::unlimited(0.1)).await.unwrap().unwrap().id;
    Ledger::close(&home.store, open().await, call(start(), 0.25)).await.unwrap();
    let cut = open().await;
    assert_eq!(home.store.today().await.unwrap(), money(0.25, 0.0), "it takes nothing from others");
    home.store.note(cut, 0.5).await.unwrap();
    home.store.close().await;
    let store = beside(&home, OpenMode::Daemon);
    let rows = store.report(1).await.unwrap();
    let today = "2026-11-20".to_owned();
    assert_eq!(brief(&rows), [(today.clone(), "interrupted", 1, 0.5), (today, "turn", 1, 0.25)]);
}

#[tokio::test]
async fn a_program_beside_the_daemon_leaves_its_reservations_alone() {
    let home = daemon();
    let running = reserve(&home.store, 0.5, 1.0).await;
    let guest = beside(&home, OpenMode::Guest);
    assert_eq!(guest.today().await.unwrap(), money(0.0, 0.5));
    let of_guest = reserve(&guest, 0.4, 1.0).await;
    assert_eq!(reserve(&guest, 0.2, 1.0).await, None);
    settle(&home.store, running, call(start(), 0.1)).await;
    let refused = DaySpend { refused_usd: 1.0, ..money(0.1, 0.4) };
    assert_eq!(guest.today().await.unwrap(), refused);
    // A daemon that starts now leaves the guest's call alone in turn.
    home.store.close().await;
    let store = beside(&home, OpenMode::Daemon);
    assert_eq!(store.today().await.unwrap(), money(0.1, 0.4));
    settle(&guest, of_guest, call(start(), 0.2)).await;
    assert_eq!(store.today().await.unwrap(), money(0.3, 0.0));
}

#[tokio::test]
async fn reservations_of_a_dead_program_count_for_their_day() {
    let home = daemon();
    reserve(&beside(&home, OpenMode::Guest), 0.5, 1.0).await;
    assert_eq!(home.store.today().await.unwrap(), money(0.0, 0.5));
    home.advance(2 * DAY);
    home.store.maintain(Retention::of_oneshots(30).with_calls(30).with_vectors(30)).await.unwrap();
    assert_eq!(home.store.today().await.unwrap(), money(0.0, 0.0));
    assert_eq!(brief(&home.store.report(3).await.unwrap()), [("2026-11-20".into(), "interrupted", 1, 0.5)]);
}

#[tokio::test]
async fn old_calls_are_removed_and_their_sums_kept() {
    let home = Home::new();
    home.turn(S, "x", "y").await;
    for n in 0..300 {
        settle(&home.store, None, call(start() + SignedDuration::from_secs(n % 2 * 40 * DAY), 0.01)).await;
    }
    home.advance(40 * DAY);
    let removed =
        home.store.maintain(Retention::of_oneshots(30).with_calls(30).with_vectors(30)).await.unwrap();
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
async fn background_entries_are_stored_with_the_next_commit() {
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
async fn invalid_amounts_are_refused_or_count_as_zero() {
    let home = Home::new();
    for (amount, ceiling) in [(f64::NAN, 1.0), (-1.0, 1.0), (f64::INFINITY, 1.0), (0.1, f64::NAN)] {
        let refused = home.store.reserve("p", "m", Claim::exactly(amount, ceiling)).await.unwrap_err();
        assert!(refused.is_invalid(), "{amount} of {ceiling}");
    }
    assert!(reserve(&home.store, 1.0, f64::INFINITY).await.is_some());
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
    assert!(reserve(&home.store, 0.1, 1e12).await.is_some());
    // An unknown reservation is no reason to lose the entry.
    settle(&home.store, Some(4711), call(start(), 0.5)).await;
    assert_eq!(home.store.report(1).await.unwrap()[0].requests, 23);
}

/// A claim under a ceiling of a dollar, of which an estimate has been used.
fn claim(least_usd: f64, most_usd: f64, estimate_usd: f64) -> Claim {
    Claim { most_usd, least_usd, ceiling_usd: 1.0, estimate_usd }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_two_programs_grow_up_to_the_ceiling_and_not_beyond() {
    let home = daemon();
    let guest = beside(&home, OpenMode::Guest);
    let mut begun = Vec::new();
    for n in 0..10 {
        let store = if n % 2 == 0 { guest.clone() } else { home.store.clone() };
        let mine = store.reserve("p", "m", claim(0.05, 0.05, 0.0)).await.unwrap().unwrap();
        begun.push((store, mine));
    }
    let tasks: Vec<_> = begun
        .into_iter()
        .map(|(store, mine)| {
            tokio::spawn(async move {
                let mut held = mine.amount_usd;
                while let Some(step) = store.grow(mine.id, claim(0.001, 0.007, held)).await.unwrap() {
                    assert_eq!(step.id, mine.id);
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
    let day = home.store.today().await.unwrap();
    assert!((day.reserved_usd - held).abs() < 1e-9 && (held - 1.0).abs() < 0.001, "{day:?} {held}");
    assert!(day.reserved_usd <= 1.0, "{day:?}");
}

#[tokio::test]
async fn calls_cut_off_by_a_crash_are_booked_at_their_last_estimate() {
    let home = daemon();
    let call = home.store.reserve("p", "m", claim(0.1, 0.5, 0.01)).await.unwrap().unwrap();
    let other = home.store.reserve("q", "n", claim(0.1, 0.2, 0.02)).await.unwrap().unwrap();
    home.store.grow(call.id, claim(0.1, 0.1, 0.05)).await.unwrap().unwrap();
    home.store.note(call.id, 0.07).await.unwrap();
    // More than was reserved is not believed.
    home.store.note(other.id, 9.0).await.unwrap();
    assert_eq!(home.store.today().await.unwrap(), money(0.0, 0.8));
    home.store.close().await;
    let store = beside(&home, OpenMode::Daemon);
    assert_eq!(store.today().await.unwrap(), money(0.27, 0.0));
    let rows = store.report(1).await.unwrap();
    let named: Vec<_> = rows.iter().map(|row| (row.provider.as_str(), row.usage.cost_usd)).collect();
    assert_eq!(named, [("q", 0.2), ("p", 0.07)]);
    assert!(rows.iter().all(|row| row.kind == WorkKind::Interrupted && row.failed == 1));
    assert_eq!(store.grow(call.id, claim(0.1, 0.1, 0.1)).await.unwrap(), None, "it is gone");
}
