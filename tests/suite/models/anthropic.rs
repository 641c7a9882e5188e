//! Anthropic and Ollama through the whole program, against fake services.

use aethon_tests::Server;
use aethon_tests::socket::{of_type, spoken};
use aethon_tests::stub::{Stub, failure, ok};
use serde_json::{Value, json};

fn events(all: &[Value]) -> Vec<u8> {
    let lines: String = all
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().expect("a type")))
        .collect();
    ok("text/event-stream", &lines)
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [],
        "model": "claude-test", "usage": {"input_tokens": 20, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 0,
        "output_tokens": 1}}})
}

fn stop(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

fn says(words: &[&str]) -> Vec<u8> {
    let mut all = vec![start(), json!({"type": "ping"})];
    all.push(
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    );
    for word in words {
        all.push(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}),
        );
    }
    all.push(json!({"type": "content_block_stop", "index": 0}));
    all.extend(stop("end_turn"));
    events(&all)
}

/// A thought with its signature, then a call.
fn thinks_and_calls() -> Vec<u8> {
    let delta =
        |index: u32, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let mut all = vec![start()];
    all.push(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}));
    all.push(delta(0, json!({"type": "thinking_delta", "thinking": "I need the time"})));
    all.push(delta(0, json!({"type": "signature_delta", "signature": "signed=="})));
    all.push(json!({"type": "content_block_stop", "index": 0}));
    let block = json!({"type": "tool_use", "id": "toolu_1", "name": "current_time", "input": {}});
    all.push(json!({"type": "content_block_start", "index": 1, "content_block": block}));
    all.push(delta(1, json!({"type": "input_json_delta", "partial_json": "{"})));
    all.push(delta(1, json!({"type": "input_json_delta", "partial_json": "}"})));
    all.push(json!({"type": "content_block_stop", "index": 1}));
    all.extend(stop("tool_use"));
    events(&all)
}

fn served(provider: &str, answers: Vec<Vec<u8>>, settings: &[&str]) -> (Stub, Server) {
    let stub = Stub::start(answers);
    let host = format!("model.host=\"http://{}\"", stub.address);
    let provider = format!("model.provider={provider}");
    let mut all =
        vec![provider.as_str(), "model.model_id=test-model", host.as_str(), "model.api_key=test-key"];
    all.extend_from_slice(settings);
    let server = Server::start(&all);
    (stub, server)
}

#[test]
fn anthropic_is_asked_in_its_current_form() {
    let (stub, server) = served("anthropic", vec![says(&["Hel", "lo \u{1f980}"])], &[]);
    let frames = server.chat("default").say("m1", "hello there");
    assert_eq!(
        (spoken(&frames).as_str(), &frames.last().unwrap()["text"]),
        ("Hello \u{1f980}", &json!("Hello \u{1f980}"))
    );
    let usage = of_type(&frames, "usage").last().copied().cloned().unwrap();
    assert_eq!(
        (&usage["input_tokens"], &usage["cached_tokens"], &usage["output_tokens"]),
        (&json!(120), &json!(100), &json!(9))
    );

    let seen = &stub.requests()[0];
    assert_eq!(seen.line, "POST /v1/messages");
    assert_eq!(seen.header("authorization"), Some("Bearer test-key"));
    assert_eq!(seen.header("anthropic-version"), Some("2026-10-21"));
    assert_eq!(seen.header("x-api-key"), None);
    let body = seen.json();
    assert_eq!((&body["model"], &body["stream"]), (&json!("test-model"), &json!(true)));
    assert!(body["max_tokens"].is_u64(), "the interface demands it");
    assert!(!body["system"].is_null(), "system is at the top level");
    let messages = body["messages"].as_array().unwrap();
    assert!(messages.iter().all(|message| message["role"] != "system"));
    assert!(messages.last().unwrap()["content"].to_string().contains("hello there"));
    assert!(body.to_string().contains("cache_control"), "the stable prefix is marked");
    let tool = &body["tools"][0];
    assert!(tool["name"].is_string() && tool["input_schema"]["type"] == "object", "{tool}");
}

#[test]
fn anthropic_in_its_older_form() {
    let (stub, server) = served("anthropic", vec![says(&["hi"])], &["model.api_version=\"2023-06-01\""]);
    server.chat("default").say("m1", "hello");
    let seen = &stub.requests()[0];
    assert_eq!(
        (seen.header("x-api-key"), seen.header("anthropic-version")),
        (Some("test-key"), Some("2023-06-01"))
    );
    assert_eq!(seen.header("authorization"), None);
}

#[test]
fn anthropic_tool_call_returns_with_its_reasoning() {
    let (stub, server) = served("anthropic", vec![thinks_and_calls(), says(&["late"])], &[]);
    let frames = server.chat("default").say("m1", "what time is it?");
    assert_eq!(frames.last().unwrap()["text"], "late");
    let second = stub.requests()[1].json();
    let [.., assistant, user] = second["messages"].as_array().unwrap().as_slice() else { panic!("{second}") };
    assert_eq!(assistant["role"], "assistant");
    let blocks = assistant["content"].as_array().unwrap();
    assert_eq!(
        blocks[0],
        json!({"type": "thinking", "thinking": "I need the time", "signature": "signed=="}),
        "unchanged"
    );
    assert_eq!(
        (&blocks[1]["type"], &blocks[1]["id"], &blocks[1]["input"]),
        (&json!("tool_use"), &json!("toolu_1"), &json!({}))
    );
    assert_eq!(user["role"], "user");
    let result = &user["content"][0];
    assert_eq!((&result["type"], &result["tool_use_id"]), (&json!("tool_result"), &json!("toolu_1")));
}

#[test]
fn anthropic_failures_are_reported() {
    let error = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "no"}}).to_string();
    for (status, kind, code) in [
        ("401 Unauthorized", "authentication_error", "auth"),
        ("429 Too Many Requests", "rate_limit_error", "rate_limit"),
        ("529 Overloaded", "overloaded_error", "overloaded"),
        ("404 Not Found", "not_found_error", "not_found"),
    ] {
        let (_stub, server) =
            served("anthropic", vec![failure(status, "", &error(kind))], &["model.max_retries=0"]);
        let frames = server.chat("default").say("m1", "hello");
        assert_eq!(of_type(&frames, "error")[0]["code"], code, "{status}");
    }
    // An error in the middle of the stream, after some text.
    let text =
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
    let delta =
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "half"}});
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let (stub, server) =
        served("anthropic", vec![events(&[start(), text, delta, overloaded]), says(&["never"])], &[]);
    let frames = server.chat("default").say("m1", "hello");
    assert_eq!(
        (of_type(&frames, "error")[0]["code"].as_str(), stub.requests().len()),
        (Some("overloaded"), 1)
    );
    assert!(frames.last().unwrap()["text"].as_str().unwrap().starts_with("half"));
}

fn lines(all: &[Value]) -> Vec<u8> {
    ok("application/x-ndjson", &all.iter().map(|line| format!("{line}\n")).collect::<String>())
}

/// What Ollama says about a model before its first answer.
fn ollama_shows() -> Vec<u8> {
    ok("application/json", r#"{"model_info": {"llama.context_length": 131072}}"#)
}

fn ollama_says(words: &[&str]) -> Vec<u8> {
    let piece = |word: &&str| json!({"model": "llama-test", "message": {"role": "assistant", "content": word}, "done": false});
    let mut all: Vec<Value> = words.iter().map(piece).collect();
    all.push(json!({"model": "llama-test", "message": {"role": "assistant", "content": ""}, "done": true,
        "done_reason": "stop", "prompt_eval_count": 33, "eval_count": 5}));
    lines(&all)
}

#[test]
fn ollama_is_asked_in_its_form() {
    let (stub, server) = served(
        "ollama",
        vec![ollama_shows(), ollama_says(&["Hel", "lo"])],
        &["model.api_key=\"\"", "model.max_tokens=64"],
    );
    let frames = server.chat("default").say("m1", "hello there");
    assert_eq!((spoken(&frames).as_str(), &frames.last().unwrap()["text"]), ("Hello", &json!("Hello")));
    let usage = of_type(&frames, "usage").last().copied().cloned().unwrap();
    assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(33), &json!(5)));
    let seen = &stub.requests()[1];
    assert_eq!((seen.line.as_str(), seen.header("authorization")), ("POST /api/chat", None));
    let body = seen.json();
    assert_eq!(
        (&body["model"], &body["stream"], &body["options"]["num_predict"]),
        (&json!("test-model"), &json!(true), &json!(64))
    );
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(
        (&messages[0]["role"], &messages.last().unwrap()["content"]),
        (&json!("system"), &json!("hello there"))
    );
}

#[test]
fn ollama_tool_call_returns_its_result() {
    let call = json!({"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "current_time", "arguments": {}}}]}, "done": false});
    let end = json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"});
    let (stub, server) =
        served("ollama", vec![ollama_shows(), lines(&[call, end]), ollama_says(&["late"])], &[]);
    let frames = server.chat("default").say("m1", "what time is it?");
    assert_eq!(frames.last().unwrap()["text"], "late");
    let second = stub.requests()[2].json();
    let [.., assistant, tool] = second["messages"].as_array().unwrap().as_slice() else { panic!("{second}") };
    assert_eq!(assistant["tool_calls"][0]["function"]["arguments"], json!({}), "a JSON object");
    assert_eq!((&tool["role"], &tool["tool_name"]), (&json!("tool"), &json!("current_time")));
}

#[test]
fn a_picture_reaches_each_of_them_in_its_form() {
    let send = |server: &Server| {
        let mut chat = server.chat("default");
        let picture = json!([{"name": "dot.png", "mime": "image/png", "data": "iVBORw0KGgo="}]);
        chat.send_json(
            &json!({"type": "message", "id": "m1", "text": "what is this?", "attachments": picture}),
        );
        chat.until("done");
    };
    let (stub, server) = served("anthropic", vec![says(&["a dot"])], &["model.model_id=claude-sonnet-4-5"]);
    send(&server);
    let content = stub.requests()[0].json()["messages"][0]["content"].clone();
    let image = content.as_array().unwrap().iter().find(|block| block["type"] == "image").expect("an image");
    assert_eq!(image["source"], json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}));
    let (stub, server) =
        served("ollama", vec![ollama_shows(), ollama_says(&["a dot"])], &["model.model_id=llava"]);
    send(&server);
    let body = stub.requests()[1].json();
    let message = body["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(message["images"], json!(["iVBORw0KGgo="]));
}

#[test]
fn ollama_failure_names_the_remedy() {
    let missing = failure("404 Not Found", "", "{\"error\": \"model 'test-model' not found\"}");
    let (_stub, server) = served("ollama", vec![missing], &["model.max_retries=0"]);
    let frames = server.chat("default").say("m1", "hello");
    let error = of_type(&frames, "error")[0];
    assert_eq!(error["code"], "not_found");
    assert!(error["message"].as_str().unwrap().contains("test-model"), "{error}");
}
