//! The codec against recorded streams and documented facts of the wire format.

use aethon_core::message::{Block, Opaque, Role};
use aethon_core::model::{Effort, ModelErrorKind, ModelEvent, ModelRequest, StopReason};
use serde_json::{Value, json};

use super::profile::{CallIdForm, OPENAI, Profile};
use super::{OpenAi, stream, thoughts, wire};
use crate::dialect::Dialect;
use crate::mistral;
use crate::options::{Options, Provider};
use crate::policy::RequestPolicy;
use crate::prompt;
use crate::restrictions::LearnedRestriction;
use crate::stream::replay::{self, Outcome, decoder_survives, replay, survive_damage, tool_call};
use crate::stream::{CallIds, Decoder, Framing};
use crate::testing::{
    call, conversation, message, policy, policy_of, request, result, service, tool, two_steps,
};

fn reader() -> Box<dyn Decoder> {
    let service = service(Provider::OpenAi, "gpt-5");
    Box::new(stream::ChatDecoder::with_ids(service, 1000, CallIds::with_prefix("test")))
}

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../tests/data/openai/", $name))
    };
}

fn play(recording: &str) -> Outcome {
    replay(Framing::Events, &reader, recording)
}

/// Asserts the end, and returns the events before it.
fn ended(outcome: Outcome, stop: StopReason, usage: (u64, u64, u64), model: &str) -> Vec<ModelEvent> {
    assert!(outcome.error.is_none(), "{outcome:?}");
    outcome.ended(stop, replay::usage(usage.0, usage.1, usage.2), Some(model))
}

const GPT: &str = "gpt-5-2025-08-07";

#[test]
fn text_comes_in_pieces_with_usage_at_the_end() {
    let events = ended(play(recording!("text.sse")), StopReason::End, (21, 7, 0), GPT);
    let text = |text: &str| ModelEvent::Text(text.into());
    assert_eq!(events, [text("Grüß"), text(" dich, "), text("🌍!")]);
}

#[test]
fn calls_are_put_together() {
    let events = ended(play(recording!("one_tool.sse")), StopReason::ToolUse, (80, 18, 64), GPT);
    assert_eq!(events, [tool_call("call_abc", "file_read", json!({"path": "ä.txt"}))]);

    let events = ended(play(recording!("two_tools.sse")), StopReason::ToolUse, (90, 40, 0), GPT);
    assert_eq!(
        events[1..],
        [
            tool_call("call_1", "file_read", json!({"path": "a"})),
            tool_call("call_2", "current_time", json!({})),
        ]
    );
}

#[test]
fn thoughts_end_before_the_answer() {
    let events = ended(play(recording!("reasoning.sse")), StopReason::End, (10, 9, 0), GPT);
    assert_eq!(
        events,
        [
            ModelEvent::Reasoning("Let me ".into()),
            ModelEvent::Reasoning("see.".into()),
            ModelEvent::ReasoningDone {
                text: "Let me see.".into(),
                opaque: Some(thoughts::keep_content("Let me see.")),
            },
            ModelEvent::Text("42".into()),
        ]
    );
}

#[test]
fn refusals_and_limits_are_distinguished() {
    let refused = play(recording!("refusal.sse"));
    assert_eq!(refused.text(), "I cannot help with that.");
    ended(refused, StopReason::Refusal, (12, 6, 0), GPT);
    ended(play(recording!("filtered.sse")), StopReason::Refusal, (12, 6, 0), GPT);
    ended(play(recording!("length.sse")), StopReason::Length, (5, 2, 0), GPT);
    let events = ended(play(recording!("length_in_arguments.sse")), StopReason::Length, (5, 2, 0), GPT);
    assert_eq!(events, [tool_call("call_1", "file_write", json!("{\"path\":\"a\",\"content\":\"cut o"))]);
}

#[test]
fn errors_and_cuts_come_after_the_text_so_far() {
    let check = |recording, kind| {
        let outcome = play(recording);
        assert_eq!(outcome.text(), "Part of");
        assert_eq!(outcome.error.unwrap().kind(), kind);
    };
    check(recording!("error_in_the_middle.sse"), ModelErrorKind::Overloaded);
    check(recording!("cut.sse"), ModelErrorKind::Network);
    let outcome = replay(Framing::Events, &reader, "data: {\"choices\": [\n\n");
    assert_eq!(outcome.error.unwrap().kind(), ModelErrorKind::Malformed);
}

#[test]
fn local_servers_are_understood() {
    let outcome = play(recording!("local_without_done.sse"));
    assert_eq!(outcome.text(), "Hi!");
    // No usage was sent, so it is estimated.
    ended(outcome, StopReason::End, (1000, 1, 0), "tiny.gguf");

    let events =
        ended(play(recording!("local_same_index.sse")), StopReason::ToolUse, (1000, 6, 0), "tiny.gguf");
    assert_eq!(
        events,
        [
            tool_call("aaa", "file_read", json!({"path": "a"})),
            tool_call("bbb", "file_read", json!({"path": "b"})),
        ]
    );

    let events =
        ended(play(recording!("local_without_ids.sse")), StopReason::ToolUse, (1000, 4, 0), "tiny.gguf");
    assert_eq!(
        events,
        [
            tool_call("call_test_1", "file_read", json!({"path": "a"})),
            tool_call("call_test_2", "current_time", json!({})),
        ]
    );
}

#[test]
fn mistrals_parts_and_repeated_names_are_understood() {
    let outcome = play(recording!("mistral_tool.sse"));
    assert_eq!(outcome.text(), "I look. Now.");
    let events = ended(outcome, StopReason::ToolUse, (94, 26, 0), "mistral-large-latest");
    assert_eq!(events[1], ModelEvent::ReasoningDone { text: "Hm.".into(), opaque: None });
    assert_eq!(events.last(), Some(&tool_call("D681PevKs", "file_read", json!({"path": "a"}))));
}

#[test]
fn a_whole_completion_is_an_answer_too() {
    let outcome = replay(Framing::Whole, &reader, recording!("whole.json"));
    let events = ended(outcome, StopReason::ToolUse, (3, 4, 0), "m-1");
    assert_eq!(events, [ModelEvent::Text("Whole.".into()), tool_call("call_9", "current_time", json!({}))]);
    let outcome = replay(Framing::Whole, &reader, "{\"hello\": 1}");
    assert_eq!(outcome.error.unwrap().kind(), ModelErrorKind::Malformed);
}

decoder_survives!(Framing::Events, reader, recording!("two_tools.sse"));

fn body(options: &Options, profile: &Profile, request: &ModelRequest) -> Value {
    body_on(&policy(options), profile, request)
}

fn body_on(policy: &RequestPolicy, profile: &Profile, request: &ModelRequest) -> Value {
    serde_json::from_slice(&policy.finish(wire::body(request, policy, profile))).unwrap()
}

#[test]
fn a_request_is_written_as_openai_wants_it() {
    let options = Options {
        max_tokens: Some(500),
        temperature: Some(0.5),
        top_p: Some(0.9),
        extras: json!({"seed": 7}).as_object().unwrap().clone().into(),
        ..Options::new(Provider::OpenAi, "gpt-4o")
    };
    let arguments = |path: &str| json!({ "path": path }).to_string();
    let expected = json!({
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "file_read", "arguments": arguments("a.txt")}},
                {"id": "call_2", "type": "function", "function": {"name": "file_read", "arguments": arguments("b.txt")}},
            ]},
            {"role": "tool", "tool_call_id": "call_1", "content": "alpha"},
            {"role": "tool", "tool_call_id": "call_2", "content": "no such file"},
            {"role": "assistant", "content": "It is **a**."},
            {"role": "user", "content": "Thanks, and b?"},
        ],
        "tools": [{"type": "function", "function": {
            "name": "file_read", "description": "Reads a file.", "parameters": tool("file_read").parameters,
        }}],
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_tokens": 500,
        "temperature": 0.5,
        "top_p": 0.9,
        "prompt_cache_key": prompt::cache_key(&conversation()),
        "seed": 7,
    });
    assert_eq!(body(&options, &OPENAI, &conversation()), expected);
}

#[test]
fn reasoning_models_take_other_limits() {
    let written = |provider, model: &str, profile: &Profile| {
        let options = Options {
            max_tokens: Some(500),
            temperature: Some(0.5),
            top_p: Some(0.9),
            ..Options::new(provider, model)
        };
        let body = body(&options, profile, &request(vec![message(Role::User, vec![Block::text("hi")])]));
        let has = |key: &str| body.get(key).is_some();
        (has("max_completion_tokens"), has("max_tokens"), has("temperature") || has("top_p"))
    };
    for model in ["gpt-5", "gpt-5-mini", "o1", "o3-mini", "o4-mini", "openai/gpt-5"] {
        assert_eq!(written(Provider::OpenAi, model, &OPENAI), (true, false, false), "{model}");
    }
    for model in ["gpt-4o", "gpt-4.1", "olmo-2", "llama3.2"] {
        assert_eq!(written(Provider::OpenAi, model, &OPENAI), (false, true, true), "{model}");
    }
    assert_eq!(written(Provider::Mistral, "mistral-large-latest", &mistral::PROFILE), (false, true, true));
}

#[test]
fn unset_options_are_not_sent() {
    let mut request = request(vec![message(Role::User, vec![Block::text("hi")])]);
    request.system = "".into();
    assert_eq!(
        body(&Options::new(Provider::OpenAi, "some-model"), &OPENAI, &request),
        json!({
            "model": "some-model",
            "messages": [{"role": "user", "content": "hi"}],
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[test]
fn mistral_gets_its_own_form() {
    let request = request(vec![
        message(Role::User, vec![Block::text("read")]),
        message(
            Role::Assistant,
            vec![Block::text("I do."), call("toolu_01ABC", "file_read", json!({"path": "a"}))],
        ),
        message(Role::Tool, vec![result("toolu_01ABC", "file_read", "")]),
        message(Role::User, vec![Block::text("stop that")]),
    ]);
    let body = body(&Options::new(Provider::Mistral, "mistral-large-latest"), &mistral::PROFILE, &request);
    let id = CallIdForm::NineCharacters.apply("toolu_01ABC");
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "You help."},
            {"role": "user", "content": "read"},
            {"role": "assistant", "content": "I do.", "tool_calls": [
                {"id": id, "type": "function", "function": {"name": "file_read", "arguments": "{\"path\":\"a\"}"}},
            ]},
            {"role": "tool", "tool_call_id": id, "name": "file_read", "content": "(no output)"},
            {"role": "assistant", "content": "(The turn was interrupted here.)"},
            {"role": "user", "content": "stop that"},
        ])
    );
    assert_eq!(body.get("stream_options"), None);
}

#[test]
fn ids_become_nine_characters_and_stay_the_same() {
    let nine = |id: &str| CallIdForm::NineCharacters.apply(id).into_owned();
    assert_eq!(nine("D681PevKs"), "D681PevKs");
    for id in ["", "call_1", "call_2", "toolu_01A09q90qw90lq917835lq9", "ünïçode-!"] {
        let short = nine(id);
        assert!(short.len() == 9 && short.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{short}");
        assert_eq!(nine(id), short);
    }
    assert_ne!(nine("call_1"), nine("call_2"));
}

#[test]
fn invalid_arguments_and_foreign_thoughts_are_sent_in_valid_form() {
    let thought = Opaque { dialect: "anthropic".into(), data: json!({"type": "thinking"}) };
    let request = request(vec![
        message(Role::User, vec![Block::text("go")]),
        message(
            Role::Assistant,
            vec![
                Block::Reasoning { text: "hm".into(), opaque: Some(thought), ms: None },
                call("call_1", "file_read", json!("{\"pa")),
            ],
        ),
        message(Role::Tool, vec![result("call_1", "file_read", "not JSON")]),
    ]);
    let body = body(&Options::new(Provider::OpenAi, "gpt-4o"), &OPENAI, &request);
    let arguments = body["messages"][2]["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), json!({"invalid_arguments": "{\"pa"}));
    assert_eq!(body["messages"][2]["content"], Value::Null);
}

#[test]
fn responses_of_another_implementation_are_understood() {
    let outcome = play(recording!("aimock_two_tools.sse"));
    assert_eq!(outcome.text(), "Both.");
    let events = ended(outcome, StopReason::ToolUse, (4, 11, 0), "gpt-4o");
    assert_eq!(
        events[1..],
        [
            tool_call("call_8SPj7GV1ktHhSbU2", "file_read", json!({"path": "a.txt"})),
            tool_call("call_TU9HIXzOpFQOI3pz", "current_time", json!({})),
        ]
    );
}

#[test]
fn efforts_are_sent_where_they_are_accepted() {
    let check = |provider, model: &str, profile: &Profile, effort, expected: Option<&str>| {
        let mut request = conversation();
        request.effort = effort;
        let body = body_on(&policy_of(provider, model), profile, &request);
        assert_eq!(body.get("reasoning_effort").and_then(Value::as_str), expected, "{model} {effort:?}");
    };
    check(Provider::OpenAi, "gpt-5.4", &OPENAI, None, None);
    check(Provider::OpenAi, "gpt-5.4", &OPENAI, Some(Effort::None), Some("none"));
    check(Provider::OpenAi, "gpt-5", &OPENAI, Some(Effort::None), Some("minimal"));
    check(Provider::OpenAi, "unheard-of", &OPENAI, Some(Effort::High), Some("high"));
    check(Provider::OpenAi, "gpt-4o", &OPENAI, Some(Effort::High), None);
    let litellm = &crate::litellm::PROFILE;
    check(Provider::LiteLlm, "anthropic/claude-sonnet-4-5", litellm, Some(Effort::Low), Some("low"));
    check(Provider::Mistral, "mistral-small-2603", &mistral::PROFILE, Some(Effort::Medium), Some("high"));
    check(Provider::Mistral, "mistral-small-2603", &mistral::PROFILE, Some(Effort::None), Some("none"));
}

#[test]
fn the_limit_is_the_least_and_has_the_name_that_is_taken() {
    let check = |model: &str, set, asked, restrictions: &[LearnedRestriction], expected: Value| {
        let options = Options { max_tokens: set, ..Options::new(Provider::OpenAi, model) };
        let policy =
            RequestPolicy { restrictions: restrictions.iter().copied().collect(), ..policy(&options) };
        let mut request = conversation();
        request.max_output = asked;
        let body = body_on(&policy, &OPENAI, &request);
        assert_eq!(
            json!([body["max_completion_tokens"], body["max_tokens"]]),
            expected,
            "{model} {restrictions:?}"
        );
    };
    use LearnedRestriction::{NoMaxCompletionTokens, NoMaxTokens};
    check("gpt-5.4", None, None, &[], json!([null, null]));
    check("gpt-5.4", Some(500), None, &[], json!([500, null]));
    check("gpt-5.4", Some(500), Some(300), &[], json!([300, null]));
    check("gpt-5.4", Some(200), Some(300), &[], json!([200, null]));
    check("gpt-4o", None, Some(300), &[], json!([null, 300]));
    check("unheard-of", None, Some(300), &[NoMaxTokens], json!([300, null]));
    check("gpt-5.4", None, Some(300), &[NoMaxCompletionTokens], json!([null, 300]));
    check("gpt-5.4", None, Some(300), &[NoMaxCompletionTokens, NoMaxTokens], json!([null, null]));
}

#[test]
fn thoughts_that_led_to_calls_go_back_where_they_came_from() {
    let written = |request: &ModelRequest, profile: &Profile, restrictions: &[LearnedRestriction]| {
        let policy = RequestPolicy {
            restrictions: restrictions.iter().copied().collect(),
            ..policy_of(Provider::OpenAi, "deepseek-reasoner")
        };
        let body = wire::body(request, &policy, profile);
        json!([2, 4].map(|place: usize| body["messages"][place]["reasoning_content"].clone()))
    };
    let thoughts = || [Some(thoughts::keep_content("First.")), None];
    let steps = two_steps(thoughts());
    assert_eq!(written(&steps, &OPENAI, &[]), json!(["First.", null]));
    assert_eq!(written(&steps, &OPENAI, &[LearnedRestriction::NeedsReasoningEcho]), json!(["First.", ""]));
    assert_eq!(written(&steps, &OPENAI, &[LearnedRestriction::NoReasoningEcho]), json!([null, null]));
    let itself = OpenAi::new(service(Provider::OpenAi, "deepseek-reasoner"));
    let policy = policy_of(Provider::OpenAi, "deepseek-reasoner");
    let body: Value = serde_json::from_slice(&itself.build_request(&steps, &policy).body).unwrap();
    assert_eq!(body["messages"][2]["reasoning_content"], Value::Null, "OpenAI itself takes none");
    assert_eq!(written(&steps, &mistral::PROFILE, &[]), json!([null, null]));
    let mut later = two_steps(thoughts());
    let mut messages = later.messages.to_vec();
    messages.push(message(Role::Assistant, vec![Block::text("Equal.")]));
    messages.push(message(Role::User, vec![Block::text("Sure?")]));
    later.messages = std::sync::Arc::new(messages);
    assert_eq!(written(&later, &OPENAI, &[]), json!([null, null]), "an earlier turn's stay");
    assert_eq!(written(&later, &OPENAI, &[LearnedRestriction::NeedsReasoningEcho]), json!(["First.", ""]));
}

#[test]
fn details_of_thoughts_are_kept_whole_and_go_back_unchanged() {
    let chunk = |delta: Value, finish: Value| {
        format!(
            "data: {}\n\n",
            json!({"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        )
    };
    let detail = |text: &str| json!({"type": "reasoning.text", "text": text, "index": 0, "format": "x-v1"});
    let sealed = json!({"type": "reasoning.encrypted", "data": "c2VhbGVk", "index": 1, "id": "r_1"});
    let call = json!({"index": 0, "id": "call_1", "function": {"name": "file_read", "arguments": "{}"}});
    let recording = [
        chunk(json!({"reasoning": "Let ", "reasoning_details": [detail("Let ")]}), Value::Null),
        chunk(json!({"reasoning": "me.", "reasoning_details": [detail("me.")]}), Value::Null),
        chunk(json!({"tool_calls": [call], "reasoning_details": [sealed.clone()]}), json!("tool_calls")),
    ];
    let outcome = replay(Framing::Events, &reader, recording.concat());
    let kept: Vec<Opaque> = outcome
        .events
        .into_iter()
        .filter_map(|event| match event {
            ModelEvent::ReasoningDone { opaque, .. } => opaque,
            _ => None,
        })
        .collect();
    assert_eq!(kept, [thoughts::keep_details(vec![detail("Let me."), sealed.clone()])]);
    let body = body(&Options::new(Provider::OpenAi, "m"), &OPENAI, &two_steps([Some(kept[0].clone()), None]));
    assert_eq!(body["messages"][2]["reasoning_details"], json!([detail("Let me."), sealed]));
}

#[test]
fn content_beside_calls_is_empty_where_null_is_refused() {
    let content = |restrictions: &[LearnedRestriction]| {
        let policy = RequestPolicy {
            restrictions: restrictions.iter().copied().collect(),
            ..policy_of(Provider::OpenAi, "m")
        };
        wire::body(&two_steps([None, None]), &policy, &OPENAI)["messages"][2]["content"].take()
    };
    assert_eq!(content(&[]), Value::Null);
    assert_eq!(content(&[LearnedRestriction::NoNullContent]), json!(""));
}

aethon_core::fuzz_targets! {
    fuzz_stream: [recording!("two_tools.sse"), recording!("text.sse"), recording!("reasoning.sse")]
        => |input| survive_damage(Framing::Events, reader, input);
    fuzz_whole: [recording!("whole.json")] => |input| survive_damage(Framing::Whole, reader, input);
}
