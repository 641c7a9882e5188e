//! The codec against recorded streams and documented facts of the wire format.

use aethon_core::message::{Block, Opaque, Role};
use aethon_core::model::{Effort, ModelErrorKind, ModelEvent, ModelRequest, StopReason, Usage};
use aethon_core::web_search::WebSearch;
use serde_json::{Value, json};

use super::{stream, wire};
use crate::options::{Options, Provider};
use crate::policy::RequestPolicy;
use crate::restrictions::LearnedRestriction;
use crate::stream::replay::{Outcome, decoder_survives, replay, survive_damage, tool_call};
use crate::stream::{Decoder, Framing};
use crate::testing::{self, call, conversation, message, policy, request, result, service, tool, two_steps};

fn reader() -> Box<dyn Decoder> {
    Box::new(stream::MessagesDecoder::new(service(Provider::Anthropic, "claude-sonnet-4-5"), 1000))
}

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../tests/data/anthropic/", $name))
    };
}

fn play(recording: &str) -> Outcome {
    replay(Framing::Events, &reader, recording)
}

fn ended(outcome: Outcome, stop: StopReason, usage: (u64, u64, u64)) -> Vec<ModelEvent> {
    let (input_tokens, output_tokens, cached_tokens) = usage;
    ended_with(outcome, stop, Usage { input_tokens, output_tokens, cached_tokens, ..Usage::default() })
}

fn ended_with(outcome: Outcome, stop: StopReason, usage: Usage) -> Vec<ModelEvent> {
    assert!(outcome.error.is_none(), "{outcome:?}");
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

    // Cache reads and cache writes count as input.
    let usage = Usage {
        input_tokens: 2500,
        output_tokens: 89,
        cached_tokens: 2000,
        cache_write_tokens: 100,
        ..Usage::default()
    };
    let events = ended_with(play(recording!("one_tool.sse")), StopReason::ToolUse, usage);
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
fn errors_and_cuts_come_after_the_text_so_far() {
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

decoder_survives!(Framing::Events, reader, recording!("thinking.sse"));

fn body(options: &Options, request: &ModelRequest) -> Value {
    let policy = policy(options);
    serde_json::from_slice(&policy.finish(wire::body(request, &policy))).unwrap()
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
        extras: json!({"thinking": {"type": "enabled", "budget_tokens": 1024}})
            .as_object()
            .unwrap()
            .clone()
            .into(),
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
                cached(json!({"type": "tool_result", "tool_use_id": "call_2", "content": "no such file", "is_error": true})),
            ]},
            {"role": "assistant", "content": [{"type": "text", "text": "It is **a**."}]},
            {"role": "user", "content": [cached(json!({"type": "text", "text": "Thanks, and b?"}))]},
        ],
    });
    assert_eq!(body(&options, &conversation()), expected);
}

#[test]
fn thoughts_go_back_unchanged_and_unmarked() {
    let think = |opaque| Block::Reasoning { text: "Let me see.".into(), opaque, ms: None };
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
                {"type": "tool_use", "id": "fake_0_1", "name": "file_read", "input": {"path": "a"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "fake_0_1", "content": "alpha"},
                {"type": "text", "text": "and?"},
            ]},
        ])
    );
    // The service requires a limit, so the model's own is sent.
    assert_eq!(body["max_tokens"], 64_000);
    assert_eq!(body.get("temperature"), None);
}

#[test]
fn responses_of_another_implementation_are_understood() {
    let outcome = play(recording!("aimock_two_tools.sse"));
    assert!(outcome.error.is_none() && outcome.text() == "Both.", "{outcome:?}");
    let calls = outcome.events.iter().filter(|event| matches!(event, ModelEvent::ToolCall(_))).count();
    assert_eq!(calls, 2);
    // This server counts nothing and sends zeros, so the usage is estimated.
    let Some(ModelEvent::Finished { stop, usage, .. }) = outcome.events.last() else { panic!("{outcome:?}") };
    assert_eq!((*stop, usage.input_tokens), (StopReason::ToolUse, 1000));
}

#[test]
fn an_effort_becomes_the_form_that_the_model_takes() {
    let check = |model: &str, effort, max_output, expected: Value| {
        let mut request = conversation();
        (request.effort, request.max_output) = (effort, max_output);
        let options =
            Options { temperature: Some(0.5), top_p: Some(0.9), ..Options::new(Provider::Anthropic, model) };
        let mut body = body(&options, &request);
        let keys = ["thinking", "output_config", "temperature", "top_p", "max_tokens"];
        let found: Vec<Value> = keys.iter().map(|key| body[*key].take()).collect();
        assert_eq!(json!(found), expected, "{model} {effort:?} {max_output:?}");
    };
    let adaptive = |effort: &str| json!([{"type": "adaptive", "display": "summarized"}, {"effort": effort}]);
    let with = |mut form: Value, rest: [Value; 3]| {
        form.as_array_mut().unwrap().extend(rest);
        form
    };
    let limit = || json!(2_000);
    let (no, half, most) = (|| Value::Null, || json!(0.5), || json!(0.9));
    use Effort::{High, Low, Medium, None as Off};
    // Newer models get an effort, and the newest accept no sampling parameters.
    for effort in [Low, Medium, High] {
        let expected = with(adaptive(effort.as_str()), [no(), no(), limit()]);
        check("claude-opus-4-6", Some(effort), Some(2_000), expected.clone());
        check("claude-sonnet-5", Some(effort), Some(2_000), expected);
    }
    let disabled = json!([{"type": "disabled"}, null]);
    check("claude-opus-4-6", Some(Off), Some(2_000), with(disabled.clone(), [half(), most(), limit()]));
    check("claude-opus-4-7", Some(Off), Some(2_000), with(disabled.clone(), [no(), no(), limit()]));
    check("claude-opus-4-6", None, Some(2_000), with(json!([null, null]), [half(), most(), limit()]));
    // Older models get a budget, which stays below the limit and leaves room for an answer.
    let budget = |tokens: u64| json!([{"type": "enabled", "budget_tokens": tokens}, null]);
    check("claude-sonnet-4-5", Some(Low), Some(30_000), with(budget(2_048), [no(), no(), json!(30_000)]));
    check("claude-sonnet-4-5", Some(High), Some(9_000), with(budget(7_976), [no(), no(), json!(9_000)]));
    check("claude-sonnet-4-5", Some(High), Some(2_000), with(json!([null, null]), [half(), most(), limit()]));
    check("claude-sonnet-4-5", Some(Off), Some(2_000), with(disabled, [half(), most(), limit()]));
    // A model that does not think gets neither.
    check(
        "claude-3-5-haiku-latest",
        Some(High),
        Some(2_000),
        with(json!([null, null]), [half(), most(), limit()]),
    );
}

#[test]
fn thinking_budget_is_not_added_in_mid_turn() {
    let asked = |thoughts| {
        let options = Options {
            effort: Some(Effort::Medium),
            ..Options::new(Provider::Anthropic, "claude-sonnet-4-5")
        };
        body(&options, &two_steps(thoughts))["thinking"].take()
    };
    let foreign = || Opaque { dialect: "gemini".into(), data: json!({"x": 1}) };
    assert_eq!(asked([Some(thought()), Some(thought())])["type"], "enabled");
    assert_eq!(asked([Some(thought()), None]), Value::Null);
    assert_eq!(asked([Some(foreign()), Some(foreign())]), Value::Null);
}

#[test]
fn refused_settings_are_left_out() {
    let options = Options {
        temperature: Some(0.5),
        top_p: Some(0.9),
        effort: Some(Effort::High),
        ..Options::new(Provider::Anthropic, "claude-opus-4-5-next")
    };
    let written = |restrictions: &[LearnedRestriction]| {
        let policy =
            RequestPolicy { restrictions: restrictions.iter().copied().collect(), ..policy(&options) };
        let body = wire::body(&conversation(), &policy);
        ["thinking", "temperature", "top_p"].map(|key| body.get(key).is_some())
    };
    assert_eq!(written(&[]), [true, false, false]);
    assert_eq!(written(&[LearnedRestriction::NoEffort]), [false, true, true]);
    assert_eq!(written(&[LearnedRestriction::NoEffort, LearnedRestriction::NoTopP]), [false, true, false]);
}

#[test]
fn at_most_four_cache_marks_are_set_and_none_on_single_use_text() {
    let marks = |request: &ModelRequest| {
        body(&Options::new(Provider::Anthropic, "claude-sonnet-4-5"), request)
            .to_string()
            .matches("cache_control")
            .count()
    };
    assert_eq!(marks(&conversation()), 4);
    assert_eq!(marks(&two_steps([None, None])), 4);
    let mut summary = conversation();
    summary.tools = Default::default();
    assert_eq!(marks(&summary), 1, "only the system prompt");
}

aethon_core::fuzz_targets! {
    fuzz_stream: [recording!("two_tools.sse"), recording!("text.sse"), recording!("thinking.sse")]
        => |input| survive_damage(Framing::Events, reader, input);
}

#[test]
fn unfinished_searches_go_back_only_after_a_pause() {
    let call = |id: &str| json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {}});
    let result = |id: &str| json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []});
    let search = |data: Value| {
        let opaque = Some(Opaque { dialect: super::DIALECT.into(), data });
        Block::Search(WebSearch { query: String::new(), sources: Vec::new(), opaque })
    };
    let asked = || message(Role::User, vec![Block::text("hi")]);
    let paused = message(Role::Assistant, vec![Block::text("Looking."), search(json!([call("a")]))]);
    let lone = message(Role::Assistant, vec![search(json!([call("b")]))]);
    let whole = message(Role::Assistant, vec![search(json!([call("c"), result("c")]))]);
    // The result of a paused search comes with the rest of the answer.
    let [first, rest] = [search(json!([call("d")])), search(json!([result("d")]))]
        .map(|search| message(Role::Assistant, vec![search]));
    let check = |messages: Vec<_>, expected: &[&str]| {
        let body =
            wire::body(&request(messages), &testing::policy_of(Provider::Anthropic, "claude-sonnet-5-5"));
        let ids: Vec<String> = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|message| message["content"].as_array().unwrap().clone())
            .filter_map(|block| block["id"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(ids, expected, "{body:#}");
        assert!(body["messages"].as_array().unwrap().iter().all(|message| message["content"] != json!([])));
    };
    check(vec![asked(), paused.clone()], &["a"]);
    check(vec![asked(), paused, asked()], &[]);
    check(vec![asked(), lone, asked()], &[]);
    check(vec![asked(), whole, asked()], &["c"]);
    check(vec![asked(), first, rest, asked()], &["d"]);
}
