//! A foreign page in the owner's browser can change nothing: cross-site requests are refused.

use aethon_tests::{Request, Response, Server};
use serde_json::json;

fn with_session() -> Server {
    let server = Server::start(&[]);
    server.chat("default").say("m1", "!say kept");
    server
}

/// Every route that changes something.
fn changes() -> Vec<Request> {
    let session = "/api/sessions/webchat:default";
    vec![
        Request::post("/webhook/trigger", &json!({"text": "!say hello"})),
        Request::post("/webhook/any", &json!({"text": "!say hello"})),
        Request::new("DELETE", session),
        Request::post(&format!("{session}/reset"), &json!({})),
        Request::post(&format!("{session}/stop"), &json!({})),
        Request::new("PATCH", session).header("Content-Type", "application/json").body(r#"{"title": "x"}"#),
        Request::post("/api/approvals/some-id", &json!({"decision": "approve"})),
    ]
}

fn assert_refused(answer: &Response) {
    assert_eq!(answer.status, 403, "{}", answer.text());
    answer.problem();
    answer.assert_guarded();
    assert!(answer.header("access-control-allow-origin").is_none());
}

#[test]
fn a_foreign_origin_changes_nothing() {
    let server = with_session();
    let own = format!("http://{}", server.address);
    let foreign = [
        "https://evil.example".to_owned(),
        "null".to_owned(),
        format!("{own}.evil.example"),
        format!("http://evil.example:{}", server.address.port()),
        format!("http://127.0.0.1:{}", server.address.port() ^ 1),
        "http://127.0.0.1".to_owned(),
        "not an origin".to_owned(),
        String::new(),
    ];
    for request in changes() {
        for origin in &foreign {
            assert_refused(&server.send(&request.clone().header("Origin", origin)));
        }
        assert_refused(
            &server.send(&request.clone().header("Origin", &own).header("Origin", "https://evil.example")),
        );
        assert_refused(&server.send(&request.clone().header("Sec-Fetch-Site", "cross-site")));
    }
    assert_eq!(server.said("webchat:default").len(), 2, "nothing was changed");
    assert_eq!(server.get("/api/sessions").json()["count"], 1, "nothing was added");
}

#[test]
fn own_page_may_change_state() {
    let server = with_session();
    let own = format!("http://{}", server.address);
    let request = Request::post("/webhook/trigger", &json!({"text": "!say hello"}));
    for site in ["same-origin", "none"] {
        let request = request.clone().header("Origin", &own).header("Sec-Fetch-Site", site);
        assert_eq!(server.send(&request).status, 200, "{site}");
    }
    // A name of this machine, as the address bar has it.
    let local = format!("localhost:{}", server.address.port());
    let request = request.header("Host", &local).header("Origin", &format!("http://{local}"));
    assert_eq!(server.send(&request).status, 200);
}

#[test]
fn allowed_origin_may_change_state() {
    let server = Server::start(&["channels.webchat.allowed_origins=[\"https://home.example\"]"]);
    let send = |origin: &str| {
        let request = Request::post("/webhook/trigger", &json!({"text": "!say hello"}));
        server.send(&request.header("Origin", origin)).status
    };
    assert_eq!(send("https://home.example"), 200);
    for origin in [
        "http://home.example",
        "https://home.example:444",
        "https://home.example.evil.example",
        "https://xhome.example",
    ] {
        assert_eq!(send(origin), 403, "{origin}");
    }
}

#[test]
fn a_right_token_does_not_excuse_a_foreign_origin() {
    let server = Server::start(&["dashboard.auth_token=t0ken"]);
    let request = Request::new("DELETE", "/api/sessions/webchat:default").bearer("t0ken");
    assert_refused(&server.send(&request.clone().header("Origin", "https://evil.example")));
    assert_eq!(server.send(&request).status, 404, "without an Origin it is a program of the owner");
}

#[test]
fn body_types_of_html_forms_are_415() {
    let server = with_session();
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
        "",
    ] {
        for target in ["/webhook/trigger", "/webhook/any", "/api/approvals/some-id"] {
            let request =
                Request::new("POST", target).body(r#"{"text": "!say hello", "decision": "approve"}"#);
            let request = if kind.is_empty() { request } else { request.header("Content-Type", kind) };
            let answer = server.send(&request);
            assert_eq!(answer.status, 415, "{kind} {target}: {}", answer.text());
            answer.problem();
        }
    }
    for kind in ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON"] {
        let request = Request::new("POST", "/webhook/trigger").header("Content-Type", kind);
        assert_eq!(server.send(&request.body(r#"{"text": "!say hello"}"#)).status, 200, "{kind}");
    }
}

#[test]
fn a_get_changes_nothing() {
    let server = with_session();
    for target in [
        "/api/sessions/webchat:default/reset",
        "/api/sessions/webchat:default/stop",
        "/webhook/trigger?text=hello",
        "/webhook/any",
        "/api/approvals/some-id",
    ] {
        let answer = server.get(target);
        assert_eq!(answer.status, 405, "{target}");
        assert!(!answer.header("allow").unwrap().contains("GET"), "{target}");
    }
    assert_eq!(server.said("webchat:default").len(), 2);
}

#[test]
fn options_request_grants_nothing() {
    let server = with_session();
    for target in ["/api/sessions/webchat:default", "/webhook/trigger", "/api/status", "/ws/chat", "/"] {
        let request = Request::new("OPTIONS", target)
            .header("Origin", "https://evil.example")
            .header("Access-Control-Request-Method", "DELETE")
            .header("Access-Control-Request-Headers", "content-type");
        let answer = server.send(&request);
        for name in
            ["access-control-allow-origin", "access-control-allow-methods", "access-control-allow-headers"]
        {
            assert!(answer.header(name).is_none(), "{target}: {name}");
        }
        answer.assert_guarded();
    }
}

#[test]
fn method_override_header_is_ignored() {
    let server = with_session();
    let request = Request::get("/api/sessions/webchat:default").header("X-HTTP-Method-Override", "DELETE");
    assert_eq!(server.send(&request).status, 200);
    assert_eq!(server.get("/api/sessions/webchat:default?_method=DELETE").status, 200);
    assert_eq!(server.said("webchat:default").len(), 2);
}
