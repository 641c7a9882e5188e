//! The WebSocket load generator: thousands of idle sockets, and one in conversation.

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;

/// A masked close frame with code 1000 and a mask of zeros.
const CLOSE: [u8; 8] = [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8];

/// The number of concurrent handshakes.
const AT_ONCE: usize = 64;

/// Opens idle sockets, each on its own session, without a WebSocket library: an idle peer needs no buffers.
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
    let path = format!("/ws/chat?session=idle-{number}");
    handshake(address, &path).await.with_context(|| format!("socket {number} cannot be opened"))
}

/// Opens a WebSocket and leaves its frames to the caller.
async fn handshake(address: SocketAddr, path: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await.context("cannot connect")?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::with_capacity(512);
    while !answer.windows(4).any(|four| four == b"\r\n\r\n") {
        if stream.read_buf(&mut answer).await? == 0 {
            bail!("the server closed the socket while it was opened");
        }
    }
    if !answer.starts_with(b"HTTP/1.1 101 ") {
        bail!("it was refused: {}", String::from_utf8_lossy(&answer));
    }
    Ok(stream)
}

/// Opens dashboard sockets, prints one line, and reads from them until the process is killed, without looking at what it
/// reads.
pub(crate) fn watch(address: SocketAddr, count: usize) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut watching = JoinSet::new();
        for _ in 0..count {
            let mut stream = handshake(address, "/ws/dashboard").await?;
            watching.spawn(async move {
                let mut buffer = vec![0; 64 << 10];
                while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
            });
        }
        println!("{count} dashboards open at http://{address}");
        std::io::stdout().flush()?;
        watching.join_all().await;
        Ok(())
    })
}

/// Closes the sockets with a close frame each.
pub(super) async fn close(streams: Vec<TcpStream>) -> Result<()> {
    for mut stream in streams {
        stream.write_all(&CLOSE).await.context("a socket was closed before its time")?;
    }
    Ok(())
}

/// Sends messages into one session, each after the reply to the previous one; returns the time of each. Connecting is not
/// included.
pub(super) async fn turns(address: SocketAddr, session: &str, count: usize) -> Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(count);
    talk(address, session, count, &mut times).await?;
    Ok(times)
}

/// Sends the messages over one socket.
async fn talk(address: SocketAddr, session: &str, count: usize, times: &mut Vec<Duration>) -> Result<()> {
    let stream = TcpStream::connect(address).await.context("cannot connect")?;
    stream.set_nodelay(true)?;
    let url = format!("ws://{address}/ws/chat?session={session}");
    let (mut socket, _) =
        tokio_tungstenite::client_async(url, stream).await.context("cannot open a socket")?;
    for _ in 0..count {
        let text = format!("message {}: {}", times.len(), "a sentence of ordinary length. ".repeat(4));
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
    socket.close(None).await.context("cannot close the socket")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// A server that answers each text by `reply`, and counts the sockets that were closed properly.
    async fn serve(listener: TcpListener, sockets: usize, reply: fn(&str) -> String) -> usize {
        let mut talks = JoinSet::new();
        for _ in 0..sockets {
            let (stream, _) = listener.accept().await.unwrap();
            talks.spawn(async move {
                let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
                while let Some(Ok(message)) = socket.next().await {
                    match message {
                        Message::Text(text) => socket.send(Message::text(reply(&text))).await.unwrap(),
                        Message::Close(_) => return 1,
                        _ => {}
                    }
                }
                0
            });
        }
        talks.join_all().await.into_iter().sum()
    }

    fn run<T>(test: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
    }

    async fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    #[test]
    fn each_turn_is_timed() {
        run(async {
            let (listener, address) = listener().await;
            let server = tokio::spawn(serve(listener, 1, str::to_owned));
            assert_eq!(turns(address, "bench", 181).await.unwrap().len(), 181);
            assert_eq!(server.await.unwrap(), 1);
        });
    }

    #[test]
    fn a_reply_that_is_not_the_echo_is_an_error() {
        run(async {
            let (listener, address) = listener().await;
            tokio::spawn(serve(listener, 1, |_| "something else".to_owned()));
            assert!(turns(address, "bench", 20).await.is_err());
        });
    }

    #[test]
    fn idle_sockets_are_opened_and_closed_in_an_orderly_way() {
        run(async {
            let (listener, address) = listener().await;
            let server = tokio::spawn(serve(listener, 100, str::to_owned));
            let streams = open_idle(address, 100).await.unwrap();
            assert_eq!(streams.len(), 100);
            close(streams).await.unwrap();
            assert_eq!(server.await.unwrap(), 100);
        });
    }
}
