//! The owner is never crowded out: what strangers send takes no more than its share of turns, bytes, connections and storage.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use aethon_tests::http::connect;
use aethon_tests::{Request, Response, Server, eventually, hostile, run_cli, signature};
use serde_json::{Value, json};

const SECRET: &str = "crowd s3cret";
/// How long the owner may wait for anything. A release build on an idle machine takes a fraction of a second.
const SOON: Duration = Duration::from_secs(10);
/// A turn that outlasts the test.
const ASLEEP: &str = "!sleep 120000";

fn server(settings: &[&str]) -> Server {
    let secret = format!("webhook.secret=\"{SECRET}\"");
    Server::start(&[&[secret.as_str()], settings].concat())
}

fn signed(target: &str, body: &Value) -> Request {
    let body = body.to_string();
    let request = Request::new("POST", target).header("Content-Type", "application/json");
    request.header("X-Aethon-Signature", &signature(SECRET, body.as_bytes())).body(body)
}

/// Sends a request and leaves its connection open, without waiting for the response.
fn begin(server: &Server, request: &Request) -> TcpStream {
    let mut connection = connect(server.address);
    connection.write_all(&request.bytes(server.address)).unwrap();
    connection
}

/// Waits until all but so many of these calls are refused, and returns the refusals.
fn refusals(calls: &mut Vec<TcpStream>, left: usize) -> Vec<Response> {
    for call in &*calls {
        call.set_nonblocking(true).unwrap();
    }
    let mut refused = Vec::new();
    eventually("those beyond the share are refused", || {
        calls.retain_mut(|call| {
            if call.peek(&mut [0]).is_err() {
                return true;
            }
            call.set_nonblocking(false).unwrap();
            refused.push(Response::read(&mut BufReader::new(call), false).unwrap());
            false
        });
        (calls.len() <= left).then_some(())
    });
    refused
}

/// Has the owner use everything, and fails if anything is refused or slow.
fn the_owner_is_served(server: &Server, text: &str) {
    let timed = |what: &str, act: &mut dyn FnMut()| {
        let begun = Instant::now();
        act();
        assert!(begun.elapsed() < SOON, "{what} took {:?}", begun.elapsed());
    };
    for path in ["/health", "/api/status", "/api/sessions", "/api/ready"] {
        timed(path, &mut || {
            let answer = server.get(path);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        });
    }
    timed("the plain socket", &mut || {
        let mut socket = server.socket("/ws/chat?session=plain");
        socket.send(text);
        assert_eq!(socket.text(), "here");
    });
    timed("the chat", &mut || {
        let frames = server.chat("page").say("1", text);
        assert_eq!(frames.last().unwrap()["stop_reason"], "end", "{frames:?}");
    });
    timed("the terminal", &mut || {
        let answer = run_cli(server.home().path(), &["ask", "!say here"], None);
        assert_eq!(String::from_utf8_lossy(&answer.stdout).trim(), "here");
    });
}

#[test]
fn slow_webhooks_leave_chat_terminal_and_api_usable() {
    let server = server(&[]);
    let body = json!({ "text": ASLEEP });
    let mut calls: Vec<TcpStream> =
        (0..900).map(|_| begin(&server, &signed("/webhook/trigger", &body))).collect();
    // Three quarters of 512 turns.
    for refused in refusals(&mut calls, 384) {
        assert_eq!((refused.status, refused.problem().as_str()), (503, "busy"));
        assert!(refused.header("retry-after").is_some());
    }
    assert_eq!(calls.len(), 384, "no more than their share was refused");
    the_owner_is_served(&server, "!say here");
}

#[test]
fn queued_large_messages_use_bounded_memory() {
    let server = server(&[]);
    let before = server.resident();
    let body = json!({ "text": format!("{ASLEEP}\n{}", "word ".repeat(190_000)) });
    let request = signed("/webhook/trigger", &body);
    let mut calls: Vec<TcpStream> = (0..80).map(|_| begin(&server, &request)).collect();
    // Three quarters of 64 MiB.
    let refused = refusals(&mut calls, 53);
    assert!(refused.iter().all(|refused| refused.status == 503 && refused.problem() == "busy"));
    the_owner_is_served(&server, &format!("!say here\n{}", "mine ".repeat(100_000)));
    let grown = (server.most_resident() - before) >> 10;
    assert!(grown < 400, "{grown} MiB for 48 MiB that wait");
}

#[test]
fn callers_repeating_a_key_leave_connections_for_the_owner() {
    let server = server(&["server.max_connections=40"]);
    let body = json!({ "text": ASLEEP });
    let request = signed("/webhook/trigger", &body).header("Idempotency-Key", "the same");
    let mut calls: Vec<TcpStream> = (0..35).map(|_| begin(&server, &request)).collect();
    for refused in refusals(&mut calls, 30) {
        assert_eq!((refused.status, refused.problem().as_str()), (503, "busy"));
    }
    assert_eq!(server.get("/api/status").status, 200);
}

#[test]
fn unverified_webhook_bodies_use_bounded_memory() {
    let server = server(&[]);
    let before = server.resident();
    let body = vec![b' '; 1 << 20];
    let wrong = signature("another secret", &body);
    let request = |path: &str, header: &str| {
        let request = Request::new("POST", path).header("Content-Type", "application/json");
        request.header(header, &wrong).body(body.clone()).bytes(server.address)
    };
    let bytes = request("/webhook/trigger", "X-Aethon-Signature");
    let mut held: Vec<(TcpStream, usize)> = (0..200).map(|_| (connect(server.address), 0)).collect();
    for (connection, _) in &held {
        connection.set_nonblocking(true).unwrap();
    }
    // All but the last byte, as far as it is taken.
    let mut is_taken = true;
    while std::mem::take(&mut is_taken) {
        for (connection, sent) in &mut held {
            if let Ok(taken @ 1..) = connection.write(&bytes[*sent..bytes.len() - 1]) {
                *sent += taken;
                is_taken = true;
            }
        }
    }
    let small = signed("/webhook/trigger", &json!({"text": "!say small"}));
    assert_eq!(server.send(&small).json()["response"], "small", "small ones pass");
    the_owner_is_served(&server, "!say here");
    let grown = (server.most_resident() - before) >> 10;
    assert!(grown < 80, "{grown} MiB for bodies that nobody has signed");
    // Once they are gone, large ones pass as well.
    drop(held);
    let large =
        signed("/webhook/trigger", &json!({"text": format!("!say large\n{}", "word ".repeat(100_000))}));
    assert_eq!(server.send(&large).json()["response"], "large");
}

/// A call with a text of 0.9 MB.
fn large_call(session: Option<String>) -> Request {
    let text = format!("!say ok\n{}", "word ".repeat(180_000));
    signed("/webhook/trigger", &json!({ "text": text, "session": session }))
}

#[test]
fn storage_filled_by_strangers_still_serves_the_owner() {
    let server = server(&["storage.max_mb=24"]);
    // One-shot sessions go as others come: four times as much as they may have together.
    for n in 0..16 {
        let answer = server.send(&large_call(None));
        assert_eq!(answer.status, 200, "{n}: {}", answer.text());
    }
    let sessions = server.get("/api/sessions?limit=100").json()["sessions"].as_array().unwrap().len();
    assert!((1..10).contains(&sessions), "{sessions} of 16 are left");
    // State kept by name is refused at three quarters.
    let refused =
        (0..40).map(|n| server.send(&large_call(Some(format!("n{n}"))))).find(|answer| answer.status != 200);
    let refused = refused.expect("it is refused at some point");
    assert_eq!((refused.status, refused.problem().as_str()), (503, "storage_full"), "{}", refused.text());
    assert!(refused.text().contains("`storage.max_mb`") && refused.header("retry-after").is_some());
    the_owner_is_served(&server, &format!("!say here\n{}", "mine ".repeat(100_000)));
    let size = server.home().path().join("aethon.db").metadata().unwrap().len();
    assert!(size <= 24 << 20, "{size}");
}

#[test]
fn reached_limit_is_named_instead_of_a_full_disk() {
    let server = server(&["storage.max_mb=8"]);
    assert_eq!(server.send(&signed("/webhook/trigger", &json!({"text": "!say once"}))).status, 200);
    let text = format!("!say ok\n{}", "word ".repeat(120_000));
    let refused = (0..40).find_map(|n| {
        let mut chat = server.chat(&format!("s{n}"));
        chat.send_json(&json!({"type": "message", "id": "1", "text": text}));
        loop {
            let frame = chat.frame();
            match frame["type"].as_str() {
                Some("error") => return Some(frame),
                Some("done") => return None,
                _ => {}
            }
        }
    });
    let refused = refused.expect("it is refused at some point");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("`storage.max_mb`") && !message.to_lowercase().contains("disk"), "{message}");
    let oneshots = server.get("/api/sessions?limit=100").text();
    assert!(!oneshots.contains("webhook:trigger:"), "one-shot sessions went first");
}

#[test]
fn mcp_server_announcing_changes_endlessly_costs_little() {
    let command = format!("mcp.servers.storm.command={:?}", env!("CARGO_BIN_EXE_fake-mcp"));
    let server = server(&[&command, "mcp.servers.storm.args=[\"storm\"]"]);
    eventually("its tools are there", || {
        server.feature("mcp")["detail"].as_str()?.contains("19872 left out").then_some(())
    });
    the_owner_is_served(&server, "!say here");
    let log = server.stderr();
    assert!(log.len() < 20 << 10, "{} bytes of log", log.len());
    assert!(log.contains("left out"), "{log}");
}

#[test]
fn document_reading_ends_with_its_turn() {
    let server = server(&[]);
    std::fs::write(server.home().path().join("workspace/long.pdf"), hostile::long_lasting()).unwrap();
    let mut chat = server.chat("reader");
    chat.send_json(
        &json!({"type": "message", "id": "1", "text": "!tool file_read {\"path\": \"long.pdf\"}"}),
    );
    chat.until("tool");
    eventually("it is read", || (hostile::readers(server.process()) == 1).then_some(()));
    let begun = Instant::now();
    chat.send_json(&json!({"type": "stop"}));
    let frames = chat.until("done");
    assert_eq!(frames.last().unwrap()["stop_reason"], "stopped", "{frames:?}");
    eventually("the reader is gone long before the document would be at its end", || {
        (hostile::readers(server.process()) == 0).then_some(())
    });
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}
