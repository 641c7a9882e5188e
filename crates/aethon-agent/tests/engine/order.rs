//! Order within a session, sessions side by side, bounds.

use std::sync::Arc;

use aethon_agent::Options;
use aethon_core::assistant::Assistant;
use aethon_core::message::Inbound;
use aethon_core::model::StopReason;
use aethon_core::testkit::{CollectingSurface, Gate, Step};

use crate::harness::{House, Plan, THREE, quiet, says, says_behind, session, shown, three, with_id};

#[tokio::test]
async fn a_plain_turn_is_two_calls_of_the_storage() {
    let harness = House::new([]);
    let session = session("a");
    harness.ask(&session, "one").await;
    let before = harness.store.calls().len();
    harness.ask(&session, "two").await;
    assert_eq!(harness.store.calls()[before..], ["accept", "finish"]);
}

#[tokio::test]
async fn a_session_used_once_reads_nothing() {
    let harness = House::new([]);
    let inbound = Inbound::say(session("once"), "hi").with_oneshot(true);
    harness.submit(inbound, quiet()).await.reply.wait().await.unwrap();
    assert_eq!(harness.store.calls(), ["accept", "finish"]);
}

#[tokio::test]
async fn messages_of_a_session_are_answered_in_order() {
    let (harness, session, gate, [one, two, three]) = three().await;
    assert_eq!((one.queued, two.queued, three.queued), (0, 1, 2));
    let states: Vec<_> = harness.engine.activity().into_iter().map(|turn| turn.state).collect();
    assert_eq!(states, ["running", "queued", "queued"]);
    gate.open();
    assert_eq!(three.reply.wait().await.unwrap().text, "third");
    assert_eq!(harness.transcript(&session), THREE);
}

#[tokio::test]
async fn sessions_do_not_wait_for_each_other() {
    let gate = Gate::default();
    let harness = House::new([says_behind(&gate, "slow"), says("fast")]);
    let slow = harness.say(&session("a"), "one").await;
    gate.reached().await;
    assert_eq!(harness.ask(&session("b"), "two").await.text, "fast");
    assert!(harness.engine.is_busy(&session("a")));
    gate.open();
    assert_eq!(slow.reply.wait().await.unwrap().text, "slow");
}

#[tokio::test]
async fn a_message_is_acknowledged_before_it_is_answered() {
    let gate = Gate::default();
    let harness = House::new([vec![Step::Wait(gate.clone()), Step::finish(StopReason::End)]]);
    let surface = Arc::new(CollectingSurface::default());
    let submitted = harness.submit(Inbound::say(session("a"), "hi"), surface.clone()).await;
    assert!(submitted.is_new);
    assert_eq!(harness.transcript(&session("a")), ["user: hi"]);
    gate.reached().await;
    assert_eq!(shown(&surface), ["started"]);
    gate.open();
    submitted.reply.wait().await.unwrap();
    assert_eq!(shown(&surface).last().unwrap(), "done end");
}

#[tokio::test]
async fn a_full_queue_refuses_and_recovers() {
    let gate = Gate::default();
    let options = Options::default().with(|options| {
        options.queues.per_session = 2;
        options.queues.turns = 4;
    });
    let blocked = vec![Step::Wait(gate.clone()), Step::finish(StopReason::End)];
    let harness = House::with([blocked], Plan { options, ..Plan::default() });
    let mut last = harness.say(&session("a"), "0").await;
    for text in ["1", "2"] {
        last = harness.say(&session("a"), text).await;
    }
    let refused = harness.engine.submit(Inbound::say(session("a"), "3"), quiet()).await.unwrap_err();
    assert!(refused.is_busy(), "{refused}");
    // One more fits in all; then the whole is full.
    gate.reached().await;
    harness.ask(&session("b"), "x").await;
    gate.open();
    last.reply.wait().await.unwrap();
    harness.ask(&session("a"), "again").await;
}

#[tokio::test]
async fn repeat_of_a_waiting_message_is_acknowledged_in_a_full_queue() {
    let gate = Gate::default();
    let options = Options::default().with(|options| options.queues.per_session = 1);
    let blocked = vec![Step::Wait(gate.clone()), Step::finish(StopReason::End)];
    let harness = House::with([blocked], Plan { options, ..Plan::default() });
    harness.say(&session("a"), "0").await;
    let say = |id: &str| harness.engine.submit(with_id(&session("a"), id, id), quiet());
    let first = say("1").await.unwrap();
    assert!(say("2").await.unwrap_err().is_busy(), "the queue is full");
    let again = say("1").await.unwrap();
    assert_eq!((again.turn, again.queued, again.is_new), (first.turn, 1, false));
    gate.open();
    first.reply.wait().await.unwrap();
}

#[tokio::test]
async fn total_of_all_queues_is_bounded() {
    let gate = Gate::default();
    let options = Options::default().with(|options| options.queues.turns = 1);
    let blocked = vec![Step::Wait(gate.clone()), Step::finish(StopReason::End)];
    let harness = House::with([blocked], Plan { options, ..Plan::default() });
    let first = harness.say(&session("a"), "0").await;
    let refused = harness.engine.submit(Inbound::say(session("b"), "1"), quiet()).await.unwrap_err();
    assert!(refused.is_busy(), "{refused}");
    gate.open();
    first.reply.wait().await.unwrap();
}

#[tokio::test]
async fn the_turn_goes_on_when_the_caller_loses_interest() {
    let harness = House::new([says("done")]);
    let surface = Arc::new(CollectingSurface::default());
    let mut submit = harness.engine.submit(Inbound::say(session("a"), "hi"), surface.clone());
    // Asked once and dropped before the acknowledgement.
    assert!(futures_util::FutureExt::now_or_never(&mut submit).is_none());
    drop(submit);
    surface.saw(|event| matches!(event, aethon_core::surface::TurnEvent::Done(_))).await;
    assert_eq!(harness.transcript(&session("a")), ["user: hi", "assistant: done"]);
}

#[tokio::test]
async fn strangers_leave_places_bytes_and_a_session_to_the_owner() {
    let text = |bytes: usize| "x".repeat(bytes);
    let called = |to: &str, bytes: usize| Inbound::say(session(to), text(bytes)).via("webhook");
    // The limits, the strangers' messages, whether their next one is accepted, and then whether the owner's is.
    type Row = (fn(&mut Options), Vec<(&'static str, usize)>, (&'static str, usize), (&'static str, usize));
    let rows: [Row; 3] = [
        (|options| options.queues.turns = 4, vec![("a", 1); 3], ("b", 1), ("c", 1)),
        (|options| options.queues.per_session = 4, vec![("a", 1); 4], ("a", 1), ("a", 1)),
        (|options| options.queues.bytes = 1000, vec![("a", 500), ("a", 200)], ("b", 100), ("c", 300)),
    ];
    for (row, (limit, taken, refused, owners)) in rows.into_iter().enumerate() {
        let gate = Gate::default();
        let blocked = vec![Step::Wait(gate.clone()), Step::finish(StopReason::End)];
        let harness =
            House::with([blocked], Plan { options: Options::default().with(limit), ..Plan::default() });
        let mut last = None;
        for (to, bytes) in taken {
            last = Some(harness.engine.submit(called(to, bytes), quiet()).await.unwrap());
        }
        let (to, bytes) = refused;
        let error = harness.engine.submit(called(to, bytes), quiet()).await.unwrap_err();
        assert!(error.is_busy() && error.is_crowded(), "row {row}: {error}");
        let (to, bytes) = owners;
        let own = harness.engine.submit(Inbound::say(session(to), text(bytes)), quiet()).await;
        let own = own.unwrap_or_else(|error| panic!("row {row}: the owner is refused: {error}"));
        gate.open();
        own.reply.wait().await.unwrap();
        last.unwrap().reply.wait().await.unwrap();
        // Their places and bytes are free again.
        let again = harness.engine.submit(called("d", bytes), quiet()).await.unwrap();
        again.reply.wait().await.unwrap();
    }
}
