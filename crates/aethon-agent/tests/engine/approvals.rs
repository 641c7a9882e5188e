//! A person's word before a tool runs.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::hooks::CommandRules;
use aethon_core::approval::{Answer, AnswerError, ApprovalRequest, Decision, Scope};
use aethon_core::assistant::Assistant;
use aethon_core::audit::{AuditAction, AuditLog};
use aethon_core::channel::ChannelRecords;
use aethon_core::message::{Block, Inbound, ToolResult};
use aethon_core::model::StopReason;
use aethon_core::surface::{Surface, TurnEvent};
use aethon_core::testkit::{CollectingSurface, DeskSurface, Step};
use aethon_core::tool::{ArgumentRole, ToolSpec};
use serde_json::json;
use tokio::time::Instant;

use crate::harness::{House, Plan, TestTool, What, calls, says, session, shown};

fn harness() -> (House, Arc<TestTool>) {
    let tool = TestTool::new("shell", What::Say("ran"));
    let plan = Plan { tools: vec![tool.clone()], ask_for: vec!["shell".into()], ..Plan::default() };
    (House::with([calls(&["shell"]), says("done")], plan), tool)
}

fn result(harness: &House) -> ToolResult {
    let transcript = harness.store.transcript(&session("a"));
    match &transcript[2].content[0] {
        Block::ToolResult(result) => result.clone(),
        other => panic!("{other:?}"),
    }
}

async fn ask(harness: &House, surface: Arc<dyn Surface>) {
    harness.submit(Inbound::say(session("a"), "go"), surface).await.reply.wait().await.unwrap();
}

#[tokio::test]
async fn an_approved_call_runs() {
    let (harness, tool) = harness();
    let surface = Arc::new(CollectingSurface::answering(&harness.approvals, Decision::Approve));
    ask(&harness, surface.clone()).await;
    assert_eq!((tool.ran(), result(&harness).output.as_str()), (1, "ran"));
    let expected = ["shell running", "asked shell", "settled Approve User", "shell ok"];
    assert_eq!(shown(&surface)[1..5], expected);
}

#[tokio::test]
async fn a_denied_call_does_not_run() {
    let (harness, tool) = harness();
    let surface = Arc::new(CollectingSurface::answering(&harness.approvals, Decision::Deny));
    ask(&harness, surface.clone()).await;
    assert!(result(&harness).denied);
    assert_eq!(tool.ran(), 0);
    assert_eq!(shown(&surface)[4], "shell denied");
}

#[tokio::test]
async fn unattended_call_is_denied_and_the_config_key_is_named() {
    let (harness, tool) = harness();
    ask(&harness, Arc::new(aethon_core::surface::Unattended)).await;
    assert!(result(&harness).output.contains("approval.requires_approval"), "{}", result(&harness).output);
    assert_eq!(tool.ran(), 0);
}

#[tokio::test]
async fn pending_approvals_are_answered_as_well_and_once() {
    let (harness, tool) = harness();
    let surface = Arc::new(DeskSurface::default());
    let submitted = harness.submit(Inbound::say(session("a"), "go"), surface.clone()).await;
    surface.saw(|event| matches!(event, TurnEvent::Approval(_))).await;
    let open = harness.approvals.pending();
    assert_eq!((open.len(), open[0].tool.as_str(), &open[0].turn), (1, "shell", &submitted.turn));
    let notes = async || harness.store.list("approvals", submitted.turn.as_str(), 10).await.unwrap();
    assert_eq!(notes().await.len(), 1, "a restart would find that it has not run");
    assert!(harness.approvals.decide(&open[0].id, Decision::Approve));
    assert!(!harness.approvals.decide(&open[0].id, Decision::Approve));
    submitted.reply.wait().await.unwrap();
    assert_eq!(tool.ran(), 1);
    assert!(harness.approvals.pending().is_empty());
    assert!(notes().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn tool_duration_excludes_the_wait_for_approval() {
    let (harness, _tool) = harness();
    let surface = Arc::new(DeskSurface::default());
    let submitted = harness.submit(Inbound::say(session("a"), "go"), surface.clone()).await;
    surface.saw(|event| matches!(event, TurnEvent::Approval(_))).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(harness.approvals.decide(&harness.approvals.pending()[0].id, Decision::Approve));
    submitted.reply.wait().await.unwrap();
    assert!(result(&harness).ms.is_some_and(|ms| ms < 10_000), "{:?}", result(&harness).ms);
    let shown = surface.events().into_iter().find_map(|(_, event)| match event {
        TurnEvent::Tool(state) if state.output.is_some() => state.milliseconds,
        _ => None,
    });
    assert_eq!(shown, result(&harness).ms);
}

#[tokio::test(start_paused = true)]
async fn silence_is_a_denial() {
    let (harness, tool) = harness();
    let started = Instant::now();
    let surface = Arc::new(DeskSurface::default());
    ask(&harness, surface.clone()).await;
    assert_eq!(started.elapsed(), Duration::from_secs(120));
    assert!(result(&harness).output.contains("approval.timeout_seconds"));
    assert_eq!(tool.ran(), 0);
    assert!(harness.approvals.pending().is_empty());
}

#[tokio::test]
async fn stop_withdraws_the_approval_request() {
    let (harness, tool) = harness();
    let surface = Arc::new(DeskSurface::default());
    let submitted = harness.submit(Inbound::say(session("a"), "go"), surface.clone()).await;
    surface.saw(|event| matches!(event, TurnEvent::Approval(_))).await;
    harness.engine.stop(&session("a"), None).await;
    submitted.reply.wait().await.unwrap();
    assert!(harness.approvals.pending().is_empty());
    assert_eq!(tool.ran(), 0);
    let settled = surface.events().into_iter().any(|(_, event)| {
        matches!(event, TurnEvent::ApprovalDone { resolution, .. }
            if resolution.reason == aethon_core::approval::ResolutionReason::Stopped)
    });
    assert!(settled);
    harness.assert_well_formed(&session("a"));
}

/// Creates a shell that returns its arguments, behind the rules for commands; each answer of the model runs
/// `command`.
fn shell(commands: &[&str]) -> (House, Arc<TestTool>) {
    let parameters = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    let spec = ToolSpec::new("shell", "", parameters).with_role("command", ArgumentRole::Command);
    let tool = TestTool::of(spec, What::Repeat);
    let hooks: Vec<Arc<dyn aethon_core::hook::Hook>> =
        vec![Arc::new(CommandRules::new(&["sudo".to_owned()], None))];
    let plan = Plan { tools: vec![tool.clone()], ask_for: vec!["shell".into()], hooks, ..Plan::default() };
    let answers = commands.iter().flat_map(|command| {
        let call = Step::call("c0", "shell", json!({"command": command}));
        [vec![call, Step::finish(StopReason::ToolUse)], says("done")]
    });
    (House::with(answers, plan), tool)
}

async fn asked(surface: &DeskSurface, harness: &House) -> ApprovalRequest {
    surface.saw(|event| matches!(event, TurnEvent::Approval(_))).await;
    harness.approvals.pending().pop().unwrap()
}

#[tokio::test]
async fn edited_arguments_run_are_recorded_and_pass_every_rule() {
    let (harness, _) = shell(&["ls"]);
    let surface = Arc::new(DeskSurface::default());
    let submitted = harness.submit(Inbound::say(session("a"), "go"), surface.clone()).await;
    let question = asked(&surface, &harness).await;
    assert_eq!(question.session_scope, "shell with command ls");
    assert!(question.reason.contains("approval.requires_approval"), "{question:?}");
    let edit = |input| Answer::new(Decision::Approve).by("a test").with_input(Some(input));
    for refused in [json!({"command": "sudo ls"}), json!({"command": 3}), json!({"comand": "ls"})] {
        let answered = harness.approvals.answer(&question.id, edit(refused)).await;
        assert!(matches!(answered, Err(AnswerError::Refused(_))), "{answered:?}");
        assert_eq!(harness.approvals.pending().len(), 1, "the question stays open");
    }
    assert_eq!(harness.approvals.answer(&question.id, edit(json!({"command": "ls -l"}))).await, Ok(()));
    submitted.reply.wait().await.unwrap();
    let result = result(&harness);
    assert_eq!(
        (result.output.as_str(), &result.edited),
        (r#"{"command":"ls -l"}"#, &Some(json!({"command": "ls -l"})))
    );
    assert!(result.for_model().contains("The person changed the arguments"), "{}", result.for_model());
    let shown = surface.events().into_iter().filter_map(|(_, event)| match event {
        TurnEvent::Tool(state) => state.input,
        _ => None,
    });
    assert_eq!(shown.last(), Some(json!({"command": "ls -l"})), "whoever watches sees what ran");
    let edited = surface.events().into_iter().find_map(|(_, event)| match event {
        TurnEvent::ApprovalDone { edited, .. } => Some(edited),
        _ => None,
    });
    assert_eq!(edited, Some(Some(json!({"command": "ls -l"}))), "the question says what was approved");
    let row = harness.store.newest(1).await.unwrap().pop().unwrap();
    assert_eq!(
        (row.action, row.outcome.as_str(), row.by.as_str()),
        (AuditAction::Approval, "approve", "a test")
    );
    assert!(row.detail.contains("ls -l") && row.detail.contains(r#"from {"command":"ls"}"#), "{row:?}");
}

#[tokio::test]
async fn grant_for_the_conversation_covers_the_same_call_alone() {
    let (harness, tool) = shell(&["ls", "ls", "ls -l"]);
    let surface = Arc::new(DeskSurface::default());
    let submitted = harness.submit(Inbound::say(session("a"), "go"), surface.clone()).await;
    let question = asked(&surface, &harness).await;
    assert!(harness.approvals.decide(&question.id, Answer::new(Decision::Approve).scoped(Scope::Session)));
    submitted.reply.wait().await.unwrap();
    let surface = Arc::new(DeskSurface::default());
    ask(&harness, surface.clone()).await;
    assert_eq!(tool.ran(), 2, "the same call ran without a question");
    assert!(!surface.events().iter().any(|(_, event)| matches!(event, TurnEvent::Approval(_))));
    let actions: Vec<_> =
        harness.store.newest(9).await.unwrap().into_iter().map(|row| row.action.as_str()).collect();
    assert_eq!(actions, ["approval", "grant", "approval"]);
    let surface = Arc::new(DeskSurface::default());
    let submitted = harness.submit(Inbound::say(session("a"), "go"), surface.clone()).await;
    let question = asked(&surface, &harness).await;
    assert_eq!(question.input, json!({"command": "ls -l"}), "another call is asked about");
    harness.approvals.decide(&question.id, Decision::Deny);
    submitted.reply.wait().await.unwrap();
    assert_eq!(tool.ran(), 2);
}

#[tokio::test]
async fn grant_for_the_conversation_needs_an_attended_surface() {
    let (harness, tool) = shell(&["ls", "ls"]);
    let surface = Arc::new(DeskSurface::default());
    let submitted = harness.submit(Inbound::say(session("a"), "go"), surface.clone()).await;
    let question = asked(&surface, &harness).await;
    harness.approvals.decide(&question.id, Answer::new(Decision::Approve).scoped(Scope::Session));
    submitted.reply.wait().await.unwrap();
    ask(&harness, Arc::new(aethon_core::surface::Unattended)).await;
    assert_eq!(tool.ran(), 1);
}

#[tokio::test]
async fn a_refusal_by_a_rule_leaves_a_row() {
    let (harness, tool) = shell(&["sudo ls"]);
    ask(&harness, Arc::new(DeskSurface::default())).await;
    assert_eq!(tool.ran(), 0);
    let row = harness.store.newest(1).await.unwrap().pop().unwrap();
    assert_eq!((row.action, row.subject.as_str()), (AuditAction::Refusal, "shell"));
    assert!(row.detail.contains("sudo ls") && row.session_id == Some(session("a")), "{row:?}");
}
