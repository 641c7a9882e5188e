//! Conversations longer than the model can hold: INTERFACE section 5 `folded`, USERS "the conversation dies of its own
//! length".

use std::collections::BTreeSet;

use aethon_tests::Server;
use aethon_tests::socket::of_type;
use serde_json::{Value, json};

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
    for turn in 0..60 {
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
    assert_eq!(said.len(), 60);
    assert!(said.iter().enumerate().all(|(turn, (_, text))| text.contains(&format!("marmot{turn}zebra"))));
    assert_eq!(messages.iter().filter(|message| message["role"] == "tool").count(), 120);

    let found = server.get("/api/sessions?q=marmot1zebra").json();
    assert_eq!(found["sessions"][0]["session_id"], "webchat:default", "{found}");
    let usage = server.get("/api/usage?days=1").json();
    let kinds = usage["rows"].as_array().unwrap().iter().map(|row| row["kind"].as_str().unwrap().to_owned());
    assert!(kinds.collect::<BTreeSet<_>>().contains("compaction"), "{usage}");
}

#[test]
fn a_restart_goes_on_where_the_conversation_was_folded() {
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
fn the_page_of_changing_things_goes_with_the_next_message() {
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
