//! The codec against recorded streams and documented facts of the wire format.

use aethon_core::message::{Block, Opaque, Role};
use aethon_core::model::{Effort, ModelErrorKind, ModelEvent, ModelRequest, StopReason};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{DIALECT, stream, wire};
use crate::dialect::Dialect;
use crate::options::{Options, Provider};
use crate::policy::RequestPolicy;
use crate::prompt;
use crate::restrictions::LearnedRestriction;
use crate::stream::replay::{self, Outcome, decoder_survives, replay, survive, survive_damage, tool_call};
use crate::stream::{CallIds, Decoder, Framing};
use crate::testing::{call, conversation, message, policy, policy_of, request, result, service, tool};

fn reader() -> Box<dyn Decoder> {
    let service = service(Provider::OpenAi, "gpt-5");
    Box::new(stream::ResponsesDecoder::with_ids(service, 1000, CallIds::with_prefix("test")))
}

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../tests/data/responses/", $name))
    };
}

fn play(recording: &str) -> Outcome {
    replay(Framing::Events, &reader, recording)
}

fn ended(outcome: Outcome, stop: StopReason, usage: (u64, u64, u64)) -> Vec<ModelEvent> {
    assert!(outcome.error.is_none(), "{outcome:?}");
    outcome.ended(stop, replay::usage(usage.0, usage.1, usage.2), Some("gpt-5-2025-08-07"))
}

fn thought(summary: &[&str]) -> Opaque {
    let summary: Vec<Value> =
        summary.iter().map(|text| json!({"type": "summary_text", "text": text})).collect();
    let data =
        json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "gAAAAABo"});
    Opaque { dialect: DIALECT.into(), data }
}

#[test]
fn text_and_calls_come_out() {
    let events = ended(play(recording!("text.sse")), StopReason::End, (21, 7, 0));
    let text = |text: &str| ModelEvent::Text(text.into());
    assert_eq!(events, [text("Grüß"), text(" dich, "), text("🌍!")]);

    let events = ended(play(recording!("one_tool.sse")), StopReason::ToolUse, (80, 18, 64));
    assert_eq!(
        events,
        [
            ModelEvent::ReasoningDone { text: String::new(), opaque: Some(thought(&[])) },
            tool_call("call_abc", "file_read", json!({"path": "ä.txt"})),
        ]
    );

    let events = ended(play(recording!("two_tools.sse")), StopReason::ToolUse, (90, 40, 0));
    assert_eq!(
        events,
        [
            text("Both."),
            tool_call("call_1", "file_read", json!({"path": "a"})),
            tool_call("call_2", "current_time", json!({})),
        ]
    );
}

#[test]
fn thoughts_keep_their_encrypted_part() {
    let events = ended(play(recording!("reasoning.sse")), StopReason::End, (10, 50, 0));
    let reasoning = |text: &str| ModelEvent::Reasoning(text.into());
    let opaque = Some(thought(&["Let me see.", "Yes."]));
    assert_eq!(
        events,
        [
            reasoning("Let me "),
            reasoning("see."),
            reasoning("\n\n"),
            reasoning("Yes."),
            ModelEvent::ReasoningDone { text: "Let me see.\n\nYes.".into(), opaque },
            ModelEvent::Text("42".into()),
        ]
    );
}

#[test]
fn every_end_is_understood() {
    let events = ended(play(recording!("length.sse")), StopReason::Length, (5, 2, 0));
    assert_eq!(events, [ModelEvent::Text("Only a".into())]);
    let events = ended(play(recording!("length_in_arguments.sse")), StopReason::Length, (5, 2, 0));
    assert_eq!(events, [tool_call("call_1", "file_write", json!("{\"path\":\"a\",\"content\":\"cut o"))]);
    ended(play(recording!("filtered.sse")), StopReason::Refusal, (12, 6, 0));
    let refused = play(recording!("refusal.sse"));
    assert_eq!(refused.text(), "I cannot help.");
    ended(refused, StopReason::Refusal, (12, 6, 0));
    let odd = play(recording!("unknown.sse"));
    assert_eq!(odd.text(), "Hi.");
    ended(odd, StopReason::End, (3, 1, 0));
}

#[test]
fn failures_have_their_class_and_come_after_the_text_so_far() {
    let check = |recording, text: &str, kind| {
        let outcome = play(recording);
        assert_eq!(outcome.text(), text);
        assert_eq!(outcome.error.unwrap().kind(), kind, "{recording}");
    };
    check(recording!("failed.sse"), "Part of", ModelErrorKind::Overloaded);
    check(recording!("rate_limited.sse"), "", ModelErrorKind::RateLimit);
    check(recording!("error_event.sse"), "Part of", ModelErrorKind::Overloaded);
    check(recording!("nested_error_event.sse"), "", ModelErrorKind::ContextLength);
    check(recording!("cut.sse"), "Part of", ModelErrorKind::Network);
    check("data: {\"type\": 7, \"item\"\n\n", "", ModelErrorKind::Malformed);
}

#[test]
fn responses_of_another_implementation_are_understood() {
    let outcome = play(recording!("aimock_two_tools.sse"));
    assert!(outcome.error.is_none() && outcome.text() == "Both.", "{outcome:?}");
    let calls = outcome.events.iter().filter(|event| matches!(event, ModelEvent::ToolCall(_))).count();
    assert_eq!(calls, 2, "{outcome:?}");
}

#[test]
fn a_whole_response_is_an_answer_too() {
    let whole = json!({
        "object": "response", "status": "completed", "model": "gpt-5-2025-08-07",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABo"},
            {"type": "message", "content": [{"type": "output_text", "text": "Whole."}]},
            {"type": "function_call", "call_id": "call_1", "name": "file_read", "arguments": "{\"path\":\"a\"}"},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    let events = ended(replay(Framing::Whole, &reader, whole.to_string()), StopReason::ToolUse, (3, 4, 0));
    assert_eq!(events[0], ModelEvent::ReasoningDone { text: String::new(), opaque: Some(thought(&[])) });
    assert_eq!(events[1], ModelEvent::Text("Whole.".into()));
}

decoder_survives!(Framing::Events, reader, recording!("two_tools.sse"));

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn events_in_any_order_end_in_an_answer_or_an_error(order in proptest::collection::vec(0_usize..40, 0..60)) {
        let events: Vec<&str> = recording!("reasoning.sse").split_inclusive("\n\n").collect();
        let shuffled: String = order.iter().map(|&at| events[at % events.len()]).collect();
        survive(Framing::Events, reader(), &[shuffled.into_bytes()]);
    }
}

fn body(options: &Options, request: &ModelRequest) -> Value {
    let policy = policy(options);
    serde_json::from_slice(&policy.finish(wire::body(request, &policy))).unwrap()
}

#[test]
fn a_request_is_written_as_openai_wants_it() {
    let options = Options {
        max_tokens: Some(500),
        temperature: Some(0.5),
        extras: json!({"reasoning": {"effort": "low"}, "input": "no"}).as_object().unwrap().clone().into(),
        ..Options::new(Provider::OpenAi, "gpt-5")
    };
    let expected = json!({
        "model": "gpt-5",
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 500,
        "reasoning": {"effort": "low", "summary": "auto"},
        "prompt_cache_key": prompt::cache_key(&conversation()),
        "instructions": "You help.",
        "tools": [{
            "type": "function", "name": "file_read", "description": "Reads a file.",
            "parameters": tool("file_read").parameters, "strict": false,
        }],
        "input": [
            {"role": "user", "content": [
                {"type": "input_text", "text": "What is this?"},
                {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
            ]},
            {"type": "function_call", "call_id": "call_1", "name": "file_read", "arguments": "{\"path\":\"a.txt\"}"},
            {"type": "function_call", "call_id": "call_2", "name": "file_read", "arguments": "{\"path\":\"b.txt\"}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "alpha"},
            {"type": "function_call_output", "call_id": "call_2", "output": "no such file"},
            {"role": "assistant", "content": "It is **a**."},
            {"role": "user", "content": [{"type": "input_text", "text": "Thanks, and b?"}]},
        ],
    });
    assert_eq!(body(&options, &conversation()), expected);
    let other = body(
        &Options { temperature: Some(0.5), ..Options::new(Provider::OpenAi, "gpt-4o") },
        &conversation(),
    );
    assert_eq!((other.get("include"), &other["temperature"]), (None, &json!(0.5)));
}

#[test]
fn thoughts_go_back_unchanged() {
    let think = |opaque| Block::Reasoning { text: "x".into(), opaque: Some(opaque), ms: None };
    let foreign = Opaque { dialect: "anthropic".into(), data: json!({"type": "thinking"}) };
    let request = request(vec![
        message(Role::User, vec![Block::text("go")]),
        message(
            Role::Assistant,
            vec![
                think(thought(&["Hm."])),
                think(foreign),
                call("fake:0/1", "file_read", json!({"path": "a"})),
            ],
        ),
        message(Role::Tool, vec![result("fake:0/1", "file_read", " ")]),
    ]);
    assert_eq!(
        body(&Options::new(Provider::OpenAi, "gpt-5"), &request)["input"],
        json!([
            {"role": "user", "content": [{"type": "input_text", "text": "go"}]},
            thought(&["Hm."]).data,
            {"type": "function_call", "call_id": "fake_0_1", "name": "file_read", "arguments": "{\"path\":\"a\"}"},
            {"type": "function_call_output", "call_id": "fake_0_1", "output": "(no output)"},
        ])
    );
}

#[test]
fn reasoning_is_asked_for_in_the_words_of_the_model() {
    let check = |model: &str, effort, restrictions: &[LearnedRestriction], expected: Value| {
        let policy = RequestPolicy {
            restrictions: restrictions.iter().copied().collect(),
            ..policy_of(Provider::OpenAi, model)
        };
        let mut request = conversation();
        request.effort = effort;
        let body = wire::body(&request, &policy);
        assert_eq!((&body["reasoning"], &body["store"]), (&expected, &json!(false)), "{model} {effort:?}");
        assert_eq!(body.get("include").is_some(), model != "gpt-4o", "{model}");
    };
    let auto = || json!({"summary": "auto"});
    check("gpt-5.4", None, &[], auto());
    check("gpt-5.4", Some(Effort::None), &[], json!({"effort": "none"}));
    check("gpt-5", Some(Effort::None), &[], json!({"effort": "minimal", "summary": "auto"}));
    check("o4-mini", Some(Effort::High), &[], json!({"effort": "high", "summary": "auto"}));
    check("o4-mini", Some(Effort::High), &[LearnedRestriction::NoSummary], json!({"effort": "high"}));
    check("o4-mini", Some(Effort::High), &[LearnedRestriction::NoEffort], auto());
    check("gpt-4o", Some(Effort::High), &[], Value::Null);
}

#[test]
fn limits_and_cache_keys_are_what_the_service_takes() {
    let mut request = conversation();
    request.max_output = Some(5);
    let body = wire::body(&request, &policy_of(Provider::OpenAi, "gpt-5.4"));
    assert_eq!(body["max_output_tokens"], 16, "less is refused");
    let key = body["prompt_cache_key"].as_str().unwrap();
    assert!(key.len() == 32 && !key.contains("default"), "{key}");
}

#[test]
fn a_thought_that_led_to_nothing_stays() {
    let think =
        |summary: &str| Block::Reasoning { text: "x".into(), opaque: Some(thought(&[summary])), ms: None };
    let request = request(vec![
        message(Role::User, vec![Block::text("go")]),
        message(Role::Assistant, vec![think("a"), Block::text("So."), think("b")]),
        message(Role::User, vec![Block::text("and?")]),
    ]);
    let body = body(&Options::new(Provider::OpenAi, "gpt-5"), &request);
    assert_eq!(body["input"][1], thought(&["a"]).data);
    assert_eq!(body["input"][2], json!({"role": "assistant", "content": "So."}));
    assert_eq!(body["input"][3]["role"], "user");
}

#[test]
fn api_is_chosen_by_host_model_and_refusal() {
    let check = |host: &str, model: &str, restrictions: &[LearnedRestriction], path: &str| {
        let mut options = Options::new(Provider::OpenAi, model);
        options.host = host.into();
        let endpoint = crate::endpoint::Endpoint::of(&options).unwrap();
        let service = std::sync::Arc::new(crate::service::Service::new(&options, endpoint));
        let policy =
            RequestPolicy { restrictions: restrictions.iter().copied().collect(), ..policy(&options) };
        let outgoing =
            super::AutoApi::new(service, crate::openai::OPENAI).build_request(&conversation(), &policy);
        assert!(outgoing.url.ends_with(path), "{host} {model}: {}", outgoing.url);
    };
    let (chat, responses) = ("/chat/completions", "/responses");
    check("", "gpt-5.4", &[], responses);
    check("", "gpt-6", &[], responses);
    check("", "o4-mini", &[], responses);
    check("", "gpt-4.1", &[], chat);
    check("https://example.com/v1", "gpt-5.4", &[], chat);
    check("https://example.com/v1", "gpt-5.4", &[LearnedRestriction::NeedsResponses], responses);
}

aethon_core::fuzz_targets! {
    fuzz_stream: [recording!("two_tools.sse"), recording!("text.sse"), recording!("reasoning.sse")]
        => |input| survive_damage(Framing::Events, reader, input);
}
