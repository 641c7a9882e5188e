//! Responses that are sent as they are made, on real sockets: how far they run ahead of their reader, and how they end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    missing_docs,
    reason = "a test's own functions fail the test by panicking"
)]

mod common;
mod fakes;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use aethon_core::error::{Error, Result};
use aethon_core::ids::{MessageId, SessionId};
use aethon_core::message::{Block, Message, Role};
use aethon_core::session::{
    Clear, SessionKeeping, SessionPage, SessionPatch, SessionQuery, SessionSummary, Transcripts, TurnRecord,
};
use aethon_core::shutdown::ShutdownTrigger;
use aethon_core::version::Expected;
use aethon_http::options::Listen;
use aethon_http::{Options, Server};
use async_trait::async_trait;
use common::{deps, get, within};
use fakes::FakeAssistant;
use jiff::Timestamp;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How many messages the conversation has, and how long each is.
const MESSAGES: i64 = 4000;
const LENGTH: usize = 16 << 10;
/// What may lie between the writer and the reader: the buffers of two sockets and a few chunks. Less than the whole, clearly.
const AHEAD: usize = 40 << 20;

/// When reading the conversation fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Breaks {
    Never,
    /// Before anything is sent.
    AtOnce,
    /// In the middle of the response.
    Midway,
}

/// A conversation that is made up as it is read. It is read twice: from the end, and then as it is sent.
struct LongTranscript {
    breaks: Breaks,
    is_sending: AtomicBool,
    /// The bytes of text that were handed out to be sent.
    handed_out: AtomicUsize,
}

fn message(id: i64) -> Message {
    let text = format!("{id:08}{}", "x".repeat(LENGTH - 8));
    let mut message = Message::new(Role::Assistant, vec![Block::text(text)], Timestamp::UNIX_EPOCH);
    message.id = MessageId(id);
    message
}

#[async_trait]
impl SessionKeeping for LongTranscript {
    async fn mark_read(&self, _id: &SessionId) -> Result<bool> {
        Ok(false)
    }
}

#[async_trait]
impl Transcripts for LongTranscript {
    async fn sessions(&self, _query: SessionQuery) -> Result<SessionPage> {
        Ok(SessionPage::default())
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionSummary>> {
        Ok(Some(SessionSummary {
            session_id: id.clone(),
            channel: "webchat".into(),
            sender: "owner".into(),
            title: "Long".into(),
            agent_name: "main".into(),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            message_count: 0,
            unread: false,
            settings: Default::default(),
        }))
    }

    async fn messages(
        &self,
        _id: &SessionId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Message>> {
        let end = before.map_or(MESSAGES + 1, |before| before.0);
        let start = (end - i64::try_from(limit).unwrap()).max(1);
        let is_sending = self.is_sending.load(Ordering::SeqCst);
        let breaks = match self.breaks {
            Breaks::Never => false,
            Breaks::AtOnce => true,
            Breaks::Midway => is_sending && end > MESSAGES / 2,
        };
        if breaks {
            return Err(Error::internal("the disk is gone"));
        }
        if is_sending {
            self.handed_out.fetch_add(usize::try_from(end - start).unwrap() * LENGTH, Ordering::SeqCst);
        }
        self.is_sending.fetch_or(start == 1, Ordering::SeqCst);
        Ok((start..end).map(message).collect())
    }

    async fn pending(&self, _id: &SessionId) -> Result<Vec<TurnRecord>> {
        Ok(Vec::new())
    }

    async fn patch(&self, _id: &SessionId, _patch: &SessionPatch, _expected: Expected) -> Result<bool> {
        Ok(false)
    }

    async fn clear(&self, _id: &SessionId, _how: Clear) -> Result<bool> {
        Ok(false)
    }

    async fn post(&self, _id: &SessionId, _key: &str, _message: Message) -> Result<Option<MessageId>> {
        Ok(None)
    }
}

/// Starts a server with that conversation, and opens a connection that has requested it.
async fn exporting(breaks: Breaks) -> (Arc<LongTranscript>, ShutdownTrigger, TcpStream) {
    let transcript = LongTranscript { breaks, is_sending: false.into(), handed_out: 0.into() };
    let transcript = Arc::new(transcript);
    let (stop, shutdown) = ShutdownTrigger::pair();
    let mut deps = deps(&Arc::new(FakeAssistant::default()), shutdown.clone());
    deps.chat.transcripts = transcript.clone();
    let listen = Listen { port: Some(0), ..Listen::default() };
    let server = Server::bind(Options { listen, ..Options::default() }, deps).await.expect("a free port");
    let mut client =
        TcpStream::connect(server.local_addr().expect("it has a port")).await.expect("it listens");
    tokio::spawn(server.serve(shutdown));
    client.write_all(get("/api/sessions/webchat:a/export").as_bytes()).await.expect("it listens");
    (transcript, stop, client)
}

/// Splits a response into its head and the bytes of its chunks; errs with those when the last chunk is missing.
fn dechunked(response: &[u8]) -> (String, std::result::Result<Vec<u8>, Vec<u8>>) {
    let line_end = |bytes: &[u8]| bytes.windows(2).position(|pair| pair == b"\r\n");
    let head_end = response.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
    let head = String::from_utf8(response[..head_end].to_vec()).expect("text");
    let (mut rest, mut body) = (&response[head_end..], Vec::new());
    while let Some(end) = line_end(rest) {
        let size =
            std::str::from_utf8(&rest[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.expect("the size of a chunk");
        if size == 0 {
            return (head, Ok(body));
        }
        let chunk = &rest[end + 2..];
        body.extend_from_slice(&chunk[..size.min(chunk.len())]);
        rest = chunk.get(size + 2..).unwrap_or_default();
    }
    (head, Err(body))
}

#[tokio::test]
async fn a_writer_never_runs_far_ahead_of_its_reader() {
    let (transcript, _stop, mut client) = exporting(Breaks::Never).await;
    let mut response = Vec::new();
    loop {
        let mut part = vec![0; 1 << 20];
        let read = within(client.read(&mut part)).await.expect("it goes on");
        response.extend_from_slice(&part[..read]);
        let ahead = transcript.handed_out.load(Ordering::SeqCst).saturating_sub(response.len());
        assert!(ahead < AHEAD, "{ahead} bytes wait for a reader that has {}", response.len());
        if response.ends_with(b"\r\n0\r\n\r\n") {
            break;
        }
    }
    let (head, body) = dechunked(&response);
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("x-content-type-options"), "{head}");
    let document: Value = serde_json::from_slice(&body.expect("a whole body")).expect("JSON");
    let ids = document["messages"].as_array().expect("messages").iter().map(|message| message["id"].as_str());
    assert!(
        ids.eq((1..=MESSAGES)
            .map(|id| id.to_string())
            .collect::<Vec<_>>()
            .iter()
            .map(|id| Some(id.as_str())))
    );
    client.write_all(get("/health").as_bytes()).await.expect("the connection can be used again");
    assert!(within(client.read(&mut [0; 64])).await.expect("an answer") > 0);
}

#[tokio::test]
async fn a_writer_ends_when_its_reader_leaves() {
    let (transcript, stop, mut client) = exporting(Breaks::Never).await;
    within(client.read_exact(&mut vec![0; 1 << 20])).await.expect("it begins");
    assert!(Arc::strong_count(&transcript) > 2, "the export is under way");
    drop(client);
    // The test and the application hold it; the export lets go of it when it ends.
    within(async {
        while Arc::strong_count(&transcript) > 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (sent, whole) = (transcript.handed_out.load(Ordering::SeqCst), LENGTH * MESSAGES as usize);
    assert!(sent < whole / 2, "{sent} of {whole} were read for nobody");
    stop.trigger();
}

#[tokio::test]
async fn a_response_that_began_is_cut_off_and_never_becomes_an_error() {
    let (_transcript, _stop, mut client) = exporting(Breaks::Midway).await;
    let mut response = Vec::new();
    within(client.read_to_end(&mut response)).await.expect("it ends");
    let (head, body) = dechunked(&response);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let body = String::from_utf8(body.expect_err("the last chunk must be missing")).expect("text");
    assert!(
        body.starts_with("{\"session_id\":\"webchat:a\"") && body.len() > LENGTH * 1000,
        "{}",
        body.len()
    );
    assert!(!body.contains("internal_error") && !body.contains("HTTP/1.1"));
}

#[tokio::test]
async fn a_failure_before_the_first_byte_is_an_error() {
    let (_transcript, _stop, mut client) = exporting(Breaks::AtOnce).await;
    let mut answer = vec![0; 4096];
    let read = within(client.read(&mut answer)).await.expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..read]);
    assert!(answer.starts_with("HTTP/1.1 500") && answer.contains("internal_error"), "{answer}");
}
