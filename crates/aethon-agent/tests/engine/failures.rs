//! Models that fail or garble arguments, tools and hooks that panic, a storage that fails.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::Options;
use aethon_core::hook::{AddedContext, Hook, TurnContext};
use aethon_core::message::{EndReason, Failure, Inbound, Reply, TurnEnd};
use aethon_core::model::{ModelError, ModelErrorKind, ModelEvent, StopReason};
use aethon_core::testkit::Step;
use async_trait::async_trait;
use serde_json::json;
use tokio::time::Instant;

use crate::harness::{House, Plan, TestTool, What, calls, quiet, says, session, shown};

fn fails(kind: ModelErrorKind, retry_after: Option<u64>) -> Step {
    let error = ModelError::new(kind, "It failed; check `model.host`.");
    Step::Fail(error.with_retry_after(retry_after.map(Duration::from_secs)))
}

async fn ask(responses: Vec<Vec<Step>>) -> (House, Arc<Reply>) {
    let harness = House::new(responses);
    let reply = harness.ask(&session("a"), "hi").await;
    (harness, reply)
}

#[tokio::test(start_paused = true)]
async fn passing_failures_are_retried() {
    use ModelErrorKind::{Network, Overloaded, Timeout};
    let started = Instant::now();
    let failures = [Network, Overloaded, Timeout, Network].map(|kind| vec![fails(kind, None)]);
    let (harness, reply) = ask(failures.into_iter().chain([says("at last")]).collect()).await;
    assert_eq!(reply.text, "at last");
    let attempts: Vec<_> = harness.model.requests().iter().map(|request| request.attempt).collect();
    assert_eq!(attempts, [0, 1, 2, 3, 4]);
    assert!(started.elapsed() > Duration::from_millis(1800), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_answer_is_not_requested_again() {
    let (harness, reply) = ask(vec![vec![fails(ModelErrorKind::Malformed, None)], says("no")]).await;
    assert_eq!(harness.model.requests().len(), 1);
    assert_eq!(reply.failure.as_ref().unwrap().code, EndReason::Model(ModelErrorKind::Malformed));
}

#[tokio::test(start_paused = true)]
async fn an_answer_with_an_unreadable_part_stands_with_a_notice() {
    let (harness, reply) = ask(vec![vec![Step::say("kept"), Step::finish(StopReason::Unreadable)]]).await;
    assert_eq!((harness.model.requests().len(), reply.end), (1, TurnEnd::End));
    assert!(reply.text.starts_with("kept\n\nA part of this answer is missing"), "{}", reply.text);
    assert_eq!(harness.transcript(&session("a")), ["user: hi", "assistant: kept | (malformed)"]);
}

#[tokio::test(start_paused = true)]
async fn text_that_was_a_thought_is_not_the_answer() {
    let steps = vec![
        Step::say("They greet me."),
        Step::Event(ModelEvent::TextWasReasoning),
        Step::say("Hello!"),
        Step::finish(StopReason::End),
    ];
    let (harness, reply) = ask(vec![steps, says("Bye.")]).await;
    assert_eq!(reply.text, "Hello!");
    harness.ask(&session("a"), "again").await;
    let request = harness.model.requests().pop().unwrap();
    assert!(request.messages.iter().all(|message| !message.text().contains("greet")), "{request:?}");
}

#[tokio::test(start_paused = true)]
async fn a_thought_in_between_parts_no_word() {
    let thought = || Step::Event(ModelEvent::ReasoningDone { text: "hm".into(), opaque: None });
    let thinking = || Step::Event(ModelEvent::Reasoning("hm".into()));
    let steps = vec![
        Step::say("Hel"),
        thinking(),
        thought(),
        Step::say("lo wor"),
        thinking(),
        thought(),
        Step::say("ld"),
        Step::finish(StopReason::End),
    ];
    let (_, reply) = ask(vec![steps]).await;
    assert_eq!(reply.text, "Hello world");
}

#[tokio::test(start_paused = true)]
async fn a_full_window_ends_an_answer_without_a_second_request() {
    let (harness, reply) =
        ask(vec![vec![Step::say("half "), Step::finish(StopReason::Window)], says("half")]).await;
    assert_eq!(harness.model.requests().len(), 1);
    assert!(reply.text.starts_with("half") && reply.text.contains("context window"), "{}", reply.text);
}

#[tokio::test(start_paused = true)]
async fn a_long_wait_is_explained_and_a_short_one_is_not() {
    let busy = |seconds| vec![fails(ModelErrorKind::Overloaded, Some(seconds))];
    let harness = House::new([busy(1), busy(20), says("at last")]);
    let surface = quiet();
    let reply =
        harness.submit(Inbound::say(session("a"), "hi"), surface.clone()).await.reply.wait().await.unwrap();
    assert_eq!(reply.text, "at last");
    assert_eq!(shown(&surface), ["started", "notice waiting", "text at last", "done end"]);
}

#[tokio::test(start_paused = true)]
async fn retries_end_after_a_while() {
    let (harness, reply) = ask((0..9).map(|_| vec![fails(ModelErrorKind::Network, None)]).collect()).await;
    assert_eq!(harness.model.requests().len(), 5);
    assert_eq!((reply.end, reply.text.as_str()), (TurnEnd::Error, "It failed; check `model.host`."));
    assert_eq!(reply.failure.as_ref().unwrap().code, EndReason::Model(ModelErrorKind::Network));
    assert_eq!(harness.transcript(&session("a")), ["user: hi", "assistant: (network)"]);
}

#[tokio::test(start_paused = true)]
async fn lasting_failures_are_not_retried() {
    use ModelErrorKind::{Auth, InvalidRequest, NotFound, Quota, Refused};
    for kind in [Auth, Quota, NotFound, Refused, InvalidRequest] {
        let (harness, reply) = ask(vec![vec![fails(kind, None)]]).await;
        assert_eq!(harness.model.requests().len(), 1, "{kind:?}");
        assert_eq!(reply.failure.as_ref().unwrap().code, EndReason::Model(kind));
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_the_service_asks_for_is_kept() {
    let started = Instant::now();
    let (_, reply) = ask(vec![vec![fails(ModelErrorKind::RateLimit, Some(42))], says("ok")]).await;
    assert_eq!(reply.end, TurnEnd::End);
    let waited = started.elapsed().as_secs();
    assert!((42..=48).contains(&waited), "not sooner, and not all at the same moment: {waited}");
}

#[tokio::test(start_paused = true)]
async fn a_wait_longer_than_the_turn_ends_it_at_once() {
    let started = Instant::now();
    let (_, reply) = ask(vec![vec![fails(ModelErrorKind::RateLimit, Some(3600))]]).await;
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert_eq!(reply.failure.as_ref().unwrap().retry_after, Some(3600));
    assert!(reply.text.ends_with("Try again in 60 minutes."), "{}", reply.text);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_tried_again_after_output() {
    for broken in [
        vec![Step::say("half"), fails(ModelErrorKind::Network, None)],
        vec![Step::say("half")],
        vec![Step::Event(ModelEvent::Reasoning("hm".into())), fails(ModelErrorKind::Overloaded, None)],
    ] {
        let (harness, reply) = ask(vec![broken]).await;
        assert_eq!(harness.model.requests().len(), 1);
        assert_eq!(reply.end, TurnEnd::Error);
        harness.assert_well_formed(&session("a"));
    }
    let (harness, reply) = ask(vec![vec![Step::say("half"), fails(ModelErrorKind::Network, None)]]).await;
    assert_eq!(reply.text, "half\n\nIt failed; check `model.host`.");
    assert_eq!(harness.transcript(&session("a"))[1], "assistant: half | (network)");
}

#[tokio::test(start_paused = true)]
async fn conversation_too_long_for_the_service_is_compacted_once() {
    let too_long = || vec![fails(ModelErrorKind::ContextLength, None)];
    let harness = House::new([says("1"), says("2"), too_long(), says("they counted"), says("3")]);
    let session = session("a");
    harness.ask(&session, "one").await;
    harness.ask(&session, "two").await;
    assert_eq!(harness.ask(&session, "three").await.text, "3");
    let sizes: Vec<_> = harness.asked().iter().map(|request| request.messages.len()).collect();
    assert_eq!(sizes, [1, 3, 5, 2]);
    let again = &harness.asked()[3];
    assert!(crate::harness::describe(&again.messages[0]).contains("they counted"));
    assert_eq!((again.messages[1].text().as_str(), again.turn_start), ("three", 1));

    let harness = House::new([says("1"), too_long(), says("they counted"), too_long()]);
    harness.ask(&session, "one").await;
    let reply = harness.ask(&session, "two").await;
    assert_eq!(
        (reply.end, reply.failure.as_ref().unwrap().code.as_str()),
        (TurnEnd::Error, "context_length")
    );
    assert_eq!(harness.asked().len(), 3);
    assert_eq!(harness.ask(&session, "three").await.text, "ok");
}

#[tokio::test]
async fn single_message_too_long_for_the_service_fails_clearly() {
    let (harness, reply) = ask(vec![vec![fails(ModelErrorKind::ContextLength, None)]]).await;
    assert_eq!(reply.failure.as_ref().unwrap().code, EndReason::Model(ModelErrorKind::ContextLength));
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test]
async fn a_model_that_panics_fails_the_turn_only() {
    let (harness, reply) = ask(vec![vec![Step::say("so"), Step::Panic]]).await;
    assert_eq!((reply.end, reply.failure.as_ref().unwrap().code.as_str()), (TurnEnd::Error, "internal"));
    assert_eq!(harness.ask(&session("a"), "again").await.text, "ok");
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_cannot_be_stored_at_first_is_stored_later() {
    let harness = House::new([]);
    harness.store.fail("finish", 2);
    assert_eq!(harness.ask(&session("a"), "hi").await.text, "ok");
    assert_eq!(harness.transcript(&session("a")), ["user: hi", "assistant: ok"]);
}

#[tokio::test]
async fn a_message_that_cannot_be_stored_is_refused() {
    let harness = House::new([]);
    harness.store.fail("accept", 1);
    let inbound = Inbound::say(session("a"), "hi");
    let refused = aethon_core::assistant::Assistant::submit(&harness.engine, inbound, quiet()).await;
    assert!(refused.is_err());
    assert_eq!(harness.ask(&session("a"), "again").await.text, "ok");
}

struct Moody;

#[async_trait]
impl Hook for Moody {
    fn name(&self) -> &'static str {
        "moody"
    }

    async fn before_turn(
        &self,
        _turn: &TurnContext,
        inbound: &Inbound,
    ) -> Result<Vec<AddedContext>, Failure> {
        match inbound.text.as_str() {
            "panic" => panic!("a fault"),
            "poor" => Err(Failure::new(EndReason::BudgetExceeded, "No money.")),
            _ => Ok(Vec::new()),
        }
    }

    async fn after_turn(&self, _turn: &TurnContext, _reply: &Reply) {
        panic!("too late to matter");
    }
}

#[tokio::test]
async fn a_hook_refuses_and_may_panic() {
    let harness = House::with([], Plan { hooks: vec![Arc::new(Moody)], ..Plan::default() });
    assert_eq!(harness.ask(&session("a"), "panic").await.end, TurnEnd::Error);
    let poor = harness.ask(&session("a"), "poor").await;
    assert_eq!((poor.end, poor.text.as_str()), (TurnEnd::Budget, "No money."));
    assert_eq!(harness.ask(&session("a"), "fine").await.text, "ok");
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_turn_takes_no_longer_than_it_may() {
    let options = Options::default().with(|options| options.turn_timeout = Duration::from_secs(30));
    let harness = House::with([vec![Step::say("slow"), Step::Hang]], Plan { options, ..Plan::default() });
    let started = Instant::now();
    let surface = quiet();
    let submitted = harness.submit(Inbound::say(session("a"), "hi"), surface.clone()).await;
    let reply = submitted.reply.wait().await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 30);
    assert_eq!((reply.end, reply.failure.as_ref().unwrap().code.as_str()), (TurnEnd::Limit, "turn_timeout"));
    assert!(reply.text.starts_with("slow\n\nStopped: this took longer than 30 seconds"), "{}", reply.text);
    assert_eq!(shown(&surface), ["started", "text slow", "done limit"]);
}

#[tokio::test(start_paused = true)]
async fn empty_answer_is_requested_again() {
    let nothing = || vec![Step::finish(StopReason::End)];
    let (harness, reply) = ask(vec![nothing(), nothing(), says("at last")]).await;
    assert_eq!((reply.end, reply.text.as_str()), (TurnEnd::End, "at last"));
    assert_eq!(reply.usage.input_tokens, 30, "each of them has cost something");
    assert_eq!(harness.model.requests().len(), 3);
    let (harness, reply) = ask((0..9).map(|_| nothing()).collect()).await;
    assert_eq!((reply.end, harness.model.requests().len()), (TurnEnd::End, 3), "not for ever");
}

#[tokio::test(start_paused = true)]
async fn silent_request_is_repeated_once() {
    let (harness, reply) = ask((0..9).map(|_| vec![fails(ModelErrorKind::Timeout, None)]).collect()).await;
    assert_eq!(harness.model.requests().len(), 2);
    assert_eq!(reply.failure.as_ref().unwrap().code, EndReason::Model(ModelErrorKind::Timeout));
    let entries = harness.ledger.entries();
    // The input that was sent, and as much output as is usual: the work of the service is unknown.
    assert!(entries.iter().all(|entry| entry.usage.input_tokens > 0 && entry.usage.output_tokens == 1_000));
}

#[tokio::test(start_paused = true)]
async fn refused_and_empty_answers_are_explained() {
    let check = async |steps: Vec<Step>, end: TurnEnd, said: &str| {
        let (harness, reply) = ask(vec![steps; 3]).await;
        assert_eq!((reply.end, harness.transcript(&session("a"))[1].as_str()), (end, said));
    };
    check(vec![Step::finish(StopReason::Refusal)], TurnEnd::Error, "assistant: (refused)").await;
    check(vec![Step::finish(StopReason::End)], TurnEnd::End, "assistant: (empty_answer)").await;
}

fn clock() -> Plan {
    Plan { tools: vec![TestTool::new("clock", What::Say("noon")) as _], ..Plan::default() }
}

#[tokio::test]
async fn arguments_that_are_no_json_may_be_repaired_once() {
    let garbled =
        |id: &str| vec![Step::call(id, "clock", json!("{\"a\": ")), Step::finish(StopReason::ToolUse)];
    let harness = House::with([garbled("1"), calls(&["clock"]), garbled("2"), says("noon")], clock());
    assert_eq!(harness.ask(&session("a"), "time?").await.text, "noon");

    let harness = House::with([garbled("1"), garbled("2"), says("never")], clock());
    let reply = harness.ask(&session("a"), "time?").await;
    assert_eq!((reply.end, reply.failure.as_ref().unwrap().code.as_str()), (TurnEnd::Error, "malformed"));
    assert!(reply.text.contains("`clock`"), "{}", reply.text);
    assert_eq!(harness.model.requests().len(), 2);
    harness.assert_well_formed(&session("a"));
}
