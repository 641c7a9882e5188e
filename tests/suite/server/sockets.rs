//! Both sockets: who may open them, and how they are closed (docs/contract/sockets.md).

use std::io::Write;

use aethon_tests::{Server, Socket};
use tungstenite::Message;
use tungstenite::protocol::frame::coding::CloseCode;

const V1: (&str, &str) = ("Sec-WebSocket-Protocol", "aethon.chat.v1");
const TARGETS: [&str; 2] = ["/ws/chat", "/ws/dashboard"];

/// The code with which a socket is closed that is opened with these headers; the handshake itself must succeed.
fn code(server: &Server, target: &str, headers: &[(&str, &str)]) -> u16 {
    Socket::open(server.address, target, headers).close_code()
}

fn is_open(server: &Server, target: &str, headers: &[(&str, &str)]) -> bool {
    let mut socket = Socket::open(server.address, target, headers);
    if target.starts_with("/ws/chat") {
        socket.send("!say open");
        return socket.text() == "open";
    }
    socket.has_handled_all()
}

fn foreign(server: &Server) -> Vec<String> {
    let own = format!("http://{}", server.address);
    let port = server.address.port();
    vec![
        "https://evil.example".into(),
        "null".into(),
        format!("{own}.evil.example"),
        format!("http://evil.example:{port}"),
        format!("http://127.0.0.1:{}", port ^ 1),
        "http://127.0.0.1".into(),
        format!("http://x127.0.0.1:{port}"),
        format!("{own}@evil.example"),
        "file://".into(),
        "garbage".into(),
    ]
}

#[test]
fn a_foreign_origin_is_closed_with_1008_token_or_not() {
    let open = Server::start(&[]);
    let guarded = Server::start(&["dashboard.auth_token=t0ken"]);
    for target in TARGETS {
        for origin in foreign(&open) {
            assert_eq!(code(&open, target, &[("Origin", &origin)]), 1008, "{target} {origin}");
        }
        for origin in foreign(&guarded) {
            let headers = [("Origin", origin.as_str()), ("Authorization", "Bearer t0ken")];
            assert_eq!(code(&guarded, target, &headers), 1008, "{target} {origin} with the right token");
        }
    }
    assert_eq!(code(&open, "/ws/chat", &[("Origin", "https://evil.example"), V1]), 1008);
}

#[test]
fn the_own_origin_and_no_origin_are_let_in() {
    let server = Server::start(&[]);
    let own = format!("http://{}", server.address);
    let name = format!("localhost:{}", server.address.port());
    let named = format!("http://{name}");
    let upper = format!("HTTP://LOCALHOST:{}", server.address.port());
    for target in TARGETS {
        assert!(is_open(&server, target, &[]));
        assert!(is_open(&server, target, &[("Origin", &own)]));
        assert!(is_open(&server, target, &[("Host", &name), ("Origin", &named)]));
        assert!(is_open(&server, target, &[("Host", &name), ("Origin", &upper)]));
        assert_eq!(
            code(&server, target, &[("Host", &name), ("Origin", &own)]),
            1008,
            "the same as the Host header"
        );
    }
}

#[test]
fn an_allowed_origin_is_let_in() {
    let server = Server::start(&["channels.webchat.allowed_origins=[\"https://home.example\"]"]);
    for target in TARGETS {
        assert!(is_open(&server, target, &[("Origin", "https://home.example")]));
        for origin in [
            "http://home.example",
            "https://home.example.evil.example",
            "https://home.example:8443",
            "https://xhome.example",
        ] {
            assert_eq!(code(&server, target, &[("Origin", origin)]), 1008, "{origin}");
        }
    }
}

#[test]
fn socket_without_a_valid_token_is_closed_with_1008() {
    let server = Server::start(&["dashboard.auth_token=t0ken"]);
    for target in TARGETS {
        for headers in [
            &[][..],
            &[("Authorization", "Bearer wrong")],
            &[("Authorization", "Bearer ")],
            &[("Cookie", "aethon_dash=wrong")],
            &[("Cookie", "aethon_dash=wrong"), ("Authorization", "Bearer t0ken")],
        ] {
            assert_eq!(code(&server, target, headers), 1008, "{target} {headers:?}");
        }
        assert_eq!(code(&server, &format!("{target}?token=wrong"), &[]), 1008);
        assert!(is_open(&server, target, &[("Authorization", "Bearer t0ken")]));
        assert!(is_open(&server, target, &[("Cookie", "aethon_dash=t0ken")]));
        assert!(is_open(&server, &format!("{target}?token=t0ken"), &[]));
    }
    let cookie = server.get("/dashboard?token=t0ken").header("set-cookie").unwrap().to_owned();
    let pair = cookie.split(';').next().unwrap();
    assert!(is_open(&server, "/ws/chat", &[("Cookie", pair)]), "as the page does it");
}

#[test]
fn frames_of_a_refused_peer_are_not_read() {
    let server = Server::start(&["dashboard.auth_token=t0ken"]);
    let mut socket = Socket::open(server.address, "/ws/chat", &[]);
    let _ = socket.send_message(Message::text("!say hello"));
    assert_eq!(socket.close_code(), 1008);
    let sessions = server.send(&aethon_tests::Request::get("/api/sessions").bearer("t0ken")).json();
    assert_eq!(sessions["count"], 0);
}

#[test]
fn a_frame_over_a_mebibyte_is_closed_with_1009() {
    let server = Server::start(&[]);
    for (target, headers) in [("/ws/chat", &[][..]), ("/ws/chat", &[V1]), ("/ws/dashboard", &[])] {
        let mut socket = Socket::open(server.address, target, headers);
        let _ = socket.send_message(Message::text("x".repeat((1 << 20) + 1)));
        assert_eq!(socket.close_code(), 1009, "{target}");
        // Told by its header alone, before a byte of it came.
        let mut socket = Socket::open(server.address, target, headers);
        let mut head = vec![0x81, 0xff];
        head.extend_from_slice(&(1_u64 << 40).to_be_bytes());
        head.extend_from_slice(&[0; 4]);
        socket.stream().write_all(&head).unwrap();
        assert_eq!(socket.close_code(), 1009, "{target}");
        // In parts, each of them small.
        let mut socket = Socket::open(server.address, target, headers);
        let part = vec![b'x'; 100_000];
        for number in 0..12 {
            let mut frame = vec![if number == 0 { 0x01 } else { 0x00 }, 0xff];
            frame.extend_from_slice(&(part.len() as u64).to_be_bytes());
            frame.extend_from_slice(&[0; 4]);
            frame.extend_from_slice(&part);
            if socket.stream().write_all(&frame).is_err() {
                break;
            }
        }
        assert_eq!(socket.close_code(), 1009, "{target}");
    }
    let mut socket = server.socket("/ws/chat");
    socket.send(&format!("!say fits\n{}", "x".repeat(300_000)));
    assert_eq!(socket.text(), "fits");
}

#[test]
fn non_text_frame_closes_with_its_code() {
    let server = Server::start(&[]);
    for (target, headers) in [("/ws/chat", &[][..]), ("/ws/chat", &[V1]), ("/ws/dashboard", &[])] {
        let mut socket = Socket::open(server.address, target, headers);
        assert!(socket.send_message(Message::binary(vec![1, 2, 3])));
        match target {
            "/ws/dashboard" => assert!(socket.has_handled_all(), "what is not understood is ignored there"),
            _ => assert_eq!(socket.close_code(), 1003, "a binary frame on {target}"),
        }
        let mut socket = Socket::open(server.address, target, headers);
        socket.stream().write_all(&[0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28]).unwrap();
        assert_eq!(socket.close_code(), 1007, "text that is not UTF-8 on {target}");
        for broken in [&[0x81, 0x02, b'h', b'i'][..], &[0xf1, 0x80, 0, 0, 0, 0], &[0x83, 0x80, 0, 0, 0, 0]] {
            let mut socket = Socket::open(server.address, target, headers);
            socket.stream().write_all(broken).unwrap();
            assert_eq!(socket.close_code(), 1002, "{broken:?} on {target}");
        }
    }
}

#[test]
fn a_name_that_cannot_be_a_session_is_refused() {
    let server = Server::start(&[]);
    for name in ["%00", "x%0ay", &"x".repeat(500)] {
        let target = format!("/ws/chat?session={name}");
        assert_eq!(code(&server, &target, &[]), 1008, "{target}");
        assert_eq!(code(&server, &target, &[V1]), 1008, "{target}");
    }
}

#[test]
fn pings_are_answered_and_a_close_is_returned() {
    let server = Server::start(&[]);
    let mut socket = server.socket("/ws/chat");
    socket.stream().write_all(&[0x89, 0x82, 0, 0, 0, 0, b'h', b'i']).unwrap();
    // A pong is read past; the reply shows that the socket still works.
    socket.send("!say here");
    assert_eq!(socket.text(), "here");
    socket.stream().write_all(&[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]).unwrap();
    assert_eq!(socket.close_code(), u16::from(CloseCode::Normal));
}

#[test]
fn a_slow_reader_is_closed_with_1013_and_costs_little() {
    let server = Server::start(&[]);
    let mut slow = Socket::narrow(server.address, "/ws/chat?session=busy", &[V1]);
    assert_eq!(slow.frame()["type"], "ready");
    slow.settle();
    let mut quick = server.chat("busy");
    quick.say("first", "!say first");
    let before = server.resident();
    let text = "x".repeat(100_000);
    for number in 0..25 {
        // More than the log and the buffers of the system hold, and done before the reader is cut for standing still.
        let frames = quick.say(&format!("m{number}"), &format!("!say {text}"));
        assert_eq!(frames.last().unwrap()["stop_reason"], "end");
    }
    let grown = server.resident().saturating_sub(before);
    assert!(grown < 96 * 1024, "{grown} KiB more");
    assert_eq!(slow.close_code(), 1013);
    assert_eq!(quick.say("last", "!say still quick").last().unwrap()["text"], "still quick");
}

#[test]
fn a_flood_of_messages_is_slowed_and_not_lost() {
    let server = Server::start(&["model.provider=echo"]);
    let mut socket = server.chat("default");
    for _ in 0..300 {
        socket.send("nonsense");
    }
    for _ in 0..300 {
        assert_eq!(socket.frame()["type"], "error");
    }
}

#[test]
fn every_socket_is_pinged_after_half_a_minute() {
    use std::io::Read;
    let server = Server::start(&[]);
    let begun = std::time::Instant::now();
    let mut sockets = [server.socket("/ws/chat"), server.chat("default"), server.socket("/ws/dashboard")];
    for socket in &mut sockets {
        let stream = socket.stream();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(45))).unwrap();
        // A silent client gets no other frame, so the first is the ping. The dashboard may be told
        // of log records, which are text frames.
        let mut head = [0; 2];
        stream.read_exact(&mut head).unwrap();
        while head[0] == 0x81 {
            let mut length = usize::from(head[1]);
            if length == 126 {
                let mut long = [0; 2];
                stream.read_exact(&mut long).unwrap();
                length = usize::from(u16::from_be_bytes(long));
            }
            stream.read_exact(&mut vec![0; length]).unwrap();
            stream.read_exact(&mut head).unwrap();
        }
        assert_eq!(head[0], 0x89, "a ping");
    }
    assert!(begun.elapsed() >= std::time::Duration::from_secs(25));
}
