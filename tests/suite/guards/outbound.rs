//! Ways out as one group: `outbound` in `approval.requires_approval` (docs/approvals.md).

use aethon_tests::socket::of_type;
use aethon_tests::stub::{Seen, Stub, ok};
use aethon_tests::{Server, Socket, eventually, home};
use serde_json::{Value, json};

/// What must not leave the machine unasked.
const CANARY: &str = "canary-of-the-diary-4711";

/// A listener that records whatever is sent to it, and answers as a page, a search, an API and a model.
fn listener() -> Stub {
    Stub::answering(|seen: &Seen| {
        if seen.line.starts_with("GET") {
            return ok("application/json", "{\"results\": []}");
        }
        ok("application/json", "{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": 1, \"data\": {}}")
    })
}

/// A server that could reach the listener in every way, with these settings.
fn server(stub: &Stub, settings: &[&str]) -> Server {
    let address = stub.address;
    let mut all = vec![
        "approval.enabled=true".to_owned(),
        format!("security.egress_allowed_hosts=[\"{address}\"]"),
        "tools.web_search.provider=searxng".to_owned(),
        format!("tools.web_search.host=\"http://{address}\""),
        format!("tools.github.api_base=\"http://{address}/api\""),
        "tools.github.token=\"token-4711\"".to_owned(),
        format!("mcp.servers.fake.command={:?}", env!("CARGO_BIN_EXE_fake-mcp")),
    ];
    all.extend(settings.iter().map(|setting| (*setting).to_owned()));
    let home = home();
    std::fs::create_dir_all(home.path().join("workspace")).unwrap();
    std::fs::write(home.path().join("workspace/diary.txt"), CANARY).unwrap();
    let settings: Vec<&str> = all.iter().map(String::as_str).collect();
    let server = Server::start_in(home, &settings);
    eventually("the MCP server is connected", || {
        server.feature("mcp")["detail"].as_str()?.contains("fake: connected").then_some(())
    });
    server
}

/// The ways out: a tool and a call that carries the canary.
fn ways_out(stub: &Stub) -> Vec<(&'static str, Value)> {
    let address = stub.address;
    vec![
        ("web_fetch", json!({"url": format!("http://{address}/?d={CANARY}")})),
        ("jsonrpc", json!({"url": format!("http://{address}/rpc"), "method": CANARY})),
        ("web_search", json!({"query": CANARY})),
        ("github", json!({"query": format!("{{ search(query: \"{CANARY}\") {{ x }} }}")})),
        ("send_message", json!({"channel": "webchat", "recipient": "other", "text": CANARY})),
        (
            "schedule_task",
            json!({"cron": "0 4 * * *", "prompt": CANARY, "channel": "webchat", "recipient": "other"}),
        ),
        ("shell", json!({"command": format!("curl -s http://{address}/{CANARY}")})),
        ("fake__echo", json!({"word": CANARY})),
    ]
}

/// How a call ended if a person denies it: whether an approval was requested, and the call's state.
fn denied(chat: &mut Socket, id: &str, tool: &str, input: &Value) -> (bool, String) {
    chat.send_json(&json!({"type": "message", "id": id, "text": format!("!tool {tool} {input}")}));
    let mut is_asked = false;
    let mut frames = Vec::new();
    loop {
        let frame = chat.frame();
        if frame["type"] == "approval" {
            is_asked = true;
            assert_eq!(frame["tool"], tool);
            chat.send_json(&json!({"type": "approval", "id": frame["id"], "decision": "deny"}));
        }
        let is_done = frame["type"] == "done";
        frames.push(frame);
        if is_done {
            break;
        }
    }
    let ended = of_type(&frames, "tool").into_iter().rfind(|frame| frame["state"] != "running");
    (is_asked, ended.unwrap()["state"].as_str().unwrap().to_owned())
}

#[test]
fn listed_outbound_tools_wait_for_approval_before_anything_leaves() {
    let stub = listener();
    let opened = "security.guest_tools=[\"fake__*\"]";
    let server = server(&stub, &["approval.requires_approval=[\"outbound\"]", opened]);
    let mut chat = server.chat("default");
    for (number, (tool, input)) in ways_out(&stub).into_iter().enumerate() {
        let ended = denied(&mut chat, &format!("m{number}"), tool, &input);
        assert_eq!(ended, (true, "denied".to_owned()), "{tool}");
    }
    // Without a person to ask it is denied.
    for (tool, input) in ways_out(&stub) {
        let answer =
            server.post("/webhook/trigger", &json!({"text": format!("!tool {tool} {input}")})).text();
        assert!(
            answer.contains("outbound") && answer.contains("approval.requires_approval"),
            "{tool}: {answer}"
        );
    }
    assert!(stub.requests().is_empty(), "{:?}", stub.requests());
    assert_eq!(server.get("/api/sessions/webchat:other").status, 404, "no message went there");
    assert_eq!(server.get("/api/scheduler").json()["jobs"], json!([]));
    let row = server.feature("approvals")["detail"].to_string();
    assert!(row.contains("every tool that sends something out"), "{row}");
}

#[test]
fn local_tools_need_no_outbound_approval() {
    let stub = listener();
    let server = server(&stub, &["approval.requires_approval=[\"outbound\"]"]);
    let mut chat = server.chat("default");
    for (number, (tool, input)) in [
        ("file_read", json!({"path": "diary.txt"})),
        ("file_write", json!({"path": "copy.txt", "content": CANARY})),
        ("current_time", json!({})),
        ("manage_memory", json!({"action": "store", "content": "The cat is called Momo."})),
        ("record_learning", json!({"learning": "Tests are run before a commit."})),
        // It says of itself that it only reads.
        ("fake__environment", json!({})),
    ]
    .into_iter()
    .enumerate()
    {
        let ended = denied(&mut chat, &format!("m{number}"), tool, &input);
        assert_eq!(ended, (false, "ok".to_owned()), "{tool}");
    }
}

#[test]
fn default_approval_list_applies_without_outbound() {
    let stub = listener();
    let server = server(&stub, &[]);
    let mut chat = server.chat("default");
    for (number, (tool, input)) in ways_out(&stub).into_iter().enumerate() {
        let (is_asked, _) = denied(&mut chat, &format!("m{number}"), tool, &input);
        assert_eq!(is_asked, tool == "shell", "{tool}");
    }
    assert!(!stub.requests().is_empty(), "they were not held back");
}

#[test]
fn unknown_names_in_tool_lists_are_reported() {
    let checked = |setting: &str| {
        let home = aethon_tests::home();
        let arguments = ["--check", "--set", "model.provider=fake", "--set", setting];
        let output = aethon_tests::run_server(home.path(), &arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let doctor = aethon_tests::run_cli(home.path(), &["--set", setting, "doctor"], None);
        [output.stdout, doctor.stdout].map(|said| String::from_utf8_lossy(&said).into_owned())
    };
    for setting in [
        "approval.requires_approval=[\"file_wirte\"]",
        "security.guest_tools=[\"file_wirte\"]",
        "household.people.ben.tools=[\"file_wirte\"]",
        "agent.specialists.coder.tools=[\"file_wirte\"]",
    ] {
        let key = setting.split('=').next().unwrap();
        for said in checked(setting) {
            let line =
                said.lines().find(|line| line.contains(key) && line.contains("no such tool is known yet"));
            let line = line.unwrap_or_else(|| panic!("{key}: {said}"));
            assert!(line.contains("the nearest known name is file_write"), "{line}");
        }
    }
    let server = Server::start(&["approval.requires_approval=[\"file_wirte\"]"]);
    assert!(server.stderr().contains("no such tool is known yet"), "{}", server.stderr());

    // Every tool that there is or could be is known.
    let server = Server::start(&[
        "agent.dynamic_specialists=true",
        "runtime_tools.enabled=true",
        "work.enabled=true",
        "tools.web_search.provider=searxng",
        "tools.web_search.host=\"http://127.0.0.1:1\"",
    ]);
    let features = server.get("/api/features").json()["features"].clone();
    let rows = features.as_array().unwrap().iter();
    let rows = rows.filter(|row| row["id"].as_str().is_some_and(|id| id.starts_with("tools_")));
    let mut names = Vec::new();
    for row in rows {
        for part in row["detail"].as_str().unwrap().split("; ") {
            let part = part.strip_prefix("no ").and_then(|rest| rest.split(": ").next()).unwrap_or(part);
            let is_name = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            names.extend(part.split(", ").filter(is_name).map(str::to_owned));
        }
    }
    assert!(names.len() > 20 && names.iter().any(|name| name == "web_search"), "{names:?}");
    for said in checked(&format!("approval.requires_approval={}", serde_json::json!(names))) {
        assert!(!said.contains("no such tool"), "{names:?}: {said}");
    }
}
