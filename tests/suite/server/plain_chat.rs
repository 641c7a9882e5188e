//! `/ws/chat` without a subprotocol: text in, text out (docs/contract/sockets.md).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aethon_tests::{Server, Socket, eventually};

#[test]
fn a_message_in_and_one_reply_out() {
    let server = Server::start(&[]);
    let mut socket = server.socket("/ws/chat");
    assert!(socket.handshake.headers().get("sec-websocket-protocol").is_none());
    socket.send("!say **hello**");
    assert_eq!(socket.text(), "**hello**");
    socket.send("!tool current_time {}\n!then\n!say done");
    assert_eq!(socket.text(), "done");
    assert!(socket.is_silent(Duration::from_millis(400)), "nothing else is ever sent");
}

#[test]
fn replies_come_in_the_order_of_the_messages() {
    let server = Server::start(&[]);
    let mut socket = server.socket("/ws/chat");
    for number in 0..30 {
        socket.send(&format!("!sleep {}\n!say {number}", (number % 3) * 10));
    }
    for number in 0..30 {
        assert_eq!(socket.text(), number.to_string());
    }
    assert_eq!(server.said("webchat:default").len(), 60);
}

#[test]
fn the_address_names_the_session() {
    let server = Server::start(&[]);
    for (target, session) in [
        ("/ws/chat", "webchat:default"),
        ("/ws/chat?session=", "webchat:default"),
        ("/ws/chat?session=notes", "webchat:notes"),
        ("/ws/chat?x=1&session=two%20words", "webchat:two%20words"),
    ] {
        let mut socket = server.socket(target);
        socket.send(&format!("!say in {session}"));
        assert_eq!(socket.text(), format!("in {session}"));
        let said = server.said(session);
        assert_eq!(said.last().unwrap().1, format!("in {session}"), "{target}");
    }
    assert_eq!(server.get("/api/sessions").json()["count"], 3);
}

#[test]
fn a_reply_that_looks_like_a_frame_stays_text() {
    let server = Server::start(&["model.provider=echo"]);
    let mut socket = server.socket("/ws/chat");
    for text in [
        r#"{"type":"done","text":"forged"}"#,
        r#"{"type":"message","id":"m1","text":"x"}"#,
        "line one\nline two\n\n- a\n- b",
        "\u{1f980} \u{200f}right\u{200e} e\u{301}",
        "<script>alert(1)</script>",
    ] {
        socket.send(text);
        assert_eq!(socket.text(), text);
    }
}

#[test]
fn plain_failure_is_a_single_reply() {
    let server = Server::start(&["model.max_retries=0"]);
    let mut socket = server.socket("/ws/chat");
    for kind in ["rate_limit", "overloaded", "auth", "context_length", "network", "malformed"] {
        socket.send(&format!("!error {kind}"));
        let told = socket.text();
        assert!(told.len() > 20 && !told.starts_with('{'), "{kind}: a sentence for a person: {told:?}");
    }
    socket.send("!say well again");
    assert_eq!(socket.text(), "well again");
}

#[test]
fn an_empty_message_gets_a_reply_too() {
    let server = Server::start(&[]);
    let mut socket = server.socket("/ws/chat");
    for text in ["", "  \n "] {
        socket.send(text);
        assert!(!socket.text().is_empty());
    }
    socket.send("!say next");
    assert_eq!(socket.text(), "next");
}

#[test]
fn an_unknown_subprotocol_is_not_agreed_to() {
    let server = Server::start(&[]);
    // The client library insists on an agreed protocol, so the bytes are written by hand.
    let request = aethon_tests::Request::get("/ws/chat")
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("Sec-WebSocket-Protocol", "chat.v9, other");
    let answer = server.send(&request);
    assert_eq!(answer.status, 101);
    assert!(answer.header("sec-websocket-protocol").is_none());
    assert_eq!(answer.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "RFC 6455, 1.3");
}

#[test]
fn the_json_protocol_is_agreed_to_among_others() {
    let server = Server::start(&[]);
    let offer = [("Sec-WebSocket-Protocol", "other, aethon.chat.v1")];
    let mut socket = Socket::open(server.address, "/ws/chat", &offer);
    assert_eq!(socket.handshake.headers()["sec-websocket-protocol"], "aethon.chat.v1");
    assert_eq!(socket.frame()["type"], "ready");
}

#[test]
fn answer_is_stored_after_the_client_left() {
    let server = Server::start(&[]);
    let mut socket = server.socket("/ws/chat?session=left");
    socket.send("!stream 5 20\n!say the end");
    // Stored means that it was taken in; then the client goes.
    eventually("the message is stored", || (server.get("/api/sessions").json()["count"] == 1).then_some(()));
    drop(socket);
    eventually("it is answered", || {
        let said = server.said("webchat:left");
        said.last().filter(|(role, text)| role == "assistant" && text.ends_with("the end")).map(drop)
    });
}

#[test]
fn a_client_that_does_not_read_costs_little() {
    let server = Server::start(&["model.provider=echo"]);
    let text = "x".repeat(200_000);
    let mut socket = Socket::narrow(server.address, "/ws/chat", &[]);
    socket.send(&text);
    assert_eq!(socket.text().len(), text.len());
    let before = server.resident();
    // Far more than all buffers of the system together, so that the rest would be the server's.
    let sent: usize = 200;
    let address = server.address;
    // The server stops reading from who does not read, so sending blocks: it happens in a thread.
    let mut writer = socket.stream().try_clone().unwrap();
    let frame = masked_text(&text);
    let written = Arc::new(AtomicUsize::new(0));
    let writing = std::thread::spawn({
        let written = Arc::clone(&written);
        move || {
            for _ in 0..sent {
                std::io::Write::write_all(&mut writer, &frame).unwrap();
                written.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let mut other = Socket::open(address, "/ws/chat?session=other", &[]);
    other.send("still quick");
    assert_eq!(other.text(), "still quick", "others do not wait");
    let mut seen = 0;
    eventually("the server reads no further", || {
        let last = std::mem::replace(&mut seen, written.load(Ordering::Relaxed));
        std::thread::sleep(Duration::from_millis(1500));
        (seen > 0 && seen == last).then_some(())
    });
    assert!(seen < sent, "all {sent} were taken from a client that reads nothing");
    let grown = server.resident().saturating_sub(before);
    assert!(grown < 12 * 1024, "{grown} KiB more");
    for _ in 0..sent {
        assert_eq!(socket.text().len(), text.len());
    }
    writing.join().unwrap();
    let grown = server.resident().saturating_sub(before);
    assert!(grown < 24 * 1024, "{grown} KiB more");
}

#[test]
fn stalled_client_is_closed_with_1013() {
    let server = Server::start(&["model.provider=echo"]);
    let mut socket = Socket::narrow(server.address, "/ws/chat", &[]);
    let frame = masked_text(&"x".repeat(900_000));
    let stream = socket.stream().try_clone().unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
    // Until nothing goes out for six seconds: the server has stopped reading, because its answers are not taken.
    let (mut at, mut stuck) = (0, 0);
    while stuck < 3 {
        match std::io::Write::write(&mut (&stream), &frame[at..]) {
            Ok(sent) => (at, stuck) = ((at + sent) % frame.len(), 0),
            Err(_) => stuck += 1,
        }
    }
    std::thread::sleep(Duration::from_secs(27));
    assert_eq!(socket.close_code(), 1013);
}

/// A text frame of a client, masked with zeros.
fn masked_text(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81, 0xff];
    frame.extend_from_slice(&(text.len() as u64).to_be_bytes());
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text.as_bytes());
    frame
}
