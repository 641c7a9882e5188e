//! Today's models in their providers' own wire formats.
//!
//! The other side is `aethon_tests::strict`, which refuses whatever the real services refuse.

use std::process::Command;

use aethon_tests::socket::of_type;
use aethon_tests::strict::anthropic::Anthropic;
use aethon_tests::strict::bedrock::{ACCESS_KEY, Bedrock, REGION, SECRET_KEY};
use aethon_tests::strict::chat::{Chat, Host};
use aethon_tests::strict::gemini::Gemini;
use aethon_tests::strict::ollama::Ollama;
use aethon_tests::strict::responses::OpenAi;
use aethon_tests::strict::{Provider, Strict, THOUGHT, seal};
use aethon_tests::{Server, home, program, run, server::server_command};
use serde_json::{Value, json};

/// The smallest PNG: one pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// Where the model is one that the catalogue knows to see no pictures.
const BLIND: [&str; 2] = ["deepseek", "openrouter"];

fn served(provider: impl Provider + 'static, name: &str, path: &str, settings: &[&str]) -> (Strict, Server) {
    let strict = Strict::start(provider);
    let first = [
        format!("model.provider={name}"),
        format!("model.host=\"{}{path}\"", strict.address()),
        "model.api_key=strict-key".to_owned(),
    ];
    let all: Vec<&str> = first.iter().map(String::as_str).chain(settings.iter().copied()).collect();
    let server = Server::start(&all);
    (strict, server)
}

/// Bedrock is signed for with the credentials of the environment.
fn bedrock(settings: &[&str]) -> (Strict, Server) {
    let strict = Strict::start(Bedrock::default());
    let home = home();
    let first = [
        "model.provider=bedrock".to_owned(),
        format!("model.host=\"{}\"", strict.address()),
        format!("model.region={REGION}"),
    ];
    let all: Vec<&str> = first.iter().map(String::as_str).chain(settings.iter().copied()).collect();
    let mut command: Command = server_command(home.path(), &all);
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    let server = Server::start_command(home, command);
    (strict, server)
}

/// Talks, calls once and twice, shows a picture, and continues; all of it in one session, so that everything goes back.
fn converse(what: &str, strict: &Strict, server: &Server, sees: bool) {
    let mut chat = server.chat("default");
    let mut say = |id: &str, text: &str, expected: &str, tools: usize| {
        let frames = chat.say(id, text);
        let done = frames.last().expect("a turn ends");
        assert_eq!(done["text"], expected, "{what}, {text:?}: {done} {:?}", strict.refusals());
        let ran = of_type(&frames, "tool").iter().filter(|tool| tool["state"] == "ok").count();
        assert_eq!(ran, tools, "{what}, {text:?}");
    };
    say("m1", "hello", "Done after 0 steps.", 0);
    say("m2", "look at the clock once", "Done after 1 steps.", 1);
    say("m3", "look at the clock twice", "Done after 2 steps.", 2);
    let picture = json!([{"name": "dot.png", "mime": "image/png", "data": PNG}]);
    chat.send_json(&json!({"type": "message", "id": "m4", "text": "what is this?", "attachments": picture}));
    let done = chat.until("done").pop().expect("a turn ends");
    // A model without vision gets a note about the picture.
    let expected = if sees { "I see a picture." } else { "Done after 0 steps." };
    assert_eq!(done["text"], expected, "{what}: {:?}", strict.refusals());
    let done = chat.say("m5", "look at the clock once more").pop().expect("a turn ends");
    assert_eq!(done["text"], "Done after 1 steps.", "{what}: {:?}", strict.refusals());
}

fn check(what: &str, (strict, server): (Strict, Server), refusals: &[&str]) {
    converse(what, &strict, &server, !BLIND.iter().any(|name| what.starts_with(name)));
    let refused = strict.refusals();
    assert_eq!(refused.len(), refusals.len(), "{what}: {refused:?}");
    for (refused, expected) in refused.iter().zip(refusals) {
        assert!(refused.contains(expected), "{what}: {refused}");
    }
}

#[test]
fn every_provider_takes_the_default_configuration() {
    check("anthropic", served(Anthropic::default(), "anthropic", "", &[]), &[]);
    check("gemini", served(Gemini, "gemini", "", &[]), &[]);
    check("bedrock", bedrock(&[]), &[]);
    check(
        "mistral",
        served(Chat::of(Host::Mistral), "mistral", "", &["model.model_id=mistral-large-latest"]),
        &[],
    );
}

#[test]
fn openai_models_move_to_the_responses_api_when_required() {
    let switched = &["Please use /v1/responses instead"];
    for model in ["gpt-5.4", "gpt-5.4-mini"] {
        let set = format!("model.model_id={model}");
        check(model, served(OpenAi::default(), "openai", "/v1", &[&set]), switched);
        let api = ["model.api=responses", "model.effort=low", &set];
        check(model, served(OpenAi::default(), "openai", "/v1", &api), &[]);
    }
    // Told not to think, they take tools on chat completions as well.
    check(
        "none",
        served(OpenAi::default(), "openai", "/v1", &["model.model_id=gpt-5.4", "model.effort=none"]),
        &[],
    );
    let sampled = ["model.model_id=gpt-4.1", "model.temperature=0.5", "model.max_tokens=500"];
    check("gpt-4.1", served(OpenAi::default(), "openai", "/v1", &sampled), &[]);
    let reasons =
        ["model.model_id=gpt-5-mini", "model.temperature=0.5", "model.max_tokens=500", "model.api=chat"];
    check("gpt-5-mini", served(OpenAi::default(), "openai", "/v1", &reasons), &[]);
}

#[test]
fn claude_reasoning_uses_its_generations_format_and_is_returned() {
    for model in ["claude-opus-4-6", "claude-sonnet-4-7", "claude-sonnet-5", "claude-haiku-4-5"] {
        for effort in ["none", "high"] {
            let set = [
                format!("model.model_id={model}"),
                format!("model.effort={effort}"),
                "model.temperature=0.5".to_owned(),
                "model.max_tokens=20000".to_owned(),
            ];
            let set: Vec<&str> = set.iter().map(String::as_str).collect();
            check(&format!("{model} {effort}"), served(Anthropic::default(), "anthropic", "", &set), &[]);
        }
    }
    let set = [
        "model.model_id=\"global.anthropic.claude-opus-4-6-v1:0\"",
        "model.effort=medium",
        "model.temperature=0.5",
    ];
    check("bedrock", bedrock(&set), &[]);
}

#[test]
fn gemini_signatures_are_returned() {
    for (model, effort) in
        [("gemini-2.5-flash", "high"), ("gemini-3-pro-preview", "low"), ("gemini-flash-latest", "medium")]
    {
        let set = [format!("model.model_id={model}"), format!("model.effort={effort}")];
        check(model, served(Gemini, "gemini", "", &[&set[0], &set[1]]), &[]);
    }
}

#[test]
fn openai_compatible_servers_get_their_required_fields() {
    let own = |host, model: &str| {
        let set = format!("model.model_id={model}");
        served(Chat::of(host), "openai", "/v1", &[&set, "model.context_window=65536"])
    };
    check("deepseek", own(Host::DeepSeek, "deepseek-v4"), &[]);
    check("deepseek, always", own(Host::DeepSeekAlways, "deepseek-v4"), &["must be passed back"]);
    check("openrouter", own(Host::OpenRouter, "z-ai/glm-5"), &[]);
    // The first null is refused, and there is never a second one. The list of models is not there either.
    let (strict, server) = own(Host::LlamaCppPython, "tiny.gguf");
    converse("llama-cpp-python", &strict, &server, true);
    let nulls = strict.refusals().iter().filter(|refusal| refusal.contains("NoneType")).count();
    assert_eq!(nulls, 1, "{:?}", strict.refusals());
    // The proxy's own 6,000 tokens have no room for a picture beside the tools.
    let roomy = ["model.model_id=team-model", "model.context_window=32000"];
    check("litellm", served(Chat::of(Host::LiteLlm), "litellm", "", &roomy), &[]);
    let efforts = ["model.model_id=mistral-small-2603", "model.effort=high"];
    check("mistral", served(Chat::of(Host::Mistral), "mistral", "", &efforts), &[]);
    let thinks = ["model.model_id=\"qwen3-vl:8b\"", "model.effort=medium"];
    check("ollama", served(Ollama::default(), "ollama", "", &thinks), &[]);
}

#[test]
fn litellm_proxy_reports_the_context_window() {
    let (strict, server) = served(Chat::of(Host::LiteLlm), "litellm", "", &["model.model_id=team-model"]);
    let long = format!("The beginning. {}The end.", "Words that fill the window. ".repeat(2_000));
    let frames = server.chat("default").say("m1", &long);
    assert_eq!(frames.last().expect("a turn ends")["text"], "Done after 0 steps.", "{:?}", strict.refusals());
    assert!(frames.iter().any(|frame| frame["code"] == "context_cut"), "the person is told");
    let requests = strict.requests();
    let lines: Vec<&str> = requests.iter().map(|request| request.line.as_str()).collect();
    assert_eq!(lines, ["GET /v1/model/info", "POST /v1/chat/completions"]);
    // The proxy's 6,000 tokens are fewer than the default of an unknown model.
    assert!(requests[1].body.len() < 4 * 6_000, "{} bytes", requests[1].body.len());
    assert_eq!(strict.refusals(), [""; 0]);
}

#[test]
fn litellm_proxy_reports_the_price() {
    let with_ceiling = ["model.model_id=team-model", "budget.daily_usd=1"];
    let (strict, server) = served(Chat::of(Host::LiteLlm), "litellm", "", &with_ceiling);
    server.chat("default").say("m1", "Hi.");
    let row = server.get("/api/usage?days=1").json()["rows"][0].clone();
    let figure = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("no {name}: {row}"));
    let expected = (figure("input_tokens") * 3.0 + figure("output_tokens") * 15.0) / 1e6;
    assert!(expected > 0.0 && (figure("cost_usd") - expected).abs() < 1e-9, "{row}");
    assert_eq!(strict.requests()[0].line, "GET /v1/model/info", "no table knows the owner's own name for it");
    assert_eq!(strict.refusals(), [""; 0]);
}

#[test]
fn litellm_proxy_is_believed_by_doctor_check_and_notice() {
    let with_ceiling = ["model.model_id=team-model", "budget.daily_usd=1"];
    let (strict, server) = served(Chat::of(Host::LiteLlm), "litellm", "", &with_ceiling[..1]);
    let frames = server.chat("default").say("m1", "Hi.");
    assert_eq!(frames.last().expect("a turn ends")["text"], "Done after 0 steps.");
    assert!(frames.iter().all(|frame| frame["code"] != "unknown_model"), "{frames:?}");
    let host = format!("model.host=\"{}\"", strict.address());
    let settings =
        [&["model.provider=litellm", &host, "model.api_key=strict-key"][..], &with_ceiling].concat();
    let arguments = |first: &str| -> Vec<String> {
        let sets = settings.iter().flat_map(|set| ["--set".to_owned(), (*set).to_owned()]);
        std::iter::once(first.to_owned()).chain(sets).collect()
    };
    for (name, first) in [("aethon-cli", "doctor"), ("aethon-server", "--check")] {
        let output = run(program(name, home().path()).args(arguments(first)), None);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for wrong in ["refused", "32768", "unknown model", "no known price"] {
            assert!(!text.contains(wrong), "{first}, {wrong}: {text}");
        }
        assert!(text.contains("1 USD a day"), "{first}: {text}");
    }
}

/// The bodies of the requests that were answered, without what differs from home to home.
fn bodies(strict: &Strict) -> Vec<Value> {
    let mut bodies: Vec<Value> = strict.requests().iter().map(aethon_tests::stub::Seen::json).collect();
    for body in &mut bodies {
        for long in ["tools", "system", "instructions", "systemInstruction", "toolConfig", "prompt_cache_key"]
        {
            if body.get(long).is_some() {
                body[long] = "…".into();
            }
        }
    }
    bodies
}

/// The body of the second request of a turn with one call.
fn second((strict, server): (Strict, Server)) -> Value {
    let frames = server.chat("default").say("m1", "once");
    let done = frames.last().expect("a turn ends");
    assert_eq!(done["text"], "Done after 1 steps.", "{:?}", strict.refusals());
    bodies(&strict).pop().expect("a request")
}

/// The time as the tool told it.
fn time(value: &Value) -> String {
    value.as_str().expect("the result is text").to_owned()
}

#[test]
fn second_step_of_a_turn_uses_the_providers_format() {
    let body = second(served(
        OpenAi::default(),
        "openai",
        "/v1",
        &["model.model_id=gpt-5.4", "model.api=responses", "model.effort=high"],
    ));
    let output = time(&body["input"][3]["output"]);
    let expected = json!({
        "model": "gpt-5.4", "stream": true, "store": false, "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "high", "summary": "auto"},
        "instructions": "…", "tools": "…", "prompt_cache_key": "…",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "once"}]},
            {"type": "reasoning", "id": "rs_0", "encrypted_content": seal(0),
             "summary": [{"type": "summary_text", "text": THOUGHT}]},
            {"type": "function_call", "call_id": "call00000", "name": "current_time", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call00000", "output": output},
        ],
    });
    assert_eq!(without_limit(body), expected);

    let body = second(served(
        Anthropic::default(),
        "anthropic",
        "",
        &["model.model_id=claude-opus-4-6", "model.effort=high"],
    ));
    let output = time(&body["messages"][2]["content"][0]["content"]);
    let mark = json!({"type": "ephemeral"});
    let expected = json!({
        "model": "claude-opus-4-6", "stream": true, "system": "…", "tools": "…",
        "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "once", "cache_control": mark}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": THOUGHT, "signature": seal(0)},
                {"type": "tool_use", "id": "call00000", "name": "current_time", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call00000", "content": output, "cache_control": mark},
            ]},
        ],
    });
    assert_eq!(without_limit(body), expected);

    let body =
        second(served(Gemini, "gemini", "", &["model.model_id=gemini-3-pro-preview", "model.effort=low"]));
    let output = time(&body["contents"][2]["parts"][0]["functionResponse"]["response"]["output"]);
    let expected = json!({
        "systemInstruction": "…", "tools": "…",
        "generationConfig": {"thinkingConfig": {"includeThoughts": true, "thinkingLevel": "LOW"}},
        "contents": [
            {"role": "user", "parts": [{"text": "once"}]},
            {"role": "model", "parts": [
                {"functionCall": {"name": "current_time", "args": {}}, "thoughtSignature": seal(0)},
            ]},
            {"role": "user", "parts": [{"functionResponse": {"name": "current_time", "response": {"output": output}}}]},
        ],
    });
    assert_eq!(without_limit(body), expected);
}

#[test]
fn thoughts_as_text_go_back_beside_their_calls() {
    let body = second(served(
        Chat::of(Host::DeepSeek),
        "openai",
        "/v1",
        &["model.model_id=deepseek-v4", "model.context_window=65536"],
    ));
    let output = time(&body["messages"][3]["content"]);
    assert_eq!(
        body["messages"].as_array().expect("messages")[1..],
        [
            json!({"role": "user", "content": "once"}),
            json!({"role": "assistant", "content": null, "reasoning_content": THOUGHT, "tool_calls": [
                {"id": "call00000", "type": "function", "function": {"name": "current_time", "arguments": "{}"}},
            ]}),
            json!({"role": "tool", "tool_call_id": "call00000", "content": output}),
        ]
    );
}

/// Without the limits of the answer, which follow the rest of the daily budget.
fn without_limit(mut body: Value) -> Value {
    for name in ["max_tokens", "max_output_tokens", "max_completion_tokens"] {
        body.as_object_mut().expect("an object").remove(name);
    }
    if let Some(generation) = body.get_mut("generationConfig").and_then(Value::as_object_mut) {
        generation.remove("maxOutputTokens");
    }
    body
}

#[test]
fn a_failure_shows_the_services_own_id_of_the_request() {
    let set = ["model.model_id=gpt-4.1", "model.api_key=wrong-key", "model.max_retries=0"];
    let (_strict, server) = served(OpenAi::default(), "openai", "/v1", &set);
    let mut chat = server.chat("default");
    let frames = chat.say("m1", "hello");
    let told = json!(frames).to_string();
    assert!(told.contains("(request id req_strict_1)"), "{told}");
}
