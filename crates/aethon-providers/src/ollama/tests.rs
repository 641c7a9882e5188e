//! The codec against recorded streams and documented facts of the wire format.

use aethon_core::message::{Block, Role};
use aethon_core::model::{Effort, ModelErrorKind, ModelEvent, ModelRequest, StopReason, Usage};
use serde_json::{Value, json};

use super::{stream, wire};
use crate::options::{Options, Overrides, Provider};
use crate::stream::replay::{Outcome, decoder_survives, replay, survive_damage, tool_call};
use crate::stream::{CallIds, Decoder, Framing};
use crate::testing::{conversation, message, policy, request, service, tool};

fn reader() -> Box<dyn Decoder> {
    let service = service(Provider::Ollama, "llama3.2");
    Box::new(stream::OllamaDecoder::with_ids(service, 1000, CallIds::with_prefix("test")))
}

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../tests/data/ollama/", $name))
    };
}

fn play(recording: &str) -> Outcome {
    replay(Framing::Lines, &reader, recording)
}

fn ended(outcome: Outcome, stop: StopReason, usage: (u64, u64)) -> Vec<ModelEvent> {
    assert!(outcome.error.is_none(), "{outcome:?}");
    let usage = Usage { input_tokens: usage.0, output_tokens: usage.1, ..Usage::default() };
    let mut events = outcome.events;
    let end = ModelEvent::Finished { stop, usage, model: Some("llama3.2".into()) };
    assert_eq!(events.pop(), Some(end), "{events:?}");
    events
}

#[test]
fn text_thoughts_and_limits_come_out() {
    let outcome = play(recording!("text.ndjson"));
    assert_eq!(outcome.text(), "Grüß dich 🌍");
    ended(outcome, StopReason::End, (26, 5));
    ended(play(recording!("without_last_newline.ndjson")), StopReason::End, (26, 5));
    ended(play(recording!("length.ndjson")), StopReason::Length, (5, 2));
    let events = ended(play(recording!("thinking.ndjson")), StopReason::End, (10, 9));
    assert_eq!(events[2], ModelEvent::ReasoningDone { text: "Let me see.".into(), opaque: None });
}

#[test]
fn calls_come_in_any_line_and_get_ids() {
    let events = ended(play(recording!("one_tool.ndjson")), StopReason::ToolUse, (100, 20));
    assert_eq!(events, [tool_call("call_test_1", "file_read", json!({"path": "ä.txt"}))]);
    let events = ended(play(recording!("two_tools.ndjson")), StopReason::ToolUse, (100, 20));
    assert_eq!(
        events,
        [
            tool_call("call_test_1", "file_read", json!({"path": "a"})),
            ModelEvent::Text("and ".into()),
            tool_call("call_x", "current_time", json!({})),
        ]
    );
}

#[test]
fn errors_and_cuts_come_after_the_text_so_far() {
    let check = |recording, kind| {
        let outcome = play(recording);
        assert_eq!(outcome.text(), "Part");
        assert_eq!(outcome.error.unwrap().kind(), kind);
    };
    check(recording!("error_in_the_middle.ndjson"), ModelErrorKind::Overloaded);
    check(recording!("cut.ndjson"), ModelErrorKind::Network);
}

decoder_survives!(Framing::Lines, reader, recording!("two_tools.ndjson"));

fn body(options: &Options, request: &ModelRequest) -> Value {
    let policy = policy(options);
    serde_json::from_slice(&policy.finish(wire::body(request, &policy))).unwrap()
}

#[test]
fn a_request_is_written_as_ollama_wants_it() {
    let options = Options {
        max_tokens: Some(500),
        temperature: Some(0.5),
        overrides: Overrides { context_window: Some(16_384), ..Overrides::default() },
        extras: json!({"think": false, "options": {"seed": 7}, "stream": false})
            .as_object()
            .unwrap()
            .clone()
            .into(),
        ..Options::new(Provider::Ollama, "llama3.2-vision")
    };
    let expected = json!({
        "model": "llama3.2-vision",
        "messages": [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": "What is this?", "images": ["iVBORw0KGgo="]},
            {"role": "assistant", "content": "", "tool_calls": [
                {"function": {"name": "file_read", "arguments": {"path": "a.txt"}}},
                {"function": {"name": "file_read", "arguments": {"path": "b.txt"}}},
            ]},
            {"role": "tool", "tool_name": "file_read", "content": "alpha"},
            {"role": "tool", "tool_name": "file_read", "content": "no such file"},
            {"role": "assistant", "content": "It is **a**."},
            {"role": "user", "content": "Thanks, and b?"},
        ],
        "tools": [{"type": "function", "function": {
            "name": "file_read", "description": "Reads a file.", "parameters": tool("file_read").parameters,
        }}],
        "stream": true,
        "think": false,
        "options": {"num_predict": 500, "num_ctx": 16384, "temperature": 0.5, "seed": 7},
    });
    assert_eq!(body(&options, &conversation()), expected);
}

#[test]
fn unset_options_are_not_sent() {
    let mut request = request(vec![message(Role::User, vec![Block::text("hi")])]);
    request.system = "".into();
    assert_eq!(
        body(&Options::new(Provider::Ollama, "llama3.2"), &request),
        json!({"model": "llama3.2", "messages": [{"role": "user", "content": "hi"}], "stream": true,
            "options": {"num_ctx": 4096}})
    );
}

#[test]
fn responses_of_another_implementation_are_understood() {
    let events = ended(play(recording!("aimock_two_tools.ndjson")), StopReason::ToolUse, (1000, 12));
    assert_eq!(
        events,
        [
            ModelEvent::Text("Both.".into()),
            tool_call("call_test_1", "file_read", json!({"path": "a.txt"})),
            tool_call("call_test_2", "current_time", json!({})),
        ]
    );
}

#[test]
fn an_effort_is_a_yes_or_no_and_for_gpt_oss_a_level() {
    let check = |model: &str, effort, expected: Value| {
        let options = Options { effort, ..Options::new(Provider::Ollama, model) };
        assert_eq!(body(&options, &conversation())["think"], expected, "{model} {effort:?}");
    };
    check("qwen3:8b", None, Value::Null);
    check("qwen3:8b", Some(Effort::None), json!(false));
    check("qwen3:8b", Some(Effort::Low), json!(true));
    check("gpt-oss:20b", Some(Effort::High), json!("high"));
    check("gpt-oss:20b", Some(Effort::None), json!("low"));
    check("somebody/unheard-of", Some(Effort::High), json!(true));
}

aethon_core::fuzz_targets! {
    fuzz_stream: [recording!("text.ndjson"), recording!("one_tool.ndjson"), recording!("length.ndjson")]
        => |input| survive_damage(Framing::Lines, reader, input);
}
