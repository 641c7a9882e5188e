//! The tools as a person uses them through the built programs: files are written, edited and found, the output of a running
//! command is shown, long output is kept, and a message goes to another conversation (docs/tools.md).

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
fn files_are_written_edited_found_and_diffs_shown() {
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
fn running_command_streams_output_and_long_output_is_kept() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    // It ends when the test has seen the output before.
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

/// The note that stands where an output was cut, and the handle in it.
fn note(frame: &Value) -> (String, String) {
    let output = frame["output"].as_str().unwrap();
    let note =
        output.lines().find(|line| line.contains("characters were cut here")).expect("a note").to_owned();
    let handle = note.split('"').nth(1).expect("a handle").to_owned();
    (note, handle)
}

#[test]
fn megabyte_output_is_kept_and_gigabyte_output_notes_the_omission() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    // A mebibyte and a byte: a line of a million digits, lines of two bytes, and a last word.
    let command = "head -c 1000000 /dev/zero | tr '\\0' 7; echo; yes | head -c 48572; echo last";
    let (said, handle) = note(&called(&mut chat, "1", "shell", &json!({"command": command})));
    assert!(said.contains("has all of it") && !said.contains("left out"), "{said}");
    let found = called(&mut chat, "2", "file_read", &json!({"path": handle, "search": "^last$"}));
    assert!(found["output"].as_str().unwrap().contains("24288: last"), "{found}");
    let kept = |server: &Server| {
        let files = std::fs::read_dir(server.home().path().join("outputs")).unwrap().flatten();
        files.map(|file| file.metadata().unwrap().len()).collect::<Vec<u64>>()
    };
    assert!(
        kept(&server).iter().any(|length| (1_048_576..1_048_700).contains(length)),
        "{:?}",
        kept(&server)
    );

    // Too much to keep: the beginning and the end are there, and a note gives the omitted size.
    let before = server.most_resident();
    let command = "echo first; yes 0123456789abcde | head -c 1000000000; echo last";
    let (said, handle) =
        note(&called(&mut chat, "3", "shell", &json!({"command": command, "timeout_seconds": 300})));
    let gone = said.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse::<u64>().ok());
    let gone = gone.filter(|number| *number > 990_000_000).collect::<Vec<_>>();
    assert!(matches!(gone.as_slice(), [gone, 1_000_000_011] if *gone < 1_000_000_000), "{said}");
    assert!(said.contains("left out") && !said.contains("all of it"), "{said}");
    let found = called(
        &mut chat,
        "4",
        "file_read",
        &json!({"path": handle, "search": "left out here|^last$|^first$"}),
    );
    let found = found["output"].as_str().unwrap();
    assert!(
        found.contains("1: first") && found.contains("of 1000000011 bytes") && found.contains(": last"),
        "{found}"
    );
    let grown = server.most_resident() - before;
    assert!(grown < 64 << 10, "{grown} KiB");
}

#[test]
fn message_is_sent_to_another_conversation_and_unknown_channel_fails() {
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

/// A tool whose need is not met is absent: Features says why and which key changes it, the model cannot call it, and once
/// the key is set it is there.
#[test]
fn features_give_the_reason_for_an_absent_tool() {
    let server = Server::start(&[]);
    let web = server.feature("tools_web");
    let detail = web["detail"].as_str().unwrap();
    assert_eq!((&web["state"], &web["config_key"]), (&json!("on"), &json!("tools.web_search.provider")));
    let (there, missing) = detail.split_once("; no ").expect("what is there, then what is not");
    assert_eq!(there, "web_fetch, jsonrpc");
    assert!(
        missing.starts_with("web_search: ") && missing.contains("`tools.web_search.provider`"),
        "{detail}"
    );
    assert!(missing.contains("no github: ") && missing.contains("`tools.github.token`"), "{detail}");
    // A service without a graphical session has no desktop.
    let desktop = server.feature("tools_desktop");
    if cfg!(target_os = "linux") {
        assert_eq!(desktop["state"], "unavailable", "{desktop}");
        assert!(desktop["detail"].as_str().unwrap().contains("no graphical session"), "{desktop}");
    }
    let refused = called(&mut server.chat("default"), "1", "web_search", &json!({"query": "x"}));
    assert_eq!(refused["state"], "error", "{refused}");
    assert!(refused["output"].as_str().unwrap().starts_with("there is no tool `web_search`"), "{refused}");

    let server = Server::start(&[
        "tools.web_search.provider=searxng",
        "tools.web_search.host=\"http://127.0.0.1:9\"",
        "tools.github.token=ghp_test",
    ]);
    let web = server.feature("tools_web");
    let detail = web["detail"].as_str().unwrap();
    assert!(
        !detail.contains("; no ") && detail.contains("web_search") && detail.contains("github"),
        "{detail}"
    );
}
