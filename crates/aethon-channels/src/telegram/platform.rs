//! Telegram as a platform: sending, editing, typing, downloading, and groups whose id changed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::channel::ChannelRecords;
use aethon_core::error::Result;
use aethon_core::message::Attachment;
use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Options;
use super::api::{Api, Failure};
use super::form::{MAX_ENTITIES, entities};
use super::newer::{self, Newer};
use super::wire::{File, Message};
use crate::multipart;
use crate::options::{ChannelServices, Rules};
use crate::talk::{
    BURST_OF_ALL, Button, Check, Content, Dialect, EYES, Fault, Identity, Messenger, Platform, Reactions,
    RemoteFile,
};
use crate::text::{Fit, Measure};

/// Creates the channel.
pub fn channel(options: Options, rules: Rules, services: ChannelServices) -> Messenger {
    let platform = Telegram::new(options, services.records.clone());
    Messenger::new(Arc::new(platform), is_recipient, rules, services)
}

/// The longest message in UTF-16 units.
const MAX_TEXT: usize = 4096;
/// The largest file that a bot may download.
const MAX_FILE: usize = 20 << 20;
/// How many id changes of groups are remembered.
const MAX_MOVES: usize = 1000;

pub(super) struct Telegram {
    api: Api,
    newer: Newer,
    pace_of_all: Duration,
    records: Arc<dyn ChannelRecords>,
    /// For each group, the id it had when the conversation began and its current one.
    moves: Mutex<BTreeMap<i64, i64>>,
}

/// A recipient: the chat, and the topic in it.
struct Place {
    chat: Value,
    topic: Option<i64>,
}

impl Telegram {
    pub(super) fn new(options: Options, records: Arc<dyn ChannelRecords>) -> Self {
        let Options { api_base, token, drafts, rich, messages_a_second, exchange, polling } = options;
        let api = Api::new(&api_base, token, exchange, polling);
        let (newer, pace_of_all) = (Newer::new(drafts, rich), pace_of_all(messages_a_second));
        Self { api, newer, pace_of_all, records, moves: Mutex::default() }
    }

    pub(super) fn api(&self) -> &Api {
        &self.api
    }

    /// Returns the id that a group had when its conversation began.
    pub(super) fn first_id(&self, chat: i64) -> i64 {
        self.moves().iter().find(|(_, now)| **now == chat).map_or(chat, |(first, _)| *first)
    }

    pub(super) async fn remember_moves(&self, records: &dyn ChannelRecords) -> Result<()> {
        for (name, now) in records.list("telegram", "moved:", MAX_MOVES).await? {
            let first = name.strip_prefix("moved:").and_then(|first| first.parse().ok());
            if let (Some(first), Ok(now)) = (first, now.parse()) {
                self.moves().insert(first, now);
            }
        }
        Ok(())
    }

    pub(super) async fn note_move(&self, records: &dyn ChannelRecords, from: i64, to: i64) -> Result<()> {
        let first = self.first_id(from);
        records.put("telegram", &format!("moved:{first}"), &to.to_string(), None).await?;
        self.moves().insert(first, to);
        tracing::info!(channel = "telegram", from, to, "a group has another id now");
        Ok(())
    }

    /// Sets our reactions to a message.
    async fn react(&self, chat: &str, message: &str, reactions: Value) -> std::result::Result<(), Fault> {
        let id = message.rsplit(':').next().and_then(|id| id.parse::<i64>().ok());
        let id = id.ok_or_else(|| Fault::Refused("this is no message of Telegram".into()))?;
        // A message needs no topic.
        let chat = chat.split(':').next().unwrap_or_default();
        let params = json!({"message_id": id, "reaction": reactions});
        self.call::<Value>("setMessageReaction", chat, params).await?;
        Ok(())
    }

    fn place(&self, recipient: &str) -> std::result::Result<Place, Fault> {
        let wrong = || Fault::Refused("this is no chat of Telegram".into());
        if recipient.starts_with('@') {
            return Ok(Place { chat: json!(recipient), topic: None });
        }
        let (chat, topic) = match recipient.split_once(':') {
            Some((chat, topic)) => (chat, Some(topic.parse().map_err(|_| wrong())?)),
            None => (recipient, None),
        };
        let chat: i64 = chat.parse().map_err(|_| wrong())?;
        let now = self.moves().get(&chat).copied().unwrap_or(chat);
        Ok(Place { chat: json!(now), topic })
    }

    /// Calls a method for a chat, and once more if its id turns out to have changed.
    async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        chat: &str,
        params: Value,
    ) -> std::result::Result<T, Failure> {
        for _ in 0..2 {
            let place = self.place(chat).map_err(Failure::Fault)?;
            let mut params = params.clone();
            params["chat_id"] = place.chat.clone();
            if let Some(topic) = place.topic.filter(|_| method != "editMessageText") {
                params["message_thread_id"] = json!(topic);
            }
            match self.api.call(method, &params).await {
                Err(Failure::Moved(new)) => {
                    let noted = match place.chat.as_i64() {
                        Some(old) => self.note_move(&*self.records, old, new).await,
                        None => {
                            let fault = Fault::Refused("the group has another id now".into());
                            return Err(Failure::Fault(fault));
                        }
                    };
                    noted.map_err(|error| Failure::Fault(Fault::later(error.to_string())))?;
                }
                other => return other,
            }
        }
        Err(Failure::Fault(Fault::later("the group has moved again")))
    }

    /// Sends something, as a reply with these parameters if there are any.
    async fn send(
        &self,
        chat: &str,
        content: Content<'_>,
        key: &str,
        reply: Option<Value>,
    ) -> std::result::Result<String, Fault> {
        let sent: Message = match content {
            Content::Text { text, buttons } => {
                self.call("sendMessage", chat, replying(message(text, buttons), reply)).await?
            }
            Content::File(file) => {
                let (method, field) = file_method(file);
                let place = self.place(chat)?;
                let id = place.chat.as_str().map_or_else(|| place.chat.to_string(), str::to_owned);
                let mut fields = vec![("chat_id", id)];
                fields.extend(place.topic.map(|topic| ("message_thread_id", topic.to_string())));
                fields.extend(reply.map(|reply| ("reply_parameters", reply.to_string())));
                let form = multipart::form(&fields, field, file)?;
                self.api.upload(method, form).await.map_err(Fault::from)?
            }
            Content::Draft(text) => {
                let shown = self.call::<Value>("sendMessageDraft", chat, newer::draft(text, key)).await;
                shown.inspect_err(|failure| self.newer.note_draft(failure))?;
                return Ok(String::new());
            }
            Content::Rich(markdown) => {
                let sent =
                    self.call("sendRichMessage", chat, replying(newer::rich_message(markdown), reply)).await;
                sent.inspect_err(|failure| self.newer.note_rich(failure))?
            }
            Content::TextWithFiles { .. } => return Err(Fault::no_such_form()),
        };
        Ok(sent.message_id.to_string())
    }

    fn moves(&self) -> MutexGuard<'_, BTreeMap<i64, i64>> {
        // Every statement leaves the map consistent, so a poisoned lock is usable.
        self.moves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether this can be a recipient: the id of a chat, optionally with a topic, or the name of a channel.
pub(super) fn is_recipient(recipient: &str) -> bool {
    let is_number = |text: &str| text.parse::<i64>().is_ok_and(|number| number != 0);
    let is_name = |name: &str| {
        (5..=32).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    match (recipient.strip_prefix('@'), recipient.split_once(':')) {
        (Some(name), _) => is_name(name),
        (None, Some((chat, topic))) => is_number(chat) && is_number(topic),
        (None, None) => is_number(recipient),
    }
}

/// Returns the minimum interval between all calls of a bot, such that its reserve does not exceed this rate.
fn pace_of_all(messages_a_second: u32) -> Duration {
    match messages_a_second {
        0 => Duration::ZERO,
        most => Duration::from_secs(1) / most.saturating_sub(BURST_OF_ALL).max(1),
    }
}

/// Returns the interval in a chat: a group allows twenty messages a minute, a private chat one a second.
fn pace(chat: &str) -> Duration {
    if chat.starts_with(['-', '@']) { Duration::from_secs(3) } else { Duration::from_secs(1) }
}

fn message(text: &crate::text::Styled, buttons: &[Button]) -> Value {
    let mut params = json!({"text": text.text, "link_preview_options": {"is_disabled": true}});
    let entities = entities(text);
    if !entities.is_empty() {
        params["entities"] = json!(entities);
    }
    if !buttons.is_empty() {
        let row: Vec<Value> = buttons
            .iter()
            .map(|button| json!({"text": button.label, "callback_data": button.data}))
            .collect();
        params["reply_markup"] = json!({"inline_keyboard": [row]});
    }
    params
}

/// Returns the reference to the message with this id of ours, if it is one. A message that was deleted meanwhile is no
/// obstacle.
fn reply_parameters(question: &str) -> Option<Value> {
    let message: i64 = question.rsplit(':').next()?.parse().ok()?;
    Some(json!({"message_id": message, "allow_sending_without_reply": true}))
}

fn replying(mut params: Value, reply: Option<Value>) -> Value {
    if let Some(reply) = reply {
        params["reply_parameters"] = reply;
    }
    params
}

/// Returns the method and the field for a file: pictures are shown, everything else is a document.
fn file_method(file: &Attachment) -> (&'static str, &'static str) {
    match file.mime.as_str() {
        "image/png" | "image/jpeg" => ("sendPhoto", "photo"),
        _ => ("sendDocument", "document"),
    }
}

#[async_trait]
impl Reactions for Telegram {
    async fn acknowledge(&self, chat: &str, message: &str) -> std::result::Result<String, Fault> {
        self.react(chat, message, json!([{"type": "emoji", "emoji": EYES}])).await?;
        Ok(String::new())
    }

    async fn withdraw(&self, chat: &str, message: &str, _: Option<&str>) -> std::result::Result<(), Fault> {
        self.react(chat, message, json!([])).await
    }
}

#[async_trait]
impl Platform for Telegram {
    fn dialect(&self) -> Dialect {
        let fit = Fit { measure: Measure::Utf16, length: MAX_TEXT, spans: MAX_ENTITIES / 2 };
        Dialect {
            pace_of_all: self.pace_of_all,
            drafts: self.newer.drafts(),
            rich: self.newer.rich(),
            ..Dialect::chat(fit, pace)
        }
    }

    async fn post(&self, chat: &str, content: Content<'_>, key: &str) -> std::result::Result<String, Fault> {
        self.send(chat, content, key, None).await
    }

    async fn reply(
        &self,
        chat: &str,
        content: Content<'_>,
        key: &str,
        question: &str,
    ) -> std::result::Result<String, Fault> {
        self.send(chat, content, key, reply_parameters(question)).await
    }

    async fn edit(
        &self,
        chat: &str,
        message_id: &str,
        content: Content<'_>,
    ) -> std::result::Result<(), Fault> {
        let mut params = match content {
            Content::Text { text, buttons } => message(text, buttons),
            Content::Rich(markdown) => newer::rich_message(markdown),
            _ => return Err(Fault::Gone("a file takes no message's place".into())),
        };
        let Ok(id) = message_id.parse::<i64>() else {
            return Err(Fault::Gone("this is no message of Telegram".into()));
        };
        params["message_id"] = json!(id);
        let Err(failure) = self.call::<Value>("editMessageText", chat, params).await else { return Ok(()) };
        if matches!(content, Content::Rich(_)) {
            self.newer.note_rich(&failure);
        }
        match Fault::from(failure) {
            Fault::Refused(message) if message.contains("message is not modified") => Ok(()),
            fault => Err(fault),
        }
    }

    async fn typing(&self, chat: &str) -> std::result::Result<(), Fault> {
        self.call::<Value>("sendChatAction", chat, json!({"action": "typing"})).await?;
        Ok(())
    }

    async fn fetch(&self, file: &RemoteFile) -> std::result::Result<Vec<u8>, Fault> {
        let found: File =
            self.api.call("getFile", &json!({"file_id": file.handle})).await.map_err(Fault::from)?;
        let Some(path) = found.file_path else {
            return Err(Fault::Refused("Telegram gives no path for the file".into()));
        };
        self.api.fetch(&path, MAX_FILE).await
    }
}

#[async_trait]
impl Identity for Telegram {
    async fn identify(&self) -> std::result::Result<(), Fault> {
        self.api.call::<Value>("getMe", &json!({})).await?;
        Ok(())
    }

    async fn inspect(&self) -> Vec<Check> {
        if !self.api.has_token() {
            return vec![Check::new("token", false, "channels.telegram.token is empty; BotFather gives one")];
        }
        let me = self.api.call::<super::wire::User>("getMe", &json!({})).await;
        let me = match me {
            Ok(me) => Check::new("getMe", true, format!("@{}", me.username.unwrap_or_default())),
            Err(failure) => {
                let fault = Fault::from(failure);
                return vec![Check::new("getMe", false, fault.message())];
            }
        };
        let webhook = match self.api.call::<Value>("getWebhookInfo", &json!({})).await {
            Ok(info) if info["url"].as_str().is_none_or(str::is_empty) => {
                Check::new("getWebhookInfo", true, "no webhook is set")
            }
            Ok(_) => Check::new(
                "getWebhookInfo",
                false,
                "a webhook is set, so nothing comes here; delete it with deleteWebhook of the Bot API, or give channels.telegram.token another bot",
            ),
            Err(failure) => Check::new("getWebhookInfo", false, Fault::from(failure).message()),
        };
        vec![me, webhook]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipients_are_chats_topics_and_names() {
        for right in ["7", "-1001234567890", "-100:3", "@some_channel"] {
            assert!(is_recipient(right), "{right}");
        }
        for wrong in ["", "0", "ada", "@a", "7:", "7:x", "@a b c d", "7 "] {
            assert!(!is_recipient(wrong), "{wrong}");
        }
    }
}
