//! Conversations that are longer than the model can hold.

use std::sync::Arc;

use aethon_agent::Options;
use aethon_core::ids::TurnId;
use aethon_core::ledger::WorkKind;
use aethon_core::message::{Block, EndReason, Inbound, Message, Role, TurnEnd};
use aethon_core::model::{ModelError, ModelErrorKind, ModelEvent, ModelRequest, StopReason, Usage};
use aethon_core::session::{TurnPhase, TurnRecord};
use aethon_core::surface::TurnEvent;
use aethon_core::testkit::{Aside, CollectingSurface, Step};
use aethon_core::tool::Tool;
use proptest::prelude::*;
use serde_json::json;

use crate::harness::{House, Plan, TestTool, What, calls, is_for_summary, now, quiet, says, session, shown};

/// Returns the size of a request, by the same rule of thumb for everything in it.
fn size(request: &ModelRequest) -> usize {
    let block = |block: &Block| match block {
        Block::Text { text, .. } | Block::File { text, .. } | Block::Context { text, .. } => text.len(),
        Block::ToolCall(call) => call.name.len() + call.input.to_string().len(),
        Block::ToolResult(result) => result.output.len(),
        Block::Folded { summary, .. } => summary.len(),
        Block::Image { .. } => 6_400,
        Block::Search(_) => 0,
        Block::Reasoning { .. } | Block::Notice { .. } => 0,
    };
    let messages: usize = request.messages.iter().flat_map(|message| &message.content).map(block).sum();
    let tools: usize =
        request.tools.iter().map(|tool| tool.description.len() + tool.parameters.to_string().len()).sum();
    (request.system.len() + messages + tools) / 4
}

fn folded(message: &Message) -> Option<(u64, i64, i64, String)> {
    message.content.iter().find_map(|block| match block {
        Block::Folded { messages, from, to, summary } => {
            Some((*messages, from.parse().unwrap(), to.parse().unwrap(), summary.clone()))
        }
        _ => None,
    })
}

fn long(text: &str, words: usize) -> String {
    format!("{text} {}", "word ".repeat(words))
}

#[tokio::test]
async fn older_messages_become_a_summary_that_the_person_sees() {
    let mut responses: Vec<_> = (0..4).map(|n| says(&long(&format!("answer {n}"), 300))).collect();
    // Summarising the part that leaves takes two passes.
    responses.push(says("They began to talk."));
    responses.push(says("They talked about words."));
    responses.push(says("the last answer"));
    let options = Options::default().with(|options| options.keep_recent = 2);
    let harness = House::with(responses, Plan { context_window: Some(4_000), options, ..Plan::default() });
    let session = session("a");
    for turn in 0..4 {
        harness.ask(&session, &long(&format!("message {turn}"), 200)).await;
    }
    let surface = quiet();
    let inbound = Inbound::say(session.clone(), long("message 4", 200));
    let reply = harness.submit(inbound, surface.clone()).await.reply.wait().await.unwrap();
    assert_eq!(reply.text, "the last answer");

    let transcript = harness.store.transcript(&session);
    let texts: Vec<_> = transcript.iter().map(Message::text).filter(|text| !text.is_empty()).collect();
    assert_eq!(texts.len(), 10, "nothing is gone");
    let stored = transcript.iter().find_map(folded).expect("the summary is stored");
    assert_eq!(stored.3, "They talked about words.");
    assert_eq!((stored.0, stored.1), (u64::try_from(stored.2).unwrap(), 1));
    assert!(shown(&surface).contains(&format!("folded {}", stored.0)), "{:?}", shown(&surface));

    let asked = harness.asked();
    let last = asked.last().unwrap();
    assert_eq!(folded(&last.messages[0]).unwrap().3, "They talked about words.");
    assert_eq!(last.messages[1].id.0, stored.2 + 1, "what follows was not folded");
    assert_eq!(last.messages.last().unwrap().text(), long("message 4", 200));

    let for_summary: Vec<_> = harness.model.requests().into_iter().filter(is_for_summary).collect();
    assert_eq!(for_summary.len(), 2);
    assert!(for_summary.iter().all(|request| request.tools.is_empty()));
    let shown: Vec<_> = for_summary.iter().map(|request| request.messages[0].text()).collect();
    assert!(shown[0].contains("> message 0 word") && !shown[0].contains("summary so far:"), "{}", shown[0]);
    assert!(shown[1].contains("The summary so far:\n> They began to talk.\n"), "{}", shown[1]);
    let kinds: Vec<_> = harness.ledger.entries().iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == WorkKind::Compaction).count(), 2);
    assert_eq!(kinds.len(), 7);
}

#[tokio::test(start_paused = true)]
async fn digest_replaces_a_failed_summary() {
    let error = ModelError::new(ModelErrorKind::Overloaded, "busy");
    let endless = (0..5_000).map(|_| Step::say("words without end ")).collect();
    for (no_summary, is_digest) in [
        (vec![Step::Fail(error)], true),
        (vec![Step::say("  "), Step::finish(StopReason::End)], true),
        (vec![Step::Panic], true),
        (vec![Step::Hang], true),
        (vec![Step::say("broken off")], false),
        (endless, false),
    ] {
        let mut responses: Vec<_> = (0..4).map(|n| says(&long(&format!("answer {n}"), 300))).collect();
        // Summarising the part that leaves takes two passes, if the first one returns anything.
        responses.extend(vec![no_summary; if is_digest { 1 } else { 2 }]);
        responses.push(says("done"));
        let harness = House::with(responses, Plan { context_window: Some(4_000), ..Plan::default() });
        let session = session("a");
        for turn in 0..5 {
            harness.ask(&session, &long(&format!("message {turn}"), 200)).await;
        }
        let summary = harness.store.transcript(&session).iter().find_map(folded).unwrap().3;
        assert_eq!(summary.contains("- The person: message 0 word"), is_digest, "{summary}");
        assert_eq!(summary.contains("No model has summarised these"), is_digest, "{summary}");
        assert!(summary.len() < 2_500, "{}", summary.len());
        assert_eq!(harness.transcript(&session).last().unwrap(), "assistant: done");
    }
}

#[tokio::test]
async fn a_restart_shows_the_model_what_the_process_before_did() {
    let answers = |from: usize| {
        (from..from + 40)
            .map(move |n| if n % 7 == 3 { calls(&["t"]) } else { says(&long(&format!("a{n}"), 60)) })
    };
    let output: &'static str = Box::leak("0123456789".repeat(300).into_boxed_str());
    let plan = |store| Plan {
        tools: vec![TestTool::new("t", What::Say(output)) as _],
        context_window: Some(8_000),
        options: Options::default().with(|options| options.keep_recent = 4),
        store,
        ..Plan::default()
    };
    let session = session("a");
    let mut harness = House::with(answers(0), plan(None));
    for turn in 0..30 {
        harness.ask(&session, &long(&format!("message {turn}"), 300)).await;
        if turn % 4 != 3 {
            continue;
        }
        let next = House::with(answers(turn), plan(Some(harness.store.clone())));
        let before = harness.asked().pop().unwrap();
        next.ask(&session, "and now?").await;
        let after = next.asked().remove(0);
        assert_eq!(before.system, after.system);
        assert_eq!(before.tools, after.tools);
        let is_new_fold = folded(&after.messages[0]) != folded(&before.messages[0]);
        let same = before.messages.iter().zip(after.messages.iter()).all(|(one, other)| one == other);
        assert!(same || is_new_fold, "turn {turn}");
        harness = next;
    }
    assert!(
        harness.store.transcript(&session).iter().filter(|message| folded(message).is_some()).count() > 1
    );
}

#[tokio::test]
async fn turn_longer_than_the_window_keeps_its_question_in_sight() {
    let output: &'static str = Box::leak("0123456789".repeat(300).into_boxed_str());
    let tools = vec![TestTool::new("t", What::Count) as _, TestTool::new("read", What::Say(output)) as _];
    // Each step reads something large and counts, so that it is no loop.
    let mut responses: Vec<Vec<Step>> = Vec::new();
    for step in 0..200 {
        responses.push(vec![
            Step::call(&format!("r{step}"), "read", json!({"page": step, "why": "x".repeat(200)})),
            Step::call(&format!("t{step}"), "t", json!({"page": step})),
            Step::finish(StopReason::ToolUse),
        ]);
    }
    let options = Options::default().with(|options| options.max_iterations = 60);
    let plan = Plan { tools, options, context_window: Some(8_000), ..Plan::default() };
    let harness = House::with(responses, plan);
    let session = session("a");
    let reply = harness.ask(&session, "read all the pages").await;
    assert_eq!(reply.end, TurnEnd::Limit);
    let asked = harness.asked();
    assert!(asked.len() >= 50, "{}", asked.len());
    for request in &asked {
        assert!(size(request) <= 6_400, "{}", size(request));
        assert_eq!(request.messages[request.turn_start].text(), "read all the pages");
    }
    harness.assert_well_formed(&session);
    assert!(harness.store.transcript(&session).iter().any(|message| folded(message).is_some()));

    // The next process finds the question too.
    let next = House::with([says("so?")], Plan { store: Some(harness.store.clone()), ..Plan::default() });
    next.ask(&session, "and?").await;
    let texts: Vec<_> = next.asked()[0].messages.iter().map(|message| message.text()).collect();
    assert_eq!((texts[1].as_str(), texts.last().unwrap().as_str()), ("read all the pages", "and?"));
}

#[tokio::test]
async fn overlong_message_is_cut_for_the_model_and_stored_whole() {
    let harness = House::with([], Plan { context_window: Some(4_000), ..Plan::default() });
    let (session, surface) = (session("a"), quiet());
    let text = format!("BEGIN {} END", "word ".repeat(20_000));
    let reply =
        harness.submit(Inbound::say(session.clone(), text.clone()), surface.clone()).await.reply.wait().await;
    assert_eq!(reply.unwrap().text, "ok");
    let request = harness.asked().remove(0);
    assert!(size(&request) <= 3_000, "{}", size(&request));
    let seen = request.messages[0].text();
    assert!(seen.starts_with("BEGIN") && seen.ends_with("END") && seen.contains("characters are left out"));
    assert_eq!(harness.store.transcript(&session)[0].text(), text);
    assert!(shown(&surface).contains(&"notice context_cut".to_owned()));
}

#[tokio::test]
async fn token_counts_of_the_provider_override_the_estimate() {
    // A language in which a token is a byte or two: the provider counts four times the estimate.
    let count = |tokens| {
        let usage = Usage { input_tokens: tokens, output_tokens: 10, ..Usage::default() };
        vec![Step::say("ok"), Step::Event(ModelEvent::Finished { stop: StopReason::End, usage, model: None })]
    };
    let harness =
        House::with([count(3_600), count(4_000)], Plan { context_window: Some(8_000), ..Plan::default() });
    let session = session("a");
    for turn in 0..4 {
        harness.ask(&session, &long(&format!("message {turn}"), 500)).await;
    }
    assert!(harness.store.transcript(&session).iter().any(|message| folded(message).is_some()));
    let plain = House::with([], Plan { context_window: Some(8_000), ..Plan::default() });
    for turn in 0..4 {
        plain.ask(&session, &long(&format!("message {turn}"), 500)).await;
    }
    assert!(!plain.store.transcript(&session).iter().any(|message| folded(message).is_some()));
}

#[tokio::test]
async fn turn_can_be_stopped_while_it_summarises() {
    let mut responses: Vec<_> = (0..4).map(|n| says(&long(&format!("answer {n}"), 300))).collect();
    responses.push(vec![Step::say("so far"), Step::Hang]);
    let harness = House::with(responses, Plan { context_window: Some(4_000), ..Plan::default() });
    let session = session("a");
    for turn in 0..4 {
        harness.ask(&session, &long(&format!("message {turn}"), 200)).await;
    }
    let submitted = harness.say(&session, &long("message 4", 200)).await;
    while harness.model.requests().len() < 5 {
        tokio::task::yield_now().await;
    }
    aethon_core::assistant::Assistant::stop(&harness.engine, &session, Some(&submitted.turn)).await;
    assert_eq!(submitted.reply.wait().await.unwrap().end, TurnEnd::Stopped);
    assert!(!harness.store.transcript(&session).iter().any(|message| folded(message).is_some()));
    assert_eq!(harness.ask(&session, "again").await.text, "ok");
}

#[tokio::test(start_paused = true)]
async fn unstorable_summary_ends_the_turn_and_loses_nothing() {
    let responses = (0..4).map(|n| says(&long(&format!("answer {n}"), 300)));
    let harness = House::with(responses, Plan { context_window: Some(4_000), ..Plan::default() });
    let session = session("a");
    for turn in 0..4 {
        harness.ask(&session, &long(&format!("message {turn}"), 200)).await;
    }
    harness.store.fault("append", 4);
    let failed = harness.ask(&session, &long("message 4", 200)).await;
    assert_eq!(failed.failure.as_ref().unwrap().code, EndReason::Storage);
    assert_eq!(harness.ask(&session, "again").await.text, "ok");
    assert!(harness.store.transcript(&session).iter().any(|message| folded(message).is_some()));
}

#[tokio::test]
async fn refusal_for_length_compacts_once_even_if_it_is_short() {
    let too_long = vec![Step::Fail(ModelError::new(ModelErrorKind::ContextLength, "too long"))];
    let script = [says("1"), calls(&["t"]), too_long, says("they counted to one"), says("3")];
    let tools = vec![TestTool::new("t", What::Say("an answer")) as _];
    let harness = House::with(script, Plan { tools, ..Plan::default() });
    let (session, surface) = (session("a"), quiet());
    harness.ask(&session, "one").await;
    let reply =
        harness.submit(Inbound::say(session.clone(), "two"), surface.clone()).await.reply.wait().await;
    assert_eq!(reply.unwrap().text, "3");
    let folds = shown(&surface).iter().filter(|event| event.starts_with("folded")).count();
    assert_eq!(folds, 1, "{:?}", shown(&surface));
    harness.assert_well_formed(&session);
}

/// Runs five hundred turns with large tool outputs on a small window.
#[tokio::test]
async fn five_hundred_turns_always_fit_and_lose_nothing() {
    let output: &'static str = Box::leak("a line of a large file\n".repeat(500).into_boxed_str());
    let tools = vec![TestTool::new("file_read", What::Say(output)) as _];
    let aside: Aside =
        |request| is_for_summary(request).then(|| says(&"What was said, in short. ".repeat(200)));
    let plan = Plan { tools, context_window: Some(8_000), aside: Some(aside), ..Plan::default() };
    let harness = House::with([], plan);
    let session = session("a");
    for turn in 0..500 {
        let number = |n: usize| {
            vec![
                Step::call(&format!("c{turn}-{n}"), "file_read", json!({"page": n})),
                Step::finish(StopReason::ToolUse),
            ]
        };
        harness.model.then(number(0));
        harness.model.then(number(1));
        harness.model.then(says(&long(&format!("answer {turn}"), turn % 50)));
        let surface = Arc::new(CollectingSurface::default());
        let text = format!("message {turn}: the secret of turn {turn} is {}", turn * 7919);
        let reply = harness
            .submit(Inbound::say(session.clone(), text), surface.clone())
            .await
            .reply
            .wait()
            .await
            .unwrap();
        assert_eq!(reply.end, TurnEnd::End, "turn {turn}: {}", reply.text);
    }
    for (number, request) in harness.model.requests().iter().enumerate() {
        assert!(size(request) < 7_000, "request {number}: {}", size(request));
    }
    harness.assert_well_formed(&session);
    let transcript = harness.store.transcript(&session);
    let said: Vec<_> =
        transcript.iter().filter(|message| message.role == Role::User).map(Message::text).collect();
    assert_eq!(said.len(), 500);
    assert!(said.iter().enumerate().all(|(turn, text)| text.ends_with(&(turn * 7919).to_string())));
    let results = transcript.iter().filter(|message| message.role == Role::Tool);
    assert!(
        results.clone().count() == 1_000
            && results
                .map(|message| match &message.content[0] {
                    Block::ToolResult(result) => result.output.len(),
                    _ => 0,
                })
                .all(|length| length > 5_000)
    );
    let folds: Vec<_> = transcript.iter().filter_map(folded).collect();
    assert!(
        folds.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 == pair[1].1 && pair[0].2 < pair[1].2)
    );
    assert!(folds.last().unwrap().0 > 1_500, "{:?}", folds.last());
}

#[tokio::test]
async fn fitting_conversation_produces_no_notices() {
    let harness = House::new([]);
    let surface = quiet();
    for _ in 0..20 {
        harness.submit(Inbound::say(session("a"), "hi"), surface.clone()).await.reply.wait().await.unwrap();
    }
    assert!(
        !surface
            .events()
            .iter()
            .any(|(_, event)| matches!(event, TurnEvent::Folded { .. } | TurnEvent::Notice { .. }))
    );
    assert_eq!(harness.model.requests().len(), 20);
}

#[tokio::test]
async fn history_older_than_summaries_is_compacted_whole() {
    let options = Options::default().with(|options| options.window_messages = 2_000);
    let plan = Plan { options, ..Plan::default() };
    let harness = House::with([says("They had talked for long."), says("now")], plan);
    let session = session("a");
    for turn in 0..1_500 {
        let id = TurnId::fresh();
        let said = |role, text: String| {
            let mut message = Message::new(role, vec![Block::text(text)], now());
            message.turn = Some(id.clone());
            message
        };
        let messages = vec![
            said(Role::User, format!("message {turn}")),
            said(Role::Assistant, format!("answer {turn}")),
        ];
        let (inbound, phase) = (Inbound::say(session.clone(), "x"), TurnPhase::Done);
        let record = TurnRecord::new(id.clone(), inbound, phase, now()).with_attempts(1);
        harness.store.leave_behind(record, messages);
    }
    assert_eq!(harness.ask(&session, "and now?").await.text, "now");
    let request = harness.asked().remove(0);
    let (messages, _, to, summary) = folded(&request.messages[0]).unwrap();
    assert_eq!(summary, "They had talked for long.");
    assert_eq!(messages, u64::try_from(to).unwrap(), "those that were not in the window count too");
    let seen: String = harness
        .model
        .requests()
        .iter()
        .filter(|request| is_for_summary(request))
        .map(|request| request.messages[0].text())
        .collect();
    for turn in 0..to / 2 {
        assert!(seen.contains(&format!("> message {turn}\n")), "{turn} was before a model");
    }
    assert_eq!(request.messages[1].id.0, to + 1);
    assert!((900..=1_001).contains(&request.messages.len()), "{}", request.messages.len());
    assert_eq!(harness.store.transcript(&session).len(), 3_003);
}

/// An arbitrary turn.
#[derive(Debug, Clone)]
struct AnyTurn {
    question: usize,
    answer: usize,
    /// The outputs of its tools, step by step.
    steps: Vec<Vec<usize>>,
    /// Whether the program restarts before it.
    restarts: bool,
}

fn any_turn() -> impl Strategy<Value = AnyTurn> {
    let words = prop_oneof![8 => 0_usize..200, 1 => 200_usize..6_000];
    let steps = prop::collection::vec(prop::collection::vec(0_usize..3, 1..4), 0..6);
    (words.clone(), words, steps, prop::bool::weighted(0.1))
        .prop_map(|(question, answer, steps, restarts)| AnyTurn { question, answer, steps, restarts })
}

/// Tools whose outputs are short, long, and longer than may be.
fn outputs() -> Vec<Arc<dyn Tool>> {
    let tool = |name, chars: usize| {
        let output: &'static str = Box::leak("0123456789".repeat(chars / 10).into_boxed_str());
        TestTool::new(name, What::Say(output)) as Arc<dyn Tool>
    };
    vec![tool("t0", 50), tool("t1", 3_000), tool("t2", 20_000)]
}

async fn any_conversation(context_window: u64, keep_recent: usize, ahead: bool, turns: Vec<AnyTurn>) {
    let aside: Aside = |request| is_for_summary(request).then(|| says("They went on."));
    let options = Options::default().with(|options| {
        options.keep_recent = keep_recent;
        options.loops.times = 0;
    });
    let harness = |store| {
        let options = options.clone();
        let plan = Plan {
            tools: outputs(),
            options,
            context_window: Some(context_window),
            store,
            ahead,
            ..Plan::default()
        };
        House::with([], Plan { aside: Some(aside), ..plan })
    };
    let (session, mut house_now) = (session("a"), harness(None));
    for (number, turn) in turns.iter().enumerate() {
        if turn.restarts {
            house_now = harness(Some(house_now.store.clone()));
        }
        for (step, calls) in turn.steps.iter().enumerate() {
            let call = |(n, tool): (usize, &usize)| {
                Step::call(&format!("{number}-{step}-{n}"), &format!("t{tool}"), json!({"step": step}))
            };
            let calls = calls.iter().enumerate().map(call);
            house_now.model.then(calls.chain([Step::finish(StopReason::ToolUse)]).collect());
        }
        house_now.model.then(says(&long("answer", turn.answer)));
        let asked = house_now.asked().len();
        let reply = house_now.ask(&session, &long(&format!("question {number}"), turn.question)).await;
        assert_eq!(reply.end, TurnEnd::End, "{}", reply.text);
        for request in &house_now.asked()[asked..] {
            assert!(size(request) as u64 <= context_window, "{} of {context_window}", size(request));
            assert!(request.messages[request.turn_start].text().starts_with(&format!("question {number} ")));
        }
        house_now.assert_well_formed(&session);
    }
    for request in house_now.model.requests() {
        assert!(size(&request) as u64 <= context_window);
    }
    let transcript = house_now.store.transcript(&session);
    let asked = transcript.iter().filter(|message| message.role == Role::User);
    let lengths: Vec<_> = asked.map(|message| message.text().len()).collect();
    let expected: Vec<_> = turns
        .iter()
        .enumerate()
        .map(|(n, turn)| long(&format!("question {n}"), turn.question).len())
        .collect();
    assert_eq!(lengths, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_conversation_fits_and_is_kept(
        window in prop::sample::select(vec![4_000_u64, 8_000, 16_000, 64_000]),
        keep in 0_usize..20,
        ahead in any::<bool>(),
        turns in prop::collection::vec(any_turn(), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(any_conversation(window, keep, ahead, turns));
    }
}
