//! Connections: keep-alive, pipelining, limits, time-outs and garbage on the wire.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use aethon_tests::http::connect;
use aethon_tests::{Random, Request, Response, Server, eventually};
use serde_json::json;

/// Sends these bytes, closes the sending side, and returns every answer until the server closes.
fn answers(server: &Server, bytes: &[u8]) -> Vec<Response> {
    let mut connection = connect(server.address);
    let _ = connection.write_all(bytes);
    let _ = connection.shutdown(Shutdown::Write);
    let mut reader = BufReader::new(connection);
    let mut answers = Vec::new();
    while let Ok(answer) = Response::read(&mut reader, false) {
        answers.push(answer);
    }
    answers
}

/// Whether the server has closed the connection; earlier bytes are discarded.
fn closes(connection: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match connection.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut),
    }
}

#[test]
fn a_connection_serves_many_requests() {
    let server = Server::start(&[]);
    let mut connection = connect(server.address);
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    for number in 0..50 {
        let request = match number % 3 {
            0 => Request::get("/health"),
            1 => Request::get("/nothing"),
            _ => Request::post("/webhook/trigger", &json!({"text": "!say hello"})),
        };
        connection.write_all(&request.bytes(server.address)).unwrap();
        let answer = Response::read(&mut reader, false).unwrap();
        assert_eq!(answer.status, [200, 404, 200][number % 3]);
    }
    let last = Request::get("/health").header("Connection", "close");
    connection.write_all(&last.bytes(server.address)).unwrap();
    assert_eq!(Response::read(&mut reader, false).unwrap().status, 200);
    assert!(closes(&mut connection));
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Server::start(&[]);
    let mut bytes = Vec::new();
    for number in 0..40 {
        let request = if number % 2 == 0 {
            Request::post(
                "/webhook/trigger",
                &json!({"text": format!("!sleep {}\n!say {number}", 40 - number)}),
            )
        } else {
            Request::get(&format!("/nothing/{number}"))
        };
        bytes.extend_from_slice(&request.bytes(server.address));
    }
    let answers = answers(&server, &bytes);
    assert_eq!(answers.len(), 40);
    for (number, answer) in answers.iter().enumerate() {
        if number % 2 == 0 {
            assert_eq!(answer.json()["response"], number.to_string());
        } else {
            assert_eq!(answer.status, 404);
        }
    }
}

#[test]
fn a_request_cannot_hide_in_another() {
    let server = Server::start(&["dashboard.auth_token=t0ken"]);
    let hidden = "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Hidden: 1\r\n\r\n";
    let check = |head: &str, body: &str| {
        let bytes = format!(
            "POST /webhook/trigger HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{head}\r\n{body}"
        );
        let found = answers(&server, bytes.as_bytes());
        let hidden_found =
            found.iter().filter(|answer| answer.text().contains("\"ok\"") && answer.status == 200).count();
        assert_eq!(hidden_found, 0, "{head:?} let a request through: {found:?}");
        assert!(found.first().is_none_or(|first| first.status >= 400), "{head:?}: {found:?}");
    };
    let length = hidden.len();
    check(
        &format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        &format!("0\r\n\r\n{hidden}"),
    );
    check(
        &format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
        &format!("0\r\n\r\n{hidden}"),
    );
    check("Content-Length: 0\r\nContent-Length: 2\r\n", hidden);
    check("Content-Length: 2, 0\r\n", hidden);
    check("Content-Length: +0\r\n", hidden);
    check("Content-Length: 0x0\r\n", hidden);
    check("Content-Length: -1\r\n", hidden);
    check("Content-Length: 0 0\r\n", hidden);
    check("Transfer-Encoding: xchunked\r\n", &format!("0\r\n\r\n{hidden}"));
    check("Transfer-Encoding: chunked, identity\r\n", &format!("0\r\n\r\n{hidden}"));
    check("Transfer-Encoding: identity\r\nContent-Length: 5\r\n", &format!("0\r\n\r\n{hidden}"));
    check("Transfer-Encoding : chunked\r\n", &format!("0\r\n\r\n{hidden}"));
    check("Transfer-Encoding: chunked\r\n", &format!("zz\r\n{hidden}"));
    check("Transfer-Encoding: chunked\r\n", &format!("ffffffffffffffff1\r\n{hidden}"));
    check("X: a\r\n Transfer-Encoding: chunked\r\n", &format!("0\r\n\r\n{hidden}"));
    check("X-Null: a\0b\r\n", hidden);
}

#[test]
fn a_repeated_equal_length_is_one_or_refused() {
    let server = Server::start(&[]);
    let body = r#"{"text": "!say hello"}"#;
    let bytes = format!(
        "POST /webhook/trigger HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {0}\r\nContent-Length: {0}\r\n\r\n{body}",
        body.len()
    );
    let found = answers(&server, bytes.as_bytes());
    assert!(found.len() == 1 && [200, 400].contains(&found[0].status), "{found:?}");
}

#[test]
fn slow_request_head_times_out() {
    let server = Server::start(&["server.header_timeout_seconds=1"]);
    let begun = Instant::now();
    let mut silent = connect(server.address);
    let mut slow = connect(server.address);
    slow.write_all(b"GET /health HTTP/1.1\r\n").unwrap();
    let mut drip = connect(server.address);
    let dripping = std::thread::spawn({
        let mut drip = drip.try_clone().unwrap();
        move || {
            drip.write_all(b"GET /health HTTP/1.1\r\nX: ").ok();
            // A byte at a time must not buy more time; ends when the server closes.
            while drip.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    });
    assert!(closes(&mut slow));
    assert!(closes(&mut drip));
    assert!(begun.elapsed() < Duration::from_secs(5), "one second is allowed");
    assert!(begun.elapsed() >= Duration::from_millis(900));
    dripping.join().unwrap();
    assert!(closes(&mut silent), "nor may a connection say nothing for ever");
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn slow_request_body_times_out() {
    let server = Server::start(&["server.body_timeout_seconds=1"]);
    let begun = Instant::now();
    for framing in ["Content-Length: 100", "Transfer-Encoding: chunked"] {
        let mut connection = connect(server.address);
        let head = format!(
            "POST /webhook/trigger HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
        );
        connection.write_all(head.as_bytes()).unwrap();
        let mut reader = BufReader::new(connection);
        let answer = Response::read(&mut reader, false).expect("an answer");
        assert_eq!(answer.status, 408, "{framing}");
        answer.problem();
        answer.assert_guarded();
    }
    assert!(begun.elapsed() < Duration::from_secs(8));
}

#[test]
fn truncated_body_disturbs_no_other_client() {
    let server = Server::start(&[]);
    for _ in 0..20 {
        let mut connection = connect(server.address);
        let head = "POST /webhook/trigger HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"text\"";
        connection.write_all(head.as_bytes()).unwrap();
    }
    assert_eq!(server.get("/api/sessions").json()["count"], 0);
}

#[test]
fn connections_are_limited_and_given_back() {
    let server = Server::start(&["server.max_connections=8"]);
    let held: Vec<TcpStream> = (0..8).map(|_| connect(server.address)).collect();
    // Whether a further one is served at once; it may wait, be refused or be closed.
    let is_served = |wait: u64| {
        let Ok(mut connection) = TcpStream::connect(server.address) else { return false };
        connection.set_read_timeout(Some(Duration::from_millis(wait))).unwrap();
        let _ = connection.write_all(&Request::get("/health").bytes(server.address));
        Response::read(&mut BufReader::new(connection), false).is_ok_and(|answer| answer.status == 200)
    };
    eventually("all eight are in use", || (!is_served(100)).then_some(()));
    drop(held);
    eventually("a place is free again", || is_served(1000).then_some(()));
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn sockets_count_as_connections_and_are_given_back() {
    let server = Server::start(&["server.max_connections=8"]);
    for _ in 0..5 {
        let sockets: Vec<_> = (0..7).map(|_| server.chat("default")).collect();
        drop(sockets);
        eventually("they are gone", || {
            let mut connection = TcpStream::connect(server.address).ok()?;
            connection.set_read_timeout(Some(Duration::from_millis(500))).ok()?;
            connection.write_all(&Request::get("/health").bytes(server.address)).ok()?;
            Response::read(&mut BufReader::new(connection), false).ok().filter(|answer| answer.status == 200)
        });
    }
}

/// A nonsense of many shapes: pure noise, broken requests, cut and mixed good ones.
fn nonsense(random: &mut Random) -> Vec<u8> {
    let good = [
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST /webhook/trigger HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"text\": \"!say\"}",
        "GET /ws/chat HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        "GET /ws/chat HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: aethon.chat.v1\r\n\r\n",
        "DELETE /api/sessions/%ff%00%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "PATCH /api/sessions/webchat:%F0%9F HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        "GET /api/sessions?limit=99999999999999999999&cursor=%00&q=%27%22%3B*%5E(NEAR HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    let mut bytes = random.pick(&good).as_bytes().to_vec();
    match random.between(0, 6) {
        0 => {
            let length = random.between(0, 2000);
            random.bytes(length)
        }
        1 => {
            // Some bytes replaced.
            for _ in 0..random.between(1, 8) {
                let at = usize::try_from(random.between(0, bytes.len() as u64)).unwrap();
                bytes[at] = random.bytes(1)[0];
            }
            bytes
        }
        2 => {
            let keep = random.between(0, bytes.len() as u64);
            bytes.truncate(usize::try_from(keep).unwrap());
            bytes
        }
        3 => {
            // A good upgrade or request with noise behind it.
            let length = random.between(1, 3000);
            let noise = random.bytes(length);
            bytes.extend_from_slice(&noise);
            bytes
        }
        4 => {
            let line = format!(
                "{} {} HTTP/1.1\r\n",
                "A".repeat(usize::try_from(random.between(0, 300)).unwrap()),
                random.number()
            );
            line.repeat(usize::try_from(random.between(1, 200)).unwrap()).into_bytes()
        }
        _ => {
            let other = random.pick(&good).as_bytes().to_vec();
            let at = usize::try_from(random.between(0, bytes.len() as u64)).unwrap();
            bytes.splice(at..at, other);
            bytes
        }
    }
}

#[test]
fn random_bytes_do_not_crash_the_server() {
    let server = Server::start(&["server.header_timeout_seconds=2", "server.body_timeout_seconds=2"]);
    let mut random = Random::new(20_261_120);
    for round in 0..600 {
        let bytes = nonsense(&mut random);
        let mut connection = connect(server.address);
        connection.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let _ = connection.write_all(&bytes);
        if round % 4 == 0 {
            let _ = connection.shutdown(Shutdown::Write);
            let _ = connection.read(&mut [0; 4096]);
        }
        if round % 100 == 0 {
            assert_eq!(server.get("/health").status, 200, "after {round}");
        }
    }
    let mut chat = server.chat("sane");
    assert_eq!(chat.say("m1", "!say alive").last().unwrap()["text"], "alive");
    drop(chat);
    server.signal(rustix::process::Signal::TERM);
    let (status, stderr) = server.wait();
    assert_eq!(status.code(), Some(0));
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn hostile_parameters_do_not_crash_the_server() {
    let server = Server::start(&[]);
    server.chat("default").say("m1", "!say hello");
    let odd = [
        "%00",
        "%ff",
        "%F0%9F%A6%80",
        "'",
        "\"",
        "%22%22",
        "*",
        "%25",
        "NEAR(a)",
        "a%20AND",
        "-a",
        "(",
        "%E2%80%AE",
        "a:b",
        "^",
        "{}",
        "%0a",
        "18446744073709551616",
        "-9223372036854775809",
        "1e9",
        "NaN",
        "0x10",
        "%C0%AE",
    ];
    for value in odd {
        for target in [
            format!("/api/sessions?q={value}"),
            format!("/api/sessions?limit={value}"),
            format!("/api/sessions?cursor={value}"),
            format!("/api/sessions/{value}"),
            format!("/api/sessions/webchat:{value}"),
            format!("/api/sessions/webchat:default?before={value}"),
            format!("/api/sessions/webchat:default/export?format={value}"),
            format!("/api/logs?level={value}&limit={value}"),
        ] {
            let answer = server.get(&target);
            assert!(answer.status < 500, "{target}: {} {}", answer.status, answer.text());
        }
        let long = value.repeat(500);
        assert!(server.get(&format!("/api/sessions?q={long}")).status < 500, "{value} often");
    }
    assert_eq!(server.get("/api/sessions").json()["count"], 1);
}

#[test]
fn many_turns_run_at_once() {
    let server = Server::start(&[]);
    let address = server.address;
    let turn = move |number: usize| {
        let body = json!({"text": format!("!sleep 200\n!say {number}")});
        let answer = Request::post("/webhook/trigger", &body).send(address).json();
        answer["response"].as_str() == Some(number.to_string().as_str())
    };
    let begun = Instant::now();
    let turns: Vec<_> = (0..100).map(|number| std::thread::spawn(move || turn(number))).collect();
    assert!(turns.into_iter().all(|turn| turn.join().unwrap()));
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?} for what takes 20 s one after the other",
        begun.elapsed()
    );
}
