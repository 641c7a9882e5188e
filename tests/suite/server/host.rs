//! The Host header: which names the server answers to, and which origins it trusts.

use aethon_tests::http::exchange;
use aethon_tests::{Request, Response, Server, Socket, signature};
use serde_json::json;
use tungstenite::Error;

fn get(server: &Server, target: &str, host: &str) -> Response {
    server.send(&Request::get(target).header("Host", host))
}

fn hook(server: &Server, host: &str) -> u16 {
    let request = Request::post("/webhook/trigger", &json!({"text": "!say hello"})).header("Host", host);
    server.send(&request).status
}

const LOOPBACK: [&str; 12] = [
    "localhost",
    "LocalHost:80",
    "localhost.",
    "localhost.:8080",
    "127.0.0.1",
    "127.0.0.1:1",
    "127.200.3.4",
    "[::1]",
    "[::1]:8080",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::FFFF:7f00:1]:5",
];

const ELSEWHERE: [&str; 12] = [
    "evil.example",
    "localhost.evil.example",
    "evil.example:18790",
    "127.0.0.1.evil.example",
    "xlocalhost",
    "0.0.0.0",
    "192.168.1.5",
    "[::]",
    "[fe80::1]",
    "[::ffff:10.0.0.1]",
    "1.127.0.0",
    "evil.example.",
];

#[test]
fn without_a_token_only_loopback_names_are_served() {
    let server = Server::start(&[]);
    for host in LOOPBACK {
        assert_eq!(get(&server, "/api/status", host).status, 200, "{host}");
        assert_eq!(hook(&server, host), 200, "{host}");
    }
    for host in ELSEWHERE {
        for target in ["/", "/api/status", "/dashboard", "/dashboard/static/x", "/nothing"] {
            let answer = get(&server, target, host);
            assert_eq!(answer.status, 421, "{host} {target}");
            answer.assert_guarded();
            answer.problem();
            let detail = answer.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains("channels.webchat.allowed_hosts"), "names the key to set: {detail}");
        }
        assert_eq!(hook(&server, host), 421, "{host}");
        assert_eq!(get(&server, "/health", host).status, 200, "/health acts for nobody: {host}");
    }
}

#[test]
fn a_socket_is_refused_before_the_upgrade() {
    let server = Server::start(&[]);
    for target in ["/ws/chat", "/ws/dashboard"] {
        match Socket::try_open(server.address, target, &[("Host", "evil.example")]).map_err(|error| *error) {
            Err(Error::Http(answer)) => assert_eq!(answer.status(), 421, "{target}"),
            other => panic!("{target}: {}", other.err().map_or("opened".into(), |error| error.to_string())),
        }
    }
}

#[test]
fn with_credentials_any_well_formed_name_is_served() {
    let server = Server::start(&["dashboard.auth_token=t0ken", "webhook.secret=s3cret"]);
    let body = json!({"text": "!say hello"}).to_string();
    for host in ["evil.example", "assistant.example:444", "192.168.1.5", "localhost", "[fe80::1]:9"] {
        let answer = server.send(&Request::get("/api/status").header("Host", host).bearer("t0ken"));
        assert_eq!(answer.status, 200, "{host}");
        assert_eq!(get(&server, "/", host).status, 200, "{host}");
        let request = Request::new("POST", "/webhook/trigger").header("Content-Type", "application/json");
        let request =
            request.header("Host", host).header("X-Aethon-Signature", &signature("s3cret", body.as_bytes()));
        assert_eq!(server.send(&request.body(body.clone())).status, 200, "{host}");
    }
}

#[test]
fn webhooks_without_a_secret_need_a_loopback_name() {
    let server = Server::start(&["dashboard.auth_token=t0ken"]);
    assert_eq!(hook(&server, "evil.example"), 421);
    assert_eq!(hook(&server, "localhost"), 200);
    let answer = server.send(&Request::get("/api/status").header("Host", "evil.example").bearer("t0ken"));
    assert_eq!(answer.status, 200);
}

#[test]
fn allowed_hosts_define_the_served_names() {
    let allowed = "channels.webchat.allowed_hosts=[\"home.example\"]";
    for settings in [&[allowed][..], &[allowed, "dashboard.auth_token=t0ken", "webhook.secret=s3cret"]] {
        let server = Server::start(settings);
        let status = |host: &str| {
            server.send(&Request::get("/api/status").header("Host", host).bearer("t0ken")).status
        };
        for host in ["home.example", "HOME.example:8443", "home.example.", "localhost", "[::1]:1"] {
            assert_eq!(status(host), 200, "{host} {settings:?}");
        }
        for host in ["other.example", "home.example.evil.example", "xhome.example", "192.168.1.5"] {
            assert_eq!(status(host), 421, "{host} {settings:?}");
        }
    }
}

#[test]
fn beyond_loopback_any_well_formed_name_is_served() {
    let server =
        Server::start(&["channels.webchat.host=0.0.0.0", "dashboard.auth_token=t0ken-of-sixteen-or-more"]);
    let answer = server
        .send(&Request::get("/api/status").header("Host", "any.example").bearer("t0ken-of-sixteen-or-more"));
    assert_eq!(answer.status, 200);
    assert_eq!(get(&server, "/", "any.example").status, 200);
}

#[test]
fn missing_doubled_and_malformed_hosts_are_400() {
    for settings in [&[][..], &["dashboard.auth_token=t0ken"]] {
        let server = Server::start(settings);
        let status = |head: &str| {
            let bytes = format!("GET /api/status HTTP/1.1\r\n{head}Authorization: Bearer t0ken\r\n\r\n");
            exchange(server.address, bytes.as_bytes()).expect("an answer").status
        };
        assert_eq!(status("Host: localhost\r\n"), 200);
        assert_eq!(status(""), 400, "no Host");
        assert_eq!(status("Host: localhost\r\nHost: localhost\r\n"), 400, "two");
        assert_eq!(status("Host: localhost, localhost\r\n"), 400);
        for host in [
            "",
            " ",
            "a b",
            "local host",
            "localhost:",
            "localhost:99999",
            "localhost:-1",
            "localhost:8a",
            "user@localhost",
            "localhost/x",
            "localhost?x",
            "localhost#x",
            "[::1",
            "::1",
            "[::1]x",
            "[g::1]",
            "localhost:1:2",
            "http://localhost",
            "loc\u{e4}lhost",
            "localhost%2eexample",
            "..",
            ".",
            "a..b",
        ] {
            // An empty port is allowed by RFC 3986, so it may be served or refused, but never as another host's.
            let expected: &[u16] = if host == "localhost:" { &[200, 400] } else { &[400] };
            let found = status(&format!("Host: {host}\r\n"));
            assert!(expected.contains(&found), "{host:?}: {found}");
        }
    }
}

#[test]
fn the_authority_of_the_target_counts_before_the_header() {
    let server = Server::start(&[]);
    let status = |target: &str, host: &str| {
        let bytes = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        exchange(server.address, bytes.as_bytes()).expect("an answer").status
    };
    assert_eq!(status("http://localhost/api/status", "evil.example"), 200);
    assert_eq!(status("http://evil.example/api/status", "localhost"), 421);
    assert_eq!(status("http://localhost@evil.example/api/status", "localhost"), 400, "a user part");
}

#[test]
fn an_old_client_without_a_host_is_400() {
    let server = Server::start(&[]);
    let answer = exchange(server.address, b"GET /api/status HTTP/1.0\r\n\r\n").expect("an answer");
    assert_eq!(answer.status, 400);
    let answer =
        exchange(server.address, b"GET /api/status HTTP/1.0\r\nHost: localhost\r\n\r\n").expect("an answer");
    assert_eq!(answer.status, 200);
}
