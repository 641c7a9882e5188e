//! The context window that Ollama is asked for: all tools from the first request on, and the same beginning in every one.

use std::sync::Arc;

use aethon_tests::strict::Strict;
use aethon_tests::strict::ollama::Ollama;
use aethon_tests::stub::Seen;
use aethon_tests::{Server, home, run_cli};
use serde_json::Value;
use tempfile::TempDir;

fn settings(strict: &Strict) -> Vec<String> {
    vec![
        "model.provider=ollama".to_owned(),
        "model.model_id=\"qwen3-vl:8b\"".to_owned(),
        format!("model.host={}", strict.address()),
        "model.max_retries=0".to_owned(),
    ]
}

fn start(home: Arc<TempDir>, strict: &Strict, more: &[&str]) -> Server {
    let settings = settings(strict);
    let all: Vec<&str> = settings.iter().map(String::as_str).chain(more.iter().copied()).collect();
    Server::start_in(home, &all)
}

/// The requests for an answer.
fn chats(strict: &Strict) -> Vec<Value> {
    let requests = strict.requests().into_iter();
    requests.filter(|seen: &Seen| seen.line == "POST /api/chat").map(|seen| seen.json()).collect()
}

fn tools(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
}

fn offers_all(request: &Value) -> bool {
    let tools = tools(request);
    let rare = ["manage_memory", "schedule_task", "file_edit", "send_message"];
    tools.len() >= 20 && rare.iter().all(|name| tools.contains(name))
}

fn answer(server: &Server, session: &str, id: &str, text: &str) -> Vec<Value> {
    let frames = server.chat(session).say(id, text);
    assert_eq!(frames.last().unwrap()["text"], "Done after 0 steps.", "{frames:?}");
    frames
}

/// Asserts that each request of a conversation begins with the one before.
fn assert_one_prefix(requests: &[Value]) {
    for pair in requests.windows(2) {
        let [one, next] = pair else { unreachable!() };
        for part in ["model", "tools", "options", "think"] {
            assert_eq!(one[part], next[part], "{part}");
        }
        let (messages, more) = (one["messages"].as_array().unwrap(), next["messages"].as_array().unwrap());
        assert_eq!(messages[..], more[..messages.len()]);
    }
}

#[test]
fn ollama_requests_of_a_conversation_keep_one_prefix_over_restarts() {
    for (more, window) in [(&[][..], 32_768), (&["model.context_window=100000"], 100_000)] {
        let strict = Strict::start(Ollama::default());
        let home = home();
        let server = start(home.clone(), &strict, more);
        for turn in 0..10 {
            answer(&server, "long", &format!("m{turn}"), "Tell me something.");
        }
        server.kill();
        let server = start(home, &strict, more);
        answer(&server, "long", "m10", "Tell me more.");
        let requests = chats(&strict);
        assert!(offers_all(&requests[0]), "{:?}", tools(&requests[0]));
        assert!(requests.iter().all(|request| request["options"]["num_ctx"] == window));
        assert_one_prefix(&requests);
        answer(&server, "new", "n1", "Hello.");
        assert!(offers_all(chats(&strict).last().unwrap()));
        assert_eq!(strict.refusals(), [""; 0]);
    }
}

#[test]
fn ollama_window_is_stated_everywhere() {
    let strict = Strict::start(Ollama::made_for(40_960));
    let server = start(home(), &strict, &[]);
    answer(&server, "default", "m1", "Hello.");
    let words = "context window 32768 of 40960, from Ollama";
    assert_eq!(server.get("/api/status").json()["context"], words);
    let detail = server.feature("model")["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains(words), "{detail}");
    assert!(server.stderr().contains(words), "{}", server.stderr());
    let settings = settings(&strict);
    let home = home();
    let mut arguments = vec!["doctor", "--json", "--set", "channels.webchat.port=0"];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let findings = String::from_utf8(run_cli(home.path(), &arguments, None).stdout).unwrap();
    assert!(findings.contains(words) && !findings.contains("too small"), "{findings}");
}

#[test]
fn small_ollama_model_is_offered_what_fits_with_a_notice() {
    for (longest, least) in [(4_096, 3), (2_048, 0)] {
        let strict = Strict::start(Ollama::made_for(longest));
        let server = start(home(), &strict, &[]);
        for session in ["one", "two"] {
            let frames = answer(&server, session, "m1", "Hello.");
            let notices = frames.iter().filter(|frame| frame["code"] == "tools_left_out").count();
            assert_eq!(notices, usize::from(session == "one"), "{frames:?}");
        }
        let requests = chats(&strict);
        let offered = tools(&requests[0]);
        assert!(offered.len() >= least && offered.len() < 20, "{longest}: {offered:?}");
        assert!(
            !offered.contains(&"list_scheduled_jobs") || offered.contains(&"schedule_task"),
            "{offered:?}"
        );
        assert!(requests.iter().all(|request| request["options"]["num_ctx"] == longest));
        assert_eq!(strict.refusals(), [""; 0]);
    }
}

#[test]
fn late_description_by_ollama_changes_the_tools_once() {
    // Two queries at the start, and two in the first turn.
    let strict = Strict::start(Ollama::default().failing_first(4));
    let server = start(home(), &strict, &[]);
    let mut requests = Vec::new();
    for turn in 0..100 {
        answer(&server, "default", &format!("m{turn}"), "Hello.");
        requests = chats(&strict);
        // Three more with all of them.
        if requests.len() > 3 && offers_all(&requests[requests.len() - 4]) {
            break;
        }
    }
    let windows: Vec<&Value> = requests.iter().map(|request| &request["options"]["num_ctx"]).collect();
    // Summaries are asked for without tools.
    let turns: Vec<&Value> = requests.iter().filter(|request| request["tools"].is_array()).collect();
    let changes = turns.windows(2).filter(|pair| pair[0]["tools"] != pair[1]["tools"]).count();
    assert!(changes <= 1, "{windows:?}");
    assert!(offers_all(requests.last().unwrap()), "{windows:?}");
}

#[test]
fn ollama_without_memory_gets_a_smaller_window_for_good() {
    let strict = Strict::start(Ollama::default().with_memory_for(16_384));
    let home = home();
    let server = start(home.clone(), &strict, &[]);
    answer(&server, "default", "m1", "Hello.");
    answer(&server, "default", "m2", "Hello.");
    assert_eq!(server.terminate().code(), Some(0));
    let server = start(home, &strict, &[]);
    answer(&server, "default", "m3", "Hello.");
    let windows: Vec<u64> =
        chats(&strict).iter().map(|request| request["options"]["num_ctx"].as_u64().unwrap()).collect();
    assert_eq!(windows, [32_768, 16_384, 16_384, 16_384]);
}
