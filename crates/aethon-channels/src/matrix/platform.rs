//! Matrix as a platform: sending with a transaction id, editing, typing, downloading.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aethon_core::channel::ChannelRecords;
use aethon_core::ids::unique;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::api::Api;
use super::upgrades::Moves;
use super::{Options, form};
use crate::options::{ChannelServices, Rules};
use crate::rest::encoded;
use crate::talk::{
    Check, Content, Dialect, EYES, Failure, Fault, Identity, Messenger, Platform, Reactions, RemoteFile,
};
use crate::text::{Fit, Measure};

/// Creates the channel.
pub fn channel(options: Options, rules: Rules, services: ChannelServices) -> Messenger {
    Messenger::new(Arc::new(Matrix::new(options, services.records.clone())), is_recipient, rules, services)
}

/// The longest message in bytes. An event may have 65,536, and an edit contains its text three times, once as HTML.
const MAX_TEXT: usize = 8000;
/// The minimum interval between messages and edits.
const PACE: Duration = Duration::from_millis(1500);
/// How long the typing indicator stays, in milliseconds.
const TYPING: u64 = 6000;
/// Of how many threads it is remembered whether they stayed behind.
const MAX_ROOTS: usize = 500;

pub(super) struct Matrix {
    pub(super) api: Api,
    pub(super) moves: Moves,
    /// Our account, once it is known.
    us: tokio::sync::OnceCell<String>,
    /// Whether the roots of threads are in the present rooms of their conversations.
    roots: Mutex<BTreeMap<String, bool>>,
}

impl Matrix {
    pub(super) fn new(options: Options, records: Arc<dyn ChannelRecords>) -> Self {
        let (us, roots) = (tokio::sync::OnceCell::new(), Mutex::default());
        Self { api: Api::new(options), moves: Moves::new(records), us, roots }
    }

    async fn send(&self, chat: &str, content: &Value, key: &str) -> std::result::Result<String, Fault> {
        let room = &self.moves.now(chat);
        let path = format!("/_matrix/client/v3/rooms/{}/send/m.room.message/{}", encoded(room), encoded(key));
        let sent = match self.api.put(&path, content).await.map_err(Fault::from) {
            Err(Fault::Refused(message)) if message.contains(" 403 ") || message.contains(" 404 ") => {
                return Err(self.judged(room, message).await);
            }
            other => other?,
        };
        Ok(sent["event_id"].as_str().unwrap_or_default().to_owned())
    }

    /// Returns whether a message is in this room.
    async fn is_there(&self, room: &str, message: &str) -> std::result::Result<bool, Fault> {
        let path = format!("/_matrix/client/v3/rooms/{}/event/{}", encoded(room), encoded(message));
        match self.api.get(&path).await.map_err(Fault::from) {
            Ok(_) => Ok(true),
            Err(Fault::Refused(_)) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Judges a refusal: it is final if we are not in the room, and may be a slip if we are.
    async fn judged(&self, room: &str, message: String) -> Fault {
        let path = format!("/_matrix/client/v3/rooms/{}/joined_members", encoded(room));
        match (self.api.account().await.map_err(Fault::from), self.api.get(&path).await) {
            (Err(fault @ Fault::Identity(_)), _) => fault,
            (Ok(_), Err(Failure::Fault(Fault::Refused(_)))) => Fault::Refused(message),
            (Ok(us), Ok(members)) if members["joined"][&us].is_null() => Fault::Refused(message),
            _ => Fault::Unclear(message),
        }
    }

    /// Builds the content of a message. A file is uploaded.
    async fn content(&self, content: Content<'_>) -> std::result::Result<Value, Fault> {
        let content = match content {
            Content::Text { text, .. } => form::message(text),
            Content::File(file) => {
                let bytes = STANDARD.decode(&file.data);
                let bytes = bytes.map_err(|_| Fault::Refused("the file is not valid base64".into()))?;
                let size = bytes.len();
                let uri = self.api.upload(&file.name, &file.mime, bytes).await?;
                let kind = if file.mime.starts_with("image/") { "m.image" } else { "m.file" };
                json!({
                    "msgtype": kind, "body": file.name, "url": uri, "m.mentions": {},
                    "info": {"mimetype": file.mime, "size": size},
                })
            }
            _ => return Err(Fault::no_such_form()),
        };
        Ok(content)
    }

    /// Returns the room and the thread of a recipient. Threads that began before a room was upgraded stay behind.
    async fn place<'c>(&self, chat: &'c str) -> std::result::Result<(&'c str, Option<&'c str>), Fault> {
        let (room, thread) = place(chat);
        let Some(root) = thread.filter(|_| self.moves.has_moved(room)) else { return Ok((room, thread)) };
        let now = self.moves.now(room);
        let name = format!("{now}{root}");
        let known = self.roots.lock().unwrap_or_else(PoisonError::into_inner).get(&name).copied();
        let is_there = match known {
            Some(is_there) => is_there,
            None => {
                let is_there = self.is_there(&now, root).await?;
                let mut roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
                if roots.len() >= MAX_ROOTS {
                    roots.clear();
                }
                roots.insert(name, is_there);
                is_there
            }
        };
        Ok((room, thread.filter(|_| is_there)))
    }

    async fn us(&self) -> std::result::Result<&String, Fault> {
        let ask = async { self.api.account().await.map_err(Fault::from) };
        self.us.get_or_try_init(|| ask).await
    }
}

/// Returns the room and the thread of a recipient. Only the id of an event has the sign that begins it.
fn place(chat: &str) -> (&str, Option<&str>) {
    match chat.find('$') {
        Some(at) => (&chat[..at], Some(&chat[at..])),
        None => (chat, None),
    }
}

/// Returns a message as one of a thread. Clients without threads show one that replies to nothing as a reply to the
/// first.
fn in_thread(mut content: Value, thread: Option<&str>) -> Value {
    if let Some(root) = thread {
        let question = content["m.relates_to"]["m.in_reply_to"]["event_id"].as_str().map(str::to_owned);
        content["m.relates_to"] = json!({
            "rel_type": "m.thread", "event_id": root, "is_falling_back": question.is_none(),
            "m.in_reply_to": {"event_id": question.as_deref().unwrap_or(root)},
        });
    }
    content
}

/// Returns whether this can be a recipient: a room id, or a thread in one.
pub(super) fn is_recipient(recipient: &str) -> bool {
    recipient.len() > 1
        && recipient.len() < 190
        && recipient.starts_with('!')
        && !recipient.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[async_trait]
impl Reactions for Matrix {
    async fn acknowledge(&self, chat: &str, message: &str) -> std::result::Result<String, Fault> {
        let path = format!(
            "/_matrix/client/v3/rooms/{}/send/m.reaction/{}",
            encoded(&self.moves.now(place(chat).0)),
            encoded(&format!("eyes{message}"))
        );
        let relation = json!({"rel_type": "m.annotation", "event_id": message, "key": EYES});
        let sent = self.api.put(&path, &json!({"m.relates_to": relation})).await?;
        Ok(sent["event_id"].as_str().unwrap_or_default().to_owned())
    }

    async fn withdraw(
        &self,
        chat: &str,
        message: &str,
        reference: Option<&str>,
    ) -> std::result::Result<(), Fault> {
        let reaction = match reference {
            Some(reaction) => reaction.to_owned(),
            // The same transaction again names the event.
            None => self.acknowledge(chat, message).await?,
        };
        let path = format!(
            "/_matrix/client/v3/rooms/{}/redact/{}/{}",
            encoded(&self.moves.now(place(chat).0)),
            encoded(&reaction),
            encoded(&format!("seen{message}"))
        );
        self.api.put(&path, &json!({})).await?;
        Ok(())
    }
}

#[async_trait]
impl Platform for Matrix {
    fn dialect(&self) -> Dialect {
        let fit = Fit { measure: Measure::Bytes, length: MAX_TEXT, spans: 500 };
        Dialect { sends_once: true, buttons: false, ..Dialect::chat(fit, |_| PACE) }
    }

    async fn post(&self, chat: &str, content: Content<'_>, key: &str) -> std::result::Result<String, Fault> {
        let (room, thread) = self.place(chat).await?;
        let content = in_thread(self.content(content).await?, thread);
        self.send(room, &content, key).await
    }

    async fn reply(
        &self,
        chat: &str,
        content: Content<'_>,
        key: &str,
        question: &str,
    ) -> std::result::Result<String, Fault> {
        let (room, thread) = self.place(chat).await?;
        let content = in_thread(form::replying(self.content(content).await?, question), thread);
        self.send(room, &content, key).await
    }

    async fn edit(&self, chat: &str, message: &str, content: Content<'_>) -> std::result::Result<(), Fault> {
        let Content::Text { text, .. } = content else {
            return Err(Fault::Gone("a file takes no message's place".into()));
        };
        let room = place(chat).0;
        if self.moves.has_moved(room) && !self.is_there(&self.moves.now(room), message).await? {
            return Err(Fault::Gone("the message stayed in the room before the upgrade".into()));
        }
        self.send(room, &form::replacement(text, message), &unique()).await.map(drop)
    }

    async fn typing(&self, chat: &str) -> std::result::Result<(), Fault> {
        let us = self.us().await?;
        let room = self.moves.now(place(chat).0);
        let path = format!("/_matrix/client/v3/rooms/{}/typing/{}", encoded(&room), encoded(us));
        self.api.put(&path, &json!({"typing": true, "timeout": TYPING})).await?;
        Ok(())
    }

    async fn fetch(&self, file: &RemoteFile) -> std::result::Result<Vec<u8>, Fault> {
        let wrong = || Fault::Refused("the address of the file is none".into());
        let (server, media) =
            file.handle.strip_prefix("mxc://").and_then(|place| place.split_once('/')).ok_or_else(wrong)?;
        let path = format!("/_matrix/client/v1/media/download/{}/{}", encoded(server), encoded(media));
        Ok(self.api.download(&path).await?)
    }
}

#[async_trait]
impl Identity for Matrix {
    async fn identify(&self) -> std::result::Result<(), Fault> {
        self.api.account().await?;
        Ok(())
    }

    async fn inspect(&self) -> Vec<Check> {
        if !self.api.has_token() {
            return vec![Check::new(
                "token",
                false,
                "channels.matrix.token is empty; set it to an access token of the bot's account",
            )];
        }
        match self.us().await {
            Ok(us) => vec![Check::new("whoami", true, us)],
            Err(fault) => vec![Check::new("whoami", false, fault.message())],
        }
    }
}
