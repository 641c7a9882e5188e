//! `aethon-cli model test`: a first request to each configured model.

use aethon_tests::stub::{Stub, failure, ok};
use aethon_tests::{home, run_cli};
use serde_json::{Value, json};

fn events(chunks: &[Value]) -> Vec<u8> {
    let lines: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    ok("text/event-stream", &format!("{lines}data: [DONE]\n\n"))
}

fn chunk(delta: &Value, finish: &Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn says(words: &[&str]) -> Vec<u8> {
    let mut chunks: Vec<Value> =
        words.iter().map(|word| chunk(&json!({ "content": word }), &Value::Null)).collect();
    chunks.push(chunk(&json!({}), &json!("stop")));
    chunks.push(json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}));
    events(&chunks)
}

fn calls() -> Vec<u8> {
    let call = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "report_colour", "arguments": "{\"colour\":\"blue\"}"}}]});
    events(&[chunk(&call, &Value::Null), chunk(&json!({}), &json!("tool_calls"))])
}

fn outcome<'a>(model: &'a Value, ability: &str) -> &'a str {
    let checks = model["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["ability"] == ability).unwrap();
    check["outcome"].as_str().unwrap()
}

#[test]
fn the_offline_model_passes_and_nothing_is_left_behind() {
    let home = home();
    let set = ["--set", "model.provider=fake"];
    let output = run_cli(home.path(), &[&["model", "test"][..], &set].concat(), None);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for line in ["by fake", "ok       chat: ", "ok       tools: ", "context: 200000 tokens", "0.000000 USD"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let sessions = run_cli(home.path(), &[&["sessions", "list", "--json"][..], &set].concat(), None);
    assert!(!String::from_utf8(sessions.stdout).unwrap().contains("test"), "no session");
    let output = run_cli(home.path(), &[&["doctor"][..], &set].concat(), None);
    assert!(String::from_utf8(output.stdout).unwrap().contains("aethon-cli model test"));
}

#[test]
fn a_service_is_asked_for_real() {
    let models = ok("application/json", &json!({"data": [{"id": "gpt-4o"}]}).to_string());
    let stub = Stub::start_with_queries(vec![
        models.clone(),
        says(&["one, ", "two"]),
        calls(),
        failure("400 Bad Request", "", r#"{"error": {"message": "no images"}}"#),
        models,
        failure("401 Unauthorized", "", r#"{"error": {"message": "wrong key"}}"#),
    ]);
    let host = format!("model.host=\"http://{}/v1\"", stub.address);
    let home = home();
    let test = || {
        let settings = ["model.provider=openai", "model.model_id=gpt-4o", "model.api_key=sk-test", &host];
        let price = "budget.pricing.gpt-4o={input = 1000, output = 1000}";
        let mut arguments = vec!["model", "test", "--json", "--set", "model.context_window=9000"];
        arguments.extend(settings.iter().chain([&price]).flat_map(|setting| ["--set", setting]));
        let output = run_cli(home.path(), &arguments, None);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        (output.status.code(), report)
    };
    let (code, report) = test();
    let model = &report["models"][0];
    assert_eq!((code, &report["answers"]), (Some(0), &json!(true)), "{report}");
    for ability in ["reachable", "chat", "streaming", "tools"] {
        assert_eq!(outcome(model, ability), "ok", "{report}");
    }
    assert_eq!(outcome(model, "images"), "failed", "{report}");
    assert_eq!(model["context_window"], json!({"tokens": 9000, "source": "config", "told": null}));
    assert!(model["spent"]["cost_usd"].as_f64().unwrap() >= 0.11, "{report}");
    let asked = stub.requests();
    assert_eq!(asked[1].line, "POST /v1/chat/completions");
    let body = asked[1].json();
    let limit = body.get("max_tokens").or(body.get("max_completion_tokens"));
    assert_eq!(limit, Some(&json!(1024)), "{body}");
    assert_eq!(asked[2].json()["tools"][0]["function"]["name"], "report_colour");

    // The next call from the same place is refused.
    let (code, report) = test();
    assert_eq!((code, outcome(&report["models"][0], "chat")), (Some(1), "failed"), "{report}");
}

#[test]
fn local_model_reports_context_size_and_call_format() {
    let says = |text: &str| {
        let line =
            json!({"model": "llama3.2", "message": {"role": "assistant", "content": text}, "done": false});
        let end = json!({"model": "llama3.2", "message": {"role": "assistant", "content": ""}, "done": true,
            "done_reason": "stop", "prompt_eval_count": 20, "eval_count": 9});
        ok("application/x-ndjson", &format!("{line}\n{end}\n"))
    };
    let document = |document: Value| ok("application/json", &document.to_string());
    let stub = Stub::start_with_queries(vec![
        document(json!({"models": [{"name": "llama3.2:latest"}]})),
        document(json!({"model_info": {"general.architecture": "llama", "llama.context_length": 131_072},
            "capabilities": ["completion", "tools"]})),
        says("one, two"),
        says(r#"<tool_call>{"name": "report_colour", "arguments": {"colour": "blue"}}</tool_call>"#),
    ]);
    let host = format!("model.host=\"http://{}\"", stub.address);
    let home = home();
    let arguments = ["model", "test", "--set", "model.provider=ollama", "--set", "model.model_id=llama3.2"];
    let output = run_cli(home.path(), &[&arguments[..], &["--set", &host]].concat(), None);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for line in [
        "partly   streaming",
        "partly   tools: as text",
        "skipped  images",
        "32768 of 131072 tokens, as its service says",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let asked = stub.requests();
    assert_eq!((asked[1].line.as_str(), asked[1].json()), ("POST /api/show", json!({"model": "llama3.2"})));
    for chat in &asked[2..] {
        assert_eq!(chat.json()["options"]["num_ctx"], 32_768, "loaded once");
    }
}
