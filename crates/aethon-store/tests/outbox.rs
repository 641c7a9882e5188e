//! The contract of `Outbox`, and what maintenance removes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use aethon_core::channel::{DeliveryOutcome, Outbox};
use aethon_core::ids::TurnId;
use aethon_core::session::{Transcripts, TurnLog};
use aethon_store::{Keep, Removed};
use common::*;
use jiff::{SignedDuration, Timestamp};

const KEEP: Keep = Keep { oneshots: 30, calls: 30, vectors: 30 };

const S: &str = "webhook:x";

fn at(seconds: i64) -> Timestamp {
    start() + SignedDuration::from_secs(seconds)
}

async fn due(home: &Home, seconds: i64) -> Vec<(i64, String, u32)> {
    let due = home.store.due(at(seconds), 10).await.unwrap();
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
async fn a_delivery_is_there_when_its_turn_has_ended() {
    let mut home = Home::new();
    assert_eq!(home.store.next_due().await.unwrap(), None);
    let turn = send(&home, &["a"]).await;
    home.reopen().await;
    let due = home.store.due(start(), 10).await.unwrap();
    assert_eq!(due[0].content, delivery("a", 600));
    assert_eq!((due[0].session.as_str(), &due[0].turn, due[0].attempts), (S, &turn, 0));
    assert_eq!(home.store.next_due().await.unwrap(), Some(start()));
}

#[tokio::test]
async fn a_delivery_is_tried_until_it_arrives_or_is_given_up() {
    let home = Home::new();
    send(&home, &["a", "b", "c"]).await;
    let ids: Vec<i64> = due(&home, 0).await.into_iter().map(|(id, _, _)| id).collect();
    home.store.settle(ids[0], DeliveryOutcome::Retry { at: at(30), error: "429".into() }).await.unwrap();
    home.store.settle(ids[1], DeliveryOutcome::Delivered).await.unwrap();
    assert_eq!(due(&home, 29).await, [(ids[2], "c".into(), 0)]);
    assert_eq!(due(&home, 30).await, [(ids[0], "a".into(), 1), (ids[2], "c".into(), 0)], "oldest first");
    assert_eq!(home.store.due(at(30), 1).await.unwrap().len(), 1);
    home.store.settle(ids[2], DeliveryOutcome::Failed { error: "gone".into() }).await.unwrap();
    assert_eq!(home.store.next_due().await.unwrap(), Some(at(30)));
    home.store.settle(ids[0], DeliveryOutcome::Delivered).await.unwrap();
    assert_eq!(home.store.next_due().await.unwrap(), None);
    // What is settled stays settled.
    home.store.settle(ids[0], DeliveryOutcome::Retry { at: at(1), error: "late".into() }).await.unwrap();
    assert!(due(&home, 1000).await.is_empty());
    assert!(home.store.settle(9999, DeliveryOutcome::Delivered).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn a_turn_that_could_not_end_delivers_nothing() {
    let home = Home::new();
    let turn = send(&home, &["a"]).await;
    let mut again = finish(&turn, S, "y");
    again.deliveries = vec![delivery("twice", 600)];
    home.store.finish(again).await.unwrap_err();
    assert_eq!(due(&home, 0).await.len(), 1);
}

#[tokio::test]
async fn maintenance_removes_what_has_had_its_time() {
    const DAY: i64 = 86_400;
    let home = Home::new();
    let oneshot = |id: &str| aethon_core::message::Inbound { oneshot: true, ..say(id, "once") };
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

    assert_eq!(home.store.maintain(KEEP).await.unwrap(), Removed::default());
    home.advance(30 * DAY + 1);
    run("webhook:trigger:young").await;
    let removed = home.store.maintain(KEEP).await.unwrap();
    assert_eq!(removed, Removed { sessions: 5, deliveries: 1, dedupe_ids: 1, ..Removed::default() });
    let left =
        home.store.sessions(aethon_core::session::SessionQuery { limit: 50, ..Default::default() }).await;
    assert_eq!(left.unwrap().count, 5);
    assert_eq!(home.count("SELECT count(*) FROM outbox"), 1);
    assert_eq!(home.count("SELECT count(*) FROM turns WHERE dedupe_id IS NOT NULL"), 0);
    assert_eq!(home.store.maintain(KEEP).await.unwrap(), Removed::default());
}
