//! The sandbox of the kernel: specification 5.3 and 8, SECURITY "shell" and "docker sandbox"; tools that are made while the
//! program runs (INTERFACE section 3, `runtime_tools.enabled`).
//!
//! Where the kernel of the machine does not permit it, the refusal to start is what is tested, and the rest says that it was
//! left out.

use aethon_tests::server::{run, server_command};
use aethon_tests::socket::of_type;
use aethon_tests::{Server, Socket, home, run_cli};
use serde_json::{Value, json};

const KERNEL: &str = "security.sandbox=kernel";

/// Whether this machine can have it, as `doctor` says.
fn is_possible() -> bool {
    let told = run_cli(home().path(), &["--set", KERNEL, "doctor", "--json"], None);
    let told: Value = serde_json::from_slice(&told.stdout).expect("doctor tells JSON");
    let findings = told["findings"].as_array().expect("findings");
    let sandbox =
        findings.iter().find(|finding| finding["area"] == "sandbox").expect("a word on the sandbox");
    let words = sandbox["message"].as_str().expect("words");
    if words.contains("it works here") {
        return true;
    }
    eprintln!("left out on this machine: {words}");
    let refused = run(&mut server_command(home().path(), &[KERNEL]), None);
    assert_eq!(refused.status.code(), Some(2), "what cannot be had refuses to start");
    false
}

fn ran(chat: &mut Socket, id: &str, command: &str) -> Value {
    let frames = chat.say(id, &format!("!tool shell {}", json!({"command": command, "timeout_seconds": 20})));
    (*of_type(&frames, "tool").last().expect("a tool frame")).clone()
}

fn output(tool: &Value) -> &str {
    tool["output"].as_str().expect("an output")
}

#[test]
fn a_command_finds_its_workspace_and_nothing_else_to_change() {
    if !is_possible() {
        return;
    }
    let server = Server::start(&[KERNEL, "security.sandbox_pids_limit=40", "security.sandbox_memory=128m"]);
    let workspace = server.home().path().join("workspace");
    std::fs::write(workspace.join("there.txt"), "milk\n").unwrap();
    let mut chat = server.chat("default");
    let own = format!("/tmp/own-{}", server.home().path().file_name().unwrap().display());
    let first = format!("cat there.txt; echo made > made.txt; pwd; echo x > {own} && cat {own}");
    let tool = ran(&mut chat, "m1", &first);
    assert!(output(&tool).contains("milk") && output(&tool).contains("x\n[exit status 0"), "{tool}");
    assert_eq!(std::fs::read_to_string(workspace.join("made.txt")).unwrap(), "made\n");
    assert!(!std::path::Path::new(&own).exists(), "its /tmp is its own");

    let probe = "touch /usr/made /etc/made /made; ls -A \"$HOME\" | grep -v workspace; ls /proc | grep -c '^[0-9]'; \
                 cat ../aethon.db ../config.toml; unshare --user true; \
                 ls /sys/class/net; exit 7";
    let tool = ran(&mut chat, "m2", probe);
    let told = output(&tool);
    assert!(told.contains("exit status 7"), "{tool}");
    assert!(!std::path::Path::new("/usr/made").exists() && !std::path::Path::new("/made").exists());
    assert!(!told.contains("SQLite format"), "{tool}");

    // More processes than there may be: the bomb is contained, and the conversation goes on.
    let tool = ran(&mut chat, "m3", "bomb() { bomb | bomb & }; bomb; sleep 2; echo over");
    assert!(!output(&tool).is_empty(), "{tool}");
    let tool = ran(&mut chat, "m4", "echo still here");
    assert!(output(&tool).contains("still here"), "{tool}");
    // What hangs is ended, with all that it started.
    let tool = ran(&mut chat, "m5", "sleep 1000 & sleep 1000");
    assert!(tool["state"] == "error" && output(&tool).contains("was killed"), "{tool}");
    let tool = ran(&mut chat, "m6", "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo the end");
    assert!(output(&tool).contains("the end"), "the end of much output is kept");
}

#[test]
fn a_tool_is_tried_added_used_and_removed() {
    if !is_possible() {
        return;
    }
    // Commands run on the machine itself; such a tool runs in the sandbox all the same.
    let server = Server::start(&["runtime_tools.enabled=true"]);
    let mut chat = server.chat("default");
    let mut manage = |id: &str, arguments: Value| {
        let frames = chat.say(id, &format!("!tool manage_tools {arguments}"));
        (*of_type(&frames, "tool").last().expect("a tool frame")).clone()
    };
    let code = "cat; touch /usr/made 2>/dev/null && echo outside; echo";
    let tool =
        manage("m1", json!({"action": "test", "interpreter": "sh", "code": code, "input": {"a": "it's"}}));
    assert!(output(&tool).contains(r#"{"a":"it's"}"#) && !output(&tool).contains("outside"), "{tool}");
    let added = json!({
        "action": "add", "name": "repeat", "description": "Repeats.", "interpreter": "sh", "code": code,
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}}},
    });
    assert_eq!(manage("m2", added)["state"], "ok");
    assert!(output(&manage("m3", json!({"action": "list"}))).contains("repeat"));
    let refused = json!({
        "action": "add", "name": "shell", "description": "Mine.", "interpreter": "sh", "code": code,
    });
    assert_eq!(manage("m4", refused)["state"], "error", "the name of another tool");
    let server = Server::start_in(server.kill(), &["runtime_tools.enabled=true"]);
    let mut chat = server.chat("default");
    let frames = chat.say("m5", "!tool repeat {\"a\": \"again\"}");
    let tool = of_type(&frames, "tool").last().expect("a tool frame").to_string();
    assert!(tool.contains("again"), "it outlives a restart: {tool}");
    let frames = chat.say("m6", "!tool manage_tools {\"action\": \"remove\", \"name\": \"repeat\"}");
    assert_eq!(of_type(&frames, "tool").last().unwrap()["state"], "ok");
    let rows = server.get("/api/audit").json()["audit"].clone();
    let outcomes: Vec<&str> =
        rows.as_array().unwrap().iter().filter_map(|row| row["outcome"].as_str()).collect();
    assert!(outcomes.contains(&"added") && outcomes.contains(&"removed"), "{rows}");
}
