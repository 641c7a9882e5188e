//! After a crash.

use std::sync::Arc;

use aethon_agent::Options;
use aethon_core::assistant::{Assistant, Posting};
use aethon_core::channel::ChannelRecords;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{
    Block, Destination, EndReason, Inbound, Message, Role, ToolCall, ToolResult, TurnEnd,
};
use aethon_core::session::{Transcripts as _, TurnLookup, TurnPhase, TurnRecord};
use aethon_core::surface::TurnEvent;
use aethon_core::tool::{Effect, Tool, ToolSpec};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::harness::{House, Plan, TestTool, What, calls, describe, now, quiet, says, session, with_id};

struct Left {
    id: Option<&'static str>,
    phase: TurnPhase,
    age: SignedDuration,
    attempts: u32,
}

const RECENT: SignedDuration = SignedDuration::from_secs(60);

fn user(turn: &TurnId, text: &str) -> Message {
    let mut message = Message::new(Role::User, vec![Block::text(text)], now());
    message.turn = Some(turn.clone());
    message
}

fn call(turn: &TurnId) -> Message {
    let call = ToolCall { id: "c0".into(), name: "shell".into(), input: json!({}), opaque: None };
    let mut message = Message::new(Role::Assistant, vec![Block::ToolCall(call)], now());
    message.turn = Some(turn.clone());
    message
}

fn leave(harness: &House, session: &SessionId, left: &Left, messages: fn(&TurnId) -> Vec<Message>) -> TurnId {
    let turn = TurnId::fresh();
    let mut inbound = match left.id {
        Some(id) => with_id(session, "question", id),
        None => Inbound::say(session.clone(), "question"),
    };
    inbound.deliver_to = Some(Destination { channel: "webchat".into(), recipient: None });
    let accepted_at: Timestamp = now() - left.age;
    let (phase, attempts) = (left.phase, left.attempts);
    let record = TurnRecord::new(turn.clone(), inbound, phase, accepted_at).with_attempts(attempts);
    harness.store.leave_behind(record, messages(&turn));
    turn
}

/// Recovers and returns how many go on; waits until they are done.
async fn recover(harness: &House) -> usize {
    let surface = quiet();
    let shown = surface.clone();
    let going_on = harness.engine.recover(move |_| shown.clone()).await.unwrap();
    if going_on > 0 {
        surface.saw(|event| matches!(event, TurnEvent::Done(_))).await;
    }
    going_on
}

#[tokio::test]
async fn turn_with_an_id_resumes_where_it_stopped() {
    let harness = House::new([says("found it")]);
    let session = session("a");
    let left = Left { id: Some("m1"), phase: TurnPhase::Running, age: RECENT, attempts: 1 };
    let turn = leave(&harness, &session, &left, |turn| vec![user(turn, "question"), call(turn)]);
    assert_eq!(recover(&harness).await, 1);
    let transcript = harness.transcript(&session);
    assert_eq!(transcript[..2], ["user: question", "assistant: call shell"]);
    assert!(transcript[2].contains("may or may not have run"), "{}", transcript[2]);
    assert_eq!(transcript[3], "assistant: found it");
    assert_eq!(transcript.len(), 4);
    harness.assert_well_formed(&session);
    let record = harness.store.turn(&turn).await.unwrap().unwrap();
    assert_eq!((record.phase, record.attempts), (TurnPhase::Done, 2));
    let again = harness.submit(with_id(&session, "question", "m1"), quiet()).await;
    assert_eq!((again.is_new, again.reply.wait().await.unwrap().text.as_str()), (false, "found it"));
}

#[tokio::test]
async fn a_call_that_waited_for_approval_has_not_run() {
    for attempts in [1, 3] {
        let harness = House::new([says("found it")]);
        let session = session("a");
        let left = Left { id: Some("m1"), phase: TurnPhase::Running, age: RECENT, attempts };
        let turn = leave(&harness, &session, &left, |turn| vec![user(turn, "question"), call(turn)]);
        harness.store.put("approvals", &format!("{turn}:c0"), "", None).await.unwrap();
        recover(&harness).await;
        let transcript = harness.transcript(&session);
        assert!(transcript[2].contains("it has not run"), "{}", transcript[2]);
        // Another call of the turn may have the same id.
        assert!(harness.store.list("approvals", "", 10).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn cut_off_calls_run_again_if_the_tool_recognises_repeats() {
    let object = || json!({"type": "object"});
    let look = TestTool::reading("look", What::Count);
    let note = TestTool::of(ToolSpec::new("note", "a tool", object()).repeatable(), What::Count);
    let shell = TestTool::new("shell", What::Count);
    let asks = ToolSpec::new("asks", "a tool", object()).reading_only().with_effect(Effect::Consults);
    let asks = TestTool::of(asks, What::Count);
    let tools: Vec<Arc<dyn Tool>> = vec![look.clone(), note.clone(), shell.clone(), asks.clone()];
    let harness = House::with([says("found it")], Plan { tools, ..Plan::default() });
    let session = session("a");
    let left = Left { id: Some("m1"), phase: TurnPhase::Running, age: RECENT, attempts: 1 };
    leave(&harness, &session, &left, |turn| {
        let calls = ["look", "note", "shell", "asks"].map(|name| {
            let input = json!({});
            Block::ToolCall(ToolCall { id: format!("c-{name}"), name: name.into(), input, opaque: None })
        });
        let mut calls = Message::new(Role::Assistant, calls.to_vec(), now());
        calls.turn = Some(turn.clone());
        vec![user(turn, "question"), calls]
    });
    assert_eq!(recover(&harness).await, 1);
    assert_eq!([look.ran(), note.ran(), shell.ran(), asks.ran()], [1, 1, 0, 0]);
    let messages = harness.store.messages(&session, None, 10).await.unwrap();
    let results: Vec<(&str, bool)> = messages[2]
        .content
        .iter()
        .filter_map(|block| match block {
            Block::ToolResult(result) => {
                Some((result.name.as_str(), result.output.contains("may or may not")))
            }
            _ => None,
        })
        .collect();
    assert_eq!(results, [("look", false), ("note", false), ("shell", true), ("asks", true)]);
    assert_eq!(harness.transcript(&session).last().unwrap(), "assistant: found it");
    harness.assert_well_formed(&session);
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test]
async fn call_ids_of_a_turn_differ_before_and_after_a_restart() {
    let look = TestTool::reading("look", What::Count);
    let tools: Vec<Arc<dyn Tool>> = vec![look.clone()];
    let responses = [calls(&["look"]), calls(&["look"]), says("found it")];
    let harness = House::with(responses, Plan { tools, ..Plan::default() });
    let session = session("a");
    let left = Left { id: Some("m1"), phase: TurnPhase::Running, age: RECENT, attempts: 1 };
    leave(&harness, &session, &left, |turn| {
        let call = ToolCall { id: "c0".into(), name: "look".into(), input: json!({}), opaque: None };
        let mut calls = Message::new(Role::Assistant, vec![Block::ToolCall(call)], now());
        calls.turn = Some(turn.clone());
        vec![user(turn, "question"), calls]
    });
    assert_eq!(recover(&harness).await, 1);
    assert_eq!(look.ran(), 3);
    let messages = harness.store.messages(&session, None, 10).await.unwrap();
    let ids: Vec<&str> =
        messages.iter().flat_map(|message| message.tool_calls()).map(|call| call.id.as_str()).collect();
    let different: std::collections::HashSet<&&str> = ids.iter().collect();
    assert_eq!((ids[0], ids.len(), different.len()), ("c0", 3, 3), "{ids:?}");
    harness.assert_well_formed(&session);
}

#[tokio::test]
async fn waiting_turn_begins_after_a_restart() {
    let harness = House::new([says("here")]);
    let session = session("a");
    let left = Left { id: Some("m1"), phase: TurnPhase::Queued, age: RECENT, attempts: 0 };
    leave(&harness, &session, &left, |_| Vec::new());
    assert_eq!(recover(&harness).await, 1);
    assert_eq!(harness.transcript(&session), ["user: question", "assistant: here"]);
}

#[tokio::test]
async fn waiting_turn_begins_after_any_pause() {
    let harness = House::new([says("here"), says("and here")]);
    let session = session("a");
    let month = SignedDuration::from_hours(30 * 24);
    for id in ["m1", "m2"] {
        let left = Left { id: Some(id), phase: TurnPhase::Queued, age: month, attempts: 0 };
        leave(&harness, &session, &left, |_| Vec::new());
    }
    assert_eq!(recover(&harness).await, 2);
    harness.submit(with_id(&session, "question", "m2"), quiet()).await.reply.wait().await.unwrap();
    assert_eq!(
        harness.transcript(&session),
        ["user: question", "assistant: here", "user: question", "assistant: and here"]
    );
}

#[tokio::test]
async fn other_turns_are_closed_and_marked_as_interrupted() {
    let old = SignedDuration::from_mins(16);
    let cases = [
        Left { id: None, phase: TurnPhase::Running, age: RECENT, attempts: 1 },
        Left { id: Some("m"), phase: TurnPhase::Running, age: old, attempts: 1 },
        Left { id: Some("m"), phase: TurnPhase::Running, age: RECENT, attempts: 3 },
        Left { id: None, phase: TurnPhase::Queued, age: RECENT, attempts: 0 },
    ];
    for left in cases {
        let harness = House::new([]);
        let session = session("a");
        let messages = if left.phase == TurnPhase::Running {
            |turn: &TurnId| vec![user(turn, "question"), call(turn)]
        } else {
            |_: &TurnId| Vec::new()
        };
        let turn = leave(&harness, &session, &left, messages);
        assert_eq!(recover(&harness).await, 0);
        let transcript = harness.transcript(&session);
        assert_eq!(
            (transcript.first().unwrap().as_str(), transcript.last().unwrap().as_str()),
            ("user: question", "assistant: (interrupted)")
        );
        harness.assert_well_formed(&session);
        assert!(harness.model.requests().is_empty());
        let reply = harness.store.turn(&turn).await.unwrap().unwrap().reply.unwrap();
        assert_eq!((reply.end, reply.failure.unwrap().code.as_str()), (TurnEnd::Error, "interrupted"));
        assert_eq!(harness.store.deliveries().len(), 1);
        assert!(harness.store.unfinished().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn second_delivery_resumes_an_abandoned_turn() {
    let harness = House::new([says("at last")]);
    let session = session("a");
    let left = Left { id: Some("m1"), phase: TurnPhase::Running, age: RECENT, attempts: 1 };
    leave(&harness, &session, &left, |turn| vec![user(turn, "question")]);
    let again = harness.submit(with_id(&session, "question", "m1"), quiet()).await;
    assert!(!again.is_new);
    assert_eq!(again.reply.wait().await.unwrap().text, "at last");
    assert_eq!(harness.transcript(&session), ["user: question", "assistant: at last"]);
}

#[tokio::test]
async fn begun_turns_resume_before_waiting_ones() {
    let harness = House::new([says("to the begun"), says("to the waiting")]);
    let session = session("a");
    // The one that waits was accepted first: two senders, and the other one's message got its place first.
    let waiting = Left { id: Some("m1"), phase: TurnPhase::Queued, age: RECENT, attempts: 0 };
    let plain = Left { id: None, phase: TurnPhase::Queued, age: RECENT, attempts: 0 };
    let begun = Left { id: Some("m3"), phase: TurnPhase::Running, age: RECENT, attempts: 1 };
    leave(&harness, &session, &waiting, |_| vec![]);
    let plain = leave(&harness, &session, &plain, |_| vec![]);
    leave(&harness, &session, &begun, |turn| vec![user(turn, "begun"), call(turn)]);
    assert_eq!(recover(&harness).await, 2);
    let last = with_id(&session, "question", "m1");
    harness.submit(last, quiet()).await.reply.wait().await.unwrap();
    harness.ask(&session, "another").await;
    let seen = harness.model.requests().last().unwrap().messages.iter().map(|m| m.text()).collect::<Vec<_>>();
    assert_eq!(seen.iter().filter(|text| *text == "question").count(), 2, "the closed one, too: {seen:?}");
    let transcript = harness.transcript(&session);
    assert_eq!(transcript[..2], ["user: begun", "assistant: call shell"]);
    assert!(transcript[2].contains("may or may not have run"), "{}", transcript[2]);
    assert_eq!(transcript[3..6], ["assistant: to the begun", "user: question", "assistant: to the waiting"]);
    assert_eq!(
        transcript[6..8],
        ["user: question", "assistant: (interrupted)"],
        "without an id it is closed, in its place"
    );
    harness.assert_well_formed(&session);
    let record = harness.store.turn(&plain).await.unwrap().unwrap();
    assert_eq!(record.reply.unwrap().failure.unwrap().code, EndReason::Interrupted);
}

#[tokio::test]
async fn a_message_posted_behind_a_begun_question_is_seen_before_it() {
    let harness = House::new([says("answer")]);
    let session = session("a");
    let begun = Left { id: Some("m1"), phase: TurnPhase::Running, age: RECENT, attempts: 1 };
    leave(&harness, &session, &begun, |turn| vec![user(turn, "question")]);
    assert!(harness.engine.post(&session, "p1", &Posting::new("by the way")).await.unwrap());
    assert_eq!(recover(&harness).await, 1);
    let seen = harness.asked()[0].messages.iter().map(|message| message.text()).collect::<Vec<_>>();
    assert_eq!(seen, ["by the way", "question"]);
}

#[tokio::test]
async fn resumed_turn_sees_all_messages_that_no_summary_covers() {
    let options = Options::default().with(|options| options.window_messages = 6);
    let harness = House::with([says("answer")], Plan { options, ..Plan::default() });
    let session = session("a");
    let begun = Left { id: Some("m1"), phase: TurnPhase::Running, age: RECENT, attempts: 1 };
    leave(&harness, &session, &begun, |turn| {
        let of_turn = |role, block| {
            let mut message = Message::new(role, vec![block], now());
            message.turn = Some(turn.clone());
            message
        };
        let summary =
            Block::Folded { messages: 1, from: "1".into(), to: "1".into(), summary: "before".into() };
        let result = ToolResult::failed(call(turn).tool_calls().next().unwrap(), "no");
        let step = || [call(turn), of_turn(Role::Tool, Block::ToolResult(result.clone()))];
        let mut messages = vec![user(&TurnId::fresh(), "folded"), user(turn, "question")];
        messages.extend(step());
        messages.push(of_turn(Role::System, summary));
        messages.extend(step().into_iter().chain(step()));
        messages
    });
    assert_eq!(recover(&harness).await, 1);
    let seen = harness.asked()[0].messages.iter().map(|message| describe(message)).collect::<Vec<_>>();
    // More was read than the model sees at once, so all messages that no summary covers are summarised.
    let summary = r#"system: Folded { messages: 5, from: "1", to: "7", summary: "answer" }"#;
    assert_eq!(seen, [summary, "user: question", "assistant: call shell", "tool: result no"]);
    harness.assert_well_formed(&session);
}
