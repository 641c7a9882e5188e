//! A person's word before a tool runs.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::approval::Decision;
use aethon_core::assistant::Assistant;
use aethon_core::message::{Block, Inbound, ToolResult};
use aethon_core::surface::{Surface, TurnEvent};
use aethon_core::testkit::{CollectingSurface, DeskSurface};
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
async fn it_runs_when_the_surface_approves() {
    let (harness, tool) = harness();
    let surface = Arc::new(CollectingSurface::answering(Some(Decision::Approve)));
    ask(&harness, surface.clone()).await;
    assert_eq!((tool.ran(), result(&harness).output.as_str()), (1, "ran"));
    let expected = ["shell running", "asked shell", "settled Approve User", "shell ok"];
    assert_eq!(shown(&surface)[1..5], expected);
}

#[tokio::test]
async fn it_does_not_run_when_the_surface_denies() {
    let (harness, tool) = harness();
    let surface = Arc::new(CollectingSurface::answering(Some(Decision::Deny)));
    ask(&harness, surface.clone()).await;
    assert!(result(&harness).denied);
    assert_eq!(tool.ran(), 0);
    assert_eq!(shown(&surface)[4], "shell denied");
}

#[tokio::test]
async fn nobody_there_is_a_denial_that_names_the_key() {
    let (harness, tool) = harness();
    ask(&harness, Arc::new(aethon_core::surface::Unattended)).await;
    assert!(result(&harness).output.contains("approval.requires_approval"), "{}", result(&harness).output);
    assert_eq!(tool.ran(), 0);
}

#[tokio::test]
async fn the_desk_answers_as_well_and_once() {
    let (harness, tool) = harness();
    let surface = Arc::new(DeskSurface::default());
    let submitted = harness.submit(Inbound::say(session("a"), "go"), surface.clone()).await;
    surface.saw(|event| matches!(event, TurnEvent::Approval(_))).await;
    let open = harness.desk.pending();
    assert_eq!((open.len(), open[0].tool.as_str(), &open[0].turn), (1, "shell", &submitted.turn));
    assert!(harness.desk.decide(&open[0].id, Decision::Approve));
    assert!(!harness.desk.decide(&open[0].id, Decision::Approve));
    submitted.reply.wait().await.unwrap();
    assert_eq!(tool.ran(), 1);
    assert!(harness.desk.pending().is_empty());
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
    assert!(harness.desk.pending().is_empty());
}

#[tokio::test]
async fn a_stop_takes_the_question_back() {
    let (harness, tool) = harness();
    let surface = Arc::new(DeskSurface::default());
    let submitted = harness.submit(Inbound::say(session("a"), "go"), surface.clone()).await;
    surface.saw(|event| matches!(event, TurnEvent::Approval(_))).await;
    harness.engine.stop(&session("a"), None).await;
    submitted.reply.wait().await.unwrap();
    assert!(harness.desk.pending().is_empty());
    assert_eq!(tool.ran(), 0);
    let settled = surface.events().into_iter().any(|(_, event)| {
        matches!(event, TurnEvent::ApprovalDone { resolution, .. }
            if resolution.reason == aethon_core::approval::ResolutionReason::Stopped)
    });
    assert!(settled);
    harness.assert_well_formed(&session("a"));
}
