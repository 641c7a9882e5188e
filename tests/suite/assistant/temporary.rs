//! Temporary conversations: what is said in them is in no list and nowhere on disk, and gone when they end.

use std::path::{Path, PathBuf};

use aethon_tests::socket::{of_type, spoken};
use aethon_tests::{Request, Server, Socket, Terminal, eventually, home, program};
use serde_json::{Value, json};

const NAME: &str = "temporary-0123456789abcdef0123456789abcdef";
const PATH: &str = "/api/sessions/webchat:temporary-0123456789abcdef0123456789abcdef";

/// The word that must not be found.
const MARK: &str = "okapimark";

const SETTINGS: [&str; 5] = [
    "logging.level=debug",
    "session_recorder.enabled=true",
    "agent.dynamic_specialists=true",
    "approval.enabled=true",
    "approval.requires_approval=[\"shell\"]",
];

/// The files under a folder that have this word, in their names or in what is in them.
fn traces(folder: &Path, word: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.to_string_lossy().contains(word) {
            found.push(path.clone());
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(traces(&path, word)),
            Ok(kind) if kind.is_file() => {
                let bytes = std::fs::read(&path).unwrap_or_default();
                if bytes.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes())) {
                    found.push(path);
                }
            }
            _ => {}
        }
    }
    found
}

fn assert_no_trace(server: &Server, when: &str) {
    assert_eq!(traces(server.home().path(), MARK), Vec::<PathBuf>::new(), "{when}");
}

/// Allows the call that a message makes, and returns the frames until its end.
fn approved(chat: &mut Socket, id: &str, text: &str) -> Vec<Value> {
    chat.send_json(&json!({"type": "message", "id": id, "text": text}));
    let question = chat.until("approval").pop().unwrap();
    chat.send_json(&json!({"type": "approval", "id": question["id"], "decision": "approve"}));
    chat.until("done")
}

fn messages(server: &Server) -> Vec<Value> {
    server.get(PATH).json()["messages"].as_array().unwrap().clone()
}

#[test]
fn what_is_said_in_a_temporary_conversation_is_nowhere_on_disk() {
    let server = Server::start(&SETTINGS);
    server.chat("lasting").say("l1", "!say zebraword");
    let mut chat = server.chat(NAME);
    assert_eq!(spoken(&chat.say("m1", &format!("!say {MARK} one"))), format!("{MARK} one"));

    // Its tools work, and output that is cut is not kept beside it.
    let shell = format!("!tool shell {{\"command\": \"yes {MARK} | head -n 20000\"}}\n!then\n!say ran");
    let frames = approved(&mut chat, "m2", &shell);
    assert_eq!(of_type(&frames, "tool").last().unwrap()["state"], "ok");
    let long = messages(&server).iter().map(Value::to_string).collect::<String>();
    assert!(long.contains("characters were cut here") && !long.contains("output:"), "{long:.500}");
    let remember = json!({"action": "store", "content": format!("{MARK} is secret")});
    let frames = chat.say("m3", &format!("!tool manage_memory {remember}\n!then\n!say refused"));
    assert_eq!(of_type(&frames, "tool").last().unwrap()["state"], "denied", "{frames:?}");
    let asked =
        chat.say("m4", &format!("!tool ask_scout {{\"task\": \"!say {MARK} seen\"}}\n!then\n!say asked"));
    assert_eq!(of_type(&asked, "tool").last().unwrap()["state"], "ok", "{asked:?}");
    let searched = chat.say("m5", &format!("!tool search_history {{\"query\": \"{MARK}\"}}"));
    let found = spoken(&searched);
    assert!(found.contains("passages of this conversation") && found.contains(MARK), "{found}");
    let upload = server.send(
        &Request::new("PUT", "/api/uploads?name=a.txt").header("Content-Type", "text/plain").body(MARK),
    );
    let attached = json!([{"upload": upload.json()["id"]}]);
    chat.send_json(&json!({"type": "message", "id": "m6", "text": "!say seen", "attachments": attached}));
    chat.until("done");

    // It can be stopped and answered again like any other.
    chat.send_json(&json!({"type": "message", "id": "m7", "text": "!stream 5000 10"}));
    let turn = chat.until("delta").pop().unwrap()["turn"].clone();
    chat.send_json(&json!({"type": "stop", "turn": turn}));
    assert_eq!(chat.until("done").pop().unwrap()["stop_reason"], "stopped");
    let first = messages(&server)[0]["turn"].clone();
    chat.send_json(&json!({"type": "edit", "id": "m8", "turn": first, "text": format!("!say {MARK} two")}));
    chat.until("done");
    assert_eq!(messages(&server).len(), 2, "what followed is put aside");
    assert_no_trace(&server, "while it is open");

    // It is in no list, and what it cost counts.
    let listed = server.get("/api/sessions?limit=100").json();
    assert_eq!(
        (&listed["count"], &listed["sessions"][0]["session_id"]),
        (&json!(1), &json!("webchat:lasting"))
    );
    assert_eq!(server.get(&format!("/api/sessions?q={MARK}")).json()["count"], 0);
    assert_eq!(server.get(&format!("/api/search?q={MARK}")).json()["hits"], json!([]));
    assert_eq!(server.get("/api/search?q=zebraword").json()["hits"].as_array().unwrap().len(), 2);
    let recorded = server.get("/api/sessions/recordings").json().to_string();
    assert!(recorded.contains("webchat:lasting") && !recorded.contains(NAME), "{recorded}");
    eventually("its calls are counted", || {
        let events = server.get("/api/telemetry?type=model_call").json().to_string();
        events.contains(NAME).then_some(())
    });
    let audit = server.get("/api/audit?limit=100").json().to_string();
    assert!(audit.contains("shell") && audit.contains(NAME) && !audit.contains(MARK), "{audit}");

    // It is gone at once, without a bin.
    let gone = server.send(&Request::new("DELETE", PATH));
    assert_eq!(gone.status, 200, "{}", gone.text());
    assert_eq!(server.get(PATH).status, 404);
    assert_eq!(server.get("/api/sessions/bin").json()["count"], 0);
    assert_eq!(server.send(&Request::new("DELETE", PATH)).status, 404);
    let server = {
        let home = server.home();
        server.terminate();
        Server::start_in(home, &SETTINGS)
    };
    assert_no_trace(&server, "after a shutdown");
    assert_eq!(server.said("webchat:lasting").len(), 2, "another one is as it was");
}

#[test]
fn a_temporary_conversation_ends_with_the_program() {
    let server = Server::start(&SETTINGS);
    let mut chat = server.chat(NAME);
    chat.say("m1", &format!("!say {MARK}"));
    // One that runs is not taken up again, either.
    chat.send_json(&json!({"type": "message", "id": "m2", "text": format!("!stream 5000 10\n!say {MARK}")}));
    chat.until("delta");
    let server = Server::start_in(server.kill(), &SETTINGS);
    assert_eq!(server.get(PATH).status, 404);
    assert_eq!(server.get("/api/sessions").json()["count"], 0);
    assert_no_trace(&server, "after a crash");
    // Its name can be used again.
    assert_eq!(spoken(&server.chat(NAME).say("m1", "!say again")), "again");
}

#[test]
fn the_budget_holds_in_temporary_conversations() {
    let pricing = "budget.pricing.fake={input=1000.0, output=1000.0}";
    let server = Server::start(&["budget.daily_usd=5", pricing]);
    let mut chat = server.chat(NAME);
    let refused = (0..500).find_map(|number| {
        let frames = chat.say(&format!("m{number}"), "!say a short answer");
        let end = frames.last().unwrap()["stop_reason"].clone();
        (end != "end").then_some(end)
    });
    assert_eq!(refused.unwrap(), "budget");
    let spent = |server: &Server| server.get("/api/usage?days=1").json()["budget"]["spent_usd"].clone();
    let before = spent(&server);
    assert!(before.as_f64().unwrap() > 0.0, "{before}");
    server.send(&Request::new("DELETE", PATH));
    assert_eq!(spent(&server), before, "what was spent stays spent");
}

#[test]
fn dashboards_hear_nothing_of_a_temporary_conversation_but_its_end() {
    let server = Server::start(&[]);
    let mut news = server.socket("/ws/dashboard");
    news.send(r#"{"channel":"subscribe","topics":["messages","sessions"]}"#);
    let mut chat = server.chat(NAME);
    chat.say("m1", &format!("!say {MARK}"));
    server.chat("lasting").say("m1", "!say zebraword");
    let mut told = String::new();
    while !told.contains("zebraword") {
        told = news.text();
        assert!(!told.contains(MARK), "{told}");
    }
    server.send(&Request::new("DELETE", PATH));
    while !told.contains("deleted") {
        told = news.text();
    }
    assert!(told.contains(NAME), "{told}");
}

/// Says something in the terminal's temporary conversation, and leaves.
fn chat_in_terminal(home: &Path, settings: &[&str]) {
    let mut terminal =
        Terminal::start(program("aethon-cli", home).args(settings).args(["chat", "--temporary"]));
    let screen = terminal.wait_for_prompt();
    assert!(screen.contains("gone when you leave it") && screen.ends_with("temporary>"), "{screen}");
    terminal.enter(&format!("!say {MARK} one"));
    let screen = terminal.wait_for_prompt();
    assert!(screen.contains(&format!("\n{MARK} one\n")), "{screen}");
    terminal.enter("/retry");
    let screen = terminal.wait_for_prompt();
    assert_eq!(screen.matches(&format!("\n{MARK} one\n")).count(), 2, "it knows what was said: {screen}");
    terminal.press("\u{4}");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn temporary_conversation_of_a_terminal_leaves_no_trace() {
    // In its own process.
    let home = home();
    chat_in_terminal(home.path(), &["--set", "model.provider=fake"]);
    assert_eq!(traces(home.path(), MARK), Vec::<PathBuf>::new());

    let server = Server::start_in(home, &[]);
    chat_in_terminal(server.home().path(), &[]);
    assert_no_trace(&server, "beside a server");
    assert_eq!(server.get("/api/sessions").json()["count"], 0);
    let ended = server.get("/api/audit").json()["audit"][0]["subject"].clone();
    let name = ended.as_str().unwrap().trim_start_matches("sessions/").to_owned();
    assert!(name.starts_with("webchat:temporary-"), "leaving ends it: {ended}");
    assert_eq!(server.get(&format!("/api/sessions/{name}")).status, 404);
}
