//! Maintenance: what is removed automatically, and what stays.

use super::stage::*;
use crate::channel::DeliveryOutcome;
use crate::ids::TurnId;
use crate::message::Inbound;
use crate::session::SessionQuery;
use crate::storage::{Removed, Retention};

const DAY: i64 = 86_400;
const RETENTION: Retention = Retention { oneshots: 30, calls: 30, vectors: 30, bin: 7 };

async fn run_once(stage: &Stage, id: &str) {
    let (turn, inbound) = (TurnId::fresh(), Inbound { oneshot: true, ..say(id, "once") });
    stage.storage.turns.accept(&turn, &inbound, Some(begin("once"))).await.unwrap();
    let mut end = finish(&turn, id, "done");
    end.deliveries = vec![delivery("news", 600).with_recipient(Some(id.to_owned()))];
    stage.storage.turns.finish(end).await.unwrap();
}

/// Lets these days pass, with the upkeep of each, and returns what was removed.
async fn upkeep_for_days(stage: &Stage, days: i64) -> Removed {
    let mut removed = stage.storage.upkeep.maintain(RETENTION).await.unwrap();
    for _ in 0..days {
        stage.advance(DAY);
        removed += stage.storage.upkeep.maintain(RETENTION).await.unwrap();
    }
    removed
}

pub async fn upkeep_removes_what_has_had_its_time_and_nothing_else(stage: Stage) {
    for n in 0..3 {
        run_once(&stage, &format!("webhook:trigger:{n}")).await;
    }
    stage.turn("webhook:trigger:2", "again, by name", "ok").await;
    stage.turn("webchat:old", "kept for ever", "ok").await;
    let keyed = say_as("webchat:old", "x", "k", Some(60));
    stage.storage.turns.accept(&TurnId::fresh(), &keyed, None).await.unwrap();
    let stuck = Inbound { oneshot: true, ..say("webhook:trigger:stuck", "never ends") };
    stage.storage.turns.accept(&TurnId::fresh(), &stuck, Some(begin("never ends"))).await.unwrap();
    let due = stage.storage.outbox.due(start(), 10, &[]).await.unwrap();
    stage.storage.outbox.settle(due[2].id, DeliveryOutcome::Delivered).await.unwrap();
    assert_eq!(
        upkeep_for_days(&stage, 29).await,
        Removed { deliveries: 1, dedupe_ids: 1, ..Removed::default() }
    );
    stage.advance(DAY + 1);
    run_once(&stage, "webhook:trigger:young").await;
    assert_eq!(upkeep_for_days(&stage, 1).await, Removed { sessions: 2, ..Removed::default() });
    assert_eq!(upkeep_for_days(&stage, 1).await, Removed::default());
    let left = stage.storage.transcripts.sessions(SessionQuery { limit: 9, ..SessionQuery::default() }).await;
    let mut left: Vec<_> =
        left.unwrap().sessions.iter().map(|session| session.session_id.to_string()).collect();
    left.sort();
    let kept = ["webchat:old", "webhook:trigger:2", "webhook:trigger:stuck", "webhook:trigger:young"];
    assert_eq!(left, kept);
    assert_eq!(stage.storage.outbox.due(start(), 10, &[]).await.unwrap().len(), 2, "somebody waits for them");
}

pub async fn upkeep_brings_back_what_was_used_while_the_clock_was_ahead(stage: Stage) {
    let listed = async || {
        let query = SessionQuery { limit: 9, ..SessionQuery::default() };
        let page = stage.storage.transcripts.sessions(query).await.unwrap();
        page.sessions.iter().map(|session| session.session_id.to_string()).collect::<Vec<_>>()
    };
    stage.advance(400 * DAY);
    stage.turn("webchat:ahead", "in a year", "ok").await;
    run_once(&stage, "webhook:trigger:ahead").await;
    stage.advance(-400 * DAY);
    stage.storage.upkeep.maintain(RETENTION).await.unwrap();
    stage.advance(1);
    stage.turn("webchat:now", "today", "ok").await;
    assert_eq!(listed().await.first().map(String::as_str), Some("webchat:now"), "what is new stands first");
    assert_eq!(upkeep_for_days(&stage, 31).await.sessions, 1);
    assert!(!listed().await.contains(&"webhook:trigger:ahead".to_owned()), "it does not stay for a year");
}
