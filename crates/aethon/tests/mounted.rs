//! The HTTP application in a server of the embedding program: the example, driven by a plain client.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    reason = "in tests a failed expectation is the result"
)]

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

#[path = "../examples/mount.rs"]
mod mount;

const LIMIT: Duration = Duration::from_secs(30);

/// Sends a request and returns the whole response.
async fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    timeout(LIMIT, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

async fn get(address: SocketAddr, path: &str) -> String {
    ask(address, &format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_the_api_and_the_sockets_work_beside_own_routes() {
    let home = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let path = home.path().to_owned();
    let served = tokio::spawn(async move {
        mount::serve(&path, listener, async { drop(stopped.await) }).await.map_err(|error| error.to_string())
    });

    let own = get(address, "/own").await;
    assert!(own.starts_with("HTTP/1.1 200") && own.contains("/own of the program itself"), "{own}");
    let page = get(address, "/assistant/").await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("/assistant/"), "{page}");
    let status = get(address, "/assistant/api/status").await;
    assert!(status.contains("application/json") && status.contains("echo"), "{status}");
    let body = r#"{"text": "hello"}"#;
    let post = format!(
        "POST /assistant/webhook/trigger HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = ask(address, &post).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("hello"), "{answer}");
    let foreign = post.replace("connection: close", "connection: close\r\norigin: https://evil.example");
    assert!(ask(address, &foreign).await.starts_with("HTTP/1.1 403"), "a foreign origin changes nothing");

    let stream = TcpStream::connect(address).await.unwrap();
    let (mut socket, _) =
        client_async(format!("ws://{address}/assistant/ws/chat?session=mounted"), stream).await.unwrap();
    socket.send(Message::text("over the socket")).await.unwrap();
    let answer = timeout(LIMIT, socket.next()).await.unwrap().unwrap().unwrap();
    assert!(answer.to_text().unwrap().contains("over the socket"), "{answer}");

    stop.send(()).unwrap();
    timeout(LIMIT, served).await.unwrap().unwrap().unwrap();
    // The socket ends with the assistant, not only with the server around it.
    while let Some(Ok(message)) = timeout(LIMIT, socket.next()).await.unwrap() {
        assert!(message.is_close() || message.is_ping(), "{message}");
    }
}

#[tokio::test]
async fn beyond_this_machine_a_mounted_assistant_wants_a_token() {
    let home = tempfile::tempdir().unwrap();
    let builder = || {
        let builder = aethon::Builder::new().home(home.path()).set("model.provider=echo").mount();
        builder.set("channels.webchat.host=0.0.0.0")
    };
    let refused = aethon::Service::start(builder().load().unwrap()).await.err().unwrap();
    assert!(refused.is_refusal() && refused.to_string().contains("dashboard.auth_token"), "{refused}");
    let token = builder().set_value("dashboard.auth_token", "a-long-enough-token-for-this");
    let service = aethon::Service::start(token.load().unwrap()).await.unwrap();
    let peer = "192.0.2.1".parse().unwrap();
    let request = |token: &str| {
        let request = hyper::Request::get("/api/status").header("host", "assistant.example");
        request.header("authorization", format!("Bearer {token}")).body(String::new()).unwrap()
    };
    let http = service.http().unwrap();
    assert_eq!(http.call(request("wrong"), peer).await.status(), 401);
    assert_eq!(http.call(request("a-long-enough-token-for-this"), peer).await.status(), 200);
    service.run(std::future::ready(())).await.unwrap();
}
