//! What channels remember: named values, some with an expiry.

use jiff::SignedDuration;

use super::stage::*;

pub async fn a_value_of_a_channel_is_kept_until_its_time_is_over(stage: Stage) {
    let records = &stage.storage.channel_records;
    assert_eq!(records.get("telegram", "offset").await.unwrap(), None);
    records.put("telegram", "offset", "1", None).await.unwrap();
    records.put("telegram", "offset", "2", None).await.unwrap();
    records.put("matrix", "offset", "9", None).await.unwrap();
    assert_eq!(records.get("telegram", "offset").await.unwrap().as_deref(), Some("2"));
    let until = Some(start() + SignedDuration::from_secs(60));
    assert!(records.claim("telegram", "seen:1", "", until).await.unwrap());
    assert!(!records.claim("telegram", "seen:1", "", until).await.unwrap(), "one gets it");
    stage.advance(61);
    assert_eq!(records.get("telegram", "seen:1").await.unwrap(), None);
    assert!(records.claim("telegram", "seen:1", "x", None).await.unwrap(), "its time was over");
    assert_eq!(records.get("matrix", "offset").await.unwrap().as_deref(), Some("9"));
}

pub async fn a_value_of_a_channel_is_taken_once_and_listed_by_its_name(stage: Stage) {
    let records = &stage.storage.channel_records;
    for name in ["code:B", "code:A", "codes", "paired:1", "code_"] {
        records.put("telegram", name, "v", None).await.unwrap();
    }
    let until = Some(start() + SignedDuration::from_secs(60));
    records.put("telegram", "code:C", "v", until).await.unwrap();
    let names = |listed: Vec<(String, String)>| listed.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(records.list("telegram", "code:", 2).await.unwrap()), ["code:A", "code:B"]);
    assert_eq!(names(records.list("telegram", "code:", 9).await.unwrap()).len(), 3);
    assert_eq!(records.take("telegram", "code:A").await.unwrap().as_deref(), Some("v"));
    assert_eq!(records.take("telegram", "code:A").await.unwrap(), None);
    stage.advance(61);
    assert_eq!(records.take("telegram", "code:C").await.unwrap(), None, "its time is over");
    assert_eq!(names(records.list("telegram", "code:", 9).await.unwrap()), ["code:B"]);
}

pub async fn deliveries_to_the_same_recipient_keep_their_order(stage: Stage) {
    use crate::channel::DeliveryOutcome;
    let at = |seconds| start() + SignedDuration::from_secs(seconds);
    let turn = stage.open_turn("webhook:x", "x").await;
    let outbox = &stage.storage.outbox;
    let to = |recipient: &str| delivery(recipient, 600).with_recipient(Some(recipient.into()));
    let send =
        async |recipient: &str| outbox.enqueue(&session("webhook:x"), &turn, to(recipient)).await.unwrap();
    let (first, second, other) = (send("ada").await, send("ada").await, send("bob").await);
    let retry = DeliveryOutcome::Retry { at: at(30), error: "429".into() };
    outbox.settle(first, retry).await.unwrap();
    let third = send("ada").await;
    let due = async |seconds| {
        let due = outbox.due(at(seconds), 10, &[]).await.unwrap();
        due.into_iter().map(|delivery| delivery.id).collect::<Vec<_>>()
    };
    assert_eq!(due(29).await, [other], "what is behind it waits too");
    outbox.settle(other, DeliveryOutcome::Delivered).await.unwrap();
    assert_eq!(outbox.next_due(&[]).await.unwrap(), Some(at(30)));
    for next in [first, second, third] {
        assert_eq!(due(30).await, [next], "to one recipient one after the other");
        outbox.settle(next, DeliveryOutcome::Delivered).await.unwrap();
    }
}

pub async fn deliveries_of_a_channel_that_recovers_are_due_at_once_and_in_order(stage: Stage) {
    use crate::channel::DeliveryOutcome;
    let at = |seconds| start() + SignedDuration::from_secs(seconds);
    let turn = stage.open_turn("webhook:x", "x").await;
    let outbox = &stage.storage.outbox;
    let to = |channel: &str, recipient: &str| {
        let mut content = delivery(recipient, 600).with_recipient(Some(recipient.into()));
        channel.clone_into(&mut content.channel);
        content
    };
    let send = async |content| outbox.enqueue(&session("webhook:x"), &turn, content).await.unwrap();
    let (first, second) = (send(to("telegram", "ada")).await, send(to("telegram", "ada")).await);
    let (held, other) = (send(to("telegram", "bob")).await, send(to("matrix", "ada")).await);
    let retry = || DeliveryOutcome::Retry { at: at(300), error: "503".into() };
    outbox.settle(first, retry()).await.unwrap();
    outbox.settle(other, retry()).await.unwrap();
    let waits = DeliveryOutcome::Held { at: at(10), error: "no connection".into() };
    outbox.settle(held, waits).await.unwrap();
    let due = async |seconds, but: &[String]| {
        let due = outbox.due(at(seconds), 10, but).await.unwrap();
        due.into_iter().map(|delivery| (delivery.id, delivery.attempts)).collect::<Vec<_>>()
    };
    assert!(due(9, &[]).await.is_empty());
    assert_eq!(due(10, &[]).await, [(held, 0)], "what is held back was not attempted");
    let telegram = ["telegram".to_owned()];
    assert!(due(10, &telegram).await.is_empty());
    assert_eq!(outbox.next_due(&telegram).await.unwrap(), Some(at(300)));
    assert_eq!(outbox.make_due("telegram").await.unwrap(), 3);
    assert_eq!(due(0, &[]).await, [(first, 1), (held, 0)]);
    outbox.settle(first, DeliveryOutcome::Delivered).await.unwrap();
    assert_eq!(due(0, &[]).await, [(second, 0), (held, 0)]);
    assert_eq!(outbox.make_due("telegram").await.unwrap(), 0);
    assert_eq!(due(300, &telegram).await, [(other, 1)]);
    let waits = async |channel, recipient| outbox.has_waiting(channel, recipient).await.unwrap();
    assert!(waits("telegram", "ada").await && waits("telegram", "bob").await);
    assert!(!waits("telegram", "eve").await && !waits("matrix", "bob").await);
    assert_eq!(
        due(600, &telegram).await,
        [(second, 0), (held, 0), (other, 1)],
        "what has expired is given up even while its channel takes nothing"
    );
    outbox.settle(held, DeliveryOutcome::Failed { error: "too late".into() }).await.unwrap();
    assert!(!waits("telegram", "bob").await);
}
