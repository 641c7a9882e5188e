//! A person's word before a tool runs.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::approval::Decision;
use aethon_core::assistant::Assistant;
use aethon_core::message::{Block, Inbound, ToolResult};
use aethon_core::surface::{Surface, TurnEvent};
use aethon_core::testkit::{CollectingSurface, DeskSurface};
use tokio::time::Instant;

use crate::house::{House, Plan, TestTool, What, calls, says, session, shown};

fn house() -> (House, Arc<TestTool>) {
    let tool = TestTool::new("shell", What::Say("ran"));
    let plan = Plan { tools: vec![tool.clone()], ask_for: vec!["shell".into()], ..Plan::default() };
    (House::with([calls(&["shell"]), says("done")], plan), tool)
}

fn result(house: &House) -> ToolResult {
    let transcript = house.store.transcript(&session("a"));
    match &transcript[2].content[0] {
        Block::ToolResult(result) => result.clone(),
        other => panic!("{other:?}"),
    }
}

async fn ask(house: &House, surface: Arc<dyn Surface>) {
    house.submit(Inbound::say(session("a"), "go"), surface).await.reply.wait().await.unwrap();
}

#[tokio::test]
async fn it_runs_when_the_surface_approves() {
    let (house, tool) = house();
    let surface = Arc::new(CollectingSurface::answering(Some(Decision::Approve)));
    ask(&house, surface.clone()).await;
    assert_eq!((tool.ran(), result(&house).output.as_str()), (1, "ran"));
    let expected = ["shell running", "asked shell", "settled Approve User", "shell ok"];
    assert_eq!(shown(&surface)[1..5], expected);
}

#[tokio::test]
async fn it_does_not_run_when_the_surface_denies() {
    let (house, tool) = house();
    let surface = Arc::new(CollectingSurface::answering(Some(Decision::Deny)));
    ask(&house, surface.clone()).await;
    assert!(result(&house).denied);
    assert_eq!(tool.ran(), 0);
    assert_eq!(shown(&surface)[4], "shell denied");
}

#[tokio::test]
async fn nobody_there_is_a_denial_that_names_the_key() {
    let (house, tool) = house();
    ask(&house, Arc::new(aethon_core::surface::Unattended)).await;
    assert!(result(&house).output.contains("approval.requires_approval"), "{}", result(&house).output);
    assert_eq!(tool.ran(), 0);
}

#[tokio::test]
async fn the_desk_answers_as_well_and_once() {
    let (house, tool) = house();
    let surface = Arc::new(DeskSurface::default());
    let submitted = house.submit(Inbound::say(session("a"), "go"), surface.clone()).await;
    surface.saw(|event| matches!(event, TurnEvent::Approval(_))).await;
    let open = house.desk.pending();
    assert_eq!((open.len(), open[0].tool.as_str(), &open[0].turn), (1, "shell", &submitted.turn));
    assert!(house.desk.decide(&open[0].id, Decision::Approve));
    assert!(!house.desk.decide(&open[0].id, Decision::Approve));
    submitted.reply.wait().await.unwrap();
    assert_eq!(tool.ran(), 1);
    assert!(house.desk.pending().is_empty());
}

#[tokio::test(start_paused = true)]
async fn silence_is_a_denial() {
    let (house, tool) = house();
    let started = Instant::now();
    let surface = Arc::new(DeskSurface::default());
    ask(&house, surface.clone()).await;
    assert_eq!(started.elapsed(), Duration::from_secs(120));
    assert!(result(&house).output.contains("approval.timeout_seconds"));
    assert_eq!(tool.ran(), 0);
    assert!(house.desk.pending().is_empty());
}

#[tokio::test]
async fn a_stop_takes_the_question_back() {
    let (house, tool) = house();
    let surface = Arc::new(DeskSurface::default());
    let submitted = house.submit(Inbound::say(session("a"), "go"), surface.clone()).await;
    surface.saw(|event| matches!(event, TurnEvent::Approval(_))).await;
    house.engine.stop(&session("a"), None).await;
    submitted.reply.wait().await.unwrap();
    assert!(house.desk.pending().is_empty());
    assert_eq!(tool.ran(), 0);
    let settled = surface.events().into_iter().any(|(_, event)| {
        matches!(event, TurnEvent::ApprovalDone { resolution, .. }
            if resolution.reason == aethon_core::approval::ResolutionReason::Stopped)
    });
    assert!(settled);
    house.assert_well_formed(&session("a"));
}
