//! The OpenAI dialect through the whole program, against a fake service.

use std::time::{Duration, Instant};

use aethon_tests::socket::{of_type, spoken};
use aethon_tests::stub::{Seen, Stub, failure, ok};
use aethon_tests::{Server, home, server::server_command};
use serde_json::{Value, json};

fn events(chunks: &[Value]) -> Vec<u8> {
    let lines: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    ok("text/event-stream", &format!("{lines}data: [DONE]\n\n"))
}

fn chunk(delta: &Value, finish: &Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "model": "served-model",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn says(words: &[&str]) -> Vec<u8> {
    let mut chunks = vec![chunk(&json!({"role": "assistant", "content": ""}), &Value::Null)];
    chunks.extend(words.iter().map(|word| chunk(&json!({ "content": word }), &Value::Null)));
    chunks.push(chunk(&json!({}), &json!("stop")));
    chunks.push(json!({"choices": [], "usage": {"prompt_tokens": 120, "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 100}}}));
    events(&chunks)
}

fn calls_current_time() -> Vec<u8> {
    let piece = |function: Value| json!({"tool_calls": [{"index": 0, "function": function}]});
    events(&[
        chunk(
            &json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
            "function": {"name": "current_time", "arguments": ""}}]}),
            &Value::Null,
        ),
        chunk(&piece(json!({"arguments": "{"})), &Value::Null),
        chunk(&piece(json!({"arguments": "}"})), &Value::Null),
        chunk(&json!({}), &json!("tool_calls")),
    ])
}

fn served(answers: Vec<Vec<u8>>, settings: &[&str]) -> (Stub, Server) {
    let stub = Stub::start(answers);
    let host = format!("model.host=\"http://{}/v1\"", stub.address);
    let mut all = vec![
        "model.provider=openai",
        "model.model_id=test-model",
        host.as_str(),
        "model.api_key=sk-test-key",
    ];
    all.extend_from_slice(settings);
    let server = Server::start(&all);
    (stub, server)
}

fn body(seen: &Seen) -> Value {
    seen.json()
}

#[test]
fn the_request_is_as_the_dialect_wants_it() {
    let (stub, server) = served(vec![says(&["hi"])], &["model.extra={seed = 4}"]);
    let mut chat = server.chat("default");
    assert_eq!(chat.say("m1", "hello there").last().unwrap()["text"], "hi");
    let seen = &stub.requests()[0];
    assert_eq!(seen.line, "POST /v1/chat/completions");
    assert_eq!(seen.header("authorization"), Some("Bearer sk-test-key"));
    assert!(seen.header("content-type").unwrap().starts_with("application/json"));
    let body = body(seen);
    assert_eq!(
        (&body["model"], &body["stream"], &body["seed"]),
        (&json!("test-model"), &json!(true), &json!(4))
    );
    assert_eq!(body["stream_options"]["include_usage"], true);
    for unset in ["temperature", "top_p", "max_tokens", "max_completion_tokens"] {
        assert!(body.get(unset).is_none(), "{unset} is not sent unless it is set");
    }
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages[0]["role"], "system");
    assert_eq!(messages.last().unwrap()["role"], "user");
    assert!(messages.last().unwrap()["content"].to_string().contains("hello there"));
    let names: Vec<&str> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["function"]["name"].as_str())
        .collect();
    assert!(names.contains(&"current_time") && names.contains(&"file_read"), "{names:?}");
    for tool in body["tools"].as_array().unwrap() {
        assert_eq!(
            (&tool["type"], &tool["function"]["parameters"]["type"]),
            (&json!("function"), &json!("object"))
        );
    }
}

#[test]
fn the_reply_streams_with_usage_and_model() {
    let price = "budget.pricing.test-model={input=1.0, output=2.0, cached_input=0.25}";
    let (_stub, server) = served(vec![says(&["Hello", " **wor", "ld**", " \u{1f980}"])], &[price]);
    let frames = server.chat("default").say("m1", "hello");
    assert_eq!(spoken(&frames), "Hello **world** \u{1f980}");
    let done = frames.last().unwrap();
    assert_eq!((&done["text"], &done["stop_reason"]), (&json!("Hello **world** \u{1f980}"), &json!("end")));
    let usage = of_type(&frames, "usage")[0];
    assert_eq!(
        (&usage["input_tokens"], &usage["output_tokens"], &usage["cached_tokens"]),
        (&json!(120), &json!(7), &json!(100))
    );
    let total = &server.get("/api/usage").json()["total"];
    let millionths = |name: &str| (total[name].as_f64().unwrap() * 1e6).round();
    assert_eq!(
        (millionths("cost_usd"), millionths("saved_usd")),
        (59.0, 75.0),
        "20 + 100 / 4 + 7 * 2, and 100 * 3 / 4"
    );
}

#[test]
fn openai_tool_call_returns_its_result() {
    let (stub, server) = served(vec![calls_current_time(), says(&["It is late."])], &[]);
    let frames = server.chat("default").say("m1", "what time is it?");
    assert_eq!(frames.last().unwrap()["text"], "It is late.");
    let states: Vec<&str> =
        of_type(&frames, "tool").iter().filter_map(|tool| tool["state"].as_str()).collect();
    assert_eq!(states, ["running", "ok"]);
    let second = body(&stub.requests()[1]);
    let messages = second["messages"].as_array().unwrap();
    let [.., assistant, tool] = messages.as_slice() else { panic!("{messages:?}") };
    assert_eq!((&assistant["role"], &assistant["content"]), (&json!("assistant"), &Value::Null));
    let call = &assistant["tool_calls"][0];
    assert_eq!(
        (&call["id"], &call["type"], &call["function"]["name"]),
        (&json!("call_1"), &json!("function"), &json!("current_time"))
    );
    let arguments = call["function"]["arguments"].as_str().expect("a JSON string");
    assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), json!({}));
    assert_eq!((&tool["role"], &tool["tool_call_id"]), (&json!("tool"), &json!("call_1")));
    assert!(!tool["content"].as_str().unwrap().is_empty());
    // What both requests share comes first and is the same bytes, so that the provider's cache can hold it.
    let first = body(&stub.requests()[0]);
    assert_eq!(first["messages"].as_array().unwrap()[..], messages[..messages.len() - 2]);
    assert_eq!(first["tools"], second["tools"]);
}

#[test]
fn the_conversation_so_far_goes_along() {
    let (stub, server) = served(vec![says(&["one"]), says(&["two"])], &[]);
    let mut chat = server.chat("default");
    chat.say("m1", "first");
    chat.say("m2", "second");
    let second = body(&stub.requests()[1]);
    let said: Vec<String> = second["messages"].as_array().unwrap()[1..]
        .iter()
        .map(|message| message["content"].to_string())
        .collect();
    assert_eq!(said.len(), 3);
    assert!(said[0].contains("first") && said[1].contains("one") && said[2].contains("second"), "{said:?}");
    assert_eq!(
        body(&stub.requests()[0])["messages"][0],
        second["messages"][0],
        "the system prompt is byte-stable"
    );
}

#[test]
fn a_picture_goes_as_a_data_address() {
    let (stub, server) = served(vec![says(&["a dot"])], &["model.model_id=gpt-4o"]);
    let mut chat = server.chat("default");
    let picture = json!([{"name": "dot.png", "mime": "image/png", "data": "iVBORw0KGgo="}]);
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "what is this?", "attachments": picture}));
    assert_eq!(chat.until("done").last().unwrap()["text"], "a dot");
    let sent = body(&stub.requests()[0]);
    let parts = sent["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let image = parts.as_array().unwrap().iter().find(|part| part["type"] == "image_url").expect("an image");
    assert_eq!(image["image_url"]["url"], "data:image/png;base64,iVBORw0KGgo=");
}

#[test]
fn settings_reach_the_request() {
    let settings = ["model.max_tokens=50", "model.temperature=0.5", "model.top_p=0.9"];
    let (stub, server) = served(vec![says(&["hi"])], &settings);
    server.chat("default").say("m1", "hello");
    let sent = body(&stub.requests()[0]);
    assert_eq!(
        (&sent["max_tokens"], &sent["temperature"], &sent["top_p"]),
        (&json!(50), &json!(0.5), &json!(0.9))
    );
    let settings = ["model.model_id=gpt-5", "model.max_tokens=50"];
    let (stub, server) = served(vec![says(&["hi"])], &settings);
    server.chat("default").say("m1", "hello");
    let sent = body(&stub.requests()[0]);
    assert_eq!(sent["max_completion_tokens"], 50);
    assert!(sent.get("max_tokens").is_none());
}

#[test]
fn custom_host_without_a_key_gets_no_authorization() {
    let (stub, server) = served(
        vec![failure("401 Unauthorized", "", "{\"error\": {\"message\": \"no key\"}}")],
        &["model.api_key=\"\""],
    );
    assert_eq!(server.get("/api/status").json()["model_ready"], true);
    let frames = server.chat("default").say("m1", "hello");
    assert_eq!(stub.requests()[0].header("authorization"), None);
    let error = of_type(&frames, "error")[0];
    assert_eq!(error["code"], "auth");
    assert!(error["message"].as_str().unwrap().contains("model.api_key"), "names the key to set: {error}");
}

#[test]
fn the_features_say_whether_the_model_answers() {
    let answers = vec![
        failure("401 Unauthorized", "", "{\"error\": {\"message\": \"no such key\"}}"),
        says(&["hi"]),
        failure("400 Bad Request", "", "{\"error\": {\"message\": \"what is that?\"}}"),
    ];
    let (_stub, server) = served(answers, &[]);
    let row = || server.feature("model");
    assert_eq!(row()["state"], "on");
    let mut chat = server.chat("default");
    chat.say("m1", "hello");
    let refused = row();
    assert_eq!(refused["state"], "degraded");
    assert!(refused["detail"].as_str().unwrap().contains("model.api_key"), "{refused}");
    chat.say("m2", "hello again");
    assert_eq!(row()["state"], "on");
    // A faulty request says nothing about the service.
    chat.say("m3", "and again");
    assert_eq!(row()["state"], "on");
}

#[test]
fn the_key_may_come_from_the_usual_variable() {
    let stub = Stub::start(vec![says(&["hi"])]);
    let home = home();
    let host = format!("model.host=\"http://{}/v1/\"", stub.address);
    let mut command = server_command(home.path(), &["model.provider=openai", "model.model_id=m", &host]);
    let server = Server::start_command(home, {
        command.env("OPENAI_API_KEY", "sk-from-environment");
        command
    });
    server.chat("default").say("m1", "hello");
    assert_eq!(stub.requests()[0].header("authorization"), Some("Bearer sk-from-environment"));
    assert_eq!(stub.requests()[0].line, "POST /v1/chat/completions", "a trailing slash is ignored");
}

#[test]
fn openai_failures_are_explained_and_retried_where_useful() {
    let error = |code: &str, message: &str| {
        json!({"error": {"message": message, "code": code, "type": code}}).to_string()
    };
    let check = |status: &str, answer: &str, kind: &str, requests: usize| {
        let (stub, server) = served(vec![failure(status, "", answer)], &["model.max_retries=1"]);
        let frames = server.chat("default").say("m1", "hello");
        assert_eq!(of_type(&frames, "error")[0]["code"], kind, "{status} {answer}");
        assert_eq!(frames.last().unwrap()["stop_reason"], "error");
        assert_eq!(stub.requests().len(), requests, "{status} {answer}");
    };
    check("401 Unauthorized", &error("invalid_api_key", "Incorrect API key"), "auth", 1);
    check(
        "429 Too Many Requests",
        &error("insufficient_quota", "You exceeded your current quota"),
        "quota",
        1,
    );
    check("429 Too Many Requests", &error("rate_limit_exceeded", "Slow down"), "rate_limit", 2);
    check(
        "400 Bad Request",
        &error("context_length_exceeded", "maximum context length is 8192 tokens"),
        "context_length",
        1,
    );
    check("404 Not Found", &error("model_not_found", "The model does not exist"), "not_found", 1);
    check("500 Internal Server Error", "oops", "overloaded", 2);
    check("503 Service Unavailable", "<html>busy</html>", "overloaded", 2);
}

#[test]
fn a_wait_that_the_service_asks_for_is_honoured() {
    let busy = failure("429 Too Many Requests", "Retry-After: 1\r\n", "{}");
    let (stub, server) = served(vec![busy, says(&["at last"])], &[]);
    let begun = Instant::now();
    assert_eq!(server.chat("default").say("m1", "hello").last().unwrap()["text"], "at last");
    assert!(begun.elapsed() >= Duration::from_millis(950) && stub.requests().len() == 2);

    // Longer than the rest of the turn: it ends at once and says when to try again.
    let busy = failure("429 Too Many Requests", "Retry-After: 3000\r\n", "{}");
    let (stub, server) = served(vec![busy], &["agent.turn_timeout_seconds=60"]);
    let begun = Instant::now();
    let frames = server.chat("default").say("m1", "hello");
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(stub.requests().len(), 1);
    let told = of_type(&frames, "error")[0]["message"].as_str().unwrap().to_owned();
    assert!(told.contains("50 minutes") || told.contains("3000"), "says when: {told}");
}

#[test]
fn broken_stream_is_retried_before_output_only() {
    let cut = ok("text/event-stream", "");
    let (stub, server) = served(vec![cut, says(&["second try"])], &[]);
    assert_eq!(server.chat("default").say("m1", "hello").last().unwrap()["text"], "second try");
    assert_eq!(stub.requests().len(), 2);

    let half = format!(
        "data: {}\n\ndata: {{\"choices\": [{{\"ind",
        chunk(&json!({"content": "half a rep"}), &Value::Null)
    );
    let (stub, server) = served(vec![ok("text/event-stream", &half), says(&["never"])], &[]);
    let frames = server.chat("default").say("m1", "hello");
    let done = frames.last().unwrap();
    assert_eq!((done["stop_reason"].as_str(), stub.requests().len()), (Some("error"), 1));
    assert!(done["text"].as_str().unwrap().starts_with("half a rep"), "what was said is kept: {done}");
    assert!(server.said("webchat:default")[1].1.starts_with("half a rep"));
}

#[test]
fn unreachable_service_is_reported() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let host = format!("model.host=\"http://{gone}/v1\"");
    let server = Server::start(&["model.provider=openai", &host, "model.max_retries=0"]);
    let frames = server.chat("default").say("m1", "hello");
    let error = of_type(&frames, "error")[0];
    assert_eq!(error["code"], "network");
    assert!(error["message"].as_str().unwrap().contains("model.host"), "{error}");
}

#[test]
fn silent_service_times_out() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = format!("model.host=\"http://{}/v1\"", silent.local_addr().unwrap());
    let server =
        Server::start(&["model.provider=openai", &host, "model.max_retries=0", "model.timeout_seconds=1"]);
    let frames = server.chat("default").say("m1", "hello");
    assert_eq!(of_type(&frames, "error")[0]["code"], "timeout");
    let answer = server.post("/webhook/trigger", &json!({"text": "hello"}));
    assert_eq!(answer.status, 504, "a model that times out is 504");
}

#[test]
fn a_fallback_answers_and_is_named() {
    let broken = failure("500 Internal Server Error", "", "{}");
    let settings = ["model.max_retries=0", "model.fallbacks=[\"second-model\"]"];
    let (stub, server) = served(vec![broken, says(&["from the second"])], &settings);
    let frames = server.chat("default").say("m1", "hello");
    assert_eq!(frames.last().unwrap()["text"], "from the second");
    assert_eq!(body(&stub.requests()[1])["model"], "second-model");
    let kinds: Vec<&str> = frames.iter().filter_map(|frame| frame["type"].as_str()).collect();
    let at = kinds.iter().position(|kind| *kind == "model").expect("a model frame");
    assert!(at < kinds.iter().position(|kind| *kind == "delta").unwrap(), "before the first delta");
    assert_eq!(frames[at]["model"], "second-model");
    assert!(!frames[at]["reason"].as_str().unwrap().is_empty());
}
