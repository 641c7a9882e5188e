//! Turns: accepted once, begun in order, ended once.

use std::sync::Arc;

use super::stage::*;
use crate::ids::TurnId;
use crate::message::{Block, Failure, Message, Role, TurnEnd};
use crate::model::ModelErrorKind;
use crate::session::{Accepted, Begun, Finish, TurnPhase, TurnRecord};

const S: &str = "webchat:default";

fn known(accepted: Accepted) -> TurnRecord {
    match accepted {
        Accepted::Known(record) => *record,
        Accepted::New(_) => panic!("was taken for new"),
    }
}

pub async fn what_was_stored_comes_back_whole(stage: Stage) {
    let turn = stage.open_turn(S, "hello").await;
    let call = Message::new(Role::Assistant, vec![Block::notice("x", "y")], start());
    let ids = stage.storage.turns.append(&turn, vec![call.clone()]).await.unwrap();
    stage.storage.turns.finish(finish(&turn, S, "hi there")).await.unwrap();

    let messages = stage.storage.turns.window(&session(S), 10).await.unwrap();
    assert_eq!(texts(&messages), ["hello", "", "hi there"]);
    assert_eq!(messages[1], Message { id: ids[0], turn: Some(turn.clone()), ..call });
    let last = &messages[2];
    assert_eq!((last.model.as_deref(), last.stop_reason), (Some("m"), Some(TurnEnd::End)));
    assert_eq!(last.usage.unwrap().cost_usd, 0.25);
    assert!(messages[0].id < messages[1].id && messages[1].id < messages[2].id);

    let record = stage.storage.turns.turn(&turn).await.unwrap().unwrap();
    assert_eq!((record.phase, record.attempts, record.accepted_at), (TurnPhase::Done, 1, start()));
    assert_eq!(record.inbound, say(S, "hello"));
    assert_eq!(record.reply.unwrap(), *finish(&turn, S, "hi there").reply);
    assert!(stage.storage.turns.turn(&TurnId::existing("nothing")).await.unwrap().is_none());
}

pub async fn a_turn_that_waits_begins_later(stage: Stage) {
    let turn = TurnId::fresh();
    let accepted = stage.storage.turns.accept(&turn, &say(S, "later"), None).await.unwrap();
    assert!(matches!(accepted, Accepted::New(None)));
    assert_eq!(stage.storage.turns.turn(&turn).await.unwrap().unwrap().phase, TurnPhase::Queued);
    assert!(stage.storage.turns.window(&session(S), 10).await.unwrap().is_empty());
    assert!(
        stage
            .storage
            .turns
            .append(&turn, vec![message(Role::Assistant, "x")])
            .await
            .unwrap_err()
            .is_invalid()
    );

    let id = stage.storage.turns.begin(&turn, begin("later")).await.unwrap().message;
    let record = stage.storage.turns.turn(&turn).await.unwrap().unwrap();
    assert_eq!((record.phase, record.attempts), (TurnPhase::Running, 1));
    assert_eq!(stage.storage.turns.window(&session(S), 10).await.unwrap()[0].id, id);
}

pub async fn a_turn_that_begins_again_after_a_crash_says_nothing_twice(stage: Stage) {
    let first = stage.turn(S, "before", "answer").await;
    let turn = TurnId::fresh();
    stage.storage.turns.accept(&turn, &say(S, "again"), Some(replacing("again", &first))).await.unwrap();

    let id = stage.storage.turns.begin(&turn, replacing("again", &first)).await.unwrap().message;
    let messages = stage.storage.turns.window(&session(S), 10).await.unwrap();
    assert_eq!(texts(&messages), ["again"]);
    assert_eq!(messages[0].id, id);
    assert_eq!(stage.storage.turns.turn(&turn).await.unwrap().unwrap().attempts, 2);
    assert_eq!(stage.storage.transcripts.session(&session(S)).await.unwrap().unwrap().message_count, 1);
}

pub async fn the_same_dedupe_id_is_one_turn(stage: Stage) {
    let (first, second) = (TurnId::fresh(), TurnId::fresh());
    stage.storage.turns.accept(&first, &say_as(S, "one", "k", None), Some(begin("one"))).await.unwrap();
    let record = known(
        stage.storage.turns.accept(&second, &say_as(S, "two", "k", None), Some(begin("two"))).await.unwrap(),
    );
    assert_eq!((record.turn.as_str(), record.phase), (first.as_str(), TurnPhase::Running));
    assert_eq!(record.inbound.dedupe.unwrap().fingerprint.as_deref(), Some("f"));
    assert!(stage.storage.turns.turn(&second).await.unwrap().is_none());
    let asked = async |channel, id| stage.storage.turns.known(channel, id).await.unwrap();
    assert_eq!(asked("webchat", "k").await.unwrap().turn, first);
    assert!(asked("webchat", "other").await.is_none() && asked("cli", "k").await.is_none());
    assert_eq!(texts(&stage.storage.turns.window(&session(S), 10).await.unwrap()), ["one"]);

    stage.storage.turns.finish(finish(&first, S, "reply")).await.unwrap();
    let record =
        known(stage.storage.turns.accept(&second, &say_as(S, "two", "k", None), None).await.unwrap());
    assert_eq!(record.reply.unwrap().text, "reply");

    // Dedupe ids are separate for each channel, and a message of another session without one is new.
    let elsewhere = say_as("cli:default", "three", "k", None);
    let accepted = stage.storage.turns.accept(&second, &elsewhere, None).await.unwrap();
    assert!(matches!(accepted, Accepted::New(None)));
}

pub async fn a_dedupe_id_counts_for_as_long_as_it_says(stage: Stage) {
    let accept = async |valid_for| {
        stage.storage.turns.accept(&TurnId::fresh(), &say_as(S, "x", "k", valid_for), None).await.unwrap()
    };
    assert!(matches!(accept(Some(60)).await, Accepted::New(_)));
    stage.advance(59);
    assert!(matches!(accept(Some(60)).await, Accepted::Known(_)));
    let asked = async || stage.storage.turns.known("webchat", "k").await.unwrap();
    assert!(asked().await.is_some());
    stage.advance(1);
    assert!(asked().await.is_none());
    assert!(matches!(accept(Some(u64::MAX)).await, Accepted::New(_)));
    stage.advance(1_000_000_000);
    assert!(matches!(accept(None).await, Accepted::Known(_)));
}

pub async fn a_reply_is_kept_for_second_deliveries_even_when_no_message_has_its_text(stage: Stage) {
    for text in ["partial".to_owned(), "partial ".repeat(50_000)] {
        let turn = stage.open_turn(S, "x").await;
        let mut end = finish(&turn, S, &text);
        let reply = Arc::make_mut(&mut end.reply);
        reply.text = text + "\n\nthe model failed";
        reply.end = TurnEnd::Error;
        reply.failure = Some(Failure::new(ModelErrorKind::Overloaded, "try later").with_retry_after(Some(3)));
        let expected = end.reply.clone();
        stage.storage.turns.finish(end).await.unwrap();
        assert_eq!(stage.storage.turns.turn(&turn).await.unwrap().unwrap().reply.unwrap(), *expected);
    }
}

pub async fn a_turn_ends_once(stage: Stage) {
    let turn = stage.turn(S, "x", "y").await;
    assert!(stage.storage.turns.finish(finish(&turn, S, "z")).await.unwrap_err().is_invalid());
    assert!(stage.storage.turns.begin(&turn, begin("x")).await.unwrap_err().is_invalid());
    assert!(
        stage.storage.turns.append(&turn, vec![message(Role::Tool, "t")]).await.unwrap_err().is_invalid()
    );
    assert_eq!(texts(&stage.storage.turns.window(&session(S), 10).await.unwrap()), ["x", "y"]);
}

pub async fn a_retry_takes_its_turn_and_all_later_ones_out_of_the_live_branch(stage: Stage) {
    stage.turn(S, "one", "1").await;
    let second = stage.turn(S, "two", "2").await;
    stage.turn(S, "three", "3").await;
    let retry = TurnId::fresh();
    stage.storage.turns.accept(&retry, &say(S, ""), Some(replacing("two", &second))).await.unwrap();
    stage.storage.turns.finish(finish(&retry, S, "2 again")).await.unwrap();

    let live = ["one", "1", "two", "2 again"];
    assert_eq!(texts(&stage.storage.turns.window(&session(S), 10).await.unwrap()), live);
    assert_eq!(texts(&stage.storage.transcripts.messages(&session(S), None, 10).await.unwrap()), live);
    assert_eq!(stage.storage.transcripts.session(&session(S)).await.unwrap().unwrap().message_count, 4);
    // What was replaced has left the branch, but still exists.
    assert_eq!(stage.storage.turns.turn(&second).await.unwrap().unwrap().reply.unwrap().text, "2");
}

pub async fn only_a_turn_of_the_live_branch_of_the_same_session_can_be_replaced(stage: Stage) {
    let first = stage.turn(S, "one", "1").await;
    let edited = TurnId::fresh();
    stage.storage.turns.accept(&edited, &say(S, "uno"), Some(replacing("uno", &first))).await.unwrap();
    let waiting = TurnId::fresh();
    stage.storage.turns.accept(&waiting, &say(S, "x"), None).await.unwrap();
    let foreign = stage.turn("webchat:other", "o", "p").await;

    for target in [&first, &waiting, &foreign, &TurnId::existing("nothing")] {
        let turn = TurnId::fresh();
        let refused = stage.storage.turns.accept(&turn, &say(S, "x"), Some(replacing("x", target))).await;
        assert!(refused.unwrap_err().is_not_found());
        assert!(stage.storage.turns.turn(&turn).await.unwrap().is_none());
        let refused =
            stage.storage.turns.accept(&turn, &say("webchat:new", "x"), Some(replacing("x", target))).await;
        assert!(refused.unwrap_err().is_not_found());
    }
    assert!(stage.storage.transcripts.session(&session("webchat:new")).await.unwrap().is_none());
    assert_eq!(texts(&stage.storage.turns.window(&session(S), 10).await.unwrap()), ["uno"]);
}

pub async fn the_window_has_the_newest_messages(stage: Stage) {
    for n in 0..5 {
        stage.turn(S, &format!("q{n}"), &format!("a{n}")).await;
    }
    assert_eq!(texts(&stage.storage.turns.window(&session(S), 3).await.unwrap()), ["a3", "q4", "a4"]);
    assert!(stage.storage.turns.window(&session("webchat:none"), 3).await.unwrap().is_empty());
}

pub async fn the_window_begins_behind_what_was_folded(stage: Stage) {
    let first = stage.turn(S, "one", "1").await;
    stage.turn(S, "two", "2").await;
    let messages = stage.storage.turns.window(&session(S), 10).await.unwrap();
    let turn = stage.open_turn(S, "three").await;
    let folded = Block::Folded {
        messages: 2,
        from: messages[0].id.0.to_string(),
        to: messages[1].id.0.to_string(),
        summary: "they counted".into(),
    };
    stage.storage.turns.append(&turn, vec![Message::new(Role::System, vec![folded], start())]).await.unwrap();
    stage.storage.turns.finish(finish(&turn, S, "3")).await.unwrap();
    assert_eq!(
        texts(&stage.storage.turns.window(&session(S), 10).await.unwrap()),
        ["two", "2", "three", "", "3"]
    );
    assert_eq!(stage.storage.transcripts.messages(&session(S), None, 10).await.unwrap().len(), 7);

    // When the branch goes back to before the folding, the old messages count again.
    let edit = TurnId::fresh();
    stage.storage.turns.accept(&edit, &say(S, "uno"), Some(replacing("uno", &first))).await.unwrap();
    assert_eq!(texts(&stage.storage.turns.window(&session(S), 10).await.unwrap()), ["uno"]);
}

pub async fn the_window_has_what_was_put_in_beside_the_turn_that_folded(stage: Stage) {
    stage.turn(S, "one", "1").await;
    let turn = stage.open_turn(S, "two").await;
    let (turns, transcripts) = (&stage.storage.turns, &stage.storage.transcripts);
    let step = |text: &str| message(Role::Assistant, text);
    let posted = step("by the way");
    let first = turns.append(&turn, vec![step("a")]).await.unwrap()[0].0;
    transcripts.post(&session(S), "k", posted).await.unwrap();
    let to = turns.append(&turn, vec![step("b")]).await.unwrap()[0].0;
    assert!(to > first + 1, "the one that was put in is between them");
    let folded =
        Block::Folded { messages: 5, from: "1".into(), to: to.to_string(), summary: "they counted".into() };
    turns.append(&turn, vec![Message::new(Role::System, vec![folded], start())]).await.unwrap();
    turns.finish(finish(&turn, S, "2")).await.unwrap();
    assert_eq!(texts(&turns.window(&session(S), 10).await.unwrap()), ["by the way", "", "2"]);
    assert_eq!(texts(&turns.window(&session(S), 2).await.unwrap()), ["", "2"]);
}

pub async fn what_a_crash_left_over_is_found_oldest_first(stage: Stage) {
    let running = stage.open_turn(S, "running").await;
    stage.turn(S, "done", "done").await;
    let queued = TurnId::fresh();
    stage.storage.turns.accept(&queued, &say("webchat:b", "queued"), None).await.unwrap();
    let left: Vec<_> =
        stage.storage.turns.unfinished().await.unwrap().into_iter().map(|r| (r.turn, r.phase)).collect();
    assert_eq!(left, [(running.clone(), TurnPhase::Running), (queued.clone(), TurnPhase::Queued)]);

    // A turn that never began can be closed without a trace in the transcript.
    let closed = Finish { messages: Arc::default(), ..finish(&queued, "webchat:b", "interrupted") };
    stage.storage.turns.finish(closed).await.unwrap();
    stage.storage.turns.finish(finish(&running, S, "interrupted")).await.unwrap();
    assert!(stage.storage.turns.unfinished().await.unwrap().is_empty());
}

pub async fn the_next_turn_begins_with_the_end_of_the_one_before_it(stage: Stage) {
    let one = stage.open_turn(S, "one").await;
    let two = TurnId::fresh();
    stage.storage.turns.accept(&two, &say(S, "two"), None).await.unwrap();
    let end = Finish { next: Some((two.clone(), begin("two"))), ..finish(&one, S, "1") };
    let finished = stage.storage.turns.finish(end).await.unwrap();
    let messages = stage.storage.turns.window(&session(S), 10).await.unwrap();
    assert_eq!(texts(&messages), ["one", "1", "two"]);
    assert_eq!(finished.messages, [messages[1].id]);
    let begun = Begun { message: messages[2].id, after: Some(messages[1].id), defaults: None };
    assert_eq!(finished.next, Some(begun));
    let record = stage.storage.turns.turn(&two).await.unwrap().unwrap();
    assert_eq!((record.phase, record.attempts), (TurnPhase::Running, 1));
    assert_eq!(stage.storage.transcripts.session(&session(S)).await.unwrap().unwrap().message_count, 3);
}

pub async fn a_next_turn_that_cannot_begin_does_not_touch_the_end_before_it(stage: Stage) {
    let one = stage.open_turn(S, "one").await;
    let stopped = TurnId::fresh();
    stage.storage.turns.accept(&stopped, &say(S, "stopped"), None).await.unwrap();
    stage.storage.turns.finish(Finish { messages: Arc::default(), ..finish(&stopped, S, "") }).await.unwrap();
    let end = Finish { next: Some((stopped, begin("stopped"))), ..finish(&one, S, "1") };
    assert_eq!(stage.storage.turns.finish(end).await.unwrap().next, None);

    let two = stage.open_turn(S, "two").await;
    let end = Finish { next: Some((TurnId::fresh(), begin("removed"))), ..finish(&two, S, "2") };
    assert_eq!(stage.storage.turns.finish(end).await.unwrap().next, None);
    let messages = stage.storage.turns.window(&session(S), 10).await.unwrap();
    assert_eq!(texts(&messages), ["one", "1", "two", "2"]);
    assert!(stage.storage.turns.unfinished().await.unwrap().is_empty());
}

/// The end of a turn that was stopped before it began.
fn unbegun(turn: &TurnId, text: &str) -> Finish {
    let end = finish(turn, S, &format!("{text} stopped"));
    let messages = [begin(text).message].into_iter().chain(end.messages.iter().cloned()).collect();
    Finish { messages: Arc::new(messages), ..end }
}

pub async fn what_ended_before_it_began_takes_its_place_behind_older_turns(stage: Stage) {
    let (log, transcripts) = (&stage.storage.turns, &stage.storage.transcripts);
    let one = stage.open_turn(S, "one").await;
    let [two, three, four] = [TurnId::fresh(), TurnId::fresh(), TurnId::fresh()];
    for (turn, text) in [(&two, "two"), (&three, "three"), (&four, "four")] {
        log.accept(turn, &say(S, text), None).await.unwrap();
    }
    for (turn, text) in [(&four, "four"), (&two, "two")] {
        assert!(log.finish(unbegun(turn, text)).await.unwrap().messages.is_empty());
    }
    assert_eq!(texts(&log.window(&session(S), 10).await.unwrap()), ["one"], "nothing comes between");
    // It is over for good, whatever happens; and a page still finds it.
    let left: Vec<_> = log.unfinished().await.unwrap().into_iter().map(|record| record.turn).collect();
    assert_eq!(left, [one.clone(), three.clone()]);
    let pending = transcripts.pending(&session(S)).await.unwrap();
    let phases: Vec<_> = pending.iter().map(|record| record.phase).collect();
    assert_eq!(phases, [TurnPhase::Running, TurnPhase::Done, TurnPhase::Queued, TurnPhase::Done]);
    assert_eq!(log.turn(&two).await.unwrap().unwrap().reply.unwrap().text, "two stopped");

    let end = Finish { next: Some((three.clone(), begin("three"))), ..finish(&one, S, "1") };
    assert!(log.finish(end).await.unwrap().next.is_some());
    log.finish(finish(&three, S, "3")).await.unwrap();
    let messages = transcripts.messages(&session(S), None, 20).await.unwrap();
    let told = ["one", "1", "two", "two stopped", "three", "3", "four", "four stopped"];
    assert_eq!(texts(&messages), told);
    let turns: Vec<_> = messages.iter().map(|message| message.turn.clone().unwrap()).collect();
    assert_eq!(turns.chunks(2).map(|pair| pair[0] == pair[1]).collect::<Vec<_>>(), [true; 4]);
    assert_eq!(transcripts.session(&session(S)).await.unwrap().unwrap().message_count, 8);
    assert!(transcripts.pending(&session(S)).await.unwrap().is_empty());
    assert_eq!(log.turn(&two).await.unwrap().unwrap().reply.unwrap().text, "two stopped");
}

pub async fn what_ended_before_it_began_takes_its_place_behind_a_younger_running_turn(stage: Stage) {
    let (log, transcripts) = (&stage.storage.turns, &stage.storage.transcripts);
    let [older, younger] = [TurnId::fresh(), TurnId::fresh()];
    for (turn, text) in [(&older, "older"), (&younger, "younger")] {
        log.accept(turn, &say(S, text), None).await.unwrap();
    }
    log.begin(&younger, begin("younger")).await.unwrap();
    assert!(log.finish(unbegun(&older, "older")).await.unwrap().messages.is_empty());
    log.finish(finish(&younger, S, "1")).await.unwrap();
    let messages = transcripts.messages(&session(S), None, 20).await.unwrap();
    assert_eq!(texts(&messages), ["younger", "1", "older", "older stopped"]);
}

pub async fn what_ended_before_it_began_can_be_answered_again(stage: Stage) {
    let one = TurnId::fresh();
    stage.storage.turns.accept(&one, &say(S, "one"), None).await.unwrap();
    let ended = stage.storage.turns.finish(unbegun(&one, "one")).await.unwrap();
    assert_eq!(ended.messages.len(), 2, "nothing is older, so it is in its place at once");
    let summary = stage.storage.transcripts.session(&session(S)).await.unwrap().unwrap();
    assert_eq!((summary.title.as_str(), summary.message_count), ("one", 2));
    let again = TurnId::fresh();
    stage.storage.turns.accept(&again, &say(S, "one"), Some(replacing("one", &one))).await.unwrap();
    stage.storage.turns.finish(finish(&again, S, "1")).await.unwrap();
    assert_eq!(texts(&stage.storage.turns.window(&session(S), 10).await.unwrap()), ["one", "1"]);
}

pub async fn a_turn_that_does_not_exist_is_not_found(stage: Stage) {
    let turn = TurnId::existing("nothing");
    assert!(stage.storage.turns.begin(&turn, begin("x")).await.unwrap_err().is_not_found());
    assert!(stage.storage.turns.append(&turn, vec![]).await.unwrap_err().is_not_found());
    assert!(stage.storage.turns.finish(finish(&turn, S, "x")).await.unwrap_err().is_not_found());
}
