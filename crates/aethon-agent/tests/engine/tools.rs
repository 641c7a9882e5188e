//! Tool calls: their results, their faults, their guards, and loops of them.

use std::sync::Arc;

use aethon_agent::Options;
use aethon_core::hook::{Hook, Verdict};
use aethon_core::message::{Block, ToolCall, ToolResult, TurnEnd};
use aethon_core::model::StopReason;
use aethon_core::testkit::Step;
use aethon_core::tool::{ToolContext, ToolSpec};
use async_trait::async_trait;
use serde_json::json;

use crate::house::{House, Plan, TestTool, What, calls, says, session};

fn results(house: &House) -> Vec<ToolResult> {
    let transcript = house.store.transcript(&session("a"));
    let blocks = transcript.into_iter().flat_map(|message| message.content);
    blocks
        .filter_map(|block| if let Block::ToolResult(result) = block { Some(result) } else { None })
        .collect()
}

#[tokio::test]
async fn a_tool_that_fails_or_panics_gives_a_failed_result() {
    let tools = vec![TestTool::new("broken", What::Fail) as _, TestTool::new("faulty", What::Panic) as _];
    let house = House::with(
        [calls(&["broken", "faulty", "absent"]), says("sorry")],
        Plan { tools, ..Plan::default() },
    );
    assert_eq!(house.ask(&session("a"), "go").await.text, "sorry");
    let results = results(&house);
    assert!(results.iter().all(|result| result.is_error && !result.denied));
    assert_eq!(results[0].output, "it is broken");
    assert!(results[1].output.contains("fault"), "{}", results[1].output);
    assert_eq!(results[2].output, "there is no tool `absent`; there are: broken, faulty");
}

#[tokio::test]
async fn arguments_that_are_no_object_are_answered_with_an_error() {
    let tool = TestTool::new("t", What::Say("x"));
    let call = vec![Step::call("1", "t", json!("{\"a\": ")), Step::finish(StopReason::ToolUse)];
    let house = House::with([call, says("ok")], Plan { tools: vec![tool.clone()], ..Plan::default() });
    house.ask(&session("a"), "go").await;
    assert!(results(&house)[0].output.contains("not valid JSON"));
    assert_eq!(tool.ran(), 0);
}

#[tokio::test]
async fn output_that_is_too_long_is_cut() {
    let long: &'static str = Box::leak("x".repeat(500).into_boxed_str());
    let tools = vec![TestTool::new("t", What::Say(long)) as _];
    let options = Options { max_tool_output_chars: 100, ..Options::default() };
    let house = House::with([calls(&["t"])], Plan { tools, options, ..Plan::default() });
    house.ask(&session("a"), "go").await;
    let output = &results(&house)[0].output;
    assert!(output.len() < 250 && output.contains("400 of 500 characters"), "{output}");
}

struct Guard;

#[async_trait]
impl Hook for Guard {
    fn name(&self) -> &'static str {
        "guard"
    }

    async fn before_tool(&self, _context: &ToolContext, spec: &ToolSpec, _call: &ToolCall) -> Verdict {
        match spec.name.as_str() {
            "forbidden" => Verdict::Deny("forbidden by `security.x`".into()),
            "cursed" => panic!("a fault"),
            _ => Verdict::Allow,
        }
    }

    async fn after_tool(&self, _context: &ToolContext, _call: &ToolCall, result: &mut ToolResult) {
        if result.name == "secret" {
            panic!("before it could take the secret out");
        }
    }
}

#[tokio::test]
async fn a_hook_that_errs_before_a_tool_denies_it() {
    let tools: Vec<_> =
        ["forbidden", "cursed", "free", "secret"].map(|n| TestTool::new(n, What::Say("ran"))).into();
    let plan = Plan {
        tools: tools.iter().map(|tool| tool.clone() as _).collect(),
        hooks: vec![Arc::new(Guard)],
        ..Plan::default()
    };
    let house = House::with([calls(&["forbidden", "cursed", "free", "secret"])], plan);
    house.ask(&session("a"), "go").await;
    let results = results(&house);
    assert_eq!(results.iter().map(|result| result.denied).collect::<Vec<_>>(), [true, true, false, false]);
    assert_eq!(results[0].output, "forbidden by `security.x`");
    assert_eq!(tools.iter().map(|tool| tool.ran()).collect::<Vec<_>>(), [0, 0, 1, 1]);
    assert!(!results[3].output.contains("ran"), "{}", results[3].output);
}

#[tokio::test]
async fn the_same_call_with_the_same_result_ends_the_turn() {
    let tools = vec![TestTool::new("t", What::Say("same")) as _];
    let house = House::with((0..9).map(|_| calls(&["t"])), Plan { tools, ..Plan::default() });
    let reply = house.ask(&session("a"), "go").await;
    assert_eq!((reply.end, reply.failure.as_ref().unwrap().code.as_str()), (TurnEnd::Limit, "loop"));
    assert!(reply.text.contains("`t` with the same arguments 3 times"), "{}", reply.text);
    assert_eq!(house.model.requests().len(), 3);
    house.assert_well_formed(&session("a"));
}

#[tokio::test]
async fn two_calls_in_alternation_end_the_turn() {
    let tools = vec![TestTool::new("a", What::Count) as _, TestTool::new("b", What::Count) as _];
    let house = House::with((0..9).map(|n| calls(&[["a", "b"][n % 2]])), Plan { tools, ..Plan::default() });
    let reply = house.ask(&session("a"), "go").await;
    assert_eq!(reply.end, TurnEnd::Limit);
    assert_eq!(house.model.requests().len(), 6);
}
