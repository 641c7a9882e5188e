//! MCP both ways: as a server and as a client of `mcp.servers.NAME` (docs/mcp.md).

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use aethon_tests::socket::of_type;
use aethon_tests::{Server, eventually, home, program, run_cli};
use serde_json::{Value, json};

/// A program that serves tools, and the pipes to it.
struct Tools {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Tools {
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("stdout is piped"));
        Self { child, input, output: BufReader::new(output) }
    }

    /// `aethon-mcp` on this home, with `--set` for each setting, past its handshake.
    fn of(home: &Path, settings: &[&str]) -> Self {
        let mut command = program("aethon-mcp", home);
        for setting in settings {
            command.args(["--set", setting]);
        }
        let mut tools = Self::start(&mut command);
        tools.initialize("2025-06-18");
        tools
    }

    fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it is open");
        writeln!(input, "{line}").and_then(|()| input.flush()).expect("it reads");
    }

    fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        loop {
            let message = self.hear();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The next line that it writes.
    fn hear(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).expect("it writes") > 0, "it lives");
        serde_json::from_str(&line).expect("stdout carries the protocol only")
    }

    fn initialize(&mut self, revision: &str) -> Value {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
        let answer = self.ask(0, "initialize", &params);
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer
    }

    fn call(&mut self, id: u64, name: &str, arguments: &Value) -> (String, bool) {
        let answer = self.ask(id, "tools/call", &json!({"name": name, "arguments": arguments}));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        (text.to_owned(), answer["result"]["isError"] == true)
    }

    /// Closes its input, and returns its exit status and remaining output.
    fn end(mut self) -> (Option<i32>, String) {
        self.input = None;
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("it closes its output");
        (self.child.wait().expect("it ends").code(), rest)
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn mcp_programs_serve_tools_survive_garbage_and_end_with_input() {
    let home = home();
    std::fs::create_dir(home.path().join("workspace")).unwrap();
    std::fs::write(home.path().join("workspace/notes.txt"), "milk and honey\n").unwrap();
    let mut cli = program("aethon-cli", home.path());
    cli.arg("mcp");
    for mut command in [program("aethon-mcp", home.path()), cli] {
        let mut tools = Tools::start(&mut command);
        for garbage in ["not json", "{", "", "[1, 2]", r#"{"jsonrpc":"2.0","method":"notifications/odd"}"#] {
            tools.say(garbage);
        }
        let answer = tools.initialize("2024-11-05");
        assert_eq!(answer["result"]["protocolVersion"], "2024-11-05", "{answer}");
        tools.say("not json either");
        let listed = tools.ask(1, "tools/list", &json!({}))["result"]["tools"].as_array().unwrap().clone();
        let names: Vec<&str> = listed.iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert!(names.contains(&"shell") && names.contains(&"file_read"), "{names:?}");
        assert!(listed.iter().all(|tool| tool["inputSchema"]["type"] == "object"), "{listed:?}");
        assert_eq!(tools.ask(2, "no/such/method", &json!({}))["error"]["code"], -32601);
        let (text, failed) = tools.call(3, "file_read", &json!({"path": "notes.txt"}));
        assert!(text.contains("milk and honey") && !failed, "{text}");
        // The guards of a chat hold here too.
        let (text, failed) = tools.call(4, "shell", &json!({"command": "sudo ls"}));
        assert!(failed && text.contains("security.blocked_commands"), "{text}");
        assert_eq!(tools.end(), (Some(0), String::new()));
    }
}

#[test]
fn mcp_batch_is_refused_and_the_connection_survives() {
    let home = home();
    let request = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
    for revision in ["2025-03-26", "2025-06-18"] {
        let mut tools = Tools::start(&mut program("aethon-mcp", home.path()));
        assert_eq!(tools.initialize(revision)["result"]["protocolVersion"], revision);
        for batch in [json!([]), json!([request(1), request(2)])] {
            tools.say(&batch.to_string());
            let refused = loop {
                let message = tools.hear();
                // The list of tools may be announced in between.
                if message.get("method").is_none() {
                    break message;
                }
            };
            assert_eq!(
                (&refused["id"], &refused["error"]["code"]),
                (&Value::Null, &json!(-32600)),
                "{refused}"
            );
            assert!(refused["error"]["message"].as_str().unwrap().contains("batches"), "{refused}");
        }
        assert!(!tools.call(3, "current_time", &json!({})).1);
        assert_eq!(tools.end(), (Some(0), String::new()));
    }
}

#[test]
fn first_list_has_the_tools_of_servers_that_are_starting() {
    let home = home();
    let command = format!("mcp.servers.fake.command={:?}", env!("CARGO_BIN_EXE_fake-mcp"));
    let mut tools = Tools::of(home.path(), &[&command, "mcp.servers.fake.args=[\"slow\"]"]);
    let listed = tools.ask(1, "tools/list", &json!({}))["result"]["tools"].as_array().unwrap().clone();
    assert!(listed.iter().any(|tool| tool["name"] == "fake__echo"), "{listed:?}");
    let (text, failed) = tools.call(2, "fake__echo", &json!({"word": "borrowed"}));
    assert!(text.contains("borrowed") && !failed, "{text}");
}

#[test]
fn mcp_call_that_needs_approval_is_denied_and_names_the_key() {
    let home = home();
    let asking = ["approval.enabled=true", "approval.requires_approval=[\"shell\", \"current_*\"]"];
    let mut tools = Tools::of(home.path(), &asking);
    for (id, name, arguments) in [(1, "shell", json!({"command": "true"})), (2, "current_time", json!({}))] {
        let (text, failed) = tools.call(id, name, &arguments);
        assert!(failed && text.to_lowercase().contains("denied"), "{text}");
        assert!(text.contains("approval.requires_approval"), "{text}");
    }
    let mut open = Tools::of(home.path(), &["approval.requires_approval=[\"current_time\"]"]);
    assert!(!open.call(1, "current_time", &json!({})).1, "the list counts only with approval.enabled");
}

#[test]
fn mcp_server_works_beside_a_daemon() {
    let server = Server::start(&[]);
    let mut tools = Tools::of(server.home().path(), &[]);
    assert!(!tools.call(1, "current_time", &json!({})).1);
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(tools.end().0, Some(0));
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn mcp_server_refuses_a_bad_configuration_before_the_protocol() {
    let home = home();
    let mut command = program("aethon-mcp", home.path());
    let output = command.args(["--set", "model.provider=nobody"]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("model.provider"));
    let version = run_cli(home.path(), &["mcp", "--help"], None);
    assert!(version.status.success());
}

/// Waits for the row of the servers to say this.
fn until_servers(server: &Server, word: &str) {
    eventually(word, || server.feature("mcp")["detail"].as_str()?.contains(word).then_some(()));
}

#[test]
fn remote_mcp_tools_are_guarded_and_released() {
    let command = format!("mcp.servers.fake.command={:?}", env!("CARGO_BIN_EXE_fake-mcp"));
    let given = "mcp.servers.fake.env={ GIVEN = \"mcp-canary-0123456789\" }";
    let broken = "mcp.servers.broken.command=no-such-program";
    let asking = ["approval.enabled=true", "approval.requires_approval=[\"fake__d*\"]"];
    let opened = "security.guest_tools=[\"fake__*\"]";
    let server = Server::start(&[&command, given, broken, asking[0], asking[1], opened]);
    until_servers(&server, "fake: connected, 3 tools");
    until_servers(&server, "broken: failing");
    let ask = |text: &str| {
        let answer = server.post("/webhook/trigger", &json!({"text": text}));
        answer.json()["response"].as_str().unwrap_or_else(|| panic!("{}", answer.text())).to_owned()
    };
    assert!(ask("!tool fake__echo {\"word\": \"borrowed\"}").contains("borrowed"));
    let environment = ask("!tool fake__environment {}");
    assert!(environment.contains("GIVEN=***") && environment.contains("PATH="), "{environment}");
    for foreign in ["AETHON", "USER", "TMPDIR"] {
        assert!(!environment.contains(foreign), "{foreign}: {environment}");
    }
    let denied = ask("!tool fake__die {}");
    assert!(denied.contains("approval.requires_approval"), "{denied}");
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn local_mcp_tools_are_closed_to_strangers_unless_opened() {
    let command = format!("mcp.servers.fake.command={:?}", env!("CARGO_BIN_EXE_fake-mcp"));
    for (opened, expected) in
        [("security.guest_tools=[]", false), ("security.guest_tools=[\"fake__e*\"]", true)]
    {
        let server = Server::start(&[&command, opened]);
        until_servers(&server, "fake: connected");
        let text = "!tool fake__echo {\"word\": \"borrowed\"}";
        let answer = server.post("/webhook/trigger", &json!({"text": text})).text();
        assert_eq!(answer.contains("security.guest_tools"), !expected, "{answer}");
        // What only reads leaves nothing behind.
        let answer = server.post("/webhook/trigger", &json!({"text": "!tool fake__environment {}"})).text();
        assert!(answer.contains("PATH="), "{answer}");
        // The owner's own turns use them all.
        let frames = server.chat("default").say("m1", text);
        let tool = (*of_type(&frames, "tool").last().expect("a tool frame")).clone();
        assert_eq!(tool["state"], "ok", "{tool}");
    }
}

/// Waits until a tool is offered, and calls it.
fn call_once_offered(tools: &mut Tools, name: &str, arguments: &Value) -> (String, bool) {
    let mut id = 100;
    eventually(name, || {
        id += 1;
        let listed = tools.ask(id, "tools/list", &json!({}))["result"]["tools"].clone();
        listed.as_array()?.iter().any(|tool| tool["name"] == name).then_some(())
    });
    tools.call(id + 1, name, arguments)
}

#[test]
fn mcp_program_promises_servers_no_person() {
    let command = format!("mcp.servers.rich.command={:?}", env!("CARGO_BIN_EXE_rich-mcp"));
    let home = home();
    let mut tools = Tools::of(home.path(), &[&command, "mcp.servers.rich.sandbox=false"]);
    let (offered, _) = call_once_offered(&mut tools, "rich__offered", &json!({}));
    assert!(offered.contains("{}"), "{offered}");
    let (answer, _) = tools.call(7, "rich__form", &json!({}));
    assert!(answer.contains("answered -32601"), "{answer}");
    assert_eq!(tools.end().0, Some(0));
}

#[test]
fn mcp_program_completes_arguments_announces_prompts_and_sends_its_log() {
    let home = home();
    let folder = home.path().join("workspace/sops");
    std::fs::create_dir_all(&folder).unwrap();
    let sop = "# Greeting\n\n## Overview\n\nGreets.\n\n## Parameters\n\n- **tone** (optional, default: \"warm\"): `warm` or `cool`\n\n\
               ## Steps\n\n### 1. Greet\n\nGreet them.\n";
    std::fs::write(folder.join("greeting.sop.md"), sop).unwrap();
    let mut tools = Tools::start(&mut program("aethon-mcp", home.path()));
    let begun = tools.initialize("2025-06-18");
    let capabilities = &begun["result"]["capabilities"];
    assert!(capabilities["completions"].is_object() && capabilities["logging"].is_object(), "{begun}");
    let params = json!({"ref": {"type": "ref/prompt", "name": "greeting"}, "argument": {"name": "tone", "value": "C"}});
    let completed = tools.ask(1, "completion/complete", &params);
    assert_eq!(completed["result"]["completion"]["values"], json!(["cool"]), "{completed}");
    assert!(tools.ask(2, "logging/setLevel", &json!({"level": "debug"}))["result"].is_object());

    std::fs::write(folder.join("parting.sop.md"), sop.replace("Greet", "Part")).unwrap();
    while tools.hear()["method"] != "notifications/prompts/list_changed" {}
    let listed = tools.ask(3, "prompts/list", &json!({}))["result"]["prompts"].to_string();
    assert!(listed.contains("parting"), "{listed}");
    assert_eq!(tools.end().0, Some(0));
}
