//! Malformed requests: their error answers, and the order of the checks (docs/contract/http.md).

use std::io::{BufReader, Write};

use aethon_tests::http::{connect, exchange};
use aethon_tests::{Request, Response, Server};
use serde_json::json;

#[test]
fn an_unknown_path_is_404() {
    let server = Server::start(&[]);
    for target in ["/nothing", "/api/nothing", "/api", "/api/", "/ws/nothing", "/health/"] {
        for method in ["GET", "POST", "DELETE"] {
            let request = Request::new(method, target).header("Content-Type", "application/json").body("{}");
            let answer = server.send(&request);
            assert_eq!(answer.status, 404, "{method} {target}");
            answer.problem();
            answer.assert_guarded();
        }
    }
}

#[test]
fn options_of_the_server_and_a_target_without_a_slash() {
    let server = Server::start(&[]);
    let answer = server.send(&Request::new("OPTIONS", "*"));
    assert_eq!(answer.status, 204, "{}", answer.text());
    assert!(answer.header("allow").is_some_and(|allow| allow.contains("GET") && allow.contains("PATCH")));
    answer.assert_guarded();
    assert_eq!(server.send(&Request::get("health")).problem(), "bad_host");
    assert_eq!(server.send(&Request::get("health")).status, 400);
}

#[test]
fn missing_asset_is_404() {
    let answer = Server::start(&[]).get("/dashboard/static/nothing.js");
    assert_eq!(answer.status, 404);
    answer.assert_guarded();
}

#[test]
fn a_known_path_with_another_method_is_405_with_allow() {
    let server = Server::start(&[]);
    let check = |target: &str, wrong: &[&str], allowed: &[&str]| {
        for method in wrong {
            let answer = server.send(&Request::new(method, target));
            assert_eq!(answer.status, 405, "{method} {target}");
            answer.problem();
            answer.assert_guarded();
            let allow = answer.header("allow").expect("Allow is there");
            let mut found: Vec<&str> = allow.split(',').map(str::trim).collect();
            found.sort_unstable();
            assert_eq!(found, allowed, "{method} {target}");
        }
    };
    let odd = ["POST", "PUT", "DELETE", "PATCH", "PROPFIND", "TRACE", "LINK"];
    for target in ["/health", "/", "/dashboard", "/api/status", "/api/sessions", "/api/config/schema"] {
        check(target, &odd, &["GET", "HEAD"]);
    }
    for target in ["/api/logs", "/api/approvals", "/dashboard/static/x.js", "/api/sessions/webchat:a/export"]
    {
        check(target, &odd, &["GET", "HEAD"]);
    }
    check("/api/config", &["POST", "PUT", "DELETE", "LINK"], &["GET", "HEAD", "PATCH"]);
    check("/api/sessions/webchat:a", &["POST", "PUT", "LINK"], &["DELETE", "GET", "HEAD", "PATCH"]);
    for target in ["/api/sessions/webchat:a/reset", "/api/sessions/webchat:a/stop", "/api/approvals/a"] {
        check(target, &["GET", "PUT", "DELETE", "PATCH"], &["POST"]);
    }
    check("/webhook/trigger", &["GET", "PUT", "DELETE", "PATCH"], &["POST"]);
    check("/webhook/any", &["GET", "PUT", "DELETE", "PATCH"], &["POST"]);
}

#[test]
fn a_wrong_query_is_422_with_the_field() {
    let server = Server::start(&[]);
    server.chat("default").say("m1", "!say hello");
    let check = |target: &str, field: &str| {
        let answer = server.get(target);
        assert_eq!(answer.status, 422, "{target}: {}", answer.text());
        answer.problem();
        let errors = answer.json()["errors"].clone();
        assert_eq!(errors[0]["field"], field, "{target}");
        assert!(errors[0]["message"].as_str().is_some_and(|message| !message.is_empty()), "{target}");
    };
    check("/api/sessions?limit=many", "limit");
    check("/api/sessions?limit=-1", "limit");
    check("/api/sessions?cursor=nonsense", "cursor");
    check("/api/sessions/webchat:default?limit=x", "limit");
    check("/api/sessions/webchat:default?before=x", "before");
    check("/api/sessions/webchat:default/export?format=pdf", "format");
    check("/api/logs?level=loud", "level");
    check("/api/logs?limit=x", "limit");
}

#[test]
fn a_wrong_body_is_400_or_422_with_the_field() {
    let server = Server::start(&[]);
    server.chat("default").say("m1", "!say hello");
    let patch = |body: &str| {
        let request =
            Request::new("PATCH", "/api/sessions/webchat:default").header("Content-Type", "application/json");
        server.send(&request.body(body))
    };
    for body in ["", "{", "not json", "{\"title\": }", "\u{feff}\u{feff}{}"] {
        assert_eq!(patch(body).status, 400, "{body:?}");
    }
    for body in ["{}", "\u{feff}{}", "[]", "3", "{\"title\": 3}", "{\"title\": null}"] {
        let answer = patch(body);
        assert_eq!(answer.status, 422, "{body}: {}", answer.text());
        answer.problem();
        assert!(answer.json()["errors"].is_array(), "{body}");
    }
    let deep = format!("{{\"title\": {}{}}}", "[".repeat(50_000), "]".repeat(50_000));
    assert!([400, 422].contains(&patch(&deep).status), "nesting does not overflow anything");
    let decide = |body: &str| {
        let request =
            Request::new("POST", "/api/approvals/some-id").header("Content-Type", "application/json");
        server.send(&request.body(body)).status
    };
    assert_eq!(decide("{\"decision\": \"perhaps\"}"), 422);
    assert_eq!(decide("{}"), 422);
    assert_eq!(decide("{"), 400);
    assert_eq!(decide("{\"decision\": \"approve\"}"), 404);
}

/// A body of this size for a webhook, as it is or in chunks.
fn webhook(server: &Server, size: usize, chunked: bool) -> Response {
    let mut body = format!("{{\"text\": \"!say hello\", \"pad\": \"{}\"}}", "x".repeat(size)).into_bytes();
    if !chunked {
        let request = Request::new("POST", "/webhook/trigger").header("Content-Type", "application/json");
        return exchange(server.address, &request.body(body).bytes(server.address)).expect("an answer");
    }
    let mut bytes = format!(
        "POST /webhook/trigger HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        server.address
    )
    .into_bytes();
    for chunk in body.chunks_mut(1000) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    exchange(server.address, &bytes).expect("an answer")
}

#[test]
fn a_body_over_the_limit_is_413() {
    let server = Server::start(&["server.max_body_bytes=5000"]);
    for chunked in [false, true] {
        assert_eq!(webhook(&server, 4000, chunked).status, 200, "chunked: {chunked}");
        let answer = webhook(&server, 6000, chunked);
        assert_eq!(answer.status, 413, "chunked: {chunked}");
        answer.problem();
        answer.assert_guarded();
    }
    let server = Server::start(&[]);
    assert_eq!(webhook(&server, (1 << 20) - 100, false).status, 200, "the default is 1 MiB");
    assert_eq!(webhook(&server, 1 << 20, false).status, 413);
}

#[test]
fn declared_length_over_the_limit_is_413_before_the_body() {
    let server = Server::start(&[]);
    let head = "POST /webhook/trigger HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    for length in ["1048577", "99999999999", "9223372036854775807"] {
        let answer = exchange(server.address, format!("{head}Content-Length: {length}\r\n\r\n{{").as_bytes());
        assert_eq!(answer.expect("an answer").status, 413, "{length}");
    }
}

#[test]
fn expect_100_gets_continue_or_the_refusal() {
    let server = Server::start(&[]);
    let head = "POST /webhook/trigger HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n";
    let body = r#"{"text": "!say hello"}"#;
    let mut connection = connect(server.address);
    connection.write_all(format!("{head}Content-Length: {}\r\n\r\n", body.len()).as_bytes()).unwrap();
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    assert_eq!(Response::read(&mut reader, false).unwrap().status, 100);
    connection.write_all(body.as_bytes()).unwrap();
    assert_eq!(Response::read(&mut reader, false).unwrap().status, 200);

    let refused = format!("{head}Content-Length: 9999999\r\n\r\n");
    assert_eq!(exchange(server.address, refused.as_bytes()).expect("an answer").status, 413);
}

#[test]
fn a_head_over_the_limit_is_431() {
    let server = Server::start(&[]);
    let many: String = (0..500).map(|number| format!("X-{number}: x\r\n")).collect();
    let long = format!("X-Long: {}\r\n", "x".repeat(1 << 20));
    for headers in [many, long] {
        let bytes = format!("GET /health HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        let answer = exchange(server.address, bytes.as_bytes()).expect("an answer");
        assert_eq!(answer.status, 431);
    }
    let bytes = format!("GET /health?{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "x".repeat(1 << 20));
    let status = exchange(server.address, bytes.as_bytes()).expect("an answer").status;
    assert!([414, 431].contains(&status), "{status}");
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn a_plain_get_of_a_socket_is_426() {
    let server = Server::start(&[]);
    for target in ["/ws/chat", "/ws/dashboard"] {
        let answer = server.get(target);
        assert_eq!(answer.status, 426, "{target}");
        answer.problem();
        answer.assert_guarded();
        assert_eq!(answer.header("upgrade"), Some("websocket"));
        let half = Request::get(target).header("Connection", "Upgrade").header("Upgrade", "websocket");
        let status = server.send(&half).status;
        assert!([400, 426].contains(&status), "an upgrade without a key: {status}");
        let old =
            half.header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==").header("Sec-WebSocket-Version", "8");
        let answer = server.send(&old);
        assert_eq!(answer.status, 426, "another version");
        assert_eq!(answer.header("sec-websocket-version"), Some("13"));
    }
    assert_eq!(server.send(&Request::new("POST", "/ws/chat")).status, 405);
}

#[test]
fn the_checks_come_in_the_order_of_the_contract() {
    let server =
        Server::start(&["dashboard.auth_token=t0ken", "channels.webchat.allowed_hosts=[\"home.example\"]"]);
    let wrong =
        || Request::new("POST", "/api/status").header("Content-Type", "text/plain").body(vec![b'x'; 2 << 20]);
    let all_wrong = wrong().header("Host", "evil.example").header("Origin", "https://evil.example");
    assert_eq!(exchange(server.address, &all_wrong.bytes(server.address)).unwrap().status, 421, "Host first");
    let no_token = wrong().header("Origin", "https://evil.example");
    assert_eq!(
        exchange(server.address, &no_token.bytes(server.address)).unwrap().status,
        401,
        "then the token"
    );
    let no_route = Request::new("POST", "/nothing").bearer("t0ken").header("Origin", "https://evil.example");
    assert_eq!(server.send(&no_route).status, 404, "then the route");
    let no_method = wrong().bearer("t0ken").header("Origin", "https://evil.example");
    assert_eq!(
        exchange(server.address, &no_method.bytes(server.address)).unwrap().status,
        405,
        "and the method"
    );
    let big = Request::new("POST", "/api/approvals/x").bearer("t0ken").body(vec![b'x'; 2 << 20]);
    let plain = big.clone().header("Content-Type", "text/plain");
    assert_eq!(
        exchange(server.address, &plain.bytes(server.address)).unwrap().status,
        415,
        "then the content type"
    );
    let foreign =
        big.clone().header("Content-Type", "application/json").header("Origin", "https://evil.example");
    assert_eq!(
        exchange(server.address, &foreign.bytes(server.address)).unwrap().status,
        403,
        "and the Origin"
    );
    let big = big.header("Content-Type", "application/json");
    assert_eq!(exchange(server.address, &big.bytes(server.address)).unwrap().status, 413, "then the size");
    let malformed = Request::post("/api/approvals/x", &json!({"decision": 3})).bearer("t0ken");
    assert_eq!(server.send(&malformed).status, 422, "the handler last");
}
