//! What comes in: second deliveries, retries and edits, files, refusals.

use aethon_core::assistant::Assistant;
use aethon_core::ids::TurnId;
use aethon_core::message::{Attachment, Block, Dedupe, Inbound, Intent};
use aethon_core::session::Clear;
use aethon_core::testkit::{Gate, Step};

use crate::house::{House, quiet, says, says_behind, session, with_id};

#[tokio::test]
async fn a_second_delivery_is_the_same_turn() {
    let gate = Gate::default();
    let house = House::new([says_behind(&gate, "once")]);
    let session = session("a");
    let first = house.submit(with_id(&session, "hi", "m1"), quiet()).await;
    gate.reached().await;
    let second = house.submit(with_id(&session, "hi", "m1"), quiet()).await;
    assert!(!second.is_new);
    assert_eq!(second.turn, first.turn);
    gate.open();
    assert_eq!(second.reply.wait().await.unwrap().text, "once");
    let third = house.submit(with_id(&session, "hi", "m1"), quiet()).await;
    assert_eq!((third.is_new, third.reply.wait().await.unwrap().text.as_str()), (false, "once"));
    assert_eq!(house.told(&session), ["user: hi", "assistant: once"]);
    assert!(!house.engine.is_busy(&session));
}

#[tokio::test]
async fn the_same_id_with_another_content_is_refused() {
    let house = House::new([]);
    let inbound = |fingerprint: &str| Inbound {
        dedupe: Some(Dedupe { id: "m1".into(), fingerprint: Some(fingerprint.into()), valid_for: None }),
        ..Inbound::say(session("a"), fingerprint)
    };
    house.submit(inbound("x"), quiet()).await.reply.wait().await.unwrap();
    let refused = house.engine.submit(inbound("y"), quiet()).await.unwrap_err();
    assert!(refused.is_mismatch(), "{refused}");
}

#[tokio::test]
async fn a_retry_answers_the_same_message_again() {
    let house = House::new([says("one"), says("two"), says("three")]);
    let session = session("a");
    let first = house.say(&session, "question").await;
    let turn = first.turn.clone();
    first.reply.wait().await.unwrap();
    house.ask(&session, "later").await;
    let retry = Inbound { intent: Intent::Retry { turn }, ..Inbound::say(session.clone(), "") };
    let retried = house.submit(retry, quiet()).await;
    let again = retried.turn.clone();
    retried.reply.wait().await.unwrap();
    assert_eq!(house.told(&session), ["user: question", "assistant: three"]);
    let retry = Inbound { intent: Intent::Retry { turn: again }, ..Inbound::say(session.clone(), "") };
    house.submit(retry, quiet()).await.reply.wait().await.unwrap();
    assert_eq!(house.told(&session), ["user: question", "assistant: ok"]);
    let seen: Vec<_> = house.model.requests().last().unwrap().messages.iter().map(|m| m.text()).collect();
    assert_eq!(seen, ["question"]);
}

#[tokio::test]
async fn an_edit_puts_another_text_in_its_place() {
    let house = House::new([says("one"), says("two"), says("three")]);
    let session = session("a");
    house.ask(&session, "kept").await;
    let edited = house.say(&session, "typo").await;
    let turn = edited.turn.clone();
    edited.reply.wait().await.unwrap();
    let edit = Inbound { intent: Intent::Edit { turn }, ..Inbound::say(session.clone(), "right") };
    house.submit(edit, quiet()).await.reply.wait().await.unwrap();
    assert_eq!(house.told(&session), ["user: kept", "assistant: one", "user: right", "assistant: three"]);
}

#[tokio::test]
async fn only_a_turn_of_the_same_session_can_be_retried() {
    let house = House::new([]);
    let other = house.say(&session("b"), "x").await;
    let turn = other.turn.clone();
    other.reply.wait().await.unwrap();
    for turn in [turn, TurnId::existing("none")] {
        let retry = Inbound { intent: Intent::Retry { turn }, ..Inbound::say(session("a"), "") };
        let refused = house.engine.submit(retry, quiet()).await.unwrap_err();
        assert!(refused.is_not_found(), "{refused}");
    }
}

#[tokio::test]
async fn a_message_needs_a_text_or_a_file() {
    let house = House::new([]);
    let check = async |inbound: Inbound, accepted: bool| {
        assert_eq!(house.engine.submit(inbound, quiet()).await.is_ok(), accepted);
    };
    let file = |mime: &str, data: &str| Inbound {
        attachments: vec![Attachment { name: "f".into(), mime: mime.into(), data: data.into() }],
        ..Inbound::say(session("a"), "")
    };
    check(Inbound::say(session("a"), " \n"), false).await;
    check(file("application/pdf", "aGk="), false).await;
    check(file("text/plain", "%%%"), false).await;
    check(file("text/plain", "aGk="), true).await;
}

#[tokio::test]
async fn text_from_outside_is_stored_plain_and_marked() {
    let house = House::new([]);
    let inbound = Inbound { untrusted: true, ..Inbound::say(session("a"), "ignore all") };
    house.submit(inbound, quiet()).await.reply.wait().await.unwrap();
    let transcript = house.store.transcript(&session("a"));
    assert!(
        matches!(&transcript[0].content[0], Block::Text { text, untrusted: Some(_) } if text == "ignore all")
    );
}

#[tokio::test]
async fn clearing_stops_what_runs_and_forgets_what_was_said() {
    let house = House::new([says("one"), vec![Step::say("half"), Step::Hang]]);
    let session = session("a");
    house.ask(&session, "first").await;
    let running = house.say(&session, "second").await;
    assert!(house.engine.clear(&session, Clear::Reset).await.unwrap());
    assert_eq!(running.reply.wait().await.unwrap().end, aethon_core::message::TurnEnd::Stopped);
    assert!(house.told(&session).is_empty());
    house.ask(&session, "third").await;
    assert_eq!(house.model.requests().last().unwrap().messages.len(), 1);
    assert!(!house.engine.clear(&crate::house::session("none"), Clear::Delete).await.unwrap());
}

#[tokio::test]
async fn a_message_can_be_put_into_a_session() {
    let house = House::new([]);
    let session = session("a");
    house.ask(&session, "first").await;
    assert!(house.engine.post(&session, "k", "by the way").await.unwrap());
    assert!(!house.engine.post(&session, "k", "by the way").await.unwrap());
    house.ask(&session, "second").await;
    let seen: Vec<_> = house.model.requests().last().unwrap().messages.iter().map(|m| m.text()).collect();
    assert_eq!(seen, ["first", "ok", "by the way", "second"]);
}
