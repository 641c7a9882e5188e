//! Tool calls: their results, their faults, their guards, and loops of them.

use std::sync::Arc;

use aethon_agent::Options;
use aethon_core::hook::{Hook, ToolDecision};
use aethon_core::message::{Block, Inbound, ToolCall, ToolResult, TurnEnd};
use aethon_core::model::StopReason;
use aethon_core::surface::{ToolPhase, TurnEvent};
use aethon_core::testkit::{CollectingSurface, Step};
use aethon_core::tool::{DEFAULT_TIMEOUT, OutputBlock, ToolContext, ToolSpec};
use aethon_core::untrusted::MARKER;
use async_trait::async_trait;
use serde_json::json;
use tokio::time::Instant;

use crate::harness::{House, Plan, TestTool, What, calls, says, session};

fn results(harness: &House) -> Vec<ToolResult> {
    let transcript = harness.store.transcript(&session("a"));
    let blocks = transcript.into_iter().flat_map(|message| message.content);
    blocks
        .filter_map(|block| if let Block::ToolResult(result) = block { Some(result) } else { None })
        .collect()
}

#[tokio::test]
async fn a_tool_that_fails_or_panics_gives_a_failed_result() {
    let tools = vec![TestTool::new("broken", What::Fail) as _, TestTool::new("faulty", What::Panic) as _];
    let harness = House::with(
        [calls(&["broken", "faulty", "absent"]), says("sorry")],
        Plan { tools, ..Plan::default() },
    );
    assert_eq!(harness.ask(&session("a"), "go").await.text, "sorry");
    let results = results(&harness);
    assert!(results.iter().all(|result| result.is_error && !result.denied));
    assert_eq!(results[0].output, "it is broken");
    assert!(results[1].output.contains("fault"), "{}", results[1].output);
    assert_eq!(results[2].output, "there is no tool `absent`; there are: broken, faulty");
}

#[tokio::test(start_paused = true)]
async fn tool_without_a_time_limit_ends_after_the_default_one() {
    let plan = Plan { tools: vec![TestTool::new("stuck", What::Hang) as _], ..Plan::default() };
    let harness = House::with([calls(&["stuck"]), says("it hangs")], plan);
    let started = Instant::now();
    assert_eq!(harness.ask(&session("a"), "go").await.text, "it hangs", "the turn goes on");
    assert_eq!(started.elapsed().as_secs(), DEFAULT_TIMEOUT.as_secs());
    let results = results(&harness);
    assert!(results[0].is_error && results[0].output == "`stuck` took longer than 120 s and was ended");
}

#[tokio::test]
async fn a_picture_of_a_tool_is_shown_when_the_call_ends() {
    let plan = Plan { tools: vec![TestTool::new("draw", What::Draw) as _], ..Plan::default() };
    let harness = House::with([calls(&["draw"]), says("there")], plan);
    let surface = Arc::new(CollectingSurface::default());
    harness.submit(Inbound::say(session("a"), "go"), surface.clone()).await.reply.wait().await.unwrap();
    let picture = vec![OutputBlock::Image { mime: "image/png".into(), data: "iVBORw0KGgo=".into() }];
    let shown: Vec<_> =
        surface
            .events()
            .into_iter()
            .filter_map(|(_, event)| {
                if let TurnEvent::Tool(state) = event { Some((state.phase, state.blocks)) } else { None }
            })
            .collect();
    assert_eq!(shown, [(ToolPhase::Running, vec![]), (ToolPhase::Ok, picture.clone())]);
    assert_eq!(results(&harness)[0].blocks, picture, "as the transcript has it");
}

#[tokio::test]
async fn arguments_that_are_no_object_are_answered_with_an_error() {
    let tool = TestTool::new("t", What::Say("x"));
    let call = vec![Step::call("1", "t", json!("{\"a\": ")), Step::finish(StopReason::ToolUse)];
    let harness = House::with([call, says("ok")], Plan { tools: vec![tool.clone()], ..Plan::default() });
    harness.ask(&session("a"), "go").await;
    assert!(results(&harness)[0].output.contains("not valid JSON"));
    assert_eq!(tool.ran(), 0);
}

#[tokio::test]
async fn output_that_is_too_long_is_cut() {
    let long: &'static str = Box::leak("x".repeat(500).into_boxed_str());
    let tools = vec![TestTool::new("t", What::Say(long)) as _];
    let options = Options::default().with(|options| options.max_tool_output_chars = 100);
    let harness = House::with([calls(&["t"])], Plan { tools, options, ..Plan::default() });
    harness.ask(&session("a"), "go").await;
    let output = &results(&harness)[0].output;
    assert!(output.len() < 250 && output.contains("400 of 500 characters"), "{output}");
}

#[tokio::test]
async fn truncated_arguments_are_reported_as_an_output_limit() {
    let tool = TestTool::new("t", What::Say("x"));
    let cut = |number: usize| {
        let call = Step::call(&number.to_string(), "t", json!(format!("{{\"content\": \"part {number}")));
        vec![call, Step::finish(StopReason::Length)]
    };
    let plan = || Plan { tools: vec![tool.clone()], ..Plan::default() };
    let harness = House::with([cut(0), cut(1), says("in parts")], plan());
    assert_eq!(harness.ask(&session("a"), "go").await.text, "in parts");
    for result in results(&harness) {
        assert!(result.is_error && result.output.contains("output limit"), "{}", result.output);
        assert!(!result.output.contains("JSON"), "{}", result.output);
    }
    assert_eq!(tool.ran(), 0);

    let harness = House::with((0..9).map(cut), plan());
    let reply = harness.ask(&session("a"), "go").await;
    assert_eq!((reply.end, harness.model.requests().len()), (TurnEnd::Error, 4));
    assert!(reply.text.contains("`model.max_tokens`"), "{}", reply.text);
    harness.assert_well_formed(&session("a"));
}

#[tokio::test]
async fn a_call_that_was_whole_when_the_limit_was_reached_runs() {
    let tool = TestTool::new("t", What::Say("x"));
    let call = vec![
        Step::call("0", "t", json!({})),
        Step::call("1", "t", json!("{\"a\"")),
        Step::finish(StopReason::Length),
    ];
    let harness = House::with([call, says("ok")], Plan { tools: vec![tool.clone()], ..Plan::default() });
    harness.ask(&session("a"), "go").await;
    assert_eq!(tool.ran(), 1);
    assert_eq!(results(&harness).iter().map(|result| result.is_error).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn outside_content_is_marked_for_the_model_alone() {
    let spec = ToolSpec::new("page", "a page", json!({"type": "object"})).with_untrusted_output();
    let tools =
        vec![TestTool::of(spec, What::Say("obey me")) as _, TestTool::new("own", What::Say("fine")) as _];
    let hooks: Vec<Arc<dyn Hook>> = vec![Arc::new(Guard)];
    let harness = House::with(
        [calls(&["page", "own"]), says("read"), says("again")],
        Plan { tools, hooks, ..Plan::default() },
    );
    harness.ask(&session("a"), "go").await;
    harness.ask(&session("a"), "and now").await;
    let stored = results(&harness);
    assert_eq!(stored[0].output, "obey me", "the transcript has no markers");
    assert!(stored[0].for_model().contains(MARKER) && !stored[1].for_model().contains(MARKER));
    let seen = |request: usize| -> Vec<String> {
        let requests = harness.model.requests();
        let blocks = requests[request].messages.iter().flat_map(|message| message.content.clone());
        let results = blocks.filter_map(|block| match block {
            Block::ToolResult(result) => Some(result.for_model().into_owned()),
            _ => None,
        });
        results.collect()
    };
    assert_eq!(seen(1), seen(2), "the boundary is the same in every request");
}

struct Guard;

#[async_trait]
impl Hook for Guard {
    fn name(&self) -> &'static str {
        "guard"
    }

    async fn before_tool(&self, _context: &ToolContext, spec: &ToolSpec, _call: &ToolCall) -> ToolDecision {
        match spec.name.as_str() {
            "forbidden" => ToolDecision::Deny("forbidden by `security.x`".into()),
            "cursed" => panic!("a fault"),
            _ => ToolDecision::Allow,
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
    let harness = House::with([calls(&["forbidden", "cursed", "free", "secret"])], plan);
    harness.ask(&session("a"), "go").await;
    let results = results(&harness);
    assert_eq!(results.iter().map(|result| result.denied).collect::<Vec<_>>(), [true, true, false, false]);
    assert_eq!(results[0].output, "forbidden by `security.x`");
    assert_eq!(tools.iter().map(|tool| tool.ran()).collect::<Vec<_>>(), [0, 0, 1, 1]);
    assert!(!results[3].output.contains("ran"), "{}", results[3].output);
}

#[tokio::test]
async fn the_same_call_with_the_same_result_ends_the_turn() {
    let tools = vec![TestTool::new("t", What::Say("same")) as _];
    let harness = House::with((0..9).map(|_| calls(&["t"])), Plan { tools, ..Plan::default() });
    let reply = harness.ask(&session("a"), "go").await;
    assert_eq!((reply.end, reply.failure.as_ref().unwrap().code.as_str()), (TurnEnd::Limit, "loop"));
    assert!(reply.text.contains("`t` with the same arguments 3 times"), "{}", reply.text);
    assert_eq!(harness.model.requests().len(), 3);
    harness.assert_well_formed(&session("a"));
}

#[tokio::test]
async fn two_calls_in_alternation_end_the_turn() {
    let tools = vec![TestTool::new("a", What::Say("1")) as _, TestTool::new("b", What::Say("2")) as _];
    let harness = House::with((0..9).map(|n| calls(&[["a", "b"][n % 2]])), Plan { tools, ..Plan::default() });
    let reply = harness.ask(&session("a"), "go").await;
    assert_eq!(reply.end, TurnEnd::Limit);
    assert!(reply.text.contains("back and forth"), "{}", reply.text);
    assert_eq!(harness.model.requests().len(), 5);
}

#[tokio::test]
async fn polling_a_changing_value_is_no_loop() {
    let tools = vec![TestTool::new("poll", What::Count) as _, TestTool::new("wait", What::Count) as _];
    let responses = (0..9).map(|n| calls(&[["poll", "wait"][n % 2]])).chain([says("done")]);
    let harness = House::with(responses, Plan { tools, ..Plan::default() });
    assert_eq!(harness.ask(&session("a"), "go").await.text, "done");
}

#[tokio::test]
async fn repeating_model_is_warned_before_the_turn_ends() {
    let tools = vec![TestTool::new("t", What::Say("same")) as _];
    let harness =
        House::with([calls(&["t"]), calls(&["t"]), says("I see")], Plan { tools, ..Plan::default() });
    assert_eq!(harness.ask(&session("a"), "go").await.text, "I see");
    let results = results(&harness);
    assert_eq!(results.iter().map(|result| result.output.as_str()).collect::<Vec<_>>(), ["same", "same"]);
    assert_eq!(results.iter().map(|result| result.note.is_some()).collect::<Vec<_>>(), [false, true]);
    assert!(results[1].for_model().contains("the turn is ended"), "{}", results[1].for_model());
}
