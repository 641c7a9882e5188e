//! `/ws/chat` without a subprotocol: for each text frame in, one Markdown text frame out, in order, and nothing else.
//!
//! A client may send several messages without waiting. A few are submitted in advance; the rest wait in the network.
//! This protocol has no approval requests, so approvals are denied. If a message fails, the error is its reply.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use aethon_core::ids::SessionId;
use aethon_core::message::{Inbound, Reply, TurnEnd};
use aethon_core::surface::Unattended;

use super::frames::sentence;
use super::socket::{Close, Received, Socket};
use crate::deps::{Chat, Runtime};

/// How many messages are submitted before the first is answered.
const READ_AHEAD: usize = 16;

/// The future of a reply.
type Pending = Pin<Box<dyn Future<Output = String> + Send>>;

/// Runs until the connection ends. Returns a close code if it is still open.
pub(super) async fn run(
    chat: &Chat,
    runtime: &Runtime,
    socket: &mut Socket,
    session: &SessionId,
) -> Option<Close> {
    let mut shutdown = runtime.shutdown.clone();
    let mut is_stopping = false;
    let mut pending: VecDeque<Pending> = VecDeque::new();
    loop {
        if is_stopping && pending.is_empty() {
            return Some(Close::AWAY);
        }
        let may_read = !is_stopping && pending.len() < READ_AHEAD;
        tokio::select! {
            biased;
            reply = first(&mut pending), if !pending.is_empty() => {
                pending.pop_front();
                if let Err(unwritable) = socket.send(reply.into()).await {
                    return unwritable.close();
                }
            }
            () = shutdown.requested(), if !is_stopping => is_stopping = true,
            received = socket.receive(may_read) => match received {
                Received::Text(text) => pending.push_back(taken_in(chat, session, text.as_str()).await),
                Received::Tick => {}
                Received::Over => return None,
                Received::Wrong(close) => return Some(close),
            },
        }
    }
}

async fn first(pending: &mut VecDeque<Pending>) -> String {
    match pending.front_mut() {
        Some(reply) => reply.await,
        None => std::future::pending().await,
    }
}

/// Submits a message; the returned future yields the reply.
async fn taken_in(chat: &Chat, session: &SessionId, text: &str) -> Pending {
    if text.trim().is_empty() {
        return Box::pin(std::future::ready(
            "The message was empty. Write something and send it again.".to_owned(),
        ));
    }
    let inbound = Inbound::say(session.clone(), text);
    match chat.assistant.submit(inbound, Arc::new(Unattended)).await {
        Ok(submitted) => Box::pin(async move {
            match submitted.reply.wait().await {
                Ok(reply) => spoken(&reply),
                Err(error) => sentence(&error.to_string()),
            }
        }),
        Err(error) => {
            tracing::warn!(%session, error = &error as &dyn std::error::Error, "a chat message was not taken in");
            Box::pin(std::future::ready(sentence(&error.to_string())))
        }
    }
}

/// Returns the text to send for a reply, which is never empty.
fn spoken(reply: &Reply) -> String {
    if !reply.text.trim().is_empty() {
        return reply.text.clone();
    }
    match (&reply.failure, reply.end) {
        (Some(failure), _) => failure.message.clone(),
        (None, TurnEnd::Stopped) => "This was stopped before anything was said.".to_owned(),
        (None, _) => "The model gave an empty reply. Try again.".to_owned(),
    }
}
