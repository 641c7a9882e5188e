//! Attempts of an approved command to reach the assistant itself.
//!
//! The crate's own tests try each wall; here the built programs stand behind them.

use aethon_tests::server::server_command;
use aethon_tests::socket::of_type;
use aethon_tests::{Server, home, run_cli, run_server};
use serde_json::{Value, json};

const SECRET: &str = "planted-canary-of-the-owner";

/// The words of `doctor` on this machine: whether every wall stands.
fn every_wall_stands() -> bool {
    let home = home();
    let output = run_cli(home.path(), &["--set", "model.provider=fake", "doctor", "--json"], None);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let findings = report.as_array().or_else(|| report["findings"].as_array()).expect("findings");
    let finding = findings.iter().find(|finding| finding["area"] == "self-protection").expect("a finding");
    let message = finding["message"].as_str().unwrap();
    eprintln!("this machine: {message}");
    let stands = !message.contains("a command could");
    // Root reaches more than the walls keep it from, so it is warned of where all of them stand, too.
    let is_root = message.contains("as root");
    assert_eq!(finding["health"] == "ok", stands && !is_root, "{message}");
    stands
}

#[test]
fn an_approved_command_cannot_approve_the_next_one() {
    let stands = every_wall_stands();
    let home = home();
    std::fs::write(home.path().join("config.toml"), format!("# {SECRET}\n")).unwrap();
    let settings = ["approval.enabled=true", "approval.requires_approval=[\"shell\"]"];
    let server = Server::start_command(home.clone(), server_command(home.path(), &settings));
    let mut chat = server.chat("default");
    let port = server.address.port();
    // In a file, because the danger list would refuse the words; it is a tripwire, and this is about the wall behind it.
    let attack = format!(
        "(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo ATTACK-port\n\
         for it in $1 $(ls /proc/$1/task); do kill -STOP $it && kill -CONT $it && echo ATTACK-signal; done\n\
         for it in mem environ fd/0 root/etc/hostname; do head -c 1 /proc/$1/$it && echo ATTACK-$it; done\n\
         cat ../config.toml && echo ATTACK-config; head -c 1 ../aethon.db && echo ATTACK-database\n\
         setsid -w env -i bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' && echo ATTACK-daemon\n\
         echo tried\n"
    );
    std::fs::write(home.path().join("workspace/attack.sh"), attack).unwrap();
    // The shell's parent is the server itself.
    let attack = "bash attack.sh $PPID";
    let say = |id: &str| json!({"type": "message", "id": id, "text": format!("!tool shell {}", json!({"command": attack}))});
    chat.send_json(&say("m1"));
    let question = chat.until("approval").pop().unwrap();
    chat.send_json(&json!({"type": "approval", "id": question["id"], "decision": "approve"}));
    let frames = chat.until("done");
    let text = frames.last().unwrap()["text"].as_str().unwrap().to_owned();
    assert!(text.contains("tried"), "{text}");
    if stands {
        assert!(!text.contains("ATTACK-") && !text.contains(SECRET), "{text}");
    } else {
        let log = server.stderr();
        assert!(log.contains("on this machine a command could"), "{log}");
    }
    // The server lives, answers, and asks again.
    assert_eq!(server.get("/health").status, 200);
    chat.send_json(&say("m2"));
    let next = chat.until("approval").pop().unwrap();
    let pending = server.get("/api/approvals").json()["approvals"].clone();
    assert_eq!(pending.as_array().unwrap().len(), 1, "{pending}");
    chat.send_json(&json!({"type": "approval", "id": next["id"], "decision": "deny"}));
    let frames = chat.until("done");
    assert_eq!(of_type(&frames, "approval_done")[0]["reason"], "user");
}

#[test]
fn programs_report_core_dump_protection_and_write_no_core() {
    every_wall_stands();
    let home = home();
    let output = run_server(home.path(), &["--check", "--set", "model.provider=fake"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("\ncommands  "), "{text}");
    let server = Server::start(&[]);
    let mut chat = server.chat("default");
    let command = json!({"command": "grep 'core file' /proc/self/limits"});
    let frames = chat.say("m1", &format!("!tool shell {command}"));
    let text = frames.last().unwrap()["text"].as_str().unwrap();
    let limits: Vec<&str> =
        text.split_whitespace().skip_while(|word| *word != "size").skip(1).take(2).collect();
    assert_eq!(limits, ["0", "0"], "{text}");
}
