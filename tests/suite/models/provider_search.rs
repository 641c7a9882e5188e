//! `model.web_search`: a service as strict as Anthropic's searches the web, and gets its blocks back unchanged.

use std::sync::{Arc, Mutex};

use aethon_tests::Server;
use aethon_tests::stub::{Seen, Stub, failure, ok};
use serde_json::{Value, json};

fn call() -> Value {
    json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "cats"}})
}

fn result() -> Value {
    json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result",
        "url": "https://cats.example/all", "title": "All cats [x](https://evil.example)", "encrypted_content": "c2VhbGVk"}]})
}

fn sse(events: &[Value]) -> Vec<u8> {
    let written = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default()));
    ok("text/event-stream", &written.collect::<String>())
}

fn answer(blocks: &[Value]) -> Vec<u8> {
    let usage = json!({"input_tokens": 100, "output_tokens": 1});
    let mut events =
        vec![json!({"type": "message_start", "message": {"model": "claude-sonnet-5-5", "usage": usage}})];
    for (index, block) in blocks.iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let usage = json!({"output_tokens": 20, "server_tool_use": {"web_search_requests": 1}});
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    sse(&events)
}

/// Checks a request as the service does; the error is its message.
fn check(body: &Value) -> Result<(), String> {
    let tools = body["tools"].as_array().ok_or("tools: Field required")?;
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    if names.iter().filter(|name| **name == "web_search").count() != 1 {
        return Err("tools: Tool names must be unique.".into());
    }
    let search = tools.iter().find(|tool| tool["name"] == "web_search").unwrap();
    if search["type"] != "web_search_20250305" {
        return Err("tools: unknown type".into());
    }
    for message in body["messages"].as_array().ok_or("messages: Field required")? {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        let is_kind = |block: &Value, kind: &str| block["type"] == kind;
        for (place, block) in blocks.iter().enumerate() {
            if is_kind(block, "server_tool_use") && blocks.get(place + 1) != Some(&result()) {
                return Err("messages: `server_tool_use` without its result".into());
            }
        }
    }
    Ok(())
}

#[test]
fn a_search_is_listed_booked_and_goes_back_unchanged() {
    let refusals: Arc<Mutex<Vec<String>>> = Arc::default();
    let record = refusals.clone();
    let mut step = 0;
    let stub = Stub::answering(move |seen: &Seen| {
        if !seen.line.starts_with("POST") {
            return failure("404 Not Found", "", "{}");
        }
        if let Err(message) = check(&seen.json()) {
            record.lock().unwrap().push(message.clone());
            let error =
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
            return failure("400 Bad Request", "", &error.to_string());
        }
        step += 1;
        let text = |text: &str| json!({"type": "text", "text": text});
        match step {
            1 => answer(&[call(), result(), text("Cats are many.")]),
            _ => answer(&[text("Dogs are, too.")]),
        }
    });
    let server = Server::start(&[
        "model.provider=anthropic",
        &format!("model.host=\"http://{}\"", stub.address),
        "model.model_id=claude-sonnet-5-5",
        "model.api_key=test-key",
        "model.web_search=true",
        "tools.web_search.provider=searxng",
        "tools.web_search.host=\"http://127.0.0.1:9\"",
    ]);
    let mut chat = server.chat("default");
    let frames = chat.say("m1", "How many cats are there?");
    let done = frames.last().unwrap();
    let listed = "Cats are many.\n\nSources:\n\n- [All cats \\[x\\]\\(https\\:\\/\\/evil\\.example\\)](<https://cats.example/all>)";
    assert_eq!(done["text"], listed);
    assert!(!done["html"].as_str().unwrap().contains("href=\"https://evil"), "{done}");
    assert!(frames.iter().any(|frame| frame["name"] == "web_search" && frame["state"] == "ok"), "{frames:?}");
    chat.say("m2", "And dogs?");
    let second = stub.requests().last().unwrap().json();
    let content = second["messages"][1]["content"].as_array().unwrap();
    assert_eq!((&content[0], &content[1]), (&call(), &result()));
    assert_eq!(*refusals.lock().unwrap(), Vec::<String>::new());
    let messages = server.messages("webchat:default");
    let block = &messages[1]["content"][0];
    assert_eq!((&block["type"], &block["query"]), (&json!("search"), &json!("cats")));
    assert!(!block.to_string().contains("c2VhbGVk"), "what is sealed stays private: {block}");
    let cost =
        frames.iter().rev().find(|frame| frame["type"] == "usage").unwrap()["cost_usd"].as_f64().unwrap();
    assert!(cost >= 0.01, "the search is booked: {cost}");
}
