//! A storage that fails for longer than a moment, and an end of the program in the middle of a turn.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::Assistant;
use aethon_core::message::{EndReason, Inbound, TurnEnd};
use aethon_core::session::{TurnLookup, TurnPhase};
use aethon_core::surface::TurnEvent;
use aethon_core::testkit::{CollectingSurface, Gate, Step};
use aethon_core::tool::ToolSpec;
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::harness::{
    House, Plan, THREE, TestTool, What, calls, quiet, says, says_behind, session, shown, three, with_id,
};

/// Longer than any pause between two attempts.
const A_MINUTE: Duration = Duration::from_secs(60);

fn is_done(surface: &CollectingSurface) -> bool {
    shown(surface).iter().any(|word| word.starts_with("done"))
}

#[tokio::test(start_paused = true)]
async fn turn_end_is_announced_after_it_is_stored() {
    let gate = Gate::default();
    let harness = House::new([says_behind(&gate, "answer"), says("next")]);
    let (session, surface) = (session("a"), quiet());
    let submitted = harness.submit(with_id(&session, "question", "m1"), surface.clone()).await;
    gate.reached().await;
    harness.store.break_down();
    gate.open();
    let waiting = submitted.reply.clone().wait();
    tokio::pin!(waiting);
    assert!(timeout(A_MINUTE, &mut waiting).await.is_err(), "it is not stored");
    assert!(!is_done(&surface));
    assert_eq!(harness.transcript(&session), ["user: question"]);
    harness.store.mend();
    assert_eq!(waiting.await.unwrap().text, "answer");
    assert!(is_done(&surface));
    assert_eq!(harness.transcript(&session), ["user: question", "assistant: answer"]);
    assert_eq!(harness.ask(&session, "go on").await.text, "next");
}

#[tokio::test(start_paused = true)]
async fn acknowledged_messages_are_answered_in_order_after_an_outage() {
    let (harness, session, gate, [one, two, three]) = three().await;
    harness.store.break_down();
    gate.open();
    sleep(A_MINUTE).await;
    assert_eq!(harness.engine.activity().len(), 3, "the queue stands still");
    harness.store.mend();
    for (submitted, text) in [(one, "first"), (two, "second"), (three, "third")] {
        assert_eq!(submitted.reply.wait().await.unwrap().text, text);
    }
    assert_eq!(harness.transcript(&session), THREE);
}

#[tokio::test(start_paused = true)]
async fn a_step_is_stored_before_it_is_shown_or_run() {
    let tool = TestTool::new("t", What::Say("result"));
    let gate = Gate::default();
    let first = [Step::Wait(gate.clone())].into_iter().chain(calls(&["t"])).collect();
    let harness = House::with([first, says("end")], Plan { tools: vec![tool.clone()], ..Plan::default() });
    let (session, surface) = (session("a"), quiet());
    let submitted = harness.submit(Inbound::say(session.clone(), "hi"), surface.clone()).await;
    gate.reached().await;
    harness.store.break_down();
    gate.open();
    sleep(A_MINUTE).await;
    assert_eq!((tool.ran(), shown(&surface)), (0, vec!["started".to_owned()]));
    harness.store.mend();
    assert_eq!(submitted.reply.wait().await.unwrap().text, "end");
    assert_eq!((tool.ran(), harness.transcript(&session).len()), (1, 4));
    harness.assert_well_formed(&session);
}

#[tokio::test]
async fn new_messages_are_refused_while_the_storage_fails() {
    let harness = House::new([]);
    harness.health.failed("the disk is full: free some space");
    let refused = harness.engine.submit(Inbound::say(session("a"), "hi"), quiet()).await.unwrap_err();
    assert!(refused.is_unavailable() && refused.to_string().contains("free some space"), "{refused}");
    assert!(harness.store.calls().is_empty());
    harness.health.recovered();
    assert_eq!(harness.ask(&session("a"), "hi").await.text, "ok");
}

#[tokio::test(start_paused = true)]
async fn unstorable_outcome_is_reported_as_a_storage_failure() {
    let harness = House::new([says("never stored")]);
    harness.store.fault("finish", 4);
    let surface = quiet();
    let reply = harness.submit(Inbound::say(session("a"), "hi"), surface.clone()).await.reply.wait().await;
    let reply = reply.unwrap();
    assert_eq!((reply.end, &reply.failure.as_ref().unwrap().code), (TurnEnd::Error, &EndReason::Storage));
    assert!(!reply.text.contains("never stored"), "what is told as done is stored: {}", reply.text);
    assert_eq!(shown(&surface).last().unwrap(), "done error");
}

#[tokio::test(start_paused = true)]
async fn shutdown_does_not_wait_for_failing_storage() {
    let gate = Gate::default();
    let harness = House::new([says_behind(&gate, "answer")]);
    let submitted = harness.submit(with_id(&session("a"), "question", "m1"), quiet()).await;
    gate.reached().await;
    harness.store.break_down();
    gate.open();
    timeout(A_MINUTE, harness.engine.shutdown(Duration::from_secs(10))).await.unwrap();
    let turn = harness.store.turn(&submitted.turn).await.unwrap().unwrap();
    assert_eq!(turn.phase, TurnPhase::Running, "the next start goes on with it");
}

/// Starts the next process on the same storage, which resumes the turns that it finds. Returns the surface that
/// watches them.
async fn restarted(before: &House, responses: Vec<Vec<Step>>) -> (House, Arc<CollectingSurface>) {
    let store = Some(Arc::new(before.store.beside()));
    let next = House::with(responses, Plan { store, ..Plan::default() });
    let surface = quiet();
    let shown = surface.clone();
    assert_eq!(next.engine.recover(move |_| shown.clone()).await.unwrap(), 1);
    (next, surface)
}

#[tokio::test(start_paused = true)]
async fn turn_with_an_id_stays_open_at_shutdown_and_resumes() {
    let harness = House::new([vec![Step::say("half an ans"), Step::Hang]]);
    let (session, surface) = (session("a"), quiet());
    let running = harness.submit(with_id(&session, "question", "m1"), surface.clone()).await;
    surface.saw(|event| matches!(event, TurnEvent::Text(_))).await;
    harness.engine.shutdown(Duration::from_secs(10)).await;
    assert!(running.reply.wait().await.is_err_and(|error| error.is_busy()));
    assert!(!is_done(&surface));
    assert_eq!(harness.transcript(&session), ["user: question"], "half an answer is none");

    let (next, surface) = restarted(&harness, vec![says("the real answer")]).await;
    let again = next.submit(with_id(&session, "question", "m1"), quiet()).await;
    assert_eq!((again.is_new, &again.turn), (false, &running.turn));
    assert_eq!(again.reply.wait().await.unwrap().text, "the real answer");
    surface.saw(|event| matches!(event, TurnEvent::Done(_))).await;
    assert_eq!(next.transcript(&session), ["user: question", "assistant: the real answer"]);
}

#[tokio::test(start_paused = true)]
async fn at_shutdown_results_of_calls_are_kept() {
    let plan = || Plan {
        tools: vec![TestTool::new("a", What::Say("1")) as _, TestTool::new("b", What::Hang) as _],
        ..Plan::default()
    };
    let harness = House::with([calls(&["a", "b"])], plan());
    let (session, surface) = (session("a"), quiet());
    harness.submit(with_id(&session, "question", "m1"), surface.clone()).await;
    surface.saw(|event| matches!(event, TurnEvent::Tool(state) if state.name == "b")).await;
    harness.engine.shutdown(Duration::from_secs(1)).await;
    let transcript = harness.transcript(&session);
    assert_eq!(transcript.len(), 3, "{transcript:?}");
    assert!(transcript[2].starts_with("tool: result 1 | result interrupted"), "{}", transcript[2]);
    let (next, surface) = restarted(&harness, vec![says("end")]).await;
    surface.saw(|event| matches!(event, TurnEvent::Done(_))).await;
    assert_eq!(next.transcript(&session)[3..], ["assistant: end"]);
    next.assert_well_formed(&session);
}

#[tokio::test(start_paused = true)]
async fn cut_off_calls_run_again_if_their_whole_group_may() {
    let repeatable = |name: &str| ToolSpec::new(name, "a tool", json!({"type": "object"})).repeatable();
    for (names, expected) in [
        (["look", "wait"], "tool: result seen | result done"),
        // A result of a call that does not run again is kept, and so are the known results of the other calls.
        (["do", "wait"], "tool: result 1 | result interrupted"),
        (["note", "wait"], "tool: result 1 | result interrupted"),
        (["look", "hang"], "tool: result seen | result interrupted"),
    ] {
        let plan = |waits: What, store| Plan {
            tools: vec![
                TestTool::reading("look", What::Say("seen")) as _,
                TestTool::of(repeatable("note"), What::Say("1")) as _,
                TestTool::of(repeatable("wait"), waits) as _,
                TestTool::new("do", What::Say("1")) as _,
                TestTool::new("hang", What::Hang) as _,
            ],
            store,
            ..Plan::default()
        };
        let before = House::with([calls(&names)], plan(What::Hang, None));
        let (session, surface) = (session("a"), quiet());
        before.submit(with_id(&session, "question", "m1"), surface.clone()).await;
        surface.saw(|event| matches!(event, TurnEvent::Tool(state) if state.name == names[1])).await;
        before.engine.shutdown(Duration::from_secs(1)).await;
        let store = Some(Arc::new(before.store.beside()));
        let after = House::with([says("end")], plan(What::Say("done"), store));
        let surface = quiet();
        let shown = surface.clone();
        assert_eq!(after.engine.recover(move |_| shown.clone()).await.unwrap(), 1);
        surface.saw(|event| matches!(event, TurnEvent::Done(_))).await;
        let transcript = after.transcript(&session);
        assert!(transcript[2].starts_with(expected), "{names:?}: {transcript:?}");
        assert_eq!(transcript[3..], ["assistant: end"]);
        after.assert_well_formed(&session);
    }
}
