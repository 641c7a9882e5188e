//! Services that speak OpenAI's dialect with a difference, and the dates of `Retry-After`.

use std::time::{Duration, Instant, SystemTime};

use aethon_tests::stub::{Stub, failure, ok};
use aethon_tests::{Server, home, run, server::server_command};
use serde_json::{Value, json};

fn says(text: &str) -> Vec<u8> {
    let chunk = json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": "stop"}]});
    ok("text/event-stream", &format!("data: {chunk}\n\ndata: [DONE]\n\n"))
}

fn calls() -> Vec<u8> {
    let call = json!({"index": 0, "id": "call_with_a_long_name", "function": {"name": "current_time", "arguments": "{}"}});
    let chunk = json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "", "tool_calls": [call]}, "finish_reason": "tool_calls"}]});
    ok("text/event-stream", &format!("data: {chunk}\n\ndata: [DONE]\n\n"))
}

fn served(provider: &str, path: &str, answers: Vec<Vec<u8>>) -> (Stub, Server) {
    let stub = Stub::start(answers);
    let settings = [
        format!("model.provider={provider}"),
        format!("model.host=\"http://{}{path}\"", stub.address),
        "model.model_id=test-model".to_owned(),
        "model.api_key=test-key".to_owned(),
    ];
    let server = Server::start(&settings.iter().map(String::as_str).collect::<Vec<_>>());
    (stub, server)
}

#[test]
fn every_provider_of_the_specification_may_be_chosen() {
    let home = home();
    for provider in
        ["openai", "anthropic", "ollama", "bedrock", "gemini", "litellm", "mistral", "fake", "echo"]
    {
        let setting = format!("model.provider={provider}");
        let output = run(server_command(home.path(), &[&setting]).arg("--check"), None);
        assert_eq!(output.status.code(), Some(0), "{provider}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(provider), "{output:?}");
    }
}

#[test]
fn mistral_requests_use_its_format() {
    let (stub, server) = served("mistral", "", vec![calls(), says("late")]);
    let frames = server.chat("default").say("m1", "what time is it?");
    assert_eq!(frames.last().unwrap()["text"], "late");
    let seen = stub.requests();
    assert_eq!(seen[0].line, "POST /v1/chat/completions");
    assert_eq!(seen[0].header("authorization"), Some("Bearer test-key"));
    assert_eq!(seen[0].header("accept"), Some("text/event-stream"));
    assert!(seen[0].json().get("stream_options").is_none());
    let second = seen[1].json();
    let [.., assistant, tool] = second["messages"].as_array().unwrap().as_slice() else { panic!("{second}") };
    assert_eq!((&tool["role"], &tool["name"]), (&json!("tool"), &json!("current_time")));
    let id = tool["tool_call_id"].as_str().unwrap();
    assert!(
        id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        "nine letters or digits: {id}"
    );
    assert_eq!(assistant["tool_calls"][0]["id"], id);
}

#[test]
fn litellm_takes_its_host_either_way() {
    for path in ["", "/", "/v1", "/v1/"] {
        let (stub, server) = served("litellm", path, vec![says("hi")]);
        assert_eq!(server.chat("default").say("m1", "hello").last().unwrap()["text"], "hi", "{path}");
        assert!(
            stub.requests()[0].line.ends_with("/chat/completions"),
            "{path}: {}",
            stub.requests()[0].line
        );
    }
}

#[test]
fn retry_after_date_is_honoured() {
    let at = SystemTime::now() + Duration::from_secs(2);
    let busy = failure("503 Service Unavailable", &format!("Retry-After: {}\r\n", http_date(at)), "{}");
    let (stub, server) = served("openai", "/v1", vec![busy, says("at last")]);
    let begun = Instant::now();
    assert_eq!(server.chat("default").say("m1", "hello").last().unwrap()["text"], "at last");
    // A date has whole seconds, so a little less than two may be left of it.
    assert!(begun.elapsed() >= Duration::from_millis(700), "{:?}", begun.elapsed());
    assert_eq!(stub.requests().len(), 2);
}

/// A time as HTTP writes it.
fn http_date(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let weekday =
        ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][usize::try_from(days % 7).expect("small")];
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut day) = (1970, days);
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut month = 0;
    while day >= months[month] {
        day -= months[month];
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{weekday}, {:02} {} {year} {hour:02}:{minute:02}:{second:02} GMT", day + 1, names[month])
}

#[test]
fn nonconforming_local_server_is_understood() {
    // Empty chunks, no `[DONE]`, a role in each delta, CRLF, comments.
    let chunk = |content: &str, finish: &Value| json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": finish}]});
    let body = format!(
        ": keep-alive\r\n\r\ndata:{}\r\n\r\ndata: {}\r\n\r\ndata: {}\r\n\r\ndata: {}\r\n\r\n",
        chunk("", &Value::Null),
        chunk("Hello", &Value::Null),
        chunk(" there", &Value::Null),
        chunk("", &json!("stop")),
    );
    let (_stub, server) = served("openai", "/v1", vec![ok("text/event-stream", &body)]);
    let frames = server.chat("default").say("m1", "hello");
    let done = frames.last().unwrap();
    assert_eq!((&done["text"], &done["stop_reason"]), (&json!("Hello there"), &json!("end")));
}
