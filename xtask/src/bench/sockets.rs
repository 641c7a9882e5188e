//! The load generator for WebSockets: thousands that are idle, and one that talks.

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;

/// A masked close frame with code 1000 and a mask of zeros.
const CLOSE: [u8; 8] = [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8];

/// How many handshakes are under way at once.
const AT_ONCE: usize = 64;

/// Opens so many sockets, each on a session of its own, by hand: an idle peer needs no buffers.
pub(super) async fn open_idle(address: SocketAddr, count: usize) -> Result<Vec<TcpStream>> {
    let mut streams = Vec::with_capacity(count);
    let mut opening = JoinSet::new();
    for number in 0..count {
        opening.spawn(open(address, number));
        if opening.len() >= AT_ONCE
            && let Some(stream) = opening.join_next().await
        {
            streams.push(stream??);
        }
    }
    while let Some(stream) = opening.join_next().await {
        streams.push(stream??);
    }
    Ok(streams)
}

async fn open(address: SocketAddr, number: usize) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await.context("cannot connect")?;
    let request = format!(
        "GET /ws/chat?session=idle-{number} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::with_capacity(512);
    while !answer.windows(4).any(|four| four == b"\r\n\r\n") {
        if stream.read_buf(&mut answer).await? == 0 {
            bail!("the server closed socket {number} while it was opened");
        }
    }
    if !answer.starts_with(b"HTTP/1.1 101 ") {
        bail!("socket {number} was refused: {}", String::from_utf8_lossy(&answer));
    }
    Ok(stream)
}

/// Closes the sockets in an orderly way.
pub(super) async fn close(streams: Vec<TcpStream>) -> Result<()> {
    for mut stream in streams {
        stream.write_all(&CLOSE).await.context("a socket was closed before its time")?;
    }
    Ok(())
}

/// Sends so many messages over one plain socket, each after the reply to the one before; the time of each.
pub(super) async fn turns(address: SocketAddr, session: &str, count: usize) -> Result<Vec<Duration>> {
    let stream = TcpStream::connect(address).await.context("cannot connect")?;
    stream.set_nodelay(true)?;
    let url = format!("ws://{address}/ws/chat?session={session}");
    let (mut socket, _) =
        tokio_tungstenite::client_async(url, stream).await.context("cannot open a socket")?;
    let mut times = Vec::with_capacity(count);
    for number in 0..count {
        let text = format!("message {number}: {}", "a sentence of ordinary length. ".repeat(4));
        let sent = Instant::now();
        socket.send(Message::text(text.clone())).await?;
        loop {
            match socket.next().await.context("the server closed the socket")?? {
                Message::Text(reply) if reply.trim() == text.trim() => break,
                Message::Text(reply) => bail!("echo answered `{reply}` to `{text}`"),
                Message::Close(frame) => bail!("the server closed the socket: {frame:?}"),
                _ => {}
            }
        }
        times.push(sent.elapsed());
    }
    socket.close(None).await?;
    Ok(times)
}
