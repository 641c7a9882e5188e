//! The server on real sockets: slow, oversized, malformed, too many, and how it stops.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test's own functions fail the test by panicking"
)]

mod common;
mod fakes;

use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_core::secret::Secret;
use aethon_core::shutdown::ShutdownTrigger;
use aethon_http::options::Listen;
use aethon_http::{Options, Server};
use common::{get, post, start, within};

#[tokio::test]
async fn requests_follow_each_other_on_one_connection() {
    let server = start(Options::default()).await;
    let mut client = server.connect().await;
    client.send(&get("/health").repeat(3)).await;
    client.send("HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    for _ in 0..3 {
        assert_eq!(client.answer().await.body, r#"{"status":"ok"}"#);
    }
    let head = client.head().await;
    assert_eq!((head.status, head.header("content-length")), (200, Some("15")));
    let body = r#"{"text": "one"}"#;
    client.send(&format!("{}{}", post("/webhook/trigger", body), get("/nothing"))).await;
    assert_eq!(client.answer().await.body, r#"{"status":"ok","response":"one"}"#);
    let nothing = client.answer().await;
    assert_eq!((nothing.code().as_str(), nothing.header("date").is_some()), ("not_found", true));
    client.send(&post("/api/sign-out", "{}")).await;
    assert_eq!(client.answer().await.status, 200);
    client.send("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    assert_eq!(client.answer().await.status, 200);
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn a_refusal_before_the_body_announces_connection_close() {
    let server = start(Options { token: Secret::new("right"), ..Options::default() }).await;
    let mut client = server.connect().await;
    client.send(&post("/api/sign-out", "{}")).await;
    let refused = client.answer().await;
    assert_eq!((refused.code().as_str(), refused.header("connection")), ("unauthorized", Some("close")));
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn a_head_that_is_too_slow_is_answered_408_however_it_drips() {
    let mut options = Options::default();
    options.limits.header_timeout = Duration::from_millis(300);
    let server = start(options).await;

    let mut silent = server.connect().await;
    assert!(silent.is_closed().await);

    let mut slow = server.connect().await;
    slow.send("GET /health HTTP/1.1\r\nHo").await;
    let answer = slow.answer().await;
    assert_eq!((answer.status, answer.code().as_str()), (408, "header_timeout"));
    assert!(slow.is_closed().await);

    let mut later = server.connect().await;
    later.send(&get("/health")).await;
    assert_eq!(later.answer().await.status, 200);
    let start = Instant::now();
    for byte in "GET /health HTTP/1.1\r\nX-Slow: ".bytes() {
        let mut tick = tokio::time::interval(Duration::from_millis(50));
        tick.tick().await;
        tick.tick().await;
        if tokio::io::AsyncWriteExt::write_all(&mut later.stream, &[byte]).await.is_err() {
            break;
        }
        if start.elapsed() > Duration::from_secs(2) {
            break;
        }
    }
    assert_eq!(later.answer().await.status, 408);
}

#[tokio::test]
async fn a_body_that_is_too_slow_is_answered_408() {
    let mut options = Options::default();
    options.limits.body_timeout = Duration::from_millis(200);
    let server = start(options).await;
    let mut client = server.connect().await;
    let request = post("/webhook/trigger", r#"{"text": "one"}"#);
    client.send(&request[..request.len() - 1]).await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.code().as_str()), (408, "body_timeout"));
    drop(client);
    assert!(server.assistant.seen().is_empty());
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_before_during_and_after_sending() {
    let mut options = Options::default();
    options.limits.max_body_bytes = 1000;
    let server = start(options).await;
    let head = "POST /webhook/trigger HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

    let announced = server.ask(&format!("{head}Content-Length: 1001\r\n\r\n")).await;
    assert_eq!((announced.status, announced.code().as_str()), (413, "body_too_large"));

    let expecting = server.ask(&format!("{head}Content-Length: 9999\r\nExpect: 100-continue\r\n\r\n")).await;
    assert_eq!(expecting.status, 413);

    let chunk = format!("1f4\r\n{}\r\n", "x".repeat(500));
    let chunked = server.ask(&format!("{head}Transfer-Encoding: chunked\r\n\r\n{}", chunk.repeat(3))).await;
    assert_eq!(chunked.code(), "body_too_large");

    let mut stubborn = server.connect().await;
    stubborn.send(&post("/webhook/trigger", &"x".repeat(4 << 20))).await;
    assert_eq!(stubborn.answer().await.status, 413);
    assert!(server.assistant.seen().is_empty());

    let mut patient = server.connect().await;
    patient.send(&format!("{head}Content-Length: 15\r\nExpect: 100-continue\r\n\r\n")).await;
    assert_eq!(patient.head().await.status, 100);
    patient.send(r#"{"text": "one"}"#).await;
    assert_eq!(patient.answer().await.status, 200);
}

#[tokio::test]
async fn a_head_over_the_limit_is_431() {
    let server = start(Options { token: Secret::new("right"), ..Options::default() }).await;
    let large = format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    let many = format!("GET /health HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(200));
    let long = get(&format!("/{}", "x".repeat(70_000)));
    for request in [large, many, long] {
        let answer = server.ask(&request).await;
        assert_eq!((answer.status, answer.code().as_str()), (431, "headers_too_large"));
    }
    let long_token = format!(
        "GET /api/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        "x".repeat(20_000)
    );
    assert_eq!(server.ask(&long_token).await.status, 401);
}

#[tokio::test]
async fn malformed_http_is_400() {
    let server = start(Options::default()).await;
    for request in [
        "nonsense\r\n\r\n",
        "GET /health\r\n\r\n",
        "GET  /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /health HTTP/3.0\r\nHost: localhost\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\nBad Name: x\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\r\n folded\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n",
        "GET /he\0alth HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\r\n\r\n",
    ] {
        let answer = server.ask(request).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "bad_request"), "{request:?}");
    }
    for request in [
        "GET /health HTTP/1.1\r\n\r\n",
        "GET /health HTTP/1.0\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    ] {
        assert_eq!(server.ask(request).await.code(), "bad_host", "{request:?}");
    }
}

#[tokio::test]
async fn nothing_is_smuggled_behind_an_ambiguous_length() {
    let server = start(Options::default()).await;
    let head = "POST /webhook/trigger HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let smuggled = get("/health");
    for framing in [
        "Content-Length: 4\r\nContent-Length: 5\r\n\r\n",
        "Content-Length: 4, 5\r\n\r\n",
        "Content-Length: +4\r\n\r\n",
        "Content-Length: -1\r\n\r\n",
        "Content-Length: 0x4\r\n\r\n",
        "Transfer-Encoding: identity\r\n\r\n",
        "Transfer-Encoding: chunked, identity\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        "Transfer-Encoding: chunked\r\n\r\n4\r\n{}  X\r\n",
    ] {
        let mut client = server.connect().await;
        client.send(&format!("{head}{framing}{smuggled}")).await;
        assert_eq!(client.answer().await.status, 400, "{framing:?}");
        assert!(client.is_closed().await, "{framing:?}");
    }
    // Chunked wins over a length, and nothing that follows is read as a request.
    let mut both = server.connect().await;
    let body = "f\r\n{\"text\": \"one\"}\r\n0\r\n\r\n";
    both.send(&format!("{head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n{body}{smuggled}"))
        .await;
    let answer = both.answer().await;
    assert!(matches!(answer.status, 200 | 400), "{answer:?}");
    assert!(both.is_closed().await);
}

#[tokio::test]
async fn an_absolute_target_is_served_by_its_authority() {
    let server = start(Options::default()).await;
    let ask = |target: &str, host: &str| format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    assert_eq!(server.ask(&ask("http://localhost:1/api/status", "evil.example")).await.status, 200);
    assert_eq!(
        server.ask(&ask("http://evil.example/api/status", "localhost")).await.code(),
        "host_not_allowed"
    );
    assert_eq!(server.ask(&ask("http://evil.example/health", "localhost")).await.status, 200);
    assert_eq!(server.ask("CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n").await.status, 404);
    assert_eq!(server.ask("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n").await.status, 204);
    assert_eq!(server.ask("GET health HTTP/1.1\r\nHost: localhost\r\n\r\n").await.code(), "bad_host");
}

#[tokio::test]
async fn a_connection_over_the_limit_is_refused_with_its_code() {
    let mut options = Options::default();
    options.limits.max_connections = 2;
    let server = start(options).await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    for client in [&mut first, &mut second] {
        client.send(&get("/health")).await;
        assert_eq!(client.answer().await.status, 200);
    }
    let refused = server.ask(&get("/health")).await;
    assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("too_many_connections", Some("1")));
    first.send("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    assert_eq!(first.answer().await.status, 200);
    assert!(first.is_closed().await);
    // The server notices the end of the first at its own time.
    let mut attempts = 0;
    while server.ask(&get("/health")).await.status != 200 {
        attempts += 1;
        assert!(attempts < 1000, "the place of a closed connection is not given back");
    }
}

#[tokio::test]
async fn a_client_may_close_its_side_after_its_request() {
    let server = start(Options::default()).await;
    let mut client = server.connect().await;
    client.send(&post("/webhook/trigger", r#"{"text": "!hold"}"#)).await;
    tokio::io::AsyncWriteExt::shutdown(&mut client.stream).await.unwrap();
    while server.assistant.release() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(client.answer().await.body, r#"{"status":"ok","response":"!hold"}"#);
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn a_panic_ends_a_request_and_not_the_connection() {
    let server = start(Options::default()).await;
    let mut client = server.connect().await;
    client.send(&post("/webhook/trigger", r#"{"text": "!panic"}"#)).await;
    assert_eq!(client.answer().await.code(), "internal_error");
    client.send(&get("/health")).await;
    assert_eq!(client.answer().await.status, 200);
}

#[tokio::test]
async fn a_repeated_webhook_waits_for_the_first_one() {
    let server = start(Options::default()).await;
    let body = r#"{"text": "!hold"}"#;
    let request = post("/webhook/trigger", body).replace("\r\nHost", "\r\nIdempotency-Key: k\r\nHost");
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    first.send(&request).await;
    second.send(&request).await;
    while server.assistant.release() == 0 {
        tokio::task::yield_now().await;
    }
    let (first, second) = (first.answer().await, second.answer().await);
    assert_eq!((first.status, first.body), (second.status, second.body));
    assert_eq!(server.assistant.seen().len(), 1);
}

#[tokio::test]
async fn stopping_lets_requests_finish_and_closes_what_is_idle() {
    let server = start(Options::default()).await;
    let mut idle = server.connect().await;
    idle.send(&get("/health")).await;
    assert_eq!(idle.answer().await.status, 200);
    let silent = server.connect().await;
    let mut busy = server.connect().await;
    busy.send(&post("/webhook/trigger", r#"{"text": "!hold"}"#)).await;
    while server.assistant.seen().is_empty() {
        tokio::task::yield_now().await;
    }
    server.stop.trigger();
    assert!(idle.is_closed().await);
    server.assistant.release();
    let answer = busy.answer().await;
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    let address = server.address;
    server.stopped().await;
    drop(silent);
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn idle_strangers_are_closed_sooner_than_the_owner() {
    let usual = aethon_http::options::Limits::default();
    assert_eq!((usual.idle, usual.idle_unknown), (Duration::from_secs(75), Duration::from_secs(10)));
    let soon = Duration::from_millis(200);
    let with_token = |token: &str| {
        let mut options = Options { token: Secret::new(token), ..Options::default() };
        options.limits.idle_unknown = soon;
        options
    };
    let status = |token: &str| {
        format!("GET /api/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n")
    };
    let server = start(with_token("right")).await;
    let mut clients = Vec::new();
    for (request, expected) in [(get("/health"), 200), (status("wrong"), 401), (status("right"), 200)] {
        let mut client = server.connect().await;
        client.send(&request).await;
        assert_eq!(client.answer().await.status, expected, "{request}");
        clients.push(client);
    }
    let mut owner = clients.pop().unwrap();
    for stranger in &mut clients {
        assert!(stranger.is_closed().await);
    }
    owner.send(&get("/health")).await;
    assert_eq!(owner.answer().await.status, 200);
    assert!(tokio::time::timeout(soon * 3, owner.is_closed()).await.is_err(), "known once, known still");

    // Without a token on a loopback address, every client is the owner.
    let open = start(with_token("")).await;
    let mut client = open.connect().await;
    client.send(&get("/health")).await;
    assert_eq!(client.answer().await.status, 200);
    assert!(tokio::time::timeout(soon * 3, client.is_closed()).await.is_err());
}

#[tokio::test]
async fn stopping_takes_no_longer_than_the_grace() {
    let mut options = Options::default();
    options.limits.shutdown_grace = Duration::from_millis(100);
    let server = start(options).await;
    let mut busy = server.connect().await;
    busy.send(&post("/webhook/trigger", r#"{"text": "!hold"}"#)).await;
    while server.assistant.seen().is_empty() {
        tokio::task::yield_now().await;
    }
    server.stopped().await;
    assert!(busy.is_closed().await);
}

#[tokio::test]
async fn stopping_is_quick_when_nothing_runs() {
    let server = start(Options::default()).await;
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut client = server.connect().await;
        client.send(&get("/health")).await;
        assert_eq!(client.answer().await.status, 200);
        clients.push(client);
    }
    let start = Instant::now();
    server.stopped().await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[tokio::test]
async fn an_address_in_use_is_distinct_from_other_failures() {
    let server = start(Options::default()).await;
    let bind = async |host: &str, port: u16| {
        let (_stop, shutdown) = ShutdownTrigger::pair();
        let listen = Listen { host: host.into(), port: Some(port), socket: None };
        let options = Options { listen, ..Options::default() };
        Server::bind(options, common::deps(&Arc::default(), shutdown)).await.err().expect("refused")
    };
    let taken = bind("127.0.0.1", server.address.port()).await;
    assert!(taken.is_address_in_use() && taken.to_string().contains("channels.webchat.port"), "{taken}");
    assert!(!within(bind("192.0.2.1", 0)).await.is_address_in_use());
}

#[tokio::test]
async fn an_upgrade_that_is_none_is_426() {
    let server = start(Options::default()).await;
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for headers in [
        String::new(),
        format!("Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 8\r\n{key}"),
        "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n".into(),
        format!("Connection: upgrade\r\nUpgrade: h2c\r\nSec-WebSocket-Version: 13\r\n{key}"),
    ] {
        let answer = server.ask(&format!("GET /ws/chat HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")).await;
        assert_eq!(
            (answer.code().as_str(), answer.header("upgrade")),
            ("upgrade_required", Some("websocket"))
        );
    }
    let rebound = format!(
        "GET /ws/chat HTTP/1.1\r\nHost: evil.example\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\n{key}\r\n"
    );
    assert_eq!(server.ask(&rebound).await.status, 421);
}
