//! The models `echo` and `fake` through the trait.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, Message, Role, ToolCall, ToolResult};
use aethon_core::model::{
    ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, Readiness, StopReason,
};
use aethon_core::untrusted;
use aethon_providers::{Options, Provider, build};
use futures_util::StreamExt;

fn message(role: Role, content: Vec<Block>) -> Arc<Message> {
    Arc::new(Message::new(role, content, "2026-11-20T10:00:00Z".parse().unwrap()))
}

fn request(messages: Vec<Arc<Message>>, turn_start: usize) -> ModelRequest {
    ModelRequest::new(SessionId::parse("webchat:default").unwrap(), TurnId::fresh(), "You help.", messages)
        .with_turn_start(turn_start)
}

/// The outcome of a response.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    text: String,
    pieces: usize,
    calls: Vec<ToolCall>,
    stop: Option<StopReason>,
}

async fn ask(provider: &dyn ModelProvider, request: ModelRequest) -> Result<Seen, ModelError> {
    let mut stream = provider.stream(request).await?;
    let mut seen = Seen::default();
    while let Some(event) = stream.next().await {
        match event? {
            ModelEvent::Text(text) => {
                seen.pieces += 1;
                seen.text.push_str(&text);
            }
            ModelEvent::ToolCall(call) => seen.calls.push(call),
            ModelEvent::Finished { stop, usage, .. } => {
                assert!(usage.input_tokens > 0 && seen.stop.is_none());
                seen.stop = Some(stop);
            }
            other => panic!("unexpected {other:?}"),
        }
    }
    Ok(seen)
}

fn fake() -> Arc<dyn ModelProvider> {
    build(Options::new(Provider::Fake, "fake"))
}

async fn say(text: &str) -> Seen {
    ask(&*fake(), request(vec![message(Role::User, vec![Block::text(text)])], 0)).await.unwrap()
}

/// Plays a whole turn with tools that answer `output`, and returns the calls by response and the final reply.
async fn turn(text: &str, output: &str, limit: usize) -> (Vec<Vec<String>>, String) {
    let mut messages = vec![message(Role::User, vec![Block::text(text)])];
    let mut calls = Vec::new();
    for _ in 0..limit {
        let seen = ask(&*fake(), request(messages.clone(), 0)).await.unwrap();
        if seen.calls.is_empty() {
            return (calls, seen.text);
        }
        assert_eq!(seen.stop, Some(StopReason::ToolUse));
        calls.push(seen.calls.iter().map(|call| call.name.clone()).collect());
        let results = seen.calls.iter().map(|call| Block::ToolResult(ToolResult::ok(call, output)));
        let results = results.collect();
        messages.push(message(Role::Assistant, seen.calls.into_iter().map(Block::ToolCall).collect()));
        messages.push(message(Role::Tool, results));
    }
    (calls, String::new())
}

#[tokio::test]
async fn echo_repeats_the_newest_message_word_by_word() {
    let echo = build(Options::new(Provider::Echo, "echo"));
    assert_eq!(echo.readiness(), Readiness::Ready);
    let old = message(Role::User, vec![Block::text("old")]);
    let wrapped = Block::Text { text: "one  two\nthree".into(), untrusted: Some("b".into()) };
    let new = message(Role::User, vec![wrapped, Block::text(untrusted::wrap("four", "b"))]);
    let seen = ask(&*echo, request(vec![old, new], 1)).await.unwrap();
    assert_eq!((seen.text.as_str(), seen.pieces), ("one  two\nthree\n\nfour", 4));
    assert_eq!(seen.stop, Some(StopReason::End));
}

#[tokio::test]
async fn a_message_without_directives_gets_the_fixed_reply() {
    let reply = say("hello").await.text;
    for part in ["# ", "## ", "- ", "1. ", "|---|", "```rust"] {
        assert!(reply.contains(part), "{part}");
    }
}

#[tokio::test]
async fn say_is_the_reply() {
    assert_eq!(say("!say hello  there").await.text, "hello  there");
    assert_eq!(say("!say a\n!say b").await.text, "a\nb");
    assert_eq!(turn("!tool one {}\n!say done", "x", 9).await.1, "done");
}

#[tokio::test]
async fn tools_are_called_and_their_results_quoted() {
    let (calls, reply) = turn("!tool one {\"a\":1}\n!tool two", "it was `fine`\nreally", 9).await;
    assert_eq!(calls, [vec!["one", "two"]]);
    assert_eq!(reply.matches("it was `fine`\nreally\n").count(), 2);
    let (calls, reply) = turn("!tool one\n!then\n!tool two\n!then\n!say end", "x", 9).await;
    assert_eq!(calls, [["one"], ["two"]]);
    assert_eq!(reply, "end");
}

#[tokio::test]
async fn markers_of_outside_text_are_in_no_reply() {
    let (_, reply) = turn("!tool one", &untrusted::wrap("payload", "b"), 9).await;
    assert!(reply.contains("payload") && !reply.contains(untrusted::MARKER), "{reply}");
}

#[tokio::test]
async fn loops_never_end_and_ids_differ() {
    let (calls, _) = turn("!loop one {\"a\":1}", "x", 6).await;
    assert_eq!(calls.len(), 6);
    let first = say("!loop one").await.calls.remove(0);
    let second = {
        let call = message(Role::Assistant, vec![Block::ToolCall(first.clone())]);
        let started = message(Role::User, vec![Block::text("!loop one")]);
        ask(&*fake(), request(vec![started, call], 0)).await.unwrap().calls.remove(0)
    };
    assert_ne!(first.id, second.id);
    assert_eq!((first.name, first.input), (second.name, second.input));
}

#[tokio::test]
async fn errors_come_as_often_as_they_were_asked_for() {
    let provider = fake();
    let mut request =
        request(vec![message(Role::User, vec![Block::text("!error rate_limit 2\n!say ok")])], 0);
    for attempt in 0..2 {
        request.attempt = attempt;
        let error = ask(&*provider, request.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::RateLimit);
        assert!(error.is_retryable());
    }
    request.attempt = 2;
    assert_eq!(ask(&*provider, request).await.unwrap().text, "ok");
}

#[tokio::test(start_paused = true)]
async fn streams_and_sleeps_take_their_time() {
    let began = tokio::time::Instant::now();
    let seen = say("!sleep 500\n!stream 5 100").await;
    assert_eq!(seen.text.split_whitespace().count(), 5);
    assert_eq!(began.elapsed(), Duration::from_millis(900));
}

#[tokio::test]
async fn a_million_words_are_made_one_at_a_time() {
    let messages = vec![message(Role::User, vec![Block::text("!stream 1000000 0")])];
    let mut stream = fake().stream(request(messages, 0)).await.unwrap();
    let began = Instant::now();
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Text(_)))));
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn mistakes_are_answered_in_words() {
    let seen = say("!tool one {\"a\":").await;
    assert!(seen.text.contains("not valid JSON") && seen.calls.is_empty(), "{}", seen.text);
}

#[tokio::test]
async fn a_script_counts_in_its_own_turn() {
    let old = message(Role::User, vec![Block::text("!tool old")]);
    let answer = message(Role::Assistant, vec![Block::text("!tool older")]);
    let new = message(Role::User, vec![Block::text("!say new")]);
    let seen = ask(&*fake(), request(vec![old, answer, new], 2)).await.unwrap();
    assert_eq!((seen.text.as_str(), seen.calls.len()), ("new", 0));
    let outside = Block::Text { text: "!say from outside".into(), untrusted: Some("b".into()) };
    let seen = ask(&*fake(), request(vec![message(Role::User, vec![outside])], 0)).await.unwrap();
    assert_eq!(seen.text, "from outside");
}
