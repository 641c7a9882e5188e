//! The codec against recorded streams and documented facts of the wire format. The recordings are text, one message a
//! line, and converted to the binary form here.

use aethon_core::message::{Block, Opaque, Role};
use aethon_core::model::{Effort, ModelErrorKind, ModelEvent, ModelRequest, StopReason, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{DIALECT, stream, wire};
use crate::options::{Options, Provider};
use crate::stream::binary::writing;
use crate::stream::replay::{Outcome, decoder_survives, replay, survive, survive_damage, tool_call};
use crate::stream::{CallIds, Decoder, Framing};
use crate::testing::{call, conversation, message, policy, request, result, service, tool};

const CLAUDE: &str = "global.anthropic.claude-sonnet-4-5-20250929-v1:0";

fn reader() -> Box<dyn Decoder> {
    let service = service(Provider::Bedrock, CLAUDE);
    Box::new(stream::ConverseDecoder::with_ids(service, 1000, CallIds::with_prefix("test")))
}

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../tests/data/bedrock/", $name))
    };
}

fn play(recording: &str) -> Outcome {
    replay(Framing::Binary, &reader, writing::recording(recording))
}

fn kept(data: Value) -> Opaque {
    Opaque { dialect: DIALECT.into(), data }
}

fn ended(outcome: Outcome, stop: StopReason, usage: (u64, u64, u64)) -> Vec<ModelEvent> {
    assert!(outcome.error.is_none(), "{outcome:?}");
    let (input_tokens, output_tokens, cached_tokens) = usage;
    // The only recording that reads from the cache also writes to it.
    let cache_write_tokens = if cached_tokens > 0 { 400 } else { 0 };
    let usage = Usage { input_tokens, output_tokens, cached_tokens, cache_write_tokens, ..Usage::default() };
    let mut events = outcome.events;
    assert_eq!(events.pop(), Some(ModelEvent::Finished { stop, usage, model: None }), "{events:?}");
    events
}

#[test]
fn text_and_calls_come_out() {
    let outcome = play(recording!("text.events"));
    assert_eq!(outcome.text(), "Grüß dich, 🌍!");
    ended(outcome, StopReason::End, (21, 7, 0));

    // Cache reads and cache writes count as input.
    let events = ended(play(recording!("one_tool.events")), StopReason::ToolUse, (2500, 89, 2000));
    let id = "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q";
    assert_eq!(events[1..], [tool_call(id, "file_read", json!({"path": "ä.txt"}))]);

    let events = ended(play(recording!("two_tools.events")), StopReason::ToolUse, (10, 30, 0));
    assert_eq!(
        events,
        [
            tool_call("tooluse_1", "file_read", json!({"path": "a"})),
            tool_call("tooluse_2", "current_time", json!({})),
        ]
    );
}

#[test]
fn thoughts_keep_their_signatures() {
    let events = ended(play(recording!("thinking.events")), StopReason::End, (10, 50, 0));
    let thought = json!({"reasoningText": {"text": "Let me see.", "signature": "EqQBCgIYAhIM"}});
    let redacted = json!({"redactedContent": "EmwKAhgBEgy3va3pzix"});
    assert_eq!(
        events,
        [
            ModelEvent::Reasoning("Let me ".into()),
            ModelEvent::Reasoning("see.".into()),
            ModelEvent::ReasoningDone { text: "Let me see.".into(), opaque: Some(kept(thought)) },
            ModelEvent::ReasoningDone { text: String::new(), opaque: Some(kept(redacted)) },
            ModelEvent::Text("42".into()),
        ]
    );
    let events = ended(play(recording!("unsigned_thinking.events")), StopReason::End, (10, 5, 0));
    assert_eq!(events[1], ModelEvent::ReasoningDone { text: "Hm.".into(), opaque: None });
}

#[test]
fn every_end_is_understood() {
    let events = ended(play(recording!("length_in_arguments.events")), StopReason::Length, (10, 4, 0));
    let cut = json!("{\"path\":\"a\",\"content\":\"cut o");
    assert_eq!(events, [tool_call("tooluse_1", "file_write", cut)]);
    ended(play(recording!("guardrail.events")), StopReason::Refusal, (10, 4, 0));
    let odd = play(recording!("unknown_and_without_metadata.events"));
    assert_eq!(odd.text(), "So far.");
    ended(odd, StopReason::End, (1000, 2, 0));
}

#[test]
fn failures_have_their_class_and_come_after_the_text_so_far() {
    let check = |recording, text: &str, kind| {
        let outcome = play(recording);
        assert_eq!(outcome.text(), text);
        assert_eq!(outcome.error.unwrap().kind(), kind, "{recording}");
    };
    check(recording!("exception_in_the_middle.events"), "Part", ModelErrorKind::Overloaded);
    check(recording!("throttled.events"), "Part", ModelErrorKind::RateLimit);
    check(recording!("invalid.events"), "", ModelErrorKind::InvalidRequest);
    check(recording!("malformed_call.events"), "", ModelErrorKind::Overloaded);
    check(recording!("cut.events"), "Part", ModelErrorKind::Network);
    check("contentBlockDelta {\"delta\":", "", ModelErrorKind::Malformed);
}

#[test]
fn damage_on_the_way_is_noticed() {
    let mut bytes = writing::recording(recording!("text.events"));
    let at = bytes.len() - 50;
    bytes[at] ^= 1;
    let outcome = replay(Framing::Binary, &reader, &bytes);
    assert_eq!(outcome.text(), "Grüß dich, 🌍!");
    assert!(outcome.error.is_none(), "{outcome:?}");
    let end = outcome.events.last();
    assert!(matches!(end, Some(ModelEvent::Finished { stop: StopReason::Unreadable, .. })), "{end:?}");
    bytes[20] ^= 1;
    let error = replay(Framing::Binary, &reader, &bytes).error.unwrap();
    assert_eq!(error.kind(), ModelErrorKind::Malformed);
    assert!(error.to_string().contains("damaged"), "{error}");
}

#[test]
fn responses_of_another_implementation_are_understood() {
    let bytes = include_bytes!("../../tests/data/bedrock/aimock_two_tools.bin");
    let outcome = replay(Framing::Binary, &reader, bytes);
    assert!(outcome.error.is_none() && outcome.text() == "Both.", "{outcome:?}");
    let calls = outcome.events.iter().filter(|event| matches!(event, ModelEvent::ToolCall(_))).count();
    assert_eq!(calls, 2);
}

#[test]
fn a_whole_answer_is_understood_too() {
    let whole = json!({
        "output": {"message": {"role": "assistant", "content": [
            {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
            {"text": "Whole."},
            {"toolUse": {"toolUseId": "tooluse_1", "name": "file_read", "input": {"path": "a"}}},
        ]}},
        "stopReason": "tool_use", "usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7},
    });
    let events = ended(replay(Framing::Whole, &reader, whole.to_string()), StopReason::ToolUse, (3, 4, 0));
    assert_eq!(
        events[2..],
        [ModelEvent::Text("Whole.".into()), tool_call("tooluse_1", "file_read", json!({"path": "a"})),]
    );
    let outcome = replay(Framing::Whole, &reader, "{\"a\": 1}");
    assert_eq!(outcome.error.unwrap().kind(), ModelErrorKind::Malformed);
}

decoder_survives!(Framing::Binary, reader, writing::recording(recording!("two_tools.events")));

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_events_can_make_it_panic(payloads in proptest::collection::vec(("messageStart|contentBlock(Start|Delta|Stop)|messageStop|metadata|xException", "\\PC{0,40}"), 0..8)) {
        let text: String = payloads.iter().map(|(name, payload)| format!("{name} {payload}\n")).collect();
        survive(Framing::Binary, reader(), &[writing::recording(&text)]);
    }
}

fn body(options: &Options, request: &ModelRequest) -> Value {
    let policy = policy(options);
    serde_json::from_slice(&policy.finish(wire::body(request, &policy))).unwrap()
}

fn cache_point() -> Value {
    json!({"cachePoint": {"type": "default"}})
}

#[test]
fn a_request_is_written_as_bedrock_wants_it() {
    let options = Options {
        max_tokens: Some(500),
        temperature: Some(0.5),
        top_p: Some(0.25),
        extras: json!({"additionalModelRequestFields": {"thinking": {"type": "enabled"}}})
            .as_object()
            .unwrap()
            .clone()
            .into(),
        ..Options::new(Provider::Bedrock, CLAUDE)
    };
    let expected = json!({
        "system": [{"text": "You help."}, cache_point()],
        "inferenceConfig": {"maxTokens": 500, "temperature": 0.5, "topP": 0.25},
        "additionalModelRequestFields": {"thinking": {"type": "enabled"}},
        "toolConfig": {"tools": [
            {"toolSpec": {
                "name": "file_read", "description": "Reads a file.",
                "inputSchema": {"json": tool("file_read").parameters},
            }},
            cache_point(),
        ]},
        "messages": [
            {"role": "user", "content": [
                {"text": "What is this?"},
                {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}},
            ]},
            {"role": "assistant", "content": [
                {"toolUse": {"toolUseId": "call_1", "name": "file_read", "input": {"path": "a.txt"}}},
                {"toolUse": {"toolUseId": "call_2", "name": "file_read", "input": {"path": "b.txt"}}},
            ]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "call_1", "content": [{"text": "alpha"}]}},
                {"toolResult": {"toolUseId": "call_2", "content": [{"text": "no such file"}], "status": "error"}},
                cache_point(),
            ]},
            {"role": "assistant", "content": [{"text": "It is **a**."}]},
            {"role": "user", "content": [{"text": "Thanks, and b?"}, cache_point()]},
        ],
    });
    assert_eq!(body(&options, &conversation()), expected);
}

#[test]
fn cache_points_go_only_where_the_model_takes_them() {
    let points = |model: &str| {
        body(&Options::new(Provider::Bedrock, model), &conversation())
            .to_string()
            .matches("cachePoint")
            .count()
    };
    assert_eq!(points(CLAUDE), 4);
    assert_eq!(points("amazon.nova-pro-v1:0"), 3);
    assert_eq!(points("meta.llama3-3-70b-instruct-v1:0"), 0);
    assert_eq!(points("arn:aws:bedrock:us-east-1:1:application-inference-profile/abc"), 0);
}

#[test]
fn thoughts_go_back_unchanged_and_calls_bring_their_tools() {
    let thought = json!({"reasoningText": {"text": "Hm.", "signature": "c2ln"}});
    let foreign = Opaque { dialect: "anthropic".into(), data: json!({"type": "thinking"}) };
    let think = |opaque| Block::Reasoning { text: "Hm.".into(), opaque: Some(opaque), ms: None };
    let request = request(vec![
        message(
            Role::Assistant,
            vec![think(kept(thought.clone())), think(foreign), call("fake:0/1", "file_read", json!("{cut"))],
        ),
        message(Role::Tool, vec![result("fake:0/1", "file_read", " ")]),
        message(Role::User, vec![Block::text("and?")]),
    ]);
    let body = body(&Options::new(Provider::Bedrock, "deepseek.r1-v1:0"), &request);
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": [{"text": "(Earlier messages are not shown.)"}]},
            {"role": "assistant", "content": [
                {"reasoningContent": thought},
                {"toolUse": {"toolUseId": "fake_0_1", "name": "file_read", "input": {"invalid_arguments": "{cut"}}},
            ]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "fake_0_1", "content": [{"text": "(no output)"}]}},
                {"text": "and?"},
            ]},
        ])
    );
    let stand_in = json!([{"toolSpec": {"name": "file_read", "inputSchema": {"json": {"type": "object"}}}}]);
    assert_eq!(body["toolConfig"]["tools"], stand_in);
    assert_eq!(body.get("inferenceConfig"), None);
}

#[test]
fn an_effort_goes_through_to_the_model_in_its_vendors_form() {
    let check = |model: &str, effort, expected: Value, is_sampled: bool| {
        let options = Options {
            effort: Some(effort),
            temperature: Some(0.5),
            max_tokens: Some(30_000),
            ..Options::new(Provider::Bedrock, model)
        };
        let body = body(&options, &conversation());
        assert_eq!(body["additionalModelRequestFields"], expected, "{model} {effort:?}");
        assert_eq!(body["inferenceConfig"].get("temperature").is_some(), is_sampled, "{model} {effort:?}");
    };
    let adaptive = json!({
        "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"},
    });
    check("global.anthropic.claude-opus-4-6-v1:0", Effort::High, adaptive, false);
    let budget = json!({"thinking": {"type": "enabled", "budget_tokens": 8_192}});
    check(CLAUDE, Effort::Medium, budget, false);
    check(CLAUDE, Effort::None, json!({"thinking": {"type": "disabled"}}), true);
    check("openai.gpt-oss-120b-1:0", Effort::Low, json!({"reasoning_effort": "low"}), true);
    check("meta.llama3-3-70b-instruct-v1:0", Effort::High, Value::Null, true);
}

fn in_binary() -> Vec<Vec<u8>> {
    let recordings =
        [recording!("two_tools.events"), recording!("text.events"), recording!("thinking.events")];
    recordings.into_iter().map(writing::recording).collect()
}

aethon_core::fuzz_targets! {
    fuzz_stream: in_binary() => |input| survive_damage(Framing::Binary, reader, input);
}
