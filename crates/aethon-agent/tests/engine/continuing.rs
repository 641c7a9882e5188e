//! Answers that reach the output limit.

use aethon_core::message::{Inbound, TurnEnd};
use aethon_core::model::{ModelError, ModelErrorKind, StopReason};
use aethon_core::testkit::Step;
use serde_json::json;

use crate::harness::{House, Plan, TestTool, What, quiet, says, session, shown};

fn cut(text: &str) -> Vec<Step> {
    vec![Step::say(text), Step::finish(StopReason::Length)]
}

#[tokio::test]
async fn truncated_answer_is_continued_once() {
    let harness = House::new([cut("The first ha"), says("lf and the second.")]);
    let surface = quiet();
    let reply =
        harness.submit(Inbound::say(session("a"), "tell"), surface.clone()).await.reply.wait().await.unwrap();
    assert_eq!((reply.end, reply.text.as_str()), (TurnEnd::End, "The first half and the second."));
    assert_eq!(
        harness.transcript(&session("a")),
        ["user: tell", "assistant: The first half and the second."]
    );
    assert_eq!(shown(&surface), ["started", "text The first ha", "text lf and the second.", "done end"]);
    assert_eq!(reply.usage.output_tokens, 10);
    assert_eq!(harness.store.transcript(&session("a"))[1].usage.unwrap().output_tokens, 10);
    let again = &harness.model.requests()[1];
    let seen: Vec<_> = again.messages.iter().map(|message| message.text()).collect();
    assert_eq!(seen[..2], ["tell", "The first ha"]);
    assert!(seen[2].contains("Go on exactly where it stopped"), "{}", seen[2]);
    harness.ask(&session("a"), "next").await;
    let seen: Vec<_> = harness.model.requests()[2].messages.iter().map(|message| message.text()).collect();
    assert_eq!(seen, ["tell", "The first half and the second.", "next"]);
}

#[tokio::test(start_paused = true)]
async fn answer_that_cannot_continue_ends_with_a_length_notice() {
    let fails = || vec![Step::Fail(ModelError::new(ModelErrorKind::InvalidRequest, "no prefill"))];
    let stays_away = || vec![Step::Fail(ModelError::new(ModelErrorKind::Network, "gone"))];
    let check = async |second: Vec<Vec<Step>>, expected: &str| {
        let harness = House::new([cut("half")].into_iter().chain(second));
        let reply = harness.ask(&session("a"), "tell").await;
        assert_eq!((reply.end, harness.transcript(&session("a"))[1].as_str()), (TurnEnd::End, expected));
        assert!(reply.text.contains("model.max_tokens"), "{}", reply.text);
    };
    check(vec![cut(" more")], "assistant: half more | (length)").await;
    check(vec![fails()], "assistant: half | (length)").await;
    check((0..5).map(|_| stays_away()).collect(), "assistant: half | (length)").await;
    check(vec![vec![Step::say(" more")]], "assistant: half more | (length)").await;
}

#[tokio::test]
async fn continuation_may_call_tools() {
    let tools = vec![TestTool::new("t", What::Say("x")) as _];
    let rest = vec![Step::say(" look"), Step::call("c", "t", json!({})), Step::finish(StopReason::ToolUse)];
    let harness = House::with([cut("I"), rest, says("done")], Plan { tools, ..Plan::default() });
    assert_eq!(harness.ask(&session("a"), "go").await.text, "done");
    assert_eq!(harness.transcript(&session("a"))[1], "assistant: I look | call t");
    harness.assert_well_formed(&session("a"));
}

#[tokio::test]
async fn stop_during_the_continuation_keeps_the_whole_answer() {
    let harness = House::new([cut("one "), vec![Step::say("two"), Step::Hang]]);
    let surface = quiet();
    let submitted = harness.submit(Inbound::say(session("a"), "tell"), surface.clone()).await;
    surface.saw(|event| matches!(event, aethon_core::surface::TurnEvent::Text(text) if text == "two")).await;
    aethon_core::assistant::Assistant::stop(&harness.engine, &session("a"), None).await;
    assert_eq!(submitted.reply.wait().await.unwrap().text, "one two\n\nStopped.");
}

#[tokio::test]
async fn thoughts_alone_are_not_continued() {
    let harness = House::new([vec![Step::finish(StopReason::Length)]]);
    harness.ask(&session("a"), "tell").await;
    assert_eq!(harness.model.requests().len(), 1);
    assert_eq!(harness.transcript(&session("a"))[1], "assistant: (length)");
}
