//! The sandbox of the kernel (docs/sandboxes.md), and tools that are made at run time (`runtime_tools.enabled`).
//!
//! Where the kernel of the machine does not permit it, the test covers the refusal to start, and the rest says that it was
//! left out.

use std::process::Command;

use aethon_tests::server::{program, run, server_command};
use aethon_tests::socket::of_type;
use aethon_tests::{Server, Socket, eventually, home, run_cli};
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

/// A program of ours on a kernel that lacks something.
fn without(what: &str, command: &Command) -> Command {
    let mut lacking = Command::new(env!("CARGO_BIN_EXE_without"));
    lacking.arg(what).arg(command.get_program()).args(command.get_args());
    lacking.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    lacking
}

/// What `doctor` says there, of the areas that begin like this.
fn diagnosed(what: &str, arguments: &[&str]) -> String {
    let home = home();
    let mut doctor = program("aethon-cli", home.path());
    doctor.args(arguments).args(["doctor", "--json"]);
    let told = run(&mut without(what, &doctor), None);
    let told: Value = serde_json::from_slice(&told.stdout).expect("doctor tells JSON");
    let findings = told["findings"].as_array().expect("findings").iter();
    let of_sandbox = findings
        .filter(|finding| matches!(finding["area"].as_str(), Some("start" | "sandbox" | "self-protection")));
    of_sandbox.map(|finding| format!("{} {}\n", finding["health"], finding["message"])).collect()
}

#[test]
fn missing_kernel_feature_is_named_and_refuses_the_start() {
    if cfg!(not(target_os = "linux")) || !is_possible() {
        return;
    }
    for (what, words) in [
        ("landlock", "no Landlock"),
        ("namespaces", "user namespaces must be allowed"),
        ("mounts", "the view of the files"),
        ("seccomp", "filter of system calls"),
    ] {
        let told = diagnosed(what, &["--set", KERNEL]);
        assert!(told.contains("broken") && told.contains(words), "{what}: {told}");
        assert!(!told.contains("it works here"), "{what}: {told}");
        let broken = told.lines().filter(|line| line.contains("broken") && line.contains("sandbox"));
        assert_eq!(broken.count(), 1, "{what} is reported once: {told}");
        let home = home();
        let refused = run(&mut without(what, &server_command(home.path(), &[KERNEL])), None);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{what}: {told}");
        assert!(told.contains("security.sandbox") && told.contains(words), "{what}: {told}");
    }
}

#[test]
fn missing_kernel_features_of_default_walls_are_reported() {
    if cfg!(not(target_os = "linux")) {
        return;
    }
    let told = diagnosed("landlock", &[]);
    assert!(told.contains("open the assistant's own files and memory"), "{told}");
    assert!(told.contains("connect to the assistant's own port"), "{told}");
    let home = home();
    let checked = run(without("landlock", &server_command(home.path(), &[])).arg("--check"), None);
    let told = String::from_utf8_lossy(&[checked.stdout, checked.stderr].concat()).into_owned();
    assert!(told.contains("a command could open the assistant's own files"), "{told}");
}

#[test]
fn sandboxed_command_can_change_its_workspace_only() {
    if !is_possible() {
        return;
    }
    let server = Server::start(&[KERNEL, "security.sandbox_pids_limit=40", "security.sandbox_memory=128m"]);
    let workspace = server.home().path().join("workspace");
    std::fs::write(workspace.join("there.txt"), "milk\n").unwrap();
    let mut chat = server.chat("default");
    let own = format!("/tmp/own-{}", server.home().path().file_name().unwrap().display());
    // Builds link their output into another folder.
    let first = format!(
        "cat there.txt; echo made > made.txt; mkdir deep && ln made.txt deep/linked.txt; pwd; echo x > {own} && cat {own}"
    );
    let tool = ran(&mut chat, "m1", &first);
    assert!(output(&tool).contains("milk") && output(&tool).contains("x\n[exit status 0"), "{tool}");
    assert_eq!(std::fs::read_to_string(workspace.join("made.txt")).unwrap(), "made\n");
    assert_eq!(std::fs::read_to_string(workspace.join("deep/linked.txt")).unwrap(), "made\n");
    assert!(!std::path::Path::new(&own).exists(), "its /tmp is its own");

    let probe = "touch /usr/made /etc/made /made; ls -A \"$HOME\" | grep -v workspace; ls /proc | grep -c '^[0-9]'; \
                 cat ../aethon.db ../config.toml; unshare --user true; \
                 ls /sys/class/net; exit 7";
    let tool = ran(&mut chat, "m2", probe);
    let told = output(&tool);
    assert!(told.contains("exit status 7"), "{tool}");
    assert!(!std::path::Path::new("/usr/made").exists() && !std::path::Path::new("/made").exists());
    assert!(!told.contains("SQLite format"), "{tool}");

    // More processes than there may be: the bomb is contained, and the conversation continues.
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

/// Whether a process runs whose command line has these words.
fn runs(words: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    processes.into_iter().any(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").trim_end() == words
    })
}

#[test]
fn command_in_the_background_has_the_same_sandbox_and_dies_with_the_program() {
    if !is_possible() {
        return;
    }
    let server = Server::start(&[KERNEL]);
    let mut chat = server.chat("default");
    let mut start = |id: &str, seconds: &str| {
        let command = format!(
            "touch kept; touch /usr/made 2>/dev/null || echo closed; ls {}/config.toml 2>&1; setsid sleep {seconds} & exec sleep {seconds}",
            server.home().path().display()
        );
        let call = json!({"command": command, "background": true});
        let frames = chat.say(id, &format!("!tool shell {call}"));
        (*of_type(&frames, "tool").last().expect("a tool frame")).clone()
    };
    let tool = start("m1", "61.125");
    assert!(output(&tool).starts_with("closed\nls: "), "{tool}");
    assert!(output(&tool).contains("[command 1 runs in the background"), "{tool}");
    assert!(server.home().path().join("workspace/kept").exists());
    assert!(runs("sleep 61.125"), "the turn is over, and it runs on");
    let stopped = server.post("/api/sessions/webchat:default/commands/1/stop", &json!({}));
    assert_eq!(stopped.json()["stopped"], true, "{}", stopped.text());
    eventually("it is stopped", || (!runs("sleep 61.125")).then_some(()));
    start("m2", "61.25");
    assert!(runs("sleep 61.25"));
    server.kill();
    eventually("it is gone with the program", || (!runs("sleep 61.25")).then_some(()));
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

#[test]
fn sandboxed_tool_has_a_memory_limit_and_no_network() {
    if !is_possible() {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // In a file, because the danger list would refuse the words; it is a tripwire, and this is about the wall behind it.
    let reach =
        format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo reached\nls /sys/class/net\necho tried\n");
    let put =
        |server: &Server| std::fs::write(server.home().path().join("workspace/reach.sh"), &reach).unwrap();
    // What stands at the end of the pipe has to hold all of it, because there is no line end in it.
    let hold = "head -c 90000000 /dev/zero | tail -n 1 | wc -c";

    let server = Server::start(&[KERNEL, "security.sandbox_memory=64m"]);
    put(&server);
    let mut chat = server.chat("default");
    let told = ran(&mut chat, "m1", hold);
    assert!(!output(&told).contains("90000000"), "64 MiB hold no 90 MB: {told}");
    let told = ran(&mut chat, "m2", "head -c 20000000 /dev/zero | tail -n 1 | wc -c");
    assert!(output(&told).contains("20000000"), "and they hold 20 MB: {told}");
    let told = ran(&mut chat, "m3", "bash reach.sh");
    assert!(output(&told).contains("tried") && !output(&told).contains("reached"), "{told}");

    // The same with what takes the limits away, so that it is they that act.
    let open = [KERNEL, "security.sandbox_memory=1g", "security.sandbox_network=host"];
    let server = Server::start(&open);
    put(&server);
    let mut chat = server.chat("default");
    let told = ran(&mut chat, "m1", hold);
    assert!(output(&told).contains("90000000"), "{told}");
    let told = ran(&mut chat, "m2", "bash reach.sh");
    assert!(output(&told).contains("reached"), "{told}");
}

#[test]
fn mcp_server_runs_in_the_sandbox_unless_excluded() {
    if !is_possible() {
        return;
    }
    // It is no server: it prints its findings and ends, and `/api/features` tells its last words.
    let probe = "mcp.servers.probe.command=sh";
    let words = "mcp.servers.probe.args=[\"-c\", \"touch made-by-$1; n=$(ls /proc | grep -c '^[0-9]'); \
                 [ $n -lt 10 ] && echo few processes >&2 || echo many processes >&2\", \"sh\", \"probe\"]";
    let detail = |server: &Server, expected: &str| {
        aethon_tests::eventually(expected, || {
            server.feature("mcp")["detail"].as_str()?.contains(expected).then_some(())
        });
        assert!(server.home().path().join("workspace/made-by-probe").exists(), "the workspace is its own");
    };
    detail(&Server::start(&[KERNEL, probe, words]), "few processes");
    // Outside, it sees the test, the server, and whatever else the machine runs.
    let outside = "mcp.servers.probe.sandbox=false";
    let server = Server::start(&[KERNEL, probe, words, outside]);
    let many = std::fs::read_dir("/proc").unwrap().flatten();
    let many = many.filter(|entry| {
        entry.file_name().to_string_lossy().starts_with(|first: char| first.is_ascii_digit())
    });
    detail(&server, if many.count() < 10 { "few processes" } else { "many processes" });
}

#[test]
fn delegation_cannot_escape_the_sandbox() {
    if !is_possible() {
        return;
    }
    let server = Server::start(&[KERNEL]);
    let mut chat = server.chat("default");
    let command = "touch /usr/made-by-a-specialist; echo mine > mine.txt; n=$(ls /proc | grep -c '^[0-9]'); \
                   [ $n -lt 10 ] && echo few-processes";
    let task = format!("!tool shell {}", json!({"command": command}));
    let frames = chat.say("m1", &format!("!tool ask_coder {}", json!({"task": task})));
    let told = of_type(&frames, "tool").last().expect("a tool frame").to_string();
    assert!(told.contains("few-processes"), "{told}");
    assert!(!std::path::Path::new("/usr/made-by-a-specialist").exists());
    let mine = server.home().path().join("workspace/mine.txt");
    assert_eq!(std::fs::read_to_string(mine).unwrap(), "mine\n", "the workspace is its own");
}
