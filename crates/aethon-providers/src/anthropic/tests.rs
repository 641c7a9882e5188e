//! The codec against recorded streams and against the facts of the wire.

use aethon_core::message::{Block, Opaque, Role, ToolCall};
use aethon_core::model::{ModelErrorKind, ModelEvent, ModelRequest, StopReason, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{stream, wire};
use crate::options::{Options, Provider};
use crate::settings::Settings;
use crate::stream::replay::{Outcome, replay, survive};
use crate::stream::{Decoder, Framing};
use crate::testing::{call, conversation, message, request, result, service, tool};

fn reader() -> Box<dyn Decoder> {
    Box::new(stream::Reader::new(service(Provider::Anthropic, "claude-sonnet-4-5"), 1000))
}

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../tests/data/anthropic/", $name))
    };
}

fn play(recording: &str) -> Outcome {
    replay(Framing::Events, &reader, recording)
}

fn tool_call(id: &str, name: &str, input: Value) -> ModelEvent {
    ModelEvent::ToolCall(ToolCall { id: id.into(), name: name.into(), input, opaque: None })
}

fn ended(outcome: Outcome, stop: StopReason, usage: (u64, u64, u64)) -> Vec<ModelEvent> {
    assert!(outcome.error.is_none(), "{outcome:?}");
    let (input_tokens, output_tokens, cached_tokens) = usage;
    let usage = Usage { input_tokens, output_tokens, cached_tokens, ..Usage::default() };
    let mut events = outcome.events;
    let end = ModelEvent::Finished { stop, usage, model: Some("claude-sonnet-4-5-20250929".into()) };
    assert_eq!(events.pop(), Some(end), "{events:?}");
    events
}

#[test]
fn text_and_calls_come_out() {
    let outcome = play(recording!("text.sse"));
    assert_eq!(outcome.text(), "Grüß dich 🌍");
    ended(outcome, StopReason::End, (25, 15, 0));

    // What was cached, and what was written to the cache, counts as input.
    let events = ended(play(recording!("one_tool.sse")), StopReason::ToolUse, (2500, 89, 2000));
    assert_eq!(events[1..], [tool_call("toolu_01", "file_read", json!({"path": "ä.txt"}))]);

    let events = ended(play(recording!("two_tools.sse")), StopReason::ToolUse, (10, 30, 0));
    assert_eq!(
        events,
        [
            tool_call("toolu_01", "file_read", json!({"path": "a"})),
            tool_call("toolu_02", "current_time", json!({})),
        ]
    );
}

fn thought() -> Opaque {
    let data = json!({
        "type": "thinking",
        "thinking": "Let me see.",
        "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pki",
    });
    Opaque { dialect: "anthropic".into(), data }
}

fn redacted() -> Opaque {
    let data = json!({"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"});
    Opaque { dialect: "anthropic".into(), data }
}

#[test]
fn thoughts_keep_their_signatures() {
    let events = ended(play(recording!("thinking.sse")), StopReason::End, (10, 50, 0));
    assert_eq!(
        events,
        [
            ModelEvent::Reasoning("Let me ".into()),
            ModelEvent::Reasoning("see.".into()),
            ModelEvent::ReasoningDone { text: "Let me see.".into(), opaque: Some(thought()) },
            ModelEvent::ReasoningDone { text: String::new(), opaque: Some(redacted()) },
            ModelEvent::Text("42".into()),
        ]
    );
}

#[test]
fn every_end_is_understood() {
    ended(play(recording!("refusal.sse")), StopReason::Refusal, (10, 4, 0));
    let events = ended(play(recording!("length_in_arguments.sse")), StopReason::Length, (10, 4, 0));
    assert_eq!(events, [tool_call("toolu_01", "file_write", json!("{\"path\":\"a\",\"content\":\"cut o"))]);
    let paused = play(recording!("pause_and_unknown.sse"));
    assert_eq!(paused.text(), "So far.");
    ended(paused, StopReason::Pause, (10, 4, 0));
    ended(play(recording!("without_message_stop.sse")), StopReason::End, (10, 2, 0));
}

#[test]
fn an_error_or_a_cut_comes_after_what_was_said() {
    let check = |recording, kind| {
        let outcome = play(recording);
        assert_eq!(outcome.text(), "Part");
        assert_eq!(outcome.error.unwrap().kind(), kind);
    };
    check(recording!("error_in_the_middle.sse"), ModelErrorKind::Overloaded);
    check(recording!("cut.sse"), ModelErrorKind::Network);
}

#[test]
fn a_whole_message_is_an_answer_too() {
    let whole = json!({
        "type": "message", "model": "claude-sonnet-4-5-20250929", "stop_reason": "tool_use",
        "content": [
            {"type": "text", "text": "Whole."},
            {"type": "tool_use", "id": "toolu_1", "name": "file_read", "input": {"path": "a"}},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    let outcome = replay(Framing::Whole, &reader, whole.to_string());
    let events = ended(outcome, StopReason::ToolUse, (3, 4, 0));
    assert_eq!(events[1], tool_call("toolu_1", "file_read", json!({"path": "a"})));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_can_make_it_panic(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..100), 0..8)) {
        survive(Framing::Events, reader(), &pieces);
    }

    #[test]
    fn a_damaged_recording_ends_in_an_answer_or_an_error(at in 0_usize..3000, byte in any::<u8>()) {
        let mut bytes = recording!("thinking.sse").as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        survive(Framing::Events, reader(), &[bytes]);
    }
}

fn body(options: &Options, request: &ModelRequest) -> Value {
    let settings = Settings::of(options);
    let body = wire::body(request, &crate::capabilities::of(options), &settings);
    serde_json::from_slice(&settings.finish(body)).unwrap()
}

fn cached(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

#[test]
fn a_request_is_written_as_anthropic_wants_it() {
    let options = Options {
        max_tokens: Some(500),
        temperature: Some(0.5),
        extra: json!({"thinking": {"type": "enabled", "budget_tokens": 1024}}).as_object().unwrap().clone(),
        ..Options::new(Provider::Anthropic, "claude-sonnet-4-5")
    };
    let image = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    let expected = json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 500,
        "stream": true,
        "temperature": 0.5,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "system": [cached(json!({"type": "text", "text": "You help."}))],
        "tools": [cached(json!({
            "name": "file_read", "description": "Reads a file.", "input_schema": tool("file_read").parameters,
        }))],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "image", "source": image}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "call_1", "name": "file_read", "input": {"path": "a.txt"}},
                {"type": "tool_use", "id": "call_2", "name": "file_read", "input": {"path": "b.txt"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "alpha"},
                {"type": "tool_result", "tool_use_id": "call_2", "content": "no such file", "is_error": true},
            ]},
            {"role": "assistant", "content": [cached(json!({"type": "text", "text": "It is **a**."}))]},
            {"role": "user", "content": [{"type": "text", "text": "Thanks, and b?"}]},
        ],
    });
    assert_eq!(body(&options, &conversation()), expected);
}

#[test]
fn thoughts_go_back_unchanged_and_unmarked() {
    let think = |opaque| Block::Reasoning { text: "Let me see.".into(), opaque };
    let foreign = Opaque { dialect: "gemini".into(), data: json!({"x": 1}) };
    let request = request(vec![
        message(Role::User, vec![Block::text("go")]),
        message(
            Role::Assistant,
            vec![
                think(Some(thought())),
                think(Some(redacted())),
                think(Some(foreign)),
                think(None),
                call("fake:0/1", "file_read", json!({"path": "a"})),
            ],
        ),
        message(Role::Tool, vec![result("fake:0/1", "file_read", "alpha")]),
        message(Role::User, vec![Block::text("and?")]),
    ]);
    let body = body(&Options::new(Provider::Anthropic, "claude-sonnet-4-5"), &request);
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": [
                thought().data,
                redacted().data,
                cached(json!({"type": "tool_use", "id": "fake_0_1", "name": "file_read", "input": {"path": "a"}})),
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "fake_0_1", "content": "alpha"},
                {"type": "text", "text": "and?"},
            ]},
        ])
    );
    // The service insists on a limit, so the model's own is sent.
    assert_eq!(body["max_tokens"], 64_000);
    assert_eq!(body.get("temperature"), None);
}

#[test]
fn what_another_implementation_sends_is_understood() {
    let outcome = play(recording!("aimock_two_tools.sse"));
    assert!(outcome.error.is_none() && outcome.text() == "Both.", "{outcome:?}");
    let calls = outcome.events.iter().filter(|event| matches!(event, ModelEvent::ToolCall(_))).count();
    assert_eq!(calls, 2);
    // It counts nothing and sends zeros: estimated.
    let Some(ModelEvent::Finished { stop, usage, .. }) = outcome.events.last() else { panic!("{outcome:?}") };
    assert_eq!((*stop, usage.input_tokens), (StopReason::ToolUse, 1000));
}
