//! Calls of one response: those that only read run side by side, the others in turn, and the results stand in order.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::Assistant;
use aethon_core::message::{Inbound, TurnEnd};
use aethon_core::model::StopReason;
use aethon_core::surface::{ToolPhase, TurnEvent};
use aethon_core::testkit::{CollectingSurface, DeskSurface, Step};
use aethon_core::tool::Tool;
use serde_json::json;
use tokio::sync::Barrier;
use tokio::time::Instant;

use crate::harness::{House, Plan, TestTool, What, calls, says, session, shown};

fn plan(tools: Vec<Arc<dyn Tool>>) -> Plan {
    Plan { tools, ..Plan::default() }
}

/// Calls of one tool, told apart by their arguments.
fn numbered(name: &str, count: usize) -> Vec<Step> {
    let call = |n: usize| Step::call(&format!("c{n}"), name, json!({"n": n}));
    (0..count).map(call).chain([Step::finish(StopReason::ToolUse)]).collect()
}

#[tokio::test(start_paused = true)]
async fn four_one_second_reads_take_one_second_together() {
    let check = async |tool: Arc<TestTool>, count: usize, seconds: u64| {
        let harness = House::with([numbered("look", count), says("ok")], plan(vec![tool]));
        let begun = Instant::now();
        assert_eq!(harness.ask(&session("a"), "go").await.text, "ok");
        let took = begun.elapsed();
        let expected = Duration::from_secs(seconds);
        assert!(took >= expected && took < expected + Duration::from_millis(500), "{count}: {took:?}");
        harness.assert_well_formed(&session("a"));
    };
    check(TestTool::reading("look", What::Sleep), 4, 1).await;
    check(TestTool::reading("look", What::Sleep), 8, 1).await;
    check(TestTool::reading("look", What::Sleep), 9, 2).await;
    check(TestTool::new("look", What::Sleep), 4, 4).await;
}

#[tokio::test]
async fn reads_are_under_way_at_the_same_time_and_answer_in_order() {
    let all = Arc::new(Barrier::new(3));
    let tools = ["a", "b", "c"].map(|name| TestTool::reading(name, What::Meet(all.clone())) as Arc<dyn Tool>);
    let harness = House::with([calls(&["c", "a", "b"]), says("ok")], plan(tools.into()));
    assert_eq!(harness.ask(&session("a"), "go").await.text, "ok");
    harness.assert_well_formed(&session("a"));
}

#[tokio::test(start_paused = true)]
async fn writing_call_runs_after_earlier_and_before_later_calls() {
    let tools: Vec<Arc<dyn Tool>> =
        vec![TestTool::reading("r", What::Sleep), TestTool::new("w", What::Sleep)];
    let harness = House::with([calls(&["r", "r", "w", "w", "r"]), says("ok")], plan(tools));
    let surface = Arc::new(CollectingSurface::default());
    let begun = Instant::now();
    let submitted = harness.submit(Inbound::say(session("a"), "go"), surface.clone()).await;
    submitted.reply.wait().await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 4);
    let expected = [
        "r running",
        "r running",
        "r ok",
        "r ok",
        "w running",
        "w ok",
        "w running",
        "w ok",
        "r running",
        "r ok",
    ];
    assert_eq!(shown(&surface)[1..=10], expected);
}

#[tokio::test]
async fn failing_or_panicking_call_leaves_the_others_alone() {
    let tools: Vec<Arc<dyn Tool>> = vec![
        TestTool::reading("good", What::Say("1")),
        TestTool::reading("faulty", What::Panic),
        TestTool::reading("broken", What::Fail),
    ];
    let harness = House::with([calls(&["faulty", "good", "broken", "good"]), says("ok")], plan(tools));
    assert_eq!(harness.ask(&session("a"), "go").await.text, "ok");
    let transcript = harness.transcript(&session("a"));
    let results: Vec<_> = transcript[2].split(" | ").collect();
    assert!(results[0].contains("fault in it"), "{transcript:?}");
    assert_eq!(results[1..], ["result 1", "result it is broken", "result 1"]);
}

#[tokio::test]
async fn stop_keeps_finished_results_and_reports_the_unfinished() {
    let tools: Vec<Arc<dyn Tool>> = vec![
        TestTool::reading("quick", What::Say("1")),
        TestTool::reading("slow", What::Hang),
        TestTool::reading("asks", What::Say("never")),
        TestTool::new("later", What::Say("never")),
    ];
    let plan = Plan { ask_for: vec!["asks".into()], ..plan(tools) };
    let harness = House::with([calls(&["slow", "asks", "quick", "later"])], plan);
    let surface = Arc::new(DeskSurface::default());
    let submitted = harness.submit(Inbound::say(session("a"), "go"), surface.clone()).await;
    let done = |event: &TurnEvent| matches!(event, TurnEvent::Tool(state) if state.name == "quick" && state.phase == ToolPhase::Ok);
    surface.saw(done).await;
    assert_eq!(harness.engine.stop(&session("a"), None).await, 1);
    assert_eq!(submitted.reply.wait().await.unwrap().end, TurnEnd::Stopped);
    harness.assert_well_formed(&session("a"));
    let transcript = harness.transcript(&session("a"));
    let results: Vec<_> = transcript[2].split(" | ").collect();
    assert!(results[0].contains("may or may not have had an effect"), "{transcript:?}");
    assert_eq!(
        results[1..],
        ["result not run: the turn ended first", "result 1", "result not run: the turn ended first"]
    );
    let denied = harness.store.transcript(&session("a"))[2]
        .content
        .iter()
        .map(|block| match block {
            aethon_core::message::Block::ToolResult(result) => result.denied,
            _ => false,
        })
        .collect::<Vec<_>>();
    assert_eq!(denied, [false, true, false, false], "only what waited for a person was denied");
}
