//! Who is let in: Origin, token, and the form of the handshake.

use aethon_http::Options;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Error;

use crate::client::Client;
use crate::stage::Stage;

const SOCKETS: [&str; 2] = ["/ws/chat", "/ws/dashboard"];

/// `None` when the socket is open, else the code that it was closed with.
async fn outcome(stage: &Stage, path: &str, headers: &[(&str, &str)]) -> Option<u16> {
    Client::connect(stage.address, path, headers).await.settle().await.err()
}

#[tokio::test]
async fn a_foreign_origin_is_closed_with_1008_token_or_not() {
    let open = Stage::open().await;
    let closed = Stage::with_token("sesame").await;
    for path in SOCKETS {
        for stage in [&open, &closed] {
            let own = format!("http://{}", stage.address);
            for (origin, expected) in [
                (own.as_str(), None),
                ("http://evil.example", Some(1008)),
                ("null", Some(1008)),
                ("http://127.0.0.1.evil.example", Some(1008)),
            ] {
                let headers = [("origin", origin), ("authorization", "Bearer sesame")];
                assert_eq!(outcome(stage, path, &headers).await, expected, "{path} {origin}");
            }
        }
    }
}

#[tokio::test]
async fn the_token_is_needed_where_there_is_one() {
    let stage = Stage::with_token("sesame").await;
    for path in SOCKETS {
        assert_eq!(outcome(&stage, path, &[]).await, Some(1008), "{path}");
        assert_eq!(outcome(&stage, path, &[("authorization", "Bearer wrong")]).await, Some(1008), "{path}");
        assert_eq!(outcome(&stage, path, &[("authorization", "Bearer sesame")]).await, None, "{path}");
        assert_eq!(outcome(&stage, &format!("{path}?token=sesame"), &[]).await, None, "{path}");
        assert_eq!(outcome(&stage, path, &[("cookie", "aethon_dash=sesame")]).await, None, "{path}");
    }
}

#[tokio::test]
async fn a_refused_peer_of_the_protocol_sees_the_code_too() {
    let stage = Stage::with_token("sesame").await;
    let mut client =
        Client::connect(stage.address, "/ws/chat", &[("sec-websocket-protocol", "aethon.chat.v1")]).await;
    assert_eq!(client.answer.headers()["sec-websocket-protocol"], "aethon.chat.v1");
    assert_eq!(client.code().await, Some(1008));
    assert!(stage.assistant.inbound().is_empty());
}

#[tokio::test]
async fn input_of_a_refused_peer_is_never_read() {
    let stage = Stage::with_token("sesame").await;
    let mut client = Client::connect(stage.address, "/ws/chat", &[]).await;
    client.send("hello").await;
    assert_eq!(client.code().await, Some(1008));
    assert!(stage.assistant.inbound().is_empty());
}

#[tokio::test]
async fn the_dashboard_socket_goes_with_the_dashboard() {
    let stage = Stage::with(Options { dashboard_enabled: false, ..Options::default() }).await;
    let error = Client::try_connect(stage.address, "/ws/dashboard", &[]).await.err().unwrap();
    assert!(matches!(error, Error::Http(answer) if answer.status() == 404));
    assert_eq!(outcome(&stage, "/ws/chat", &[]).await, None);
}

#[tokio::test]
async fn frames_right_behind_the_handshake_are_not_lost() {
    let stage = Stage::open().await;
    let mut tcp = TcpStream::connect(stage.address).await.unwrap();
    let host = stage.address;
    let head = format!(
        "GET /ws/chat HTTP/1.1\r\nHost: {host}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    let mut bytes = head.into_bytes();
    // A masked text frame `hi`, with a mask of zeros.
    bytes.extend([0x81, 0x82, 0, 0, 0, 0, b'h', b'i']);
    tcp.write_all(&bytes).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(&[0x81, 2, b'h', b'i']) {
        let mut buffer = [0; 1024];
        let length = tcp.read(&mut buffer).await.unwrap();
        assert!(length > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend(&buffer[..length]);
    }
    let answer = String::from_utf8_lossy(&answer).to_ascii_lowercase();
    assert!(answer.starts_with("http/1.1 101"), "{answer}");
    assert!(answer.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{answer}");
    assert!(!answer.contains("content-length"), "{answer}");
}
