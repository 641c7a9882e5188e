//! Conversations longer than the model's window: the oldest turns are folded, and the prompt keeps its prefix
//! (docs/context-and-budget.md).

use std::collections::BTreeSet;
use std::sync::Arc;

use aethon_tests::socket::of_type;
use aethon_tests::stub::ok;
use aethon_tests::{Server, Stub, home};
use serde_json::{Value, json};
use tempfile::TempDir;

const SMALL: [&str; 2] = ["model.context_window=8000", "session.keep_recent=4"];

/// A turn with two large tool outputs.
fn reads_much(turn: usize) -> String {
    format!(
        "Turn {turn}: the word of the day is marmot{turn}zebra.\n!tool file_read {{\"path\": \"large.txt\"}}\n!then\n!tool \
         file_read {{\"path\": \"large.txt\", \"offset\": {}}}\n!then\n!say answer {turn}",
        turn % 5 + 2
    )
}

fn with_large_file(settings: &[&str]) -> Server {
    let server = Server::start(settings);
    let line = "a line of a large file that says nothing of interest\n";
    std::fs::write(server.home().path().join("workspace/large.txt"), line.repeat(400)).unwrap();
    server
}

fn folds(messages: &[Value]) -> Vec<Value> {
    let blocks = messages.iter().flat_map(|message| message["content"].as_array().unwrap().clone());
    blocks.filter(|block| block["type"] == "folded").collect()
}

#[test]
fn a_long_conversation_is_folded_and_loses_nothing() {
    let server = with_large_file(&SMALL);
    let mut chat = server.chat("default");
    let (mut told, mut largest) = (Vec::new(), 0);
    for turn in 0..500 {
        let frames = chat.say(&format!("m{turn}"), &reads_much(turn));
        let done = frames.last().unwrap();
        assert_eq!((&done["stop_reason"], &done["text"]), (&json!("end"), &json!(format!("answer {turn}"))));
        told.extend(of_type(&frames, "folded").into_iter().cloned());
        largest = largest.max(of_type(&frames, "usage")[0]["input_tokens"].as_u64().unwrap());
    }
    assert!(largest < 8_000, "{largest}");
    assert!(told.len() >= 2, "{}", told.len());
    for frame in &told {
        assert!(
            frame["messages"].as_u64() > Some(0) && frame["seq"].is_u64() && frame["turn"].is_string(),
            "{frame}"
        );
        assert!(frame["from"].is_string() && frame["to"].is_string());
        assert!(!frame["summary"].as_str().unwrap().is_empty());
    }

    let messages = server.messages("webchat:default");
    let stored = folds(&messages);
    assert_eq!(stored.len(), told.len());
    for (block, frame) in stored.iter().zip(&told) {
        for name in ["messages", "from", "to", "summary"] {
            assert_eq!(block[name], frame[name], "{name}");
        }
    }
    let ids: BTreeSet<&str> = messages.iter().map(|message| message["id"].as_str().unwrap()).collect();
    assert!(
        stored.iter().all(|block| ids.contains(block["from"].as_str().unwrap())
            && ids.contains(block["to"].as_str().unwrap()))
    );
    let said: Vec<_> =
        server.said("webchat:default").into_iter().filter(|(role, _)| role == "user").collect();
    assert_eq!(said.len(), 500);
    assert!(said.iter().enumerate().all(|(turn, (_, text))| text.contains(&format!("marmot{turn}zebra"))));
    assert_eq!(messages.iter().filter(|message| message["role"] == "tool").count(), 1_000);

    let found = server.get("/api/sessions?q=marmot1zebra").json();
    assert_eq!(found["sessions"][0]["session_id"], "webchat:default", "{found}");
    let usage = server.get("/api/usage?days=1").json();
    let kinds = usage["rows"].as_array().unwrap().iter().map(|row| row["kind"].as_str().unwrap().to_owned());
    assert!(kinds.collect::<BTreeSet<_>>().contains("compaction"), "{usage}");
}

/// A service of OpenAI's dialect that gives the same answer to everything, with this count of the input tokens.
fn service(answer: &str, prompt_tokens: u64) -> Stub {
    let chunks = [
        json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": answer}, "finish_reason": null}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 200}}),
    ];
    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    Stub::start(vec![ok("text/event-stream", &format!("{events}data: [DONE]\n\n"))])
}

fn served(stub: &Stub, home: Arc<TempDir>) -> Server {
    let host = format!("model.host=\"http://{}/v1\"", stub.address);
    let model =
        ["model.provider=openai", "model.model_id=test-model", "model.api_key=sk-test", host.as_str()];
    Server::start_in(home, &[&model[..], &SMALL[..]].concat())
}

#[test]
fn no_request_exceeds_the_window_under_any_token_count() {
    // None of the counts is right; the last one is for an alphabet of which a letter is a token or two.
    for counted in [0, 10, 3_000] {
        let stub = service(&"an answer of some length ".repeat(60), counted);
        let server = served(&stub, home());
        let mut chat = server.chat("default");
        for turn in 0..30 {
            let done = chat.say(&format!("m{turn}"), &"a question of some length ".repeat(50)).pop().unwrap();
            assert_eq!(done["stop_reason"], "end");
        }
        let requests = stub.requests();
        assert!(requests.len() > 30, "a summary is a request of its own");
        for (number, request) in requests.iter().enumerate() {
            assert!(
                request.body.len() / 4 < 8_000,
                "{counted}, request {number}: {} bytes",
                request.body.len()
            );
        }
        assert!(!folds(&server.messages("webchat:default")).is_empty());
    }
}

#[test]
fn prompt_prefix_stays_stable_across_restarts() {
    let stub = service("an answer", 100);
    let home = home();
    for start in 0..3 {
        let server = served(&stub, home.clone());
        let mut chat = server.chat("default");
        for turn in 0..3 {
            chat.say(&format!("m{start}-{turn}"), &format!("question {turn} of start {start}"));
        }
        drop(chat);
        server.terminate();
    }
    let bodies: Vec<Value> = stub.requests().iter().map(aethon_tests::stub::Seen::json).collect();
    assert_eq!(bodies.len(), 9);
    for pair in bodies.windows(2) {
        assert_eq!(pair[0]["tools"].to_string(), pair[1]["tools"].to_string());
        let [before, after] = [&pair[0], &pair[1]].map(|body| body["messages"].as_array().unwrap());
        let text = |messages: &[Value]| messages.iter().map(Value::to_string).collect::<Vec<_>>();
        assert_eq!(text(before), text(&after[..before.len()]));
    }
}

#[test]
fn restart_keeps_the_folded_conversation() {
    let server = with_large_file(&SMALL);
    let mut chat = server.chat("default");
    for turn in 0.. {
        assert!(turn < 40, "it is never folded");
        let frames = chat.say(&format!("m{turn}"), &reads_much(turn));
        if !of_type(&frames, "folded").is_empty() {
            break;
        }
    }
    let home = server.home();
    drop(chat);
    server.terminate();
    let server = Server::start_in(home, &SMALL);
    let mut chat = server.chat("default");
    let frames = chat.say("after", "!say still here");
    assert_eq!(frames.last().unwrap()["text"], "still here");
    let input = of_type(&frames, "usage")[0]["input_tokens"].as_u64().unwrap();
    assert!(input > 500 && input < 8_000, "it sees the conversation, and no more than fits: {input}");
}

#[test]
fn a_message_larger_than_the_model_is_answered() {
    let server = Server::start(&SMALL);
    let mut chat = server.chat("default");
    let text = format!("!say I have read it\n{}", "many words ".repeat(20_000));
    let frames = chat.say("m1", &text);
    assert_eq!(frames.last().unwrap()["stop_reason"], "end");
    assert_eq!(of_type(&frames, "notice")[0]["code"], "context_cut");
    assert_eq!(server.said("webchat:default")[0].1, text);
}

#[test]
fn context_page_is_sent_with_the_next_message() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    chat.say("m1", "!say one");
    std::fs::write(server.home().path().join("workspace/CONTEXT.md"), "The owner is on a train.").unwrap();
    chat.say("m2", "!say two");
    chat.say("m3", "!say three");
    let messages = server.messages("webchat:default");
    let files: Vec<Vec<&Value>> = messages
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| {
            message["content"].as_array().unwrap().iter().filter(|block| block["type"] == "file").collect()
        })
        .collect();
    assert_eq!(files.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(
        (&files[1][0]["name"], &files[1][0]["text"]),
        (&json!("CONTEXT.md"), &json!("The owner is on a train."))
    );
}
