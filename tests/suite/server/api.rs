//! The rest of the API: `/api/status`, `/api/config*`, `/api/logs`, `/api/approvals*`, and the key `dashboard.enabled`.

use aethon_tests::{Request, Server, eventually};
use serde_json::json;

#[test]
fn status_names_the_running_parts() {
    let server = Server::start(&["model.model_id=fake-1"]);
    let status = server.get("/api/status").json();
    assert_eq!(status["status"], "running");
    assert_eq!(status["version"], "0.3.0");
    assert_eq!((&status["provider"], &status["model"]), (&json!("fake"), &json!("fake-1")));
    assert_eq!(status["model_ready"], true);
    assert!(status["uptime_seconds"].is_number(), "{status}");
    assert!(status["channels"].to_string().contains("webchat"), "{status}");
}

#[test]
fn the_health_needs_nothing_and_says_one_word() {
    let server = Server::start(&["dashboard.auth_token=t0ken"]);
    let answer = server.get("/health");
    assert_eq!(answer.header("content-type").unwrap().split(';').next(), Some("application/json"));
    assert_eq!(answer.text(), r#"{"status":"ok"}"#);
}

#[test]
fn configuration_is_returned_as_nested_objects() {
    let config = Server::start(&["agent.loop_limit=9"]).get("/api/config").json();
    assert_eq!(config["agent"]["loop_limit"], 9);
    assert_eq!(config["channels"]["webchat"]["host"], "127.0.0.1");
    assert_eq!(config["model"]["provider"], "fake");
}

#[test]
fn the_newest_log_records_come_first_and_by_level() {
    let server = Server::start(&["logging.level=debug"]);
    let mut chat = server.chat("default");
    chat.say("m1", "!error auth 9");
    let records = |query: &str| {
        let answer = server.get(&format!("/api/logs{query}")).json();
        answer["records"].as_array().or(answer["logs"].as_array()).expect("a list of records").clone()
    };
    let all =
        eventually("something is logged", || Some(records("?level=debug")).filter(|all| !all.is_empty()));
    for record in &all {
        assert!(record["level"].is_string() && record["message"].is_string(), "{record}");
        assert!(record["ts"].as_str().is_some_and(|ts| ts.ends_with('Z')), "{record}");
        assert_eq!(record["time"], record["ts"], "{record}");
    }
    assert_eq!(records("?level=debug&limit=1").len(), 1);
    for record in records("?level=warn") {
        assert!(["warn", "error"].contains(&record["level"].as_str().unwrap()), "{record}");
    }
    let stamps: Vec<&str> = all.iter().filter_map(|record| record["ts"].as_str()).collect();
    assert!(stamps.windows(2).all(|pair| pair[0] >= pair[1]), "newest first");
}

#[test]
fn approvals_list_is_empty_without_requests() {
    let server = Server::start(&[]);
    assert_eq!(server.get("/api/approvals").json()["approvals"], json!([]));
    assert_eq!(server.post("/api/approvals/none", &json!({"decision": "approve"})).status, 404);
}

#[test]
fn without_the_dashboard_only_the_status_stays() {
    let server = Server::start(&["dashboard.enabled=false"]);
    for target in [
        "/dashboard",
        "/ws/dashboard",
        "/docs",
        "/docs/handbook",
        "/docs/handbook/first-hour",
        "/docs/reference/approvals",
        "/openapi.json",
        "/api/sessions",
        "/api/sessions/webchat:default",
        "/api/config",
        "/api/config/schema",
        "/api/logs",
        "/api/approvals",
    ] {
        assert_eq!(server.get(target).status, 404, "{target}");
    }
    for target in ["/health", "/", "/api/status"] {
        assert_eq!(server.get(target).status, 200, "{target}");
    }
    assert_eq!(server.post("/webhook/trigger", &json!({"text": "!say hello"})).status, 200);
    let mut chat = server.chat("default");
    assert_eq!(chat.say("m1", "!say hello").last().unwrap()["text"], "hello");
}

#[test]
fn without_the_dashboard_unknown_is_still_401() {
    let server = Server::start(&["dashboard.enabled=false", "dashboard.auth_token=t0ken"]);
    for target in ["/dashboard", "/api/sessions", "/api/status", "/nothing", "/ws/dashboard"] {
        assert_eq!(server.get(target).status, 401, "{target}");
    }
    assert_eq!(server.send(&Request::get("/api/status").bearer("t0ken")).status, 200);
    assert_eq!(server.send(&Request::get("/dashboard").bearer("t0ken")).status, 404);
}

#[test]
fn no_panic_text_reaches_the_client() {
    // The longest names and the most of everything that a client may choose.
    let server = Server::start(&[]);
    let long = "x".repeat(6000);
    for target in [format!("/api/sessions/{long}"), format!("/{long}"), format!("/webhook/{long}")] {
        let answer = server.get(&target);
        assert!((400..500).contains(&answer.status), "{}", answer.status);
    }
    assert_eq!(server.get("/health").status, 200);
}
