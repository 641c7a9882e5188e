//! Deliveries: stored with the end of their turn, attempted until they are settled.

use jiff::{SignedDuration, Timestamp};

use super::stage::*;
use crate::channel::{DeliveryOutcome, DeliveryState, NewDelivery};
use crate::ids::TurnId;
use crate::message::Attachment;
use crate::session::Clear;

const S: &str = "webhook:x";

fn at(seconds: i64) -> Timestamp {
    start() + SignedDuration::from_secs(seconds)
}

async fn due(stage: &Stage, seconds: i64) -> Vec<(i64, String, u32)> {
    let due = stage.storage.outbox.due(at(seconds), 10, &[]).await.unwrap();
    due.into_iter().map(|delivery| (delivery.id, delivery.content.text, delivery.attempts)).collect()
}

async fn send(stage: &Stage, names: &[&str]) -> TurnId {
    let turn = stage.open_turn(S, "x").await;
    let mut end = finish(&turn, S, "y");
    // Several deliveries go to different recipients, because a storage may keep those to one recipient in order.
    let to = |text: &str| (names.len() > 1).then(|| text.to_owned());
    let deliveries = names.iter().map(|text| match to(text) {
        None => delivery(text, 600),
        recipient => delivery(text, 600).with_recipient(recipient),
    });
    end.deliveries = deliveries.collect();
    stage.storage.turns.finish(end).await.unwrap();
    turn
}

pub async fn a_delivery_is_there_when_its_turn_has_ended(stage: Stage) {
    assert_eq!(stage.storage.outbox.next_due(&[]).await.unwrap(), None);
    let turn = send(&stage, &["a"]).await;
    let due = stage.storage.outbox.due(start(), 10, &[]).await.unwrap();
    assert_eq!(due[0].content, delivery("a", 600));
    assert_eq!((due[0].session.as_str(), &due[0].turn, due[0].attempts), (S, &turn, 0));
    assert_eq!(stage.storage.outbox.next_due(&[]).await.unwrap(), Some(start()));
}

pub async fn a_delivery_of_a_running_turn_is_there_at_once(stage: Stage) {
    let turn = stage.open_turn(S, "x").await;
    let content = delivery("now", 600).with_recipient(Some("ada".into()));
    let id = stage.storage.outbox.enqueue(&session(S), &turn, content.clone()).await.unwrap();
    let due = stage.storage.outbox.due(start(), 10, &[]).await.unwrap();
    assert_eq!((due[0].id, &due[0].content, &due[0].turn), (id, &content, &turn));
    let later = stage.storage.outbox.enqueue(&session(S), &turn, delivery("then", 600)).await.unwrap();
    assert!(later > id);
}

pub async fn a_delivery_that_is_made_again_is_stored_once_in_its_turn(stage: Stage) {
    let turn = stage.open_turn(S, "x").await;
    let enqueue = async |turn: &TurnId, content: NewDelivery| {
        stage.storage.outbox.enqueue(&session(S), turn, content).await.unwrap()
    };
    let first = enqueue(&turn, delivery("now", 600)).await;
    assert_eq!(enqueue(&turn, delivery("now", 900).with_again(true)).await, first);
    assert!(enqueue(&turn, delivery("now", 600)).await > first, "wanted twice");
    assert!(enqueue(&turn, delivery("then", 600).with_again(true)).await > first, "another text");
    let default = delivery("now", 600).with_recipient(None).with_again(true);
    let to_default = enqueue(&turn, default.clone()).await;
    assert!(to_default > first, "another recipient");
    assert_eq!(enqueue(&turn, default).await, to_default);
    let other = stage.open_turn("webchat:other", "x").await;
    assert!(enqueue(&other, delivery("now", 600).with_again(true)).await > first, "another turn");
}

pub async fn a_delivery_brings_its_files(stage: Stage) {
    let turn = stage.open_turn(S, "x").await;
    let file = Attachment::new("a.txt", "text/plain", "aGk=");
    let content = delivery("see the file", 600)
        .with_attachments(vec![file.clone(), file])
        .with_outside(Some("webhook garden".into()));
    let mut end = finish(&turn, S, "y");
    end.deliveries = vec![content.clone()];
    stage.storage.turns.finish(end).await.unwrap();
    assert_eq!(stage.storage.outbox.due(start(), 10, &[]).await.unwrap()[0].content, content);
}

pub async fn a_delivery_is_tried_until_it_arrives_or_is_given_up(stage: Stage) {
    send(&stage, &["a", "b", "c"]).await;
    let ids: Vec<i64> = due(&stage, 0).await.into_iter().map(|(id, _, _)| id).collect();
    stage
        .storage
        .outbox
        .settle(ids[0], DeliveryOutcome::Retry { at: at(30), error: "429".into() })
        .await
        .unwrap();
    stage.storage.outbox.settle(ids[1], DeliveryOutcome::Delivered).await.unwrap();
    assert_eq!(due(&stage, 29).await, [(ids[2], "c".into(), 0)]);
    assert_eq!(due(&stage, 30).await, [(ids[0], "a".into(), 1), (ids[2], "c".into(), 0)], "oldest first");
    assert_eq!(stage.storage.outbox.due(at(30), 1, &[]).await.unwrap().len(), 1);
    stage.storage.outbox.settle(ids[2], DeliveryOutcome::Failed { error: "gone".into() }).await.unwrap();
    assert_eq!(stage.storage.outbox.next_due(&[]).await.unwrap(), Some(at(30)));
    stage.storage.outbox.settle(ids[0], DeliveryOutcome::Delivered).await.unwrap();
    assert_eq!(stage.storage.outbox.next_due(&[]).await.unwrap(), None);
    // What is settled stays settled.
    stage
        .storage
        .outbox
        .settle(ids[0], DeliveryOutcome::Retry { at: at(1), error: "late".into() })
        .await
        .unwrap();
    assert!(due(&stage, 1000).await.is_empty());
    assert!(stage.storage.outbox.settle(9999, DeliveryOutcome::Delivered).await.unwrap_err().is_not_found());
}

pub async fn a_turn_that_could_not_end_delivers_nothing(stage: Stage) {
    let turn = send(&stage, &["a"]).await;
    let mut again = finish(&turn, S, "y");
    again.deliveries = vec![delivery("twice", 600)];
    stage.storage.turns.finish(again).await.unwrap_err();
    assert_eq!(due(&stage, 0).await.len(), 1);
}

pub async fn a_delivery_outlives_its_session(stage: Stage) {
    send(&stage, &["first", "second"]).await;
    let first = due(&stage, 0).await[0].0;
    stage.storage.outbox.settle(first, DeliveryOutcome::Delivered).await.unwrap();
    stage.storage.transcripts.clear(&session(S), Clear::Delete).await.unwrap();
    let left = due(&stage, 0).await;
    assert_eq!(left.iter().map(|(_, text, _)| text.as_str()).collect::<Vec<_>>(), ["second"]);
    stage.storage.outbox.settle(left[0].0, DeliveryOutcome::Delivered).await.unwrap();
}

pub async fn what_a_session_has_delivered_takes_its_texts_with_it(stage: Stage) {
    use crate::channel::DELIVERY_RECORDS;
    send(&stage, &["first", "second"]).await;
    let ids = [due(&stage, 0).await[0].0, due(&stage, 0).await[1].0];
    let (outbox, records) = (&stage.storage.outbox, &stage.storage.channel_records);
    let channel = outbox.due(start(), 1, &[]).await.unwrap().remove(0).content.channel;
    let name = |id: i64| format!("{DELIVERY_RECORDS}{id}");
    for id in ids {
        records.put(&channel, &name(id), "its text", None).await.unwrap();
    }
    records.put("another", &name(ids[0]), "kept", None).await.unwrap();
    outbox.settle(ids[0], DeliveryOutcome::Failed { error: "blocked".into() }).await.unwrap();
    stage.storage.transcripts.clear(&session(S), Clear::Delete).await.unwrap();
    assert_eq!(records.get(&channel, &name(ids[0])).await.unwrap(), None);
    let waiting = records.get(&channel, &name(ids[1])).await.unwrap();
    assert_eq!(waiting.as_deref(), Some("its text"), "what is on its way goes on");
    assert_eq!(records.get("another", &name(ids[0])).await.unwrap().as_deref(), Some("kept"));
}

pub async fn what_was_given_up_is_listed_and_can_be_tried_again(stage: Stage) {
    send(&stage, &["a", "b", "c"]).await;
    let outbox = &stage.storage.outbox;
    let ids: Vec<i64> = due(&stage, 0).await.into_iter().map(|(id, _, _)| id).collect();
    outbox.settle(ids[0], DeliveryOutcome::Failed { error: "blocked".into() }).await.unwrap();
    outbox.settle(ids[1], DeliveryOutcome::Delivered).await.unwrap();
    let retry = DeliveryOutcome::Retry { at: at(60), error: "429".into() };
    outbox.settle(ids[2], retry).await.unwrap();

    let failed = outbox.undelivered(DeliveryState::Failed, 10).await.unwrap();
    let [record] = &failed.deliveries[..] else { panic!("{failed:?}") };
    assert_eq!((record.delivery.id, record.error.as_deref(), failed.count), (ids[0], Some("blocked"), 1));
    assert_eq!((record.delivery.attempts, record.created_at, record.due_at), (1, start(), None));
    let waiting = outbox.undelivered(DeliveryState::Waiting, 10).await.unwrap();
    assert_eq!((waiting.deliveries[0].delivery.id, waiting.deliveries[0].due_at), (ids[2], Some(at(60))));
    let none = outbox.undelivered(DeliveryState::Waiting, 0).await.unwrap();
    assert_eq!((none.deliveries.len(), none.count), (0, 1));

    assert!(outbox.retry_delivery(ids[0], at(900)).await.unwrap());
    assert!(!outbox.retry_delivery(ids[1], at(900)).await.unwrap(), "what has arrived is not sent again");
    let again = outbox.due(start(), 10, &[]).await.unwrap();
    assert_eq!((again[0].id, again[0].content.expires_at), (ids[0], at(900)));
    assert_eq!(outbox.undelivered(DeliveryState::Failed, 10).await.unwrap().count, 0);

    assert!(outbox.remove_delivery(ids[2]).await.unwrap());
    assert!(!outbox.remove_delivery(ids[2]).await.unwrap());
    assert!(!outbox.remove_delivery(ids[1]).await.unwrap(), "what has arrived stays known");
    assert!(outbox.settle(ids[2], DeliveryOutcome::Delivered).await.unwrap_err().is_not_found());
    assert_eq!(due(&stage, 900).await.len(), 1);

    let returned = || DeliveryOutcome::Returned { error: "too late".into() };
    outbox.settle(ids[0], returned()).await.unwrap();
    assert_eq!(due(&stage, 900).await.len(), 1, "one that waits cannot come back");
    outbox.settle(ids[1], returned()).await.unwrap();
    let failed = outbox.undelivered(DeliveryState::Failed, 10).await.unwrap();
    let [record] = &failed.deliveries[..] else { panic!("{failed:?}") };
    assert_eq!((record.delivery.id, record.error.as_deref()), (ids[1], Some("too late")));
    assert!(outbox.retry_delivery(ids[1], at(900)).await.unwrap());
}
