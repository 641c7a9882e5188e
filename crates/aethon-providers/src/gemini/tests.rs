//! The codec against recorded streams and documented facts of the wire format.

use aethon_core::message::{Block, Opaque, Role, ToolCall};
use aethon_core::model::{Effort, ModelErrorKind, ModelEvent, ModelRequest, StopReason, Usage};
use serde_json::{Value, json};

use super::{DIALECT, stream, wire};
use crate::options::{Options, Provider};
use crate::stream::replay::{Outcome, decoder_survives, replay, survive_damage};
use crate::stream::{CallIds, Decoder, Framing};
use crate::testing::{call, conversation, message, policy, request, result, service, tool, two_steps};

fn reader() -> Box<dyn Decoder> {
    let service = service(Provider::Gemini, "gemini-2.5-flash");
    Box::new(stream::GenerateContentDecoder::with_ids(service, 1000, CallIds::with_prefix("test")))
}

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../tests/data/gemini/", $name))
    };
}

fn play(recording: &str) -> Outcome {
    replay(Framing::Events, &reader, recording)
}

fn kept(data: Value) -> Opaque {
    Opaque { dialect: DIALECT.into(), data }
}

fn tool_call(id: &str, name: &str, input: Value, opaque: Option<Value>) -> ModelEvent {
    ModelEvent::ToolCall(ToolCall { id: id.into(), name: name.into(), input, opaque: opaque.map(kept) })
}

fn ended(outcome: Outcome, stop: StopReason, usage: (u64, u64, u64)) -> Vec<ModelEvent> {
    assert!(outcome.error.is_none(), "{outcome:?}");
    let (input_tokens, output_tokens, cached_tokens) = usage;
    let expected = Usage { input_tokens, output_tokens, cached_tokens, ..Usage::default() };
    let mut events = outcome.events;
    let Some(ModelEvent::Finished { stop: found, usage, model }) = events.pop() else { panic!("{events:?}") };
    assert_eq!((found, usage), (stop, expected));
    assert!(model.is_some_and(|model| model.starts_with("gemini-")));
    events
}

#[test]
fn text_and_calls_come_out() {
    let outcome = play(recording!("text.sse"));
    assert_eq!(outcome.text(), "Grüß dich, 🌍!");
    ended(outcome, StopReason::End, (21, 7, 0));

    // Thoughts count as output; cached tokens are part of the input.
    let events = ended(play(recording!("one_tool.sse")), StopReason::ToolUse, (80, 68, 64));
    let signature = json!({"thoughtSignature": "CtwDAR/dKlY="});
    assert_eq!(events, [tool_call("call_test_1", "file_read", json!({"path": "ä.txt"}), Some(signature))]);

    let events = ended(play(recording!("two_tools.sse")), StopReason::ToolUse, (90, 40, 0));
    let first = json!({"thoughtSignature": "c2ln", "id": "fc1"});
    assert_eq!(
        events[1..],
        [
            tool_call("fc1", "file_read", json!({"path": "a"}), Some(first)),
            tool_call("fc2", "current_time", json!({}), Some(json!({"id": "fc2"}))),
        ]
    );
}

#[test]
fn thoughts_keep_their_signatures() {
    let events = ended(play(recording!("thinking.sse")), StopReason::End, (10, 50, 0));
    let signature = json!({"text": "", "thoughtSignature": "EqQBCgIY"});
    assert_eq!(
        events,
        [
            ModelEvent::Reasoning("Let me ".into()),
            ModelEvent::Reasoning("see.".into()),
            ModelEvent::ReasoningDone { text: "Let me see.".into(), opaque: None },
            ModelEvent::Text("42".into()),
            ModelEvent::ReasoningDone { text: String::new(), opaque: Some(kept(signature)) },
        ]
    );
    let events = ended(play(recording!("signed_first_part.sse")), StopReason::End, (10, 5, 0));
    assert_eq!(events[..2], [ModelEvent::Text("In ".into()), ModelEvent::Text("one piece.".into())]);
    assert!(matches!(&events[2..], [ModelEvent::ReasoningDone { opaque: Some(_), .. }]), "{events:?}");
    let events = ended(play(recording!("signed_thought.sse")), StopReason::End, (10, 2, 0));
    let data = json!({"text": "Hm.", "thought": true, "thoughtSignature": "c2lnbmVk"});
    assert_eq!(events[1], ModelEvent::ReasoningDone { text: "Hm.".into(), opaque: Some(kept(data)) });
}

#[test]
fn every_end_is_understood() {
    ended(play(recording!("length.sse")), StopReason::Length, (5, 2, 0));
    let refused = play(recording!("safety.sse"));
    assert_eq!(refused.text(), "Well, ");
    ended(refused, StopReason::Refusal, (12, 6, 0));
    let odd = play(recording!("picture_and_unknown.sse"));
    let data = "iVBORw0KGgo_-A==".into();
    let picture = ModelEvent::Image { mime: "image/png".into(), data, opaque: None };
    assert_eq!(ended(odd, StopReason::End, (3, 1290, 0)), [ModelEvent::Text("Here: ".into()), picture]);
    let aimock = play(recording!("aimock_two_tools.sse"));
    assert_eq!(aimock.text(), "Both.");
    let calls = aimock.events.iter().filter(|event| matches!(event, ModelEvent::ToolCall(_))).count();
    assert!(calls == 2 && aimock.error.is_none(), "{aimock:?}");
}

#[test]
fn failures_have_their_class_and_come_after_the_text_so_far() {
    let check = |recording, text: &str, kind| {
        let outcome = play(recording);
        assert_eq!(outcome.text(), text);
        assert_eq!(outcome.error.unwrap().kind(), kind);
    };
    check(recording!("blocked.sse"), "", ModelErrorKind::Refused);
    check(recording!("malformed_call.sse"), "", ModelErrorKind::Overloaded);
    check(recording!("error_in_the_middle.sse"), "Part of", ModelErrorKind::Overloaded);
    check(recording!("cut.sse"), "Part of", ModelErrorKind::Network);
    check("data: {\"candidates\": \n\n", "", ModelErrorKind::Malformed);
}

#[test]
fn a_whole_response_is_an_answer_too() {
    let whole = json!({
        "candidates": [{"content": {"parts": [{"text": "Whole."}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}, "modelVersion": "gemini-2.5-flash",
    });
    ended(replay(Framing::Whole, &reader, whole.to_string()), StopReason::End, (3, 4, 0));
}

decoder_survives!(Framing::Events, reader, recording!("two_tools.sse"));

fn body(options: &Options, request: &ModelRequest) -> Value {
    let policy = policy(options);
    serde_json::from_slice(&policy.finish(wire::body(request, &policy))).unwrap()
}

#[test]
fn a_request_is_written_as_gemini_wants_it() {
    let options = Options {
        max_tokens: Some(500),
        temperature: Some(0.5),
        top_p: Some(0.25),
        extras: json!({"generationConfig": {"thinkingConfig": {"thinkingBudget": 64}}})
            .as_object()
            .unwrap()
            .clone()
            .into(),
        ..Options::new(Provider::Gemini, "gemini-2.5-flash")
    };
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "You help."}]},
        "tools": [{"functionDeclarations": [{
            "name": "file_read", "description": "Reads a file.",
            "parameters_json_schema": tool("file_read").parameters,
        }]}],
        "generationConfig": {
            "maxOutputTokens": 500, "temperature": 0.5, "topP": 0.25,
            "thinkingConfig": {"includeThoughts": true, "thinkingBudget": 64},
        },
        "contents": [
            {"role": "user", "parts": [
                {"text": "What is this?"},
                {"inlineData": {"mime_type": "image/png", "data": "iVBORw0KGgo="}},
            ]},
            {"role": "model", "parts": [
                {"functionCall": {"name": "file_read", "args": {"path": "a.txt"}}},
                {"functionCall": {"name": "file_read", "args": {"path": "b.txt"}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "file_read", "response": {"output": "alpha"}}},
                {"functionResponse": {"name": "file_read", "response": {"error": "no such file"}}},
            ]},
            {"role": "model", "parts": [{"text": "It is **a**."}]},
            {"role": "user", "parts": [{"text": "Thanks, and b?"}]},
        ],
    });
    assert_eq!(body(&options, &conversation()), expected);
    let plain = Options::new(Provider::Gemini, "gemini-2.0-flash");
    assert_eq!(body(&plain, &conversation()).get("generationConfig"), None);
}

#[test]
fn signatures_and_ids_go_back_unchanged() {
    let signed = |id: &str, data: Value| {
        Block::ToolCall(ToolCall {
            id: id.into(),
            name: "file_read".into(),
            input: json!({}),
            opaque: Some(kept(data)),
        })
    };
    let thought = kept(json!({"text": "", "thoughtSignature": "dGV4dA=="}));
    let foreign = Opaque { dialect: "anthropic".into(), data: json!({"type": "thinking"}) };
    let request = request(vec![
        message(Role::User, vec![Block::text("go")]),
        message(
            Role::Assistant,
            vec![
                Block::Reasoning { text: "x".into(), opaque: Some(foreign), ms: None },
                Block::text("So."),
                Block::Reasoning { text: String::new(), opaque: Some(thought.clone()), ms: None },
                signed("fc1", json!({"thoughtSignature": "c2ln", "id": "fc1"})),
                signed("call_x_1", json!({"thoughtSignature": "c2ln"})),
            ],
        ),
        message(Role::Tool, vec![result("fc1", "file_read", "a"), result("call_x_1", "file_read", "")]),
    ]);
    let body = body(&Options::new(Provider::Gemini, "gemini-3-pro-preview"), &request);
    assert_eq!(
        body["contents"][1]["parts"],
        json!([
            {"text": "So."},
            thought.data,
            {"functionCall": {"id": "fc1", "name": "file_read", "args": {}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"name": "file_read", "args": {}}, "thoughtSignature": "c2ln"},
        ])
    );
    assert_eq!(
        body["contents"][2]["parts"],
        json!([
            {"functionResponse": {"id": "fc1", "name": "file_read", "response": {"output": "a"}}},
            {"functionResponse": {"name": "file_read", "response": {"output": "(no output)"}}},
        ])
    );
}

#[test]
fn calls_of_other_models_are_taken_over() {
    let request = request(vec![
        message(
            Role::Assistant,
            vec![
                call("toolu_1", "file_read", json!({"path": "a"})),
                call("toolu_2", "file_read", json!("{cut")),
            ],
        ),
        message(Role::Tool, vec![result("toolu_1", "file_read", "a"), result("toolu_2", "file_read", "b")]),
    ]);
    let body = |model: &str| body(&Options::new(Provider::Gemini, model), &request)["contents"].take();
    let contents = body("gemini-3-pro-preview");
    assert_eq!(contents[0]["role"], "user");
    assert_eq!(contents[1]["parts"][0]["thoughtSignature"], "skip_thought_signature_validator");
    assert_eq!(contents[1]["parts"][1].get("thoughtSignature"), None);
    assert_eq!(contents[1]["parts"][1]["functionCall"]["args"], json!({"invalid_arguments": "{cut"}));
    assert_eq!(body("gemini-2.5-flash")[1]["parts"][0].get("thoughtSignature"), None);
}

#[test]
fn an_effort_becomes_a_level_or_a_budget() {
    let check = |model: &str, effort, max_output, expected: Value| {
        let mut request = conversation();
        (request.effort, request.max_output) = (effort, max_output);
        let body = body(&Options::new(Provider::Gemini, model), &request);
        assert_eq!(body["generationConfig"]["thinkingConfig"], expected, "{model} {effort:?}");
    };
    let level = |word: &str| json!({"includeThoughts": true, "thinkingLevel": word});
    let budget = |tokens: u64| json!({"includeThoughts": true, "thinkingBudget": tokens});
    for model in ["gemini-2.5-flash", "gemini-3-flash", "gemini-flash-latest"] {
        check(model, None, None, json!({"includeThoughts": true}));
    }
    check("gemini-flash-latest", Some(Effort::Medium), None, level("MEDIUM"));
    check("gemini-3-flash", Some(Effort::None), None, level("MINIMAL"));
    check("gemini-3-pro-preview", Some(Effort::None), None, level("LOW"));
    check("gemini-2.5-flash", Some(Effort::None), None, json!({"thinkingBudget": 0}));
    check("gemini-2.5-flash", Some(Effort::High), None, budget(24_576));
    check("gemini-2.5-flash", Some(Effort::High), Some(4_096), budget(3_072));
    check("gemini-2.5-flash", Some(Effort::High), Some(1_500), json!({"includeThoughts": true}));
    check("gemini-2.0-flash", Some(Effort::High), None, Value::Null);
}

#[test]
fn newer_generations_insist_on_signatures() {
    for model in ["gemini-3-pro-preview", "gemini-3.1-flash", "gemini-flash-latest", "gemini-4-pro"] {
        let body = body(&Options::new(Provider::Gemini, model), &two_steps([None, None]));
        for place in [1, 3] {
            let part = &body["contents"][place]["parts"][0];
            assert_eq!(part["thoughtSignature"], "skip_thought_signature_validator", "{model}");
        }
    }
}

aethon_core::fuzz_targets! {
    fuzz_stream: [recording!("two_tools.sse"), recording!("text.sse"), recording!("thinking.sse")]
        => |input| survive_damage(Framing::Events, reader, input);
}
