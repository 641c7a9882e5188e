//! `aethon-cli doctor --attack` and the audit: the program attacks itself, and security events are logged.

use std::path::Path;

use aethon_tests::{Request, Server, eventually, home, run_cli};
use serde_json::Value;

/// A listener that waits two seconds for a request's head, so that the slow attack does not take ten.
const SHORT: &str = "server.header_timeout_seconds=2";

fn attack(home: &Path, more: &[&str]) -> (i32, Vec<(String, String)>) {
    let sets = more.iter().chain([&SHORT]).flat_map(|set| ["--set", set]);
    let arguments: Vec<&str> = sets.chain(["doctor", "--attack", "--json"]).collect();
    let output = run_cli(home, &arguments, None);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = report["findings"].as_array().unwrap();
    let pair = |finding: &Value| {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        (text("health"), text("message"))
    };
    (output.status.code().unwrap(), findings.iter().map(pair).collect())
}

#[test]
fn a_default_install_holds_and_planted_weaknesses_are_found() {
    let quick = "server.body_timeout_seconds=2";
    let server = Server::start(&[SHORT, quick]);
    let (status, findings) = attack(server.home().path(), &[quick]);
    assert_eq!(status, 0, "{findings:?}");
    assert!(findings.len() > 10 && findings.iter().all(|(health, _)| health == "ok"), "{findings:?}");

    let (token, secret) = ("dashboard.auth_token=s3cret-of-the-owner", "webhook.secret=another-secret");
    let guarded = Server::start(&[SHORT, quick, token, secret]);
    let (status, findings) = attack(guarded.home().path(), &[quick, token, secret]);
    assert_eq!(status, 0, "{findings:?}");
    assert!(findings.iter().any(|(_, message)| message.contains("guesses at the token")), "{findings:?}");

    let weak = "channels.webchat.allowed_hosts=[\"rebind.attacker.example\"]";
    let open = "channels.webchat.allowed_origins=[\"https://rebind.attacker.example\"]";
    for (planted, found) in [(weak, "DNS rebinding"), (open, "page of another site")] {
        let server = Server::start(&[SHORT, quick, planted]);
        let (status, findings) = attack(server.home().path(), &[quick, planted]);
        assert_eq!(status, 1, "{planted}: {findings:?}");
        let is_it = |(health, message): &(String, String)| health == "broken" && message.contains(found);
        assert!(findings.iter().any(is_it), "{planted}: {findings:?}");
    }
}

#[test]
fn attack_without_a_daemon_is_refused() {
    let home = home();
    let (status, findings) = attack(home.path(), &[]);
    assert_eq!(status, 1);
    assert!(findings[0].1.contains("no daemon runs"), "{findings:?}");
}

#[test]
fn audit_has_sign_ins_wrong_tokens_and_removals() {
    let server = Server::start(&["dashboard.auth_token=right"]);
    assert_eq!(server.get("/dashboard?token=right").status, 200);
    assert_eq!(server.get("/api/status?token=wrong").status, 401);
    let owner = |request: Request| server.send(&request.bearer("right"));
    let mut chat = server.socket("/ws/chat?token=right&session=gone");
    chat.send("hello");
    chat.text();
    assert_eq!(owner(Request::new("DELETE", "/api/sessions/webchat%3Agone")).status, 200);
    eventually("the rows", || {
        let rows = owner(Request::get("/api/audit")).json()["audit"].clone();
        let has = |action: &str, subject: &str| {
            rows.as_array().unwrap().iter().any(|row| row["action"] == action && row["subject"] == subject)
        };
        let all =
            has("sign_in", "dashboard") && has("access", "token") && has("deletion", "sessions/webchat:gone");
        all.then_some(())
    });
    let listed = run_cli(server.home().path(), &["--set", "dashboard.auth_token=right", "audit"], None);
    let lines = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.status.success() && lines.contains("deletion") && lines.contains("127.0.0.1"), "{lines}");
    assert!(!lines.contains("right"), "{lines}");
}
