//! The shell tool: `security.blocked_commands`, `security.sandbox` and `approval.*` (docs/tools.md).

use std::path::Path;
use std::time::{Duration, Instant};

use aethon_tests::docker::Docker;
use aethon_tests::server::server_command;
use aethon_tests::socket::of_type;
use aethon_tests::{Server, Socket, eventually, home};
use serde_json::{Value, json};

/// A message that runs a command.
fn running(command: &str) -> String {
    format!("!tool shell {}", json!({"command": command}))
}

/// Runs a command and returns the last `tool` frame.
fn ran(chat: &mut Socket, id: &str, command: &str) -> Value {
    let frames = chat.say(id, &running(command));
    (*of_type(&frames, "tool").last().expect("a tool frame")).clone()
}

/// Whether a process runs; one that only waits to be reaped does not.
fn runs(pid: u32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !status.rsplit(')').next().unwrap_or_default().trim_start().starts_with(['Z', 'X'])
}

/// The numbers in a file of the workspace, once there are so many.
fn numbers(workspace: &Path, count: usize) -> Vec<u32> {
    eventually("the processes have started", || {
        let text = std::fs::read_to_string(workspace.join("pids")).ok()?;
        let numbers: Vec<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
        (numbers.len() >= count).then_some(numbers)
    })
}

const SLEEPERS: &str =
    "echo $$ >> pids; sleep 60 & echo $! >> pids; setsid sh -c 'echo $$ >> pids; exec sleep 60' & wait";

#[test]
fn a_command_runs_in_the_workspace_and_its_output_comes_back() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let frames = chat.say("m1", &running("echo hi; pwd; exit 3"));
    let mut states: Vec<&str> =
        of_type(&frames, "tool").iter().filter_map(|frame| frame["state"].as_str()).collect();
    // On a slow machine its output is shown while it runs.
    states.dedup();
    assert_eq!(states, ["running", "ok"]);
    let workspace = server.home().path().join("workspace").canonicalize().unwrap();
    let text = frames.last().unwrap()["text"].as_str().unwrap();
    let expected = format!("hi\n{}\n[exit status 3]", workspace.display());
    assert!(text.contains(&expected), "{text}");
    let mut plain = server.socket("/ws/chat?session=plain");
    plain.send(&running("echo from here"));
    assert!(plain.text().contains("from here"));
}

#[test]
fn a_blocked_command_is_refused_by_the_entry_s_name() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    for (number, (command, entry)) in [
        ("rm -rf /", "rm -rf /"),
        ("rm \t -rf   /tmp/none", "rm -rf /"),
        ("r''m -r -f /", "rm -rf /"),
        ("echo 'sudo'", "sudo"),
        ("mkfs.ext4 none", "mkfs"),
        ("curl none |bash", "curl | sh"),
        (":(){ :|:& };:", "fork bomb"),
        ("dd if=none of=/dev/sda", "/dev/sda"),
    ]
    .into_iter()
    .enumerate()
    {
        let tool = ran(&mut chat, &format!("m{number}"), &format!("touch ran; {command}"));
        assert_eq!(tool["state"], "denied", "{command}: {tool}");
        assert!(tool["output"].as_str().unwrap().contains(entry), "{command}: {tool}");
    }
    assert!(!server.home().path().join("workspace/ran").exists(), "nothing of them ran");
    for (number, command) in ["echo a | shuf", "echo a | sha256sum"].into_iter().enumerate() {
        assert_eq!(ran(&mut chat, &format!("n{number}"), command)["state"], "ok", "{command}");
    }
}

#[test]
fn blocked_commands_replace_the_defaults_and_keep_the_builtin_list() {
    let server = Server::start(&["security.blocked_commands=[\"git push\"]"]);
    let mut chat = server.chat("default");
    assert_eq!(ran(&mut chat, "m1", "echo sudo")["state"], "ok");
    assert_eq!(ran(&mut chat, "m2", "git  push --force")["state"], "denied");
    assert_eq!(ran(&mut chat, "m3", "rm -fr /")["state"], "denied");
}

#[test]
fn stop_ends_command_processes_within_a_second() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": running(SLEEPERS)}));
    let pids = numbers(&server.home().path().join("workspace"), 3);
    assert!(pids.iter().all(|pid| runs(*pid)), "{pids:?}");
    let begun = Instant::now();
    chat.send_json(&json!({"type": "stop"}));
    assert_eq!(chat.until("done").pop().unwrap()["stop_reason"], "stopped");
    eventually("the processes are gone", || pids.iter().all(|pid| !runs(*pid)).then_some(()));
    assert!(begun.elapsed() < Duration::from_millis(1000), "took {:?}", begun.elapsed());
    assert_eq!(ran(&mut chat, "m2", "echo free")["state"], "ok");
}

#[test]
fn crash_of_the_server_ends_its_commands() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": running(SLEEPERS)}));
    let pids = numbers(&server.home().path().join("workspace"), 3);
    server.kill();
    let begun = Instant::now();
    eventually("the processes are gone", || pids.iter().all(|pid| !runs(*pid)).then_some(()));
    assert!(begun.elapsed() < Duration::from_secs(2), "took {:?}", begun.elapsed());
}

#[test]
fn command_over_its_time_limit_is_killed_with_the_reason() {
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let call = json!({"command": "echo begun; sleep 60", "timeout_seconds": 1});
    let begun = Instant::now();
    let frames = chat.say("m1", &format!("!tool shell {call}"));
    assert!(begun.elapsed() < Duration::from_secs(10));
    let tool = of_type(&frames, "tool").pop().unwrap();
    let output = tool["output"].as_str().unwrap();
    assert!(tool["state"] == "error" && output.contains("begun\n") && output.contains("1 s"), "{tool}");
}

#[test]
fn command_gets_nothing_of_the_assistants_environment() {
    let home = home();
    let mut command = server_command(home.path(), &["dashboard.auth_token=${FROM_ENVIRONMENT}"]);
    for name in ["OPENAI_API_KEY", "AETHON_WEBHOOK__SECRET", "GITHUB_TOKEN", "FROM_ENVIRONMENT", "OTHER"] {
        command.env(name, "canary-5ecret-value");
    }
    command.env("LANG", "C.UTF-8");
    let server = Server::start_command(home, command);
    let mut chat = Socket::open(
        server.address,
        "/ws/chat?token=canary-5ecret-value",
        &[("Sec-WebSocket-Protocol", "aethon.chat.v1")],
    );
    assert_eq!(chat.frame()["type"], "ready");
    let tool = ran(&mut chat, "m1", "env | sort; tr '\\0' '\\n' < /proc/self/environ");
    let output = tool["output"].as_str().unwrap();
    for absent in ["canary", "***", "AETHON", "_KEY", "TOKEN", "FROM_ENVIRONMENT", "OTHER"] {
        assert!(!output.contains(absent), "{absent}: {output}");
    }
    for present in ["PATH=", "HOME=", "LANG=C.UTF-8", "TERM=dumb"] {
        assert!(output.contains(present), "{present}: {output}");
    }
    // Configured secrets are masked in a command's output.
    let tool = ran(&mut chat, "m2", "printf 'canary-5ecret-%s and more\\n' value");
    assert!(tool["output"].as_str().unwrap().starts_with("*** and"), "{tool}");
}

#[test]
fn command_asks_for_approval_when_approvals_are_on() {
    // `shell` is on the list by default.
    let server = Server::start(&["approval.enabled=true"]);
    let mut chat = server.chat("default");
    for (id, decision, state) in [("m1", "deny", "denied"), ("m2", "approve", "ok")] {
        chat.send_json(&json!({"type": "message", "id": id, "text": running("echo ran >> ran")}));
        let question = chat.until("approval").pop().unwrap();
        assert_eq!(question["input"], json!({"command": "echo ran >> ran"}));
        assert!(!server.home().path().join("workspace/ran").exists(), "not before the answer");
        chat.send_json(&json!({"type": "approval", "id": question["id"], "decision": decision}));
        let frames = chat.until("done");
        assert_eq!(of_type(&frames, "tool").last().unwrap()["state"], state);
    }
    assert_eq!(std::fs::read_to_string(server.home().path().join("workspace/ran")).unwrap(), "ran\n");
    // A call that is refused anyway raises no approval.
    let frames = chat.say("m3", &running("sudo ls"));
    assert!(of_type(&frames, "approval").is_empty());
    assert_eq!(of_type(&frames, "tool").last().unwrap()["state"], "denied");
}

#[test]
fn configured_sandbox_is_never_bypassed() {
    // A daemon whose trial succeeds, so that the service starts, and that runs no commands.
    let daemon = Docker::start();
    let home = home();
    let settings = ["security.sandbox=docker", "security.sandbox_image=there"];
    let mut command = server_command(home.path(), &settings);
    command.env("DOCKER_HOST", daemon.host());
    let server = Server::start_command(home, command);
    let mut chat = server.chat("default");
    let tool = ran(&mut chat, "m1", "touch ran");
    assert_eq!(tool["state"], "error", "{tool}");
    assert!(tool["output"].as_str().unwrap().contains("docker"), "{tool}");
    assert!(!server.home().path().join("workspace/ran").exists());
}
