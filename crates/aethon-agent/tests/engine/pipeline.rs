//! The end of a turn and the beginning of the one that waits behind it are one step of the storage.

use aethon_core::assistant::{Assistant, Posting};
use aethon_core::ids::TurnId;
use aethon_core::message::{Inbound, TurnEnd};
use aethon_core::session::TurnPhase;
use aethon_core::testkit::Gate;

use crate::harness::{House, THREE, quiet, says, says_behind, session, three};

#[tokio::test]
async fn waiting_turn_begins_in_the_finish_of_the_previous_one() {
    let (harness, session, gate, [_, _, three]) = three().await;
    let before = harness.store.calls().len();
    gate.open();
    assert_eq!(three.reply.wait().await.unwrap().text, "third");
    assert_eq!(harness.store.calls()[before..], ["finish", "finish", "finish"]);
    assert_eq!(harness.transcript(&session), THREE);
}

#[tokio::test(start_paused = true)]
async fn an_end_that_could_not_be_stored_is_tried_again_alone() {
    let (harness, session, gate, [_, _, three]) = three().await;
    harness.store.fail("finish", 1);
    gate.open();
    assert_eq!(three.reply.wait().await.unwrap().text, "third");
    assert_eq!(harness.transcript(&session), THREE);
    let calls = harness.store.calls();
    let ends: Vec<_> = calls.iter().skip_while(|call| **call != "finish").collect();
    assert_eq!(ends, [&"finish", &"finish", &"begin", &"finish", &"finish"]);
}

#[tokio::test(start_paused = true)]
async fn unstorable_end_does_not_block_the_next_turn() {
    let (harness, session, gate, [_, _, three]) = three().await;
    harness.store.fault("finish", 4);
    gate.open();
    assert_eq!(three.reply.wait().await.unwrap().text, "third");
    let without_the_first_answer: Vec<_> =
        THREE.into_iter().filter(|line| *line != "assistant: first").collect();
    assert_eq!(harness.transcript(&session), without_the_first_answer);
}

#[tokio::test]
async fn turn_stopped_while_it_begins_ends_in_its_order() {
    let (harness, session, gate, [_, two, three]) = three().await;
    let storing = Gate::default();
    harness.store.hold_finish(storing.clone());
    gate.open();
    storing.reached().await;
    assert_eq!(harness.engine.stop(&session, Some(&two.turn)).await, 1);
    assert_eq!(harness.engine.activity().len(), 3, "it keeps its place");
    storing.open();
    assert_eq!(two.reply.wait().await.unwrap().end, TurnEnd::Stopped);
    // The model was not asked for the one that was stopped.
    assert_eq!(three.reply.wait().await.unwrap().text, "second");
    let transcript = harness.transcript(&session);
    assert_eq!(transcript[..4], ["user: one", "assistant: first", "user: two", "assistant: (stopped)"]);
    assert_eq!(transcript[4..], ["user: three", "assistant: second"]);
    harness.assert_well_formed(&session);
}

#[tokio::test]
async fn post_while_a_turn_begins_stays_ahead_of_its_question() {
    let (harness, session, gate, [_, two, three]) = three().await;
    let storing = Gate::default();
    harness.store.hold_finish(storing.clone());
    gate.open();
    storing.reached().await;
    // Stored before the end in this storage; the test is that the window is read again.
    assert!(harness.engine.post(&session, "p1", &Posting::new("by the way")).await.unwrap());
    storing.open();
    assert_eq!(two.reply.wait().await.unwrap().text, "second");
    three.reply.wait().await.unwrap();
    let asked = harness.asked();
    let seen = asked[1].messages.iter().map(|message| message.text()).collect::<Vec<_>>();
    assert_eq!((seen.len(), seen.last().unwrap().as_str()), (4, "two"), "{seen:?}");
}

#[tokio::test]
async fn edit_waits_for_the_end_of_the_running_turn() {
    let gate = Gate::default();
    let harness = House::new([says("nothing"), says_behind(&gate, "first"), says("another")]);
    let session = session("a");
    let zero = harness.say(&session, "zero").await;
    zero.reply.wait().await.unwrap();
    harness.say(&session, "one").await;
    gate.reached().await;
    let edit = Inbound::edit(session.clone(), zero.turn.clone(), "nought");
    let edit = harness.submit(edit, quiet()).await;
    gate.open();
    assert_eq!(edit.reply.wait().await.unwrap().text, "another");
    assert_eq!(harness.transcript(&session), ["user: nought", "assistant: another"]);
    assert!(harness.store.calls().contains(&"begin"));
}

#[tokio::test]
async fn edit_of_a_removed_turn_fails_and_changes_nothing() {
    let gate = Gate::default();
    let harness = House::new([
        says("nothing"),
        says("first"),
        says_behind(&gate, "slow"),
        says("another"),
        says("last"),
    ]);
    let session = session("a");
    let zero = harness.say(&session, "zero").await;
    zero.reply.wait().await.unwrap();
    let one = harness.say(&session, "one").await;
    one.reply.wait().await.unwrap();
    harness.say(&session, "two").await;
    gate.reached().await;
    let edit = |turn: &TurnId, text: &str| Inbound::edit(session.clone(), turn.clone(), text);
    let earlier = harness.submit(edit(&zero.turn, "nought"), quiet()).await;
    let later = harness.submit(edit(&one.turn, "one more"), quiet()).await;
    gate.open();
    assert_eq!(earlier.reply.wait().await.unwrap().text, "another");
    let gone = later.reply.wait().await.unwrap();
    assert_eq!((gone.end, gone.failure.as_ref().unwrap().code.as_str()), (TurnEnd::Error, "not_found"));
    assert!(gone.text.contains("is not in the conversation any more"), "{}", gone.text);
    harness.ask(&session, "and then").await;
    let transcript = ["user: nought", "assistant: another", "user: and then", "assistant: last"];
    assert_eq!(harness.transcript(&session), transcript);
}

#[tokio::test]
async fn begun_turns_alone_continue_at_shutdown() {
    let (harness, session, gate, [one, two, three]) = three().await;
    let storing = Gate::default();
    harness.store.hold_finish(storing.clone());
    gate.open();
    storing.reached().await;
    let mut ending = std::pin::pin!(harness.engine.shutdown(std::time::Duration::from_secs(10)));
    assert!(futures_util::FutureExt::now_or_never(&mut ending).is_none());
    storing.open();
    ending.await;
    assert_eq!(one.reply.wait().await.unwrap().text, "first");
    assert_eq!(two.reply.wait().await.unwrap().text, "second", "it has begun, and had the time");
    assert_eq!(harness.transcript(&session), THREE[..4]);
    let left = aethon_core::session::TurnLookup::unfinished(&*harness.store).await.unwrap();
    let left: Vec<_> = left.into_iter().map(|record| (record.turn, record.phase)).collect();
    assert_eq!(left, [(three.turn, TurnPhase::Queued)], "for the next start");
}
