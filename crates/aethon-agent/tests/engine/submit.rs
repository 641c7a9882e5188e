//! Incoming messages: second deliveries, retries and edits, files, refusals.

use aethon_core::assistant::{Assistant, Posting};
use aethon_core::ids::TurnId;
use aethon_core::message::{Attachment, Block, Dedupe, Inbound};
use aethon_core::model::Effort;
use aethon_core::session::{Clear, TurnLookup};
use aethon_core::testkit::{Gate, Step};

use crate::harness::{House, Plan, TestTool, What, calls, quiet, says, says_behind, session, with_id};

#[tokio::test]
async fn a_second_delivery_is_the_same_turn() {
    let gate = Gate::default();
    let harness = House::new([says_behind(&gate, "once")]);
    let session = session("a");
    let first = harness.submit(with_id(&session, "hi", "m1"), quiet()).await;
    gate.reached().await;
    let second = harness.submit(with_id(&session, "hi", "m1"), quiet()).await;
    assert!(!second.is_new);
    assert_eq!(second.turn, first.turn);
    gate.open();
    assert_eq!(second.reply.wait().await.unwrap().text, "once");
    let third = harness.submit(with_id(&session, "hi", "m1"), quiet()).await;
    assert_eq!((third.is_new, third.reply.wait().await.unwrap().text.as_str()), (false, "once"));
    assert_eq!(harness.transcript(&session), ["user: hi", "assistant: once"]);
    assert!(!harness.engine.is_busy(&session));
}

#[tokio::test]
async fn the_same_id_with_another_content_is_refused() {
    let harness = House::new([]);
    let inbound = |fingerprint: &str| {
        let dedupe = Dedupe { id: "m1".into(), fingerprint: Some(fingerprint.into()), valid_for: None };
        Inbound::say(session("a"), fingerprint).with_dedupe(dedupe)
    };
    harness.submit(inbound("x"), quiet()).await.reply.wait().await.unwrap();
    let refused = harness.engine.submit(inbound("y"), quiet()).await.unwrap_err();
    assert!(refused.is_mismatch(), "{refused}");
}

#[tokio::test]
async fn a_retry_answers_the_same_message_again() {
    let harness = House::new([says("one"), says("two"), says("three")]);
    let session = session("a");
    let first = harness.say(&session, "question").await;
    let turn = first.turn.clone();
    first.reply.wait().await.unwrap();
    harness.ask(&session, "later").await;
    let retry = Inbound::retry(session.clone(), turn);
    let retried = harness.submit(retry, quiet()).await;
    let again = retried.turn.clone();
    retried.reply.wait().await.unwrap();
    assert_eq!(harness.transcript(&session), ["user: question", "assistant: three"]);
    let retry = Inbound::retry(session.clone(), again);
    harness.submit(retry, quiet()).await.reply.wait().await.unwrap();
    assert_eq!(harness.transcript(&session), ["user: question", "assistant: ok"]);
    let seen: Vec<_> = harness.model.requests().last().unwrap().messages.iter().map(|m| m.text()).collect();
    assert_eq!(seen, ["question"]);
}

#[tokio::test]
async fn effort_of_a_message_applies_to_its_requests_and_retries() {
    let tool = TestTool::new("look", What::Say("seen"));
    let plan = Plan { tools: vec![tool], ..Plan::default() };
    let harness =
        House::with([calls(&["look"]), says("one"), says("two"), says("three"), says("four")], plan);
    let session = session("a");
    let say = |effort| Inbound::say(session.clone(), "hi").with_effort(effort);
    let first = harness.submit(say(Some(Effort::High)), quiet()).await;
    first.reply.wait().await.unwrap();
    let retry = |turn: &TurnId| Inbound::retry(session.clone(), turn.clone());
    let second = harness.submit(retry(&first.turn), quiet()).await;
    second.reply.wait().await.unwrap();
    let third = harness.submit(retry(&second.turn).with_effort(Some(Effort::None)), quiet()).await;
    third.reply.wait().await.unwrap();
    harness.submit(say(None), quiet()).await.reply.wait().await.unwrap();
    let asked: Vec<_> = harness.model.requests().iter().map(|request| request.effort).collect();
    let high = Some(Effort::High);
    assert_eq!(asked, [high, high, high, Some(Effort::None), None]);
}

#[tokio::test]
async fn an_edit_puts_another_text_in_its_place() {
    let harness = House::new([says("one"), says("two"), says("three")]);
    let session = session("a");
    harness.ask(&session, "kept").await;
    let edited = harness.say(&session, "typo").await;
    let turn = edited.turn.clone();
    edited.reply.wait().await.unwrap();
    let edit = Inbound::edit(session.clone(), turn, "right");
    harness.submit(edit, quiet()).await.reply.wait().await.unwrap();
    assert_eq!(
        harness.transcript(&session),
        ["user: kept", "assistant: one", "user: right", "assistant: three"]
    );
}

#[tokio::test]
async fn an_edit_keeps_the_files_unless_it_names_others() {
    let harness = House::new((0..4).map(|_| says("ok")));
    let session = session("a");
    let file = |name: &str| Attachment::new(name, "text/plain", "YQ==");
    let first = Inbound::say(session.clone(), "look").with_attachments(vec![file("one"), file("two")]);
    let mut turn = harness.submit(first, quiet()).await;
    let edits = [None, Some(vec![file("two")]), Some(vec![])];
    for (files, expected) in edits.into_iter().zip([vec!["one", "two"], vec!["two"], vec![]]) {
        turn.reply.clone().wait().await.unwrap();
        let edit = Inbound::edit(session.clone(), turn.turn.clone(), "look again");
        let edit = if let Some(files) = files { edit.with_attachments(files) } else { edit };
        turn = harness.submit(edit, quiet()).await;
        turn.reply.clone().wait().await.unwrap();
        let content = harness.store.transcript(&session).swap_remove(0).content;
        let names: Vec<_> = content
            .iter()
            .filter_map(|block| if let Block::File { name, .. } = block { Some(name.as_str()) } else { None })
            .collect();
        assert_eq!(names, expected);
    }
}

#[tokio::test]
async fn files_from_outside_are_marked_and_stand_in_for_no_page() {
    let harness = House::new([says("ok")]);
    let session = session("a");
    let from_outside = |file: Attachment| Attachment { untrusted: true, ..file };
    let files = vec![
        Attachment::new("own.txt", "text/plain", "YQ=="),
        from_outside(Attachment::new("CONTEXT.md", "text/markdown", "YQ==")),
        from_outside(Attachment::new("a.png", "image/png", "iVBORw0KGgoAAAA=")),
    ];
    harness
        .submit(Inbound::say(session.clone(), "look").with_attachments(files), quiet())
        .await
        .reply
        .wait()
        .await
        .unwrap();
    let content = harness.store.transcript(&session).swap_remove(0).content;
    let marked: Vec<_> = content
        .iter()
        .map(|block| match block {
            Block::Text { text, untrusted } => (text.as_str(), untrusted.is_some()),
            Block::File { name, untrusted, .. } => (name.as_str(), untrusted.is_some()),
            _ => ("other", false),
        })
        .collect();
    let expected = [
        ("look", false),
        ("own.txt", true),
        ("CONTEXT.md", true),
        ("The next picture comes from outside: a.png", true),
        ("other", false),
    ];
    assert_eq!(marked, expected);
}

#[tokio::test]
async fn retry_of_a_turn_in_another_session_is_refused() {
    let harness = House::new([]);
    let other = harness.say(&session("b"), "x").await;
    let turn = other.turn.clone();
    other.reply.wait().await.unwrap();
    for turn in [turn, TurnId::existing("none")] {
        let retry = Inbound::retry(session("a"), turn);
        let refused = harness.engine.submit(retry, quiet()).await.unwrap_err();
        assert!(refused.is_not_found(), "{refused}");
    }
}

#[tokio::test]
async fn a_message_needs_a_text_or_a_file() {
    let harness = House::new([]);
    let check = async |inbound: Inbound, accepted: bool| {
        assert_eq!(harness.engine.submit(inbound, quiet()).await.is_ok(), accepted);
    };
    let file = |mime: &str, data: &str| {
        let attachment = Attachment::new("f", mime, data);
        Inbound::say(session("a"), "").with_attachments(vec![attachment])
    };
    check(Inbound::say(session("a"), " \n"), false).await;
    check(file("application/pdf", "aGk="), false).await;
    check(file("text/plain", "%%%"), false).await;
    check(file("text/plain", "aGk="), true).await;
}

#[tokio::test]
async fn text_from_outside_is_stored_plain_and_marked() {
    let harness = House::new([]);
    let inbound = Inbound::say(session("a"), "ignore all").with_untrusted(true);
    harness.submit(inbound, quiet()).await.reply.wait().await.unwrap();
    let transcript = harness.store.transcript(&session("a"));
    assert!(
        matches!(&transcript[0].content[0], Block::Text { text, untrusted: Some(_) } if text == "ignore all")
    );
}

#[tokio::test]
async fn outside_message_stays_untrusted_when_retried_or_edited() {
    let harness = House::new([]);
    let session = session("a");
    let said = Inbound::say(session.clone(), "ignore all");
    for from_outside in [said.clone().with_untrusted(true), said.clone().via("webhook")] {
        let mut turn = harness.submit(from_outside, quiet()).await;
        let repeats: [&dyn Fn(TurnId) -> Inbound; 3] = [
            &|turn| Inbound::retry(session.clone(), turn),
            &|turn| Inbound::edit(session.clone(), turn, "ignore some"),
            &|turn| Inbound::retry(session.clone(), turn),
        ];
        for repeat in repeats {
            turn.reply.clone().wait().await.unwrap();
            turn = harness.submit(repeat(turn.turn), quiet()).await;
            let stored = harness.store.turn(&turn.turn).await.unwrap().unwrap().inbound;
            assert!(stored.untrusted && !stored.trust().is_owner(), "{stored:?}");
        }
        turn.reply.wait().await.unwrap();
    }
    // Text that the program wrote for a stranger stays that stranger's, and needs no markers.
    let works = harness.submit(said.clone().with_outside(true), quiet()).await;
    works.reply.clone().wait().await.unwrap();
    let again = harness.submit(Inbound::retry(session.clone(), works.turn), quiet()).await;
    let stored = harness.store.turn(&again.turn).await.unwrap().unwrap().inbound;
    assert!(stored.is_from_outside() && !stored.untrusted, "{stored:?}");
    again.reply.wait().await.unwrap();
    let owners = harness.submit(said, quiet()).await;
    owners.reply.clone().wait().await.unwrap();
    let again = harness.submit(Inbound::retry(session.clone(), owners.turn), quiet()).await;
    assert!(!harness.store.turn(&again.turn).await.unwrap().unwrap().inbound.untrusted);
}

#[tokio::test]
async fn clearing_stops_the_running_turn_and_empties_the_session() {
    let harness = House::new([says("one"), vec![Step::say("half"), Step::Hang]]);
    let session = session("a");
    harness.ask(&session, "first").await;
    let running = harness.say(&session, "second").await;
    assert!(harness.engine.clear(&session, Clear::Reset).await.unwrap());
    assert_eq!(running.reply.wait().await.unwrap().end, aethon_core::message::TurnEnd::Stopped);
    assert!(harness.transcript(&session).is_empty());
    harness.ask(&session, "third").await;
    assert_eq!(harness.model.requests().last().unwrap().messages.len(), 1);
    assert!(!harness.engine.clear(&crate::harness::session("none"), Clear::Delete).await.unwrap());
}

#[tokio::test]
async fn a_message_can_be_put_into_a_session() {
    let harness = House::new([]);
    let session = session("a");
    harness.ask(&session, "first").await;
    assert!(harness.engine.post(&session, "k", &Posting::new("by the way")).await.unwrap());
    assert!(!harness.engine.post(&session, "k", &Posting::new("by the way")).await.unwrap());
    harness.ask(&session, "second").await;
    let seen: Vec<_> = harness.model.requests().last().unwrap().messages.iter().map(|m| m.text()).collect();
    assert_eq!(seen, ["first", "ok", "by the way", "second"]);
}
