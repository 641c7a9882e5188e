//! SIGHUP: the configuration is read again, changeable keys are applied, the rest is reported.

use std::path::Path;

use aethon_tests::{Request, Server, eventually, home, program};
use rustix::process::Signal;
use serde_json::{Value, json};

const BASE: &str = "[channels.webchat]\nport = 0\n";

fn write(home: &Path, rest: &str) {
    std::fs::write(home.join("config.toml"), format!("{BASE}{rest}")).unwrap();
}

fn started(configuration: &str) -> Server {
    let home = home();
    write(home.path(), configuration);
    let command = program("aethon-server", home.path());
    Server::start_command(home, command)
}

/// Writes the configuration, sends SIGHUP, and waits for this in the log.
fn reload(server: &Server, configuration: &str, sign: &str) {
    write(server.home().path(), configuration);
    let before = server.stderr().matches(sign).count();
    server.signal(Signal::HUP);
    eventually("the configuration is read again", || {
        (server.stderr().matches(sign).count() > before).then_some(())
    });
}

fn get(server: &Server, target: &str, token: &str) -> (u16, Value) {
    let answer = server.send(&Request::get(target).header("Authorization", &format!("Bearer {token}")));
    (answer.status, serde_json::from_str(&answer.text()).unwrap_or_default())
}

const TAKEN: &str = "configuration reloaded";
const REFUSED: &str = "stays in force";

#[test]
fn model_token_secret_and_log_level_change_without_a_restart() {
    let server = started("[model]\nprovider = \"echo\"\n[dashboard]\nauth_token = \"the-old-token-0123\"\n");
    let status = get(&server, "/api/status", "the-old-token-0123");
    assert_eq!((status.0, &status.1["provider"]), (200, &json!("echo")));
    let next = "[model]\nprovider = \"fake\"\n[dashboard]\nauth_token = \"the-new-token-4567\"\n\
                [webhook]\nsecret = \"a-secret-of-webhooks\"\n[logging]\nlevel = \"debug\"\n[agent]\nloop_limit = 5\n";
    reload(&server, next, TAKEN);
    assert_eq!(get(&server, "/api/status", "the-old-token-0123").0, 401);
    let status = get(&server, "/api/status", "the-new-token-4567");
    assert_eq!((status.0, &status.1["provider"]), (200, &json!("fake")));
    assert_eq!(
        server.post("/webhook/garden", &json!({"text": "!say x"})).status,
        403,
        "now it must be signed"
    );
    let config = get(&server, "/api/config", "the-new-token-4567").1;
    assert_eq!((&config["logging"]["level"], &config["agent"]["loop_limit"]), (&json!("debug"), &json!(3)));
    let log = server.stderr();
    for key in ["dashboard.auth_token", "model.provider", "webhook.secret", "logging.level"] {
        assert!(log.lines().any(|line| line.contains(TAKEN) && line.contains(key)), "{key}: {log}");
    }
    assert!(
        log.lines().any(|line| line.contains("need a restart") && line.contains("agent.loop_limit")),
        "{log}"
    );
    assert!(log.contains("DEBUG") || log.contains("debug"), "{log}");
    for secret in ["the-old-token-0123", "the-new-token-4567", "a-secret-of-webhooks"] {
        assert!(!log.contains(secret), "{secret}");
    }
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn an_invalid_configuration_changes_nothing_and_says_why() {
    let server = started("[model]\nprovider = \"echo\"\n");
    reload(&server, "[model]\nprovider = \"nobody\"\n", REFUSED);
    assert!(server.stderr().contains("model.provider"), "{}", server.stderr());
    assert_eq!(get(&server, "/api/status", "").1["provider"], "echo");
    reload(&server, "[model]\nprovider = \"fake\"\n", TAKEN);
    assert_eq!(get(&server, "/api/status", "").1["provider"], "fake");
}

#[test]
fn open_dashboards_learn_which_keys_have_changed_and_no_values() {
    let server = started("[model]\nprovider = \"echo\"\n");
    let mut live = server.socket("/ws/dashboard");
    live.send(r#"{"channel":"subscribe","topics":["config"]}"#);
    assert!(live.has_handled_all());
    reload(&server, "[model]\nprovider = \"fake\"\n[agent]\nloop_limit = 5\n", TAKEN);
    let news = live.frame();
    assert_eq!(news["channel"], "config");
    assert_eq!(
        news["data"],
        json!({"taken_over": ["model.model_id", "model.provider"], "needs_restart": ["agent.loop_limit"]})
    );
    assert_eq!(get(&server, "/api/status", "").1["provider"], "fake", "what it says is in force");
}

#[test]
fn reload_that_would_expose_the_server_is_refused() {
    let exposed = "host = \"0.0.0.0\"\n[model]\nprovider = \"echo\"\n[dashboard]\n";
    let server = started(&format!("{exposed}auth_token = \"the-old-token-0123\"\n"));
    reload(&server, exposed, REFUSED);
    assert_eq!(get(&server, "/api/status", "").0, 401);
    assert_eq!(get(&server, "/api/status", "the-old-token-0123").0, 200);
}

#[test]
fn running_turn_keeps_its_configuration() {
    let server = started("[model]\nprovider = \"fake\"\n");
    let mut chat = server.chat("a");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 40 25"}));
    while chat.frame()["type"] != "delta" {}
    reload(&server, "[model]\nprovider = \"echo\"\n", TAKEN);
    let done = loop {
        let frame = chat.frame();
        if frame["type"] == "done" {
            break frame;
        }
    };
    assert!(done["text"].as_str().unwrap().trim_end().ends_with("token40"), "{done}");
    let frames = chat.say("m2", "!say who answers");
    assert_eq!(frames.last().unwrap()["text"], "!say who answers", "the next turn is the new model's");
}

#[test]
fn demo_mode_ends_when_a_model_is_configured() {
    let home = home();
    write(home.path(), "");
    let mut command = program("aethon-server", home.path());
    command.arg("--demo");
    let server = Server::start_command(home, command);
    assert_eq!(get(&server, "/api/status", "").1["demo"], true);
    reload(&server, "[model]\nprovider = \"echo\"\n", TAKEN);
    let status = get(&server, "/api/status", "").1;
    assert_eq!((&status["demo"], &status["provider"]), (&json!(false), &json!("echo")));
}

#[test]
fn a_changed_token_ends_the_sockets_of_the_old_one() {
    let server = started("[model]\nprovider = \"echo\"\n[dashboard]\nauth_token = \"the-old-token-0123\"\n");
    let mut socket = server.socket("/ws/chat?token=the-old-token-0123");
    socket.send("still here");
    assert_eq!(socket.text(), "still here");
    reload(
        &server,
        "[model]\nprovider = \"echo\"\n[dashboard]\nauth_token = \"the-new-token-4567\"\n",
        TAKEN,
    );
    assert_eq!(socket.close_code(), 1008);
}

#[test]
fn addresses_of_probes_change_without_a_restart() {
    let token = "[model]\nprovider = \"echo\"\n[dashboard]\nauth_token = \"the-token-of-probes-01\"\n";
    let server = started(token);
    assert_eq!(server.get("/api/ready").status, 401);
    let key = |server: &Server| {
        let keys = get(server, "/api/config/origins", "the-token-of-probes-01").1;
        let rows = keys["keys"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["key"] == "server.health_from").unwrap()
    };
    assert_eq!(key(&server)["needs_restart"], false);
    reload(&server, &format!("{token}[server]\nhealth_from = [\"127.0.0.1\"]\n"), TAKEN);
    assert_eq!(server.get("/api/ready").status, 200);
    assert!(server.stderr().lines().any(|line| line.contains(TAKEN) && line.contains("server.health_from")));
    reload(&server, token, TAKEN);
    assert_eq!(server.get("/api/ready").status, 401);
}

fn edit(server: &Server, query: &str, changes: &Value) -> Value {
    let request = Request::new("PATCH", &format!("/api/config{query}"))
        .header("Content-Type", "application/json")
        .body(changes.to_string());
    let answer = server.send(&request);
    match answer.status {
        200 => answer.json(),
        // A preview that would have to be confirmed has what would change as well.
        403 => answer.json()["change"].clone(),
        _ => panic!("{}", answer.text()),
    }
}

fn assert_effect(edited: &Value, taken_over: &[&str], needs_restart: &[&str]) {
    assert_eq!(
        (&edited["taken_over"], &edited["needs_restart"]),
        (&json!(taken_over), &json!(needs_restart)),
        "{edited}"
    );
}

#[test]
fn an_edit_tells_when_its_own_keys_count_and_not_earlier_ones() {
    let server = started("[model]\nprovider = \"echo\"\n");
    let loops = json!({"agent.loop_limit": 5});
    for query in ["?dry_run=true", ""] {
        assert_effect(&edit(&server, query, &loops), &[], &["agent.loop_limit"]);
    }
    let budget = json!({"budget.daily_usd": 3.0});
    for query in ["?dry_run=true", ""] {
        assert_effect(&edit(&server, query, &budget), &["budget.daily_usd"], &[]);
    }
    // A table is edited by its name, and told by what changes in it.
    let prices = json!({"budget.pricing": {"echo": {"input": 1.0, "output": 2.0}}});
    assert_effect(&edit(&server, "?dry_run=true", &prices), &["budget.pricing.echo"], &[]);
}

#[test]
fn an_edit_of_a_demonstration_leaves_the_model_out() {
    let home = home();
    write(home.path(), "");
    let mut command = program("aethon-server", home.path());
    command.arg("--demo");
    let server = Server::start_command(home, command);
    for query in ["?dry_run=true", ""] {
        assert_effect(&edit(&server, query, &json!({"approval.enabled": true})), &[], &["approval.enabled"]);
        // It still names no model.
        assert_effect(&edit(&server, query, &json!({"model.timeout_seconds": 77})), &[], &[]);
    }
    assert_effect(
        &edit(&server, "?dry_run=true", &json!({"model.model_id": "gpt-5.1"})),
        &["model.model_id"],
        &[],
    );
}
