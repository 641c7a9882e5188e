//! Stopping a turn in every state, and stopping the whole.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::Assistant;
use aethon_core::message::{Inbound, TurnEnd};
use aethon_core::model::{ModelError, ModelErrorKind};
use aethon_core::session::TurnPhase;
use aethon_core::surface::{ToolPhase, TurnEvent};
use aethon_core::testkit::{CollectingSurface, DeskSurface, Gate, Step};
use tokio::time::Instant;

use crate::harness::{House, Plan, TestTool, What, calls, quiet, says, says_behind, session, shown, with_id};

/// How long a stop may take in any state.
const A_SECOND: Duration = Duration::from_secs(1);

/// Starts a turn, waits until it has reached the point that the test wants, stops it, and returns its outcome.
async fn stopped(harness: &House, is_there: impl Fn(&TurnEvent) -> bool) -> (String, Arc<CollectingSurface>) {
    let surface = Arc::new(CollectingSurface::default());
    let submitted = harness.submit(Inbound::say(session("a"), "hi"), surface.clone()).await;
    surface.saw(is_there).await;
    let begun = Instant::now();
    assert_eq!(harness.engine.stop(&session("a"), Some(&submitted.turn)).await, 1);
    let reply = submitted.reply.wait().await.unwrap();
    assert!(begun.elapsed() < A_SECOND, "{:?}", begun.elapsed());
    assert_eq!(reply.end, TurnEnd::Stopped);
    assert!(reply.failure.is_none());
    harness.assert_well_formed(&session("a"));
    assert_eq!(shown(&surface).iter().filter(|word| word.starts_with("done")).count(), 1);
    (reply.text.clone(), surface)
}

#[tokio::test]
async fn stop_before_any_output_ends_the_turn() {
    let harness = House::new([vec![Step::Hang]]);
    assert_eq!(stopped(&harness, |event| matches!(event, TurnEvent::Started)).await.0, "Stopped.");
    assert_eq!(harness.transcript(&session("a")), ["user: hi", "assistant: (stopped)"]);
}

#[tokio::test]
async fn stop_in_the_middle_of_the_answer_ends_the_turn() {
    let harness = House::new([vec![Step::say("half an ans"), Step::Hang]]);
    let (text, _) = stopped(&harness, |event| matches!(event, TurnEvent::Text(_))).await;
    assert_eq!(text, "half an ans\n\nStopped.");
    assert_eq!(harness.transcript(&session("a")), ["user: hi", "assistant: half an ans | (stopped)"]);
    assert_eq!(harness.model.cancelled(), 1);
    harness.ask(&session("a"), "go on").await;
    let seen: Vec<_> = harness.model.requests().last().unwrap().messages.iter().map(|m| m.text()).collect();
    assert_eq!(seen, ["hi", "half an ans", "go on"]);
}

#[tokio::test]
async fn stop_in_the_middle_of_a_tool_ends_the_turn() {
    let tools = vec![TestTool::new("a", What::Say("1")) as _, TestTool::new("b", What::Hang) as _];
    let harness = House::with([calls(&["a", "b", "a"])], Plan { tools, ..Plan::default() });
    let in_b = |event: &TurnEvent| matches!(event, TurnEvent::Tool(state) if state.name == "b" && state.phase == ToolPhase::Running);
    let (_, surface) = stopped(&harness, in_b).await;
    let transcript = harness.transcript(&session("a"));
    assert_eq!(transcript[1], "assistant: call a | call b | call a");
    assert!(transcript[2].starts_with("tool: result 1 | result interrupted"), "{}", transcript[2]);
    assert!(transcript[2].ends_with("result not run: the turn ended first"), "{}", transcript[2]);
    assert_eq!(transcript[3], "assistant: (stopped)");
    assert_eq!(shown(&surface)[1..], ["a running", "a ok", "b running", "b error", "done stopped"]);
    harness.ask(&session("a"), "next").await;
    harness.assert_well_formed(&session("a"));
}

#[tokio::test]
async fn stop_during_an_approval_request_ends_the_turn() {
    let tool = TestTool::new("shell", What::Say("ran"));
    let plan = Plan { tools: vec![tool.clone()], ask_for: vec!["shell".into()], ..Plan::default() };
    let harness = House::with([calls(&["shell"])], plan);
    let surface = Arc::new(DeskSurface::default());
    let submitted = harness.submit(Inbound::say(session("a"), "hi"), surface.clone()).await;
    surface.saw(|event| matches!(event, TurnEvent::Approval(_))).await;
    let begun = Instant::now();
    assert_eq!(harness.engine.stop(&session("a"), Some(&submitted.turn)).await, 1);
    assert_eq!(submitted.reply.wait().await.unwrap().end, TurnEnd::Stopped);
    assert!(begun.elapsed() < A_SECOND, "{:?}", begun.elapsed());
    assert_eq!(tool.ran(), 0);
    assert!(harness.approvals.pending().is_empty());
    harness.assert_well_formed(&session("a"));
}

#[tokio::test(start_paused = true)]
async fn stop_during_the_wait_for_a_retry_ends_the_turn() {
    let error = ModelError::new(ModelErrorKind::RateLimit, "slow down");
    let error = error.with_retry_after(Some(Duration::from_secs(300)));
    let harness = House::new([vec![Step::Fail(error)]]);
    let submitted = harness.say(&session("a"), "hi").await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    // Time advances for waiting tasks alone: a wait that was not ended would be seen here.
    let begun = Instant::now();
    assert_eq!(harness.engine.stop(&session("a"), None).await, 1);
    assert_eq!(submitted.reply.wait().await.unwrap().end, TurnEnd::Stopped);
    assert!(begun.elapsed() < A_SECOND, "{:?}", begun.elapsed());
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test]
async fn stop_of_a_session_includes_waiting_turns() {
    let harness = House::new([vec![Step::Hang]]);
    let session = session("a");
    let running = harness.say(&session, "one").await;
    let waiting = harness.say(&session, "two").await;
    assert_eq!((running.queued, waiting.queued), (0, 1));
    let states: Vec<_> = harness.engine.activity().iter().map(|turn| turn.state).collect();
    assert_eq!(states, ["running", "queued"]);
    assert_eq!(harness.engine.stop(&session, None).await, 2);
    assert_eq!(running.reply.wait().await.unwrap().end, TurnEnd::Stopped);
    assert_eq!(waiting.reply.wait().await.unwrap().end, TurnEnd::Stopped);
    let transcript = ["user: one", "assistant: (stopped)", "user: two", "assistant: (withdrawn)"];
    assert_eq!(harness.transcript(&session), transcript);
    assert_eq!(harness.engine.stop(&session, None).await, 0);
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test]
async fn waiting_turn_is_withdrawn_without_stopping_the_running_one() {
    let gate = Gate::default();
    let tools = vec![TestTool::new("a", What::Say("1")) as _];
    let plan = Plan { tools, ..Plan::default() };
    let harness = House::with([calls(&["a"]), says_behind(&gate, "one"), says("3"), says("4")], plan);
    let session = session("a");
    let running = harness.say(&session, "one").await;
    gate.reached().await;
    let (two, three) = (harness.say(&session, "two").await, harness.say(&session, "three").await);
    let four = harness.say(&session, "four").await;
    for taken_back in [&four, &two] {
        assert_eq!(harness.engine.stop(&session, Some(&taken_back.turn)).await, 1);
        assert_eq!(taken_back.reply.clone().wait().await.unwrap().end, TurnEnd::Stopped);
    }
    assert_eq!(harness.transcript(&session).len(), 3, "nothing comes between a call and its answer");
    gate.open();
    assert_eq!(running.reply.wait().await.unwrap().end, TurnEnd::End);
    three.reply.wait().await.unwrap();
    let transcript = harness.transcript(&session);
    assert_eq!(
        transcript[3..],
        [
            "assistant: one",
            "user: two",
            "assistant: (withdrawn)",
            "user: three",
            "assistant: 3",
            "user: four",
            "assistant: (withdrawn)"
        ]
    );
    harness.assert_well_formed(&session);
    // The model never hears of it, neither from memory nor from the storage.
    harness.ask(&session, "five").await;
    let seen = |harness: &House| -> Vec<_> {
        let last = harness.model.requests().pop().unwrap().messages;
        last.iter().map(|message| message.text()).filter(|text| !text.is_empty()).collect()
    };
    assert_eq!(seen(&harness), ["one", "one", "three", "3", "five"]);
    let next = House::with([says("6")], Plan { store: Some(harness.store.clone()), ..Plan::default() });
    next.ask(&session, "six").await;
    assert_eq!(seen(&next), ["one", "one", "three", "3", "five", "4", "six"]);
}

#[tokio::test]
async fn withdrawn_message_can_be_retried() {
    let gate = Gate::default();
    let harness = House::new([says_behind(&gate, "one"), says("2")]);
    let session = session("a");
    let running = harness.say(&session, "one").await;
    gate.reached().await;
    let two = harness.say(&session, "two").await;
    harness.engine.stop(&session, Some(&two.turn)).await;
    gate.open();
    running.reply.wait().await.unwrap();
    let again = harness.submit(Inbound::retry(session.clone(), two.turn.clone()), quiet()).await;
    assert_eq!(again.reply.wait().await.unwrap().text, "2");
    assert_eq!(harness.transcript(&session), ["user: one", "assistant: one", "user: two", "assistant: 2"]);
}

#[tokio::test(start_paused = true)]
async fn running_turns_may_finish_at_shutdown() {
    let gate = Gate::default();
    let harness = House::new([says_behind(&gate, "late")]);
    let running = harness.say(&session("a"), "hi").await;
    gate.reached().await;
    let (engine, open) = (harness.engine.clone(), async { gate.open() });
    tokio::join!(engine.shutdown(Duration::from_secs(10)), open);
    assert_eq!(running.reply.wait().await.unwrap().text, "late");
    let refused = harness.engine.submit(Inbound::say(session("a"), "more"), quiet()).await.unwrap_err();
    assert!(refused.is_busy());
}

#[tokio::test(start_paused = true)]
async fn unfinished_turns_are_stored_in_part_at_shutdown() {
    let harness = House::new([vec![Step::say("so far"), Step::Hang], says("never")]);
    let session = session("a");
    let running = harness.say(&session, "one").await;
    let waiting = harness.submit(with_id(&session, "two", "m2"), quiet()).await;
    let turn = waiting.turn.clone();
    harness.engine.shutdown(Duration::from_secs(10)).await;
    let reply = running.reply.wait().await.unwrap();
    assert_eq!(
        (reply.end, harness.transcript(&session)[1].as_str()),
        (TurnEnd::Stopped, "assistant: so far | (shutdown)")
    );
    assert!(waiting.reply.wait().await.is_err_and(|error| error.is_busy()));
    let record = aethon_core::session::TurnLookup::turn(&*harness.store, &turn).await.unwrap().unwrap();
    assert_eq!(record.phase, TurnPhase::Queued);

    // The next program is another owner, and need not wait for the end of a lease.
    let store = Some(Arc::new(harness.store.beside()));
    let next = House::with([says("two indeed")], Plan { store, ..Plan::default() });
    let surface = quiet();
    let shown = surface.clone();
    assert_eq!(next.engine.recover(move |_| shown.clone()).await.unwrap(), 1);
    surface.saw(|event| matches!(event, TurnEvent::Done(_))).await;
    assert_eq!(next.transcript(&session)[2..], ["user: two", "assistant: two indeed"]);
}
