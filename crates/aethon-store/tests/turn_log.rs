//! The contract of `TurnLog`, against a real file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use aethon_core::ids::{MessageId, TurnId};
use aethon_core::message::{Block, Failure, Message, Role, TurnEnd};
use aethon_core::session::{Accepted, Finish, Transcripts, TurnLog, TurnPhase, TurnRecord};
use common::*;

const S: &str = "webchat:default";

fn known(accepted: Accepted) -> TurnRecord {
    match accepted {
        Accepted::Known(record) => *record,
        Accepted::New(_) => panic!("was taken for new"),
    }
}

#[tokio::test]
async fn what_was_stored_comes_back_whole() {
    let mut home = Home::new();
    let turn = home.open_turn(S, "hello").await;
    let call = Message::new(Role::Assistant, vec![Block::notice("x", "y")], start());
    let ids = home.store.append(&turn, vec![call.clone()]).await.unwrap();
    home.store.finish(finish(&turn, S, "hi there")).await.unwrap();
    home.reopen().await;

    let messages = home.store.window(&session(S), 10).await.unwrap();
    assert_eq!(texts(&messages), ["hello", "", "hi there"]);
    assert_eq!(messages[1], Message { id: ids[0], turn: Some(turn.clone()), ..call });
    let last = &messages[2];
    assert_eq!((last.model.as_deref(), last.stop_reason), (Some("m"), Some(TurnEnd::End)));
    assert_eq!(last.usage.unwrap().cost_usd, 0.25);
    assert!(messages[0].id < messages[1].id && messages[1].id < messages[2].id);

    let record = home.store.turn(&turn).await.unwrap().unwrap();
    assert_eq!((record.phase, record.attempts, record.accepted_at), (TurnPhase::Done, 1, start()));
    assert_eq!(record.inbound, say(S, "hello"));
    assert_eq!(record.reply.unwrap(), finish(&turn, S, "hi there").reply);
    assert!(home.store.turn(&TurnId::existing("nothing")).await.unwrap().is_none());
}

#[tokio::test]
async fn a_turn_that_waits_begins_later() {
    let home = Home::new();
    let turn = TurnId::fresh();
    let accepted = home.store.accept(&turn, &say(S, "later"), None).await.unwrap();
    assert!(matches!(accepted, Accepted::New(None)));
    assert_eq!(home.store.turn(&turn).await.unwrap().unwrap().phase, TurnPhase::Queued);
    assert!(home.store.window(&session(S), 10).await.unwrap().is_empty());
    assert!(home.store.append(&turn, vec![message(Role::Assistant, "x")]).await.unwrap_err().is_invalid());

    let id = home.store.begin(&turn, begin("later")).await.unwrap();
    let record = home.store.turn(&turn).await.unwrap().unwrap();
    assert_eq!((record.phase, record.attempts), (TurnPhase::Running, 1));
    assert_eq!(home.store.window(&session(S), 10).await.unwrap()[0].id, id);
}

#[tokio::test]
async fn a_turn_that_begins_again_after_a_crash_says_nothing_twice() {
    let mut home = Home::new();
    let first = home.turn(S, "before", "answer").await;
    let turn = TurnId::fresh();
    home.store.accept(&turn, &say(S, "again"), Some(replacing("again", &first))).await.unwrap();
    home.reopen().await;

    let id = home.store.begin(&turn, replacing("again", &first)).await.unwrap();
    let messages = home.store.window(&session(S), 10).await.unwrap();
    assert_eq!(texts(&messages), ["again"]);
    assert_eq!(messages[0].id, id);
    assert_eq!(home.store.turn(&turn).await.unwrap().unwrap().attempts, 2);
    assert_eq!(home.store.session(&session(S)).await.unwrap().unwrap().message_count, 1);
}

#[tokio::test]
async fn the_same_dedupe_id_is_one_turn() {
    let home = Home::new();
    let (first, second) = (TurnId::fresh(), TurnId::fresh());
    home.store.accept(&first, &say_as(S, "one", "k", None), Some(begin("one"))).await.unwrap();
    let record =
        known(home.store.accept(&second, &say_as(S, "two", "k", None), Some(begin("two"))).await.unwrap());
    assert_eq!((record.turn.as_str(), record.phase), (first.as_str(), TurnPhase::Running));
    assert_eq!(record.inbound.dedupe.unwrap().fingerprint.as_deref(), Some("f"));
    assert!(home.store.turn(&second).await.unwrap().is_none());
    assert_eq!(texts(&home.store.window(&session(S), 10).await.unwrap()), ["one"]);

    home.store.finish(finish(&first, S, "reply")).await.unwrap();
    let record = known(home.store.accept(&second, &say_as(S, "two", "k", None), None).await.unwrap());
    assert_eq!(record.reply.unwrap().text, "reply");

    // Another channel has ids of its own, and so has another session's message without one.
    let elsewhere = say_as("cli:default", "three", "k", None);
    let accepted = home.store.accept(&second, &elsewhere, None).await.unwrap();
    assert!(matches!(accepted, Accepted::New(None)));
}

#[tokio::test]
async fn a_dedupe_id_counts_for_as_long_as_it_says() {
    let home = Home::new();
    let accept = async |valid_for| {
        home.store.accept(&TurnId::fresh(), &say_as(S, "x", "k", valid_for), None).await.unwrap()
    };
    assert!(matches!(accept(Some(60)).await, Accepted::New(_)));
    home.advance(59);
    assert!(matches!(accept(Some(60)).await, Accepted::Known(_)));
    home.advance(1);
    assert!(matches!(accept(Some(u64::MAX)).await, Accepted::New(_)));
    home.advance(1_000_000_000);
    assert!(matches!(accept(None).await, Accepted::Known(_)));
}

#[tokio::test]
async fn a_reply_is_kept_for_second_deliveries_even_when_no_message_has_its_text() {
    let home = Home::new();
    let turn = home.open_turn(S, "x").await;
    let mut end = finish(&turn, S, "partial");
    end.reply.text = "partial\n\nthe model failed".into();
    end.reply.end = TurnEnd::Error;
    end.reply.failure =
        Some(Failure { code: "overloaded".into(), message: "try later".into(), retry_after: Some(3) });
    let expected = end.reply.clone();
    home.store.finish(end).await.unwrap();
    assert_eq!(home.store.turn(&turn).await.unwrap().unwrap().reply.unwrap(), expected);
}

#[tokio::test]
async fn a_text_is_stored_once() {
    let home = Home::new();
    home.turn(S, "x", "a rather long reply").await;
    assert_eq!(home.count("SELECT count(*) FROM turns WHERE outcome LIKE '%rather%'"), 0);
}

#[tokio::test]
async fn a_turn_ends_once() {
    let home = Home::new();
    let turn = home.turn(S, "x", "y").await;
    assert!(home.store.finish(finish(&turn, S, "z")).await.unwrap_err().is_invalid());
    assert!(home.store.begin(&turn, begin("x")).await.unwrap_err().is_invalid());
    assert!(home.store.append(&turn, vec![message(Role::Tool, "t")]).await.unwrap_err().is_invalid());
    assert_eq!(texts(&home.store.window(&session(S), 10).await.unwrap()), ["x", "y"]);
}

#[tokio::test]
async fn a_retry_takes_its_turn_and_all_later_ones_out_of_the_live_branch() {
    let home = Home::new();
    home.turn(S, "one", "1").await;
    let second = home.turn(S, "two", "2").await;
    home.turn(S, "three", "3").await;
    let retry = TurnId::fresh();
    home.store.accept(&retry, &say(S, ""), Some(replacing("two", &second))).await.unwrap();
    home.store.finish(finish(&retry, S, "2 again")).await.unwrap();

    let live = ["one", "1", "two", "2 again"];
    assert_eq!(texts(&home.store.window(&session(S), 10).await.unwrap()), live);
    assert_eq!(texts(&home.store.messages(&session(S), None, 10).await.unwrap()), live);
    assert_eq!(home.store.session(&session(S)).await.unwrap().unwrap().message_count, 4);
    // What was replaced is out of the branch, but still there.
    assert_eq!(home.store.turn(&second).await.unwrap().unwrap().reply.unwrap().text, "2");
}

#[tokio::test]
async fn only_a_turn_of_the_live_branch_of_the_same_session_can_be_replaced() {
    let home = Home::new();
    let first = home.turn(S, "one", "1").await;
    let edited = TurnId::fresh();
    home.store.accept(&edited, &say(S, "uno"), Some(replacing("uno", &first))).await.unwrap();
    let waiting = TurnId::fresh();
    home.store.accept(&waiting, &say(S, "x"), None).await.unwrap();
    let foreign = home.turn("webchat:other", "o", "p").await;

    for target in [&first, &waiting, &foreign, &TurnId::existing("nothing")] {
        let turn = TurnId::fresh();
        let refused = home.store.accept(&turn, &say(S, "x"), Some(replacing("x", target))).await;
        assert!(refused.unwrap_err().is_not_found());
        assert!(home.store.turn(&turn).await.unwrap().is_none());
        let refused = home.store.accept(&turn, &say("webchat:new", "x"), Some(replacing("x", target))).await;
        assert!(refused.unwrap_err().is_not_found());
    }
    assert!(home.store.session(&session("webchat:new")).await.unwrap().is_none());
    assert_eq!(texts(&home.store.window(&session(S), 10).await.unwrap()), ["uno"]);
}

#[tokio::test]
async fn the_window_has_the_newest_messages() {
    let home = Home::new();
    for n in 0..5 {
        home.turn(S, &format!("q{n}"), &format!("a{n}")).await;
    }
    assert_eq!(texts(&home.store.window(&session(S), 3).await.unwrap()), ["a3", "q4", "a4"]);
    assert!(home.store.window(&session("webchat:none"), 3).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_window_begins_behind_what_was_folded() {
    let home = Home::new();
    let first = home.turn(S, "one", "1").await;
    home.turn(S, "two", "2").await;
    let messages = home.store.window(&session(S), 10).await.unwrap();
    let turn = home.open_turn(S, "three").await;
    let folded = Block::Folded {
        messages: 2,
        from: messages[0].id.0.to_string(),
        to: messages[1].id.0.to_string(),
        summary: "they counted".into(),
    };
    home.store.append(&turn, vec![Message::new(Role::System, vec![folded], start())]).await.unwrap();
    home.store.finish(finish(&turn, S, "3")).await.unwrap();
    assert_eq!(texts(&home.store.window(&session(S), 10).await.unwrap()), ["two", "2", "three", "", "3"]);
    assert_eq!(home.store.messages(&session(S), None, 10).await.unwrap().len(), 7);

    // When the branch goes back to before the folding, the old messages count again.
    let edit = TurnId::fresh();
    home.store.accept(&edit, &say(S, "uno"), Some(replacing("uno", &first))).await.unwrap();
    assert_eq!(texts(&home.store.window(&session(S), 10).await.unwrap()), ["uno"]);
}

#[tokio::test]
async fn what_a_crash_left_over_is_found_oldest_first() {
    let mut home = Home::new();
    let running = home.open_turn(S, "running").await;
    home.turn(S, "done", "done").await;
    let queued = TurnId::fresh();
    home.store.accept(&queued, &say("webchat:b", "queued"), None).await.unwrap();
    home.reopen().await;
    let left: Vec<_> =
        home.store.unfinished().await.unwrap().into_iter().map(|r| (r.turn, r.phase)).collect();
    assert_eq!(left, [(running.clone(), TurnPhase::Running), (queued.clone(), TurnPhase::Queued)]);

    // One that never began can be closed, with nothing in the transcript.
    home.store.finish(finish(&queued, "webchat:b", "interrupted")).await.unwrap();
    home.store.finish(finish(&running, S, "interrupted")).await.unwrap();
    assert!(home.store.unfinished().await.unwrap().is_empty());
}

#[tokio::test]
async fn the_next_turn_begins_with_the_end_of_the_one_before_it() {
    let mut home = Home::new();
    let one = home.open_turn(S, "one").await;
    let two = TurnId::fresh();
    home.store.accept(&two, &say(S, "two"), None).await.unwrap();
    let end = Finish { next: Some((two.clone(), begin("two"))), ..finish(&one, S, "1") };
    let finished = home.store.finish(end).await.unwrap();
    home.reopen().await;
    let messages = home.store.window(&session(S), 10).await.unwrap();
    assert_eq!(texts(&messages), ["one", "1", "two"]);
    assert_eq!(finished.messages, [messages[1].id]);
    assert_eq!(finished.next, Some(messages[2].id));
    let record = home.store.turn(&two).await.unwrap().unwrap();
    assert_eq!((record.phase, record.attempts), (TurnPhase::Running, 1));
    assert_eq!(home.store.session(&session(S)).await.unwrap().unwrap().message_count, 3);
}

#[tokio::test]
async fn a_next_turn_that_cannot_begin_does_not_touch_the_end_before_it() {
    let home = Home::new();
    let one = home.open_turn(S, "one").await;
    let stopped = TurnId::fresh();
    home.store.accept(&stopped, &say(S, "stopped"), None).await.unwrap();
    home.store.finish(Finish { messages: vec![], ..finish(&stopped, S, "") }).await.unwrap();
    let end = Finish { next: Some((stopped, begin("stopped"))), ..finish(&one, S, "1") };
    assert_eq!(home.store.finish(end).await.unwrap().next, None);

    let two = home.open_turn(S, "two").await;
    let end = Finish { next: Some((TurnId::fresh(), begin("removed"))), ..finish(&two, S, "2") };
    assert_eq!(home.store.finish(end).await.unwrap().next, None);
    let messages = home.store.window(&session(S), 10).await.unwrap();
    assert_eq!(texts(&messages), ["one", "1", "two", "2"]);
    assert!(home.store.unfinished().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_turn_that_does_not_exist_is_not_found() {
    let home = Home::new();
    let turn = TurnId::existing("nothing");
    assert!(home.store.begin(&turn, begin("x")).await.unwrap_err().is_not_found());
    assert!(home.store.append(&turn, vec![]).await.unwrap_err().is_not_found());
    assert!(home.store.finish(finish(&turn, S, "x")).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn a_block_of_a_newer_version_does_not_hide_the_conversation() {
    let home = Home::new();
    home.turn(S, "hello", "hi").await;
    let connection = rusqlite::Connection::open(home.path()).unwrap();
    let edit = |id: i64, content: &str| {
        connection
            .execute("UPDATE messages SET content = ?2 WHERE id = ?1", rusqlite::params![id, content])
            .unwrap()
    };
    edit(1, r#"[{"type":"hologram","x":1},{"type":"text","text":"still here"}]"#);
    edit(2, "broken");
    let messages = home.store.window(&session(S), 10).await.unwrap();
    assert!(matches!(&messages[0].content[0], Block::Notice { code, .. } if code == "unknown_block"));
    assert_eq!(messages[0].text(), "still here");
    assert!(matches!(&messages[1].content[0], Block::Notice { .. }));
    assert_eq!((messages[0].id, messages[1].id), (MessageId(1), MessageId(2)));
}
