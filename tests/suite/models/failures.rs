//! Failures of model services in their own words, and keys that are not what they seem (docs/models.md).

use std::process::Command;

use aethon_tests::server::server_command;
use aethon_tests::stub::{failure, ok};
use aethon_tests::{Server, Stub, home, program, run, run_cli};
use serde_json::{Value, json};

const KEY: &str = "sk-canary-0123456789abcdefghij";

fn settings(provider: &str, host: &str) -> Vec<String> {
    vec![
        format!("model.provider={provider}"),
        "model.model_id=m".into(),
        format!("model.host={host}"),
        "model.max_retries=0".into(),
    ]
}

fn chat_error(settings: &[String]) -> String {
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = Server::start(&settings);
    let frames = server.chat("default").say("m1", "hello");
    let error = frames.iter().find(|frame| frame["type"] == "error").unwrap_or_else(|| panic!("{frames:?}"));
    error["message"].as_str().expect("a sentence").to_owned()
}

fn stream(frames: &[&str]) -> Vec<u8> {
    let events: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
    ok("text/event-stream", &events)
}

#[test]
fn chat_and_model_test_show_what_the_service_says() {
    let cuda = r#"{"error":{"message":"CUDA error: out of memory"}}"#;
    for (answer, words, remedy) in [
        (failure("500 Internal Server Error", "", cuda), "CUDA error: out of memory", "try again"),
        (
            failure("503 Service Unavailable", "", r#"{"error":"model 'm' is loading"}"#),
            "model 'm' is loading",
            "try again",
        ),
        (
            failure("403 Forbidden", "", r#"{"detail":"not available in your region"}"#),
            "not available in your region",
            "model",
        ),
        (
            ok("application/json", r#"{"detail":"not available in your region"}"#),
            "not available in your region",
            "try again",
        ),
        (
            stream(&[
                r#"{"object":"error","message":"the engine is dead","type":"InternalServerError","code":500}"#,
            ]),
            "the engine is dead",
            "try again",
        ),
    ] {
        let stub = Stub::start(vec![answer]);
        let mut all = settings("openai", &format!("http://{}/v1", stub.address));
        all.push(format!("model.api_key={KEY}"));
        let said = chat_error(&all);
        let server = format!("he server at {}", stub.address);
        for part in [words, remedy, &server] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("OpenAI") && !said.contains("mid-answer") && !said.contains(KEY), "{said}");
        let arguments: Vec<&str> =
            ["model", "test"].into_iter().chain(all.iter().flat_map(|set| ["--set", set])).collect();
        let output = run_cli(home().path(), &arguments, None);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn failure_mid_answer_differs_from_failure_before_any_output() {
    let begun = r#"{"choices":[{"index":0,"delta":{"content":"The first "}}]}"#;
    let role = r#"{"choices":[{"index":0,"delta":{"role":"assistant"}}]}"#;
    for (frames, expected) in [(vec![role], "before an answer came"), (vec![role, begun], "in mid-answer")] {
        let stub = Stub::start(vec![stream(&frames)]);
        let said = chat_error(&settings("openai", &format!("http://{}/v1", stub.address)));
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn failed_response_is_quoted() {
    let failed = json!({"type": "response.failed", "response": {"status": "failed",
        "error": {"code": "server_error", "message": "the model fell asleep"}}});
    let stub =
        Stub::start(vec![ok("text/event-stream", &format!("event: response.failed\ndata: {failed}\n\n"))]);
    let mut all = settings("openai", &format!("http://{}/v1", stub.address));
    all.push("model.api=responses".into());
    assert!(chat_error(&all).contains("the model fell asleep"));
}

#[test]
fn server_without_the_responses_api_names_the_effort() {
    let refusal = "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Please use \
                   /v1/responses instead.";
    let refusal = json!({"error": {"message": refusal, "type": "invalid_request_error"}}).to_string();
    let stub = Stub::answering(move |seen| match seen.line.as_str() {
        "POST /v1/chat/completions" => failure("400 Bad Request", "", &refusal),
        _ => failure("404 Not Found", "", r#"{"detail": "Not Found"}"#),
    });
    let said = chat_error(&settings("openai", &format!("http://{}/v1", stub.address)));
    assert!(said.contains("model.effort = \"none\""), "{said}");
}

/// A service that accepts one key.
fn keyed() -> Stub {
    Stub::answering(|seen| {
        if seen.header("authorization") != Some(&format!("Bearer {KEY}")) {
            return failure("401 Unauthorized", "", r#"{"error":{"message":"wrong key"}}"#);
        }
        if seen.line == "GET /v1/models" {
            return ok("application/json", r#"{"data": [{"id": "m"}]}"#);
        }
        let hi = r#"{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}"#;
        stream(&[hi, "[DONE]"])
    })
}

fn with_key(mut command: Command, key: &str) -> Command {
    command.env("TEAM_KEY", key);
    command
}

#[test]
fn odd_keys_work_or_are_explained_without_their_value() {
    for (given, works, oddity) in [
        (format!("\"{KEY}\""), true, "quotation marks"),
        (format!("'{KEY}'\n"), true, "quotation marks"),
        (format!("{KEY}\u{200b}"), true, "U+200B"),
        (format!("\u{feff}{KEY}"), true, "U+FEFF"),
        (format!("{KEY}\u{a0}"), true, "U+00A0"),
        (format!("Bearer {KEY}"), true, "Bearer"),
        (format!("  {KEY}\r\n"), true, ""),
        (format!("{KEY}\n{KEY}"), false, "line break"),
        (format!("{KEY} {KEY}"), false, "blank"),
        (format!("{KEY}é"), false, "U+00E9"),
    ] {
        let stub = keyed();
        let mut all = settings("openai", &format!("http://{}/v1", stub.address));
        all.push("model.api_key=${TEAM_KEY}".into());
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let home = home();
        let server = Server::start_command(home.clone(), with_key(server_command(home.path(), &all), &given));
        let frames = server.chat("default").say("m1", "hello");
        let done = frames.last().expect("a turn ends");
        assert_eq!(done["text"] == "hi", works, "{given:?}: {frames:?}");
        if !works {
            let said = frames.iter().find(|frame| frame["type"] == "error").expect("an error").to_string();
            assert!(said.contains(oddity) && said.contains("model.api_key"), "{said}");
        }
        let mut log = server.stderr();
        drop(server);
        let sets = all.iter().flat_map(|set| ["--set", set]);
        let arguments: Vec<&str> = ["doctor"].into_iter().chain(sets.clone()).collect();
        let mut doctor = with_key(program("aethon-cli", home.path()), &given);
        let told = run(doctor.args(arguments), None);
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        let arguments: Vec<&str> = ["--check"].into_iter().chain(sets).collect();
        let mut check = with_key(program("aethon-server", home.path()), &given);
        let checked = run(check.args(arguments), None);
        let checked = String::from_utf8_lossy(&[checked.stdout, checked.stderr].concat()).into_owned();
        for text in [&told, &checked] {
            assert!(
                oddity.is_empty() || text.contains(oddity) && text.contains("model.api_key"),
                "{given:?}: {text}"
            );
        }
        log.push_str(&(told + &checked));
        assert!(!log.contains("canary-0123"), "the key is shown: {log}");
    }
}

#[test]
fn key_from_the_usual_variable_is_named_by_it() {
    let stub = keyed();
    let all = settings("openai", &format!("http://{}/v1", stub.address));
    let arguments: Vec<&str> =
        ["doctor", "--json"].into_iter().chain(all.iter().flat_map(|set| ["--set", set])).collect();
    let home = home();
    let mut doctor = program("aethon-cli", home.path());
    doctor.env("OPENAI_API_KEY", format!("\"{KEY}x\"")).args(arguments);
    let findings: Value = serde_json::from_slice(&run(&mut doctor, None).stdout).expect("JSON");
    let text = findings.to_string();
    assert!(text.contains("OPENAI_API_KEY") && text.contains("quotation marks"), "{text}");
    assert!(text.contains("About the key"), "a refused key is explained: {text}");
    assert!(!text.contains("canary-0123"), "{text}");
}
