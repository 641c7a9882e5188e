//! What upkeep removes from the file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use aethon_core::channel::{DeliveryOutcome, Outbox};
use aethon_core::ids::TurnId;
use aethon_core::owner::Owners;
use aethon_core::session::{Transcripts, TurnLog};
use aethon_core::storage::{OneshotLimit, Oneshots, Removed, Retention, Upkeep};
use aethon_store::{OpenMode, Options, Store};
use common::*;
use jiff::{SignedDuration, Timestamp};

const KEEP: Retention = Retention::of_oneshots(30).with_calls(30).with_vectors(30);

const S: &str = "webhook:x";

#[tokio::test]
async fn surplus_oneshots_are_removed_except_those_in_use() {
    let home = Home::new();
    for n in 0..6 {
        let (turn, id) = (TurnId::fresh(), format!("webhook:trigger:{n}"));
        let once = say(&id, "once").with_oneshot(true);
        home.store.accept(&turn, &once, Some(begin("once"))).await.unwrap();
        if n != 0 {
            home.store.finish(finish(&turn, &id, "done")).await.unwrap();
        }
        home.advance(1);
    }
    home.turn("webchat:old", "kept for ever", "ok").await;
    let limit = async |most: u32| {
        let limited = home.store.limit_oneshots(OneshotLimit::of(most)).await.unwrap();
        Oneshots { bytes: 0, ..limited }
    };
    assert_eq!(limit(6).await, Oneshots { left: 6, bytes: 0, removed: 0 });
    assert_eq!(limit(4).await, Oneshots { left: 4, bytes: 0, removed: 2 });
    let left = home.store.sessions(aethon_core::session::SessionQuery::newest(50)).await.unwrap();
    let mut left: Vec<_> = left.sessions.iter().map(|session| session.session_id.to_string()).collect();
    left.sort();
    let young = ["webhook:trigger:3", "webhook:trigger:4", "webhook:trigger:5"];
    assert_eq!(left, [&["webchat:old", "webhook:trigger:0"][..], &young].concat());
    assert_eq!(limit(0).await, Oneshots { left: 1, bytes: 0, removed: 3 }, "one is in use");
}

fn at(seconds: i64) -> Timestamp {
    start() + SignedDuration::from_secs(seconds)
}

async fn due(home: &Home, seconds: i64) -> Vec<(i64, String, u32)> {
    let due = home.store.due(at(seconds), 10, &[]).await.unwrap();
    due.into_iter().map(|delivery| (delivery.id, delivery.content.text, delivery.attempts)).collect()
}

async fn send(home: &Home, names: &[&str]) -> TurnId {
    let turn = home.open_turn(S, "x").await;
    let mut end = finish(&turn, S, "y");
    end.deliveries = names.iter().map(|text| delivery(text, 600)).collect();
    home.store.finish(end).await.unwrap();
    turn
}

#[tokio::test]
async fn maintenance_removes_expired_rows() {
    const DAY: i64 = 86_400;
    let home = Home::new();
    let oneshot = |id: &str| say(id, "once").with_oneshot(true);
    let run = async |id: &str| {
        let turn = TurnId::fresh();
        home.store.accept(&turn, &oneshot(id), Some(begin("once"))).await.unwrap();
        home.store.finish(finish(&turn, id, "done")).await.unwrap();
    };
    for n in 0..5 {
        run(&format!("webhook:trigger:{n}")).await;
    }
    run("webhook:trigger:named").await;
    home.turn("webhook:trigger:named", "again, by name", "ok").await;
    home.turn("webchat:old", "kept for ever", "ok").await;
    // One that never ended is not removed.
    let stuck = oneshot("webhook:trigger:stuck");
    home.store.accept(&TurnId::fresh(), &stuck, Some(begin("once"))).await.unwrap();
    let keyed = say_as("webchat:old", "x", "k", Some(60));
    home.store.accept(&TurnId::fresh(), &keyed, None).await.unwrap();
    send(&home, &["a", "b"]).await;
    let first = due(&home, 0).await[0].0;
    home.store.settle(first, DeliveryOutcome::Delivered).await.unwrap();

    let mut removed = home.store.maintain(KEEP).await.unwrap();
    for day in 1..=30 {
        home.advance(DAY);
        if day == 30 {
            home.advance(1);
            run("webhook:trigger:young").await;
        }
        removed += home.store.maintain(KEEP).await.unwrap();
    }
    removed += home.store.maintain(KEEP).await.unwrap();
    assert_eq!(removed, Removed { sessions: 5, deliveries: 1, dedupe_ids: 1, ..Removed::default() });
    let left = home.store.sessions(aethon_core::session::SessionQuery::newest(50)).await;
    assert_eq!(left.unwrap().count, 5);
    assert_eq!(home.count("SELECT count(*) FROM outbox"), 1);
    assert_eq!(home.count("SELECT count(*) FROM turns WHERE dedupe_id IS NOT NULL"), 0);
    assert_eq!(home.store.maintain(KEEP).await.unwrap(), Removed::default());
}

#[tokio::test]
async fn a_clock_that_leaps_ages_rows_by_a_day_per_upkeep() {
    const DAY: i64 = 86_400;
    let home = Home::new();
    let (turn, once) = (TurnId::fresh(), say("webhook:trigger:a", "once").with_oneshot(true));
    home.store.accept(&turn, &once, Some(begin("once"))).await.unwrap();
    home.store.finish(finish(&turn, "webhook:trigger:a", "done")).await.unwrap();
    home.store.maintain(KEEP).await.unwrap();
    for _ in 0..5 {
        // Ten years ahead, and right again.
        home.advance(3650 * DAY);
        assert_eq!(home.store.maintain(KEEP).await.unwrap().sessions, 0);
        home.advance(-3650 * DAY);
        assert_eq!(home.store.maintain(KEEP).await.unwrap().sessions, 0);
    }
}

#[tokio::test]
async fn deadlines_of_a_clock_that_was_ahead_are_moved_back() {
    const DAY: i64 = 86_400;
    for is_restarted in [true, false] {
        let mut home = Home::new();
        home.advance(365 * DAY);
        send(&home, &["a"]).await;
        let keyed = say_as(S, "x", "k", Some(3600));
        let turn = TurnId::fresh();
        home.store.accept(&turn, &keyed, Some(begin("x"))).await.unwrap();
        home.store.finish(finish(&turn, S, "y")).await.unwrap();
        home.advance(-365 * DAY);
        if is_restarted {
            home.reopen_as(OpenMode::Daemon).await;
        } else {
            home.store.maintain(KEEP).await.unwrap();
        }
        assert_eq!(due(&home, 0).await.len(), 1, "it is due now, not in a year");
        home.store.maintain(KEEP).await.unwrap();
        let until = home.count("SELECT max(dedupe_until) FROM turns") - start().as_millisecond();
        assert!((0..=3_600_000).contains(&until), "{until}");
    }
}

#[tokio::test]
async fn a_lease_of_a_clock_that_was_ahead_is_over_after_its_length() {
    const YEAR: i64 = 365 * 86_400;
    let lease = std::time::Duration::from_millis(300);
    let home = Home::with(Options::default().with(|options| options.lease = lease));
    home.advance(10 * YEAR);
    home.open_turn(S, "x").await;
    home.advance(-10 * YEAR);
    let options = Options::default().with(|options| {
        options.clock = home.clock.clone();
        options.lease = lease;
    });
    let beside = Store::open(&home.path(), options).unwrap();
    // Its owner lives and has not noticed yet that the clock was set back.
    assert_eq!(beside.orphaned().await.unwrap(), []);
    home.store.renew().await.unwrap();
    let begun = std::time::Instant::now();
    while begun.elapsed() < lease * 2 {
        home.store.renew().await.unwrap();
        assert_eq!(beside.orphaned().await.unwrap(), [], "it renews its lease");
    }
    // Now it is gone, with a lease from the wrong clock.
    home.advance(10 * YEAR);
    home.store.renew().await.unwrap();
    home.advance(-10 * YEAR);
    let begun = std::time::Instant::now();
    while beside.orphaned().await.unwrap().is_empty() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "the lease never ends");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(begun.elapsed() >= lease);
    assert_eq!(beside.take_over(&session(S)).await.unwrap().len(), 1);
}
