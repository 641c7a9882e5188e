//! The tools as a person uses them through the built programs: files are written, edited and found, the output of a running
//! command is shown, long output is kept, and a message goes to another conversation (issue 8, items 1 and 7; INTERFACE
//! sections 5 and 7).

use std::os::unix::fs::PermissionsExt;

use aethon_tests::socket::of_type;
use aethon_tests::{Server, Socket, eventually};
use serde_json::{Value, json};

/// The last tool frame of a turn that makes this call.
fn called(chat: &mut Socket, id: &str, name: &str, input: &Value) -> Value {
    let frames = chat.say(id, &format!("!tool {name} {input}"));
    (*of_type(&frames, "tool").last().expect("a tool frame")).clone()
}

#[test]
fn files_are_written_edited_and_found_and_the_change_is_shown() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let made = called(
        &mut chat,
        "1",
        "file_write",
        &json!({"path": "deep/plan.md", "content": "buy milk\npay rent\n"}),
    );
    assert_eq!(made["state"], "ok", "{made}");
    let file = server.home().path().join("workspace/deep/plan.md");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let changed =
        called(&mut chat, "2", "file_edit", &json!({"path": "deep/plan.md", "old": "milk", "new": "honey"}));
    let output = changed["output"].as_str().unwrap();
    assert!(output.contains("\n-buy milk\n+buy honey\n"), "{output}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "buy honey\npay rent\n");
    let twice = called(&mut chat, "3", "file_edit", &json!({"path": "deep/plan.md", "old": "y", "new": "z"}));
    assert_eq!(twice["state"], "error", "{twice}");
    let found = called(&mut chat, "4", "file_search", &json!({"pattern": "hon.y"}));
    assert_eq!(found["output"], "deep/plan.md:1: buy honey\n");
    for (id, path) in [("a", "../config.toml"), ("b", "../aethon.db"), ("c", "/etc/cron.d/x")] {
        let refused = called(&mut chat, id, "file_write", &json!({"path": path, "content": "x"}));
        assert!(refused["state"] == "denied" || refused["state"] == "error", "{path}: {refused}");
    }
    let sum = called(&mut chat, "5", "calculator", &json!({"expression": "0.1 + 0.2"}));
    assert_eq!(sum["output"], "0.3");
}

#[test]
fn the_output_of_a_running_command_is_shown_and_long_output_is_kept() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    // It ends when the test has seen what came before.
    let command = "echo first line; until [ -e seen ]; do sleep 0.05; done; seq 1 20000";
    let text = format!("!tool shell {}", json!({"command": command}));
    chat.send_json(&json!({"type": "message", "id": "m1", "text": text}));
    let shown = loop {
        let frame = chat.frame();
        if frame["type"] == "tool" && frame["output"].is_string() {
            break frame;
        }
    };
    assert_eq!(
        (&shown["state"], &shown["output"], shown.get("input")),
        (&json!("running"), &json!("first line\n"), None)
    );
    std::fs::write(server.home().path().join("workspace/seen"), "").unwrap();
    let frames = chat.until("done");
    let ended = of_type(&frames, "tool").last().copied().cloned().unwrap();
    let output = ended["output"].as_str().unwrap();
    assert!(
        output.starts_with("first line\n1\n2\n") && output.contains("20000\n[exit status 0"),
        "{output:.200}"
    );
    let handle = output.split('"').find(|part| part.starts_with("output:")).expect("a handle").to_owned();
    let rest = called(&mut chat, "2", "file_read", &json!({"path": handle, "offset": 10001, "limit": 2}));
    assert!(rest["output"].as_str().unwrap().starts_with("10000\n10001\n"), "{rest}");
    let found = called(&mut chat, "3", "file_read", &json!({"path": handle, "search": "^7654$"}));
    assert!(found["output"].as_str().unwrap().contains("7655: 7654\n"), "{found}");
    let kept = std::fs::read_dir(server.home().path().join("outputs")).unwrap().next().unwrap().unwrap();
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let mut other = server.chat("other");
    let foreign = called(&mut other, "4", "file_read", &json!({"path": handle}));
    assert_eq!(foreign["state"], "error", "{foreign}");
}

#[test]
fn a_message_goes_to_another_conversation_and_an_unknown_channel_is_an_error() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let sent = called(
        &mut chat,
        "1",
        "send_message",
        &json!({"channel": "webchat", "text": "the **kettle** is on", "recipient": "kitchen"}),
    );
    assert_eq!(sent["state"], "ok", "{sent}");
    eventually("the message has arrived", || {
        let session = server.get("/api/sessions/webchat:kitchen");
        (session.status == 200 && session.text().contains("kettle")).then_some(())
    });
    let unknown = called(&mut chat, "2", "send_message", &json!({"channel": "pigeon", "text": "x"}));
    assert!(
        unknown["state"] == "error" && unknown["output"].as_str().unwrap().contains("webchat"),
        "{unknown}"
    );
    let count = called(&mut chat, "3", "manage_messages", &json!({"action": "count"}));
    assert!(count["output"].as_str().unwrap().contains("webchat:default"), "{count}");
}
