//! The part of a conversation that a model sees.

use std::sync::Arc;

use aethon_agent::Options;
use aethon_core::assistant::{Assistant, Posting};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, EndReason, Inbound, Message, Role, ToolCall};
use aethon_core::session::{Transcripts, TurnPhase, TurnRecord};
use serde_json::json;
use tokio::sync::Barrier;

use crate::harness::{House, Plan, TestTool, What, calls, describe, now, says, session};

#[tokio::test]
async fn cost_of_a_turn_does_not_depend_on_the_history() {
    let options = Options::default().with(|options| {
        options.window_messages = 20;
        options.keep_recent = 4;
    });
    let harness = House::with([], Plan { options, ..Plan::default() });
    let session = session("a");
    let mut folds = 0;
    for turn in 0..200 {
        let before = harness.store.calls().len();
        harness.ask(&session, &format!("message {turn}")).await;
        let calls = &harness.store.calls()[before..];
        let has_folded = calls == ["accept", "append", "finish"];
        folds += usize::from(has_folded);
        assert!(turn == 0 || has_folded || calls == ["accept", "finish"], "{turn}: {calls:?}");
    }
    assert!((20..60).contains(&folds), "{folds}");
    let sizes: Vec<_> = harness.asked().iter().map(|request| request.messages.len()).collect();
    assert!(sizes.iter().all(|size| *size <= 20));
    assert!(sizes[100..].iter().any(|size| *size > 15));
}

#[tokio::test]
async fn start_of_the_window_is_stable_for_many_turns() {
    let options = Options::default().with(|options| options.window_messages = 40);
    let harness = House::with([], Plan { options, ..Plan::default() });
    for turn in 0..100 {
        harness.ask(&session("a"), &format!("message {turn}")).await;
    }
    let fronts: Vec<_> = harness.asked().iter().map(|request| describe(&request.messages[0])).collect();
    let changes = fronts.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes > 0 && changes < 20, "{changes}");
    let systems: Vec<_> = harness.asked().iter().map(|request| request.system.clone()).collect();
    assert!(systems.windows(2).all(|pair| std::sync::Arc::ptr_eq(&pair[0], &pair[1])));
}

#[tokio::test]
async fn cut_never_separates_a_call_from_its_result() {
    let responses = (0..40)
        .flat_map(|n| if n % 2 == 0 { vec![calls(&["t"]), says("done")] } else { vec![says("plain")] });
    let tools = vec![TestTool::new("t", What::Count) as _];
    let options = Options::default().with(|options| options.window_messages = 15);
    let harness = House::with(responses, Plan { tools, options, ..Plan::default() });
    let session = session("a");
    for turn in 0..40 {
        harness.ask(&session, &format!("message {turn}")).await;
    }
    harness.assert_well_formed(&session);
    for request in harness.asked() {
        assert!(matches!(request.messages[0].role, Role::User | Role::System));
        assert!(request.turn_start < request.messages.len());
        assert_eq!(request.messages[request.turn_start].role, Role::User);
        assert_eq!(request.messages[request.turn_start].turn.as_ref(), Some(&request.turn));
    }
}

#[tokio::test]
async fn requests_fit_the_context_window_of_the_model() {
    let harness = House::with([], Plan { context_window: Some(4_000), ..Plan::default() });
    for _ in 0..30 {
        harness.ask(&session("a"), &"word ".repeat(200)).await;
    }
    for request in harness.model.requests() {
        let chars: usize = request.messages.iter().map(|message| message.text().len()).sum();
        assert!(chars / 4 < 4_000, "{chars}");
    }
    assert!(harness.asked().last().unwrap().messages.len() > 2);
}

#[tokio::test]
async fn a_new_process_reads_what_the_old_one_stored() {
    let harness = House::new([says("one")]);
    harness.ask(&session("a"), "first").await;
    let next = House::with([], Plan { store: Some(harness.store.clone()), ..Plan::default() });
    next.ask(&session("a"), "second").await;
    let seen: Vec<_> = next.model.requests()[0].messages.iter().map(|message| message.text()).collect();
    assert_eq!(seen, ["first", "one", "second"]);
    assert_eq!(next.model.requests()[0].turn_start, 2);
}

#[tokio::test]
async fn broken_off_history_is_repaired_for_the_model() {
    let harness = House::new([]);
    let (session, turn) = (session("a"), TurnId::fresh());
    let call = ToolCall { id: "c0".into(), name: "t".into(), input: json!({}), opaque: None };
    let messages = vec![
        Message::new(Role::Tool, Vec::new(), now()),
        Message::new(Role::User, vec![Block::text("before")], now()),
        Message::new(Role::Assistant, vec![Block::ToolCall(call)], now()),
    ];
    let inbound = Inbound::say(session.clone(), "before");
    let (phase, attempts) = (TurnPhase::Done, 1);
    let record = TurnRecord::new(turn, inbound, phase, now()).with_attempts(attempts);
    harness.store.leave_behind(record, messages);
    harness.ask(&session, "after").await;
    let seen: Vec<_> = harness.model.requests()[0].messages.iter().map(|message| describe(message)).collect();
    let expected = [
        "user: before",
        "assistant: call t",
        "tool: result interrupted; it may or may not have run",
        "user: after",
    ];
    assert_eq!(seen, expected);
}

/// Returns the content of the next turn's request, when a message is posted while a tool of the turn before runs.
async fn asked_after(post: impl AsyncFnOnce(&House, &SessionId)) -> Vec<String> {
    let here = Arc::new(Barrier::new(2));
    let tools = vec![TestTool::new("t", What::Meet(here.clone())) as _];
    let (plan, session) = (Plan { tools, ..Plan::default() }, session("a"));
    let harness = House::with([calls(&["t"]), says("done"), says("and on")], plan);
    let first = harness.say(&session, "first").await;
    while harness.transcript(&session).len() < 2 {
        tokio::task::yield_now().await;
    }
    post(&harness, &session).await;
    here.wait().await;
    first.reply.wait().await.unwrap();
    harness.ask(&session, "second").await;
    harness.asked()[2].messages.iter().map(|message| describe(message)).collect()
}

#[tokio::test]
async fn post_while_a_tool_runs_does_not_split_call_and_result() {
    let seen = asked_after(async |harness, session| {
        assert!(harness.engine.post(session, "p1", &Posting::new("by the way")).await.unwrap());
    });
    let expected = [
        "user: first",
        "assistant: call t",
        "tool: result met",
        "assistant: by the way",
        "assistant: done",
        "user: second",
    ];
    assert_eq!(seen.await, expected);
}

#[tokio::test]
async fn post_of_another_program_is_in_the_next_request() {
    let seen = asked_after(async |harness, session| {
        // Straight into the storage, as another program does.
        let news = Message::new(Role::Assistant, vec![Block::text("by the way")], now());
        harness.store.post(session, "p1", news).await.unwrap().unwrap();
    });
    let seen = seen.await;
    assert!(seen.contains(&"assistant: by the way".to_owned()), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_could_not_be_stored_does_not_cost_the_history() {
    let tools = vec![TestTool::new("t", What::Count) as _];
    let harness = House::with([says("one"), calls(&["t"]), says("three")], Plan { tools, ..Plan::default() });
    let session = session("a");
    harness.ask(&session, "first").await;
    harness.store.fault("append", 4);
    let failed = harness.ask(&session, "second").await;
    assert_eq!(failed.failure.as_ref().unwrap().code, EndReason::Storage);
    harness.ask(&session, "third").await;
    let seen: Vec<_> = harness.model.requests()[2].messages.iter().map(|message| message.text()).collect();
    assert_eq!(seen, ["first", "one", "second", "third"]);
    harness.assert_well_formed(&session);
}
