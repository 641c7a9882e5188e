//! Slack as a platform: sending each message once, editing, files.
//!
//! Slack does not reject duplicates. So every message is recorded before it is sent. If it must be sent again and the
//! outcome of the first attempt is unknown, the conversation is searched for it first.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aethon_core::channel::ChannelRecords;
use aethon_core::clock::Clock;
use aethon_core::error::Error;
use aethon_core::message::Attachment;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::account::Account;
use super::api::{Api, Token};
use super::streams::{Streams, is_ts};
use super::{Options, form};
use crate::digest::digest_of;
use crate::options::{ChannelServices, Rules};
use crate::socket::Dial;
use crate::talk::{
    AppendOnlyMessages, Button, Check, Content, Dialect, Failure, Fault, Identity, Messenger, Platform,
    Reactions, RemoteFile,
};
use crate::text::{Fit, Measure, Styled};

/// Creates the channel.
pub fn channel(options: Options, rules: Rules, services: ChannelServices) -> Messenger {
    let streams_natively = options.native_streams;
    let slack = Arc::new(Slack::new(options, rules.max_file_bytes, &services));
    let growth = streams_natively.then(|| slack.clone() as Arc<dyn AppendOnlyMessages>);
    Messenger::growing((slack, growth), is_recipient, rules, services)
}

/// The longest text, including markup and escapes: edits allow 4,000.
const MAX_TEXT: usize = 3800;
/// The minimum interval between posts and edits. A channel allows one post a second, a workspace fifty edits a
/// minute.
const PACE: Duration = Duration::from_millis(1250);
/// How long an attempt to send is remembered.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How many messages are searched for one that may have arrived.
pub(super) const LOOKED_THROUGH: &str = "100";

pub(super) struct Slack {
    api: Api,
    dial: Arc<dyn Dial>,
    records: Arc<dyn ChannelRecords>,
    clock: Arc<dyn Clock>,
    most_file: usize,
    account: OnceLock<Account>,
    pub(super) streams: Streams,
}

/// A recipient: the channel, and the thread in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) channel: &'a str,
    pub(super) thread: Option<&'a str>,
}

impl<'a> Place<'a> {
    pub(super) fn of(chat: &'a str) -> Self {
        match chat.split_once(':') {
            Some((channel, thread)) => Self { channel, thread: Some(thread) },
            None => Self { channel: chat, thread: None },
        }
    }
}

impl Slack {
    fn new(options: Options, most_file: u64, services: &ChannelServices) -> Self {
        let Options { api_base, bot_token, app_token, exchange, dial, .. } = options;
        Self {
            api: Api::new(&api_base, (bot_token, app_token), exchange),
            dial,
            records: services.records.clone(),
            clock: services.clock.clone(),
            most_file: usize::try_from(most_file).unwrap_or(usize::MAX),
            account: OnceLock::new(),
            streams: Streams::default(),
        }
    }

    pub(super) fn api(&self) -> &Api {
        &self.api
    }

    pub(super) fn dial(&self) -> &Arc<dyn Dial> {
        &self.dial
    }

    /// Returns our account, from memory if known.
    pub(super) async fn account(&self) -> std::result::Result<Account, Failure> {
        match self.account.get() {
            Some(account) => Ok(account.clone()),
            None => Self::identify(self).await,
        }
    }

    /// Asks Slack who we are.
    pub(super) async fn identify(&self) -> std::result::Result<Account, Failure> {
        let account = Account::read(&self.api.call("auth.test", &json!({})).await?)?;
        // This does not change while the program runs.
        self.account.get_or_init(|| account.clone());
        Ok(account)
    }

    /// Sends a message that only one person sees. It is not essential, so it may get lost.
    pub(super) async fn whisper(&self, chat: String, person: String, text: &str) {
        let place = Place::of(&chat);
        let mut params = json!({"channel": place.channel, "user": person, "text": text});
        if let Some(thread) = place.thread {
            params["thread_ts"] = json!(thread);
        }
        if let Err(failure) = self.api.call("chat.postEphemeral", &params).await {
            tracing::debug!(
                channel = "slack",
                error = Fault::from(failure).message(),
                "a press could not be answered"
            );
        }
    }

    /// Adds or removes our reaction. It is not a failure if that was done before.
    async fn react(&self, method: &str, message: &str, done: &str) -> std::result::Result<(), Fault> {
        let place = message.split_once(':').filter(|(_, ts)| is_ts(ts));
        let (channel, ts) = place.ok_or_else(|| Fault::Refused("this is no message of Slack".into()))?;
        let params = json!({"channel": channel, "timestamp": ts, "name": "eyes"});
        match self.api.call(method, &params).await.map_err(Fault::from) {
            Err(Fault::Refused(why)) if why.ends_with(done) => Ok(()),
            reacted => reacted.map(drop),
        }
    }

    /// Records that something is being sent. Returns the earlier record if it was tried before.
    pub(super) async fn begin(&self, key: &str, note: &str) -> std::result::Result<Option<String>, Fault> {
        let (name, until) = (sent_name(key), Some(self.clock.now() + REMEMBERED));
        let is_first = self.records.claim("slack", &name, note, until).await.map_err(unstored)?;
        if is_first {
            return Ok(None);
        }
        Ok(Some(self.records.get("slack", &name).await.map_err(unstored)?.unwrap_or_default()))
    }

    /// Removes the record if nothing was sent for certain, so that the next attempt is the first again.
    pub(super) async fn forget(&self, key: &str, fault: &Fault) {
        if !matches!(fault, Fault::Doubtful(_))
            && let Err(error) = self.records.take("slack", &sent_name(key)).await
        {
            tracing::debug!(channel = "slack", %error, "a message counts as sent that was not");
        }
    }

    async fn text(
        &self,
        chat: &str,
        (text, buttons): (&Styled, &[Button]),
        key: &str,
    ) -> std::result::Result<String, Fault> {
        let (place, id) = (Place::of(chat), message_id(key));
        if let Some(before) = self.begin(key, "").await? {
            let found = match self.find_stream(place.channel, &before).await? {
                Some(stream) => Some(stream),
                None => self.find(place, &id).await?,
            };
            if let Some(found) = found {
                return Ok(found);
            }
        }
        let mut params = message(text, buttons);
        params["channel"] = json!(place.channel);
        params["client_msg_id"] = json!(id);
        params["metadata"] = json!({"event_type": "aethon_message", "event_payload": {"id": id}});
        if let Some(thread) = place.thread {
            params["thread_ts"] = json!(thread);
        }
        match self.api.call("chat.postMessage", &params).await {
            Ok(sent) => Ok(reference(&sent["channel"], &sent["ts"])),
            Err(failure) => {
                let fault = Fault::from(failure);
                self.forget(key, &fault).await;
                Err(fault)
            }
        }
    }

    /// Searches for a message that may have been sent before.
    async fn find(&self, place: Place<'_>, id: &str) -> std::result::Result<Option<String>, Fault> {
        let mut params =
            vec![("channel", place.channel), ("limit", LOOKED_THROUGH), ("include_all_metadata", "true")];
        let method = match place.thread {
            Some(thread) => {
                params.push(("ts", thread));
                "conversations.replies"
            }
            None => "conversations.history",
        };
        let told = self.api.get(method, &params).await.map_err(Fault::from)?;
        let ours = |message: &&Value| {
            message["client_msg_id"] == id || message["metadata"]["event_payload"]["id"] == id
        };
        let found = told["messages"].as_array().into_iter().flatten().find(ours);
        Ok(found.map(|message| reference(&json!(place.channel), &message["ts"])))
    }

    async fn file(&self, chat: &str, file: &Attachment, key: &str) -> std::result::Result<String, Fault> {
        let place = Place::of(chat);
        let bytes = STANDARD.decode(&file.data);
        let bytes = bytes.map_err(|_| Fault::Refused("the file is not valid base64".into()))?;
        let length = bytes.len().to_string();
        let told = self
            .api
            .get("files.getUploadURLExternal", &[("filename", &file.name), ("length", &length)])
            .await
            .map_err(Fault::from)?;
        let (Some(address), Some(id)) = (told["upload_url"].as_str(), told["file_id"].as_str()) else {
            return Err(Fault::later("Slack names no place for the file"));
        };
        self.api.upload(address, bytes).await?;
        // The file becomes visible only now. If this was tried before, that file may already be there.
        if let Some(before) = self.begin(key, id).await? {
            if self.is_shared(&before).await? {
                return Ok(before);
            }
            let until = Some(self.clock.now() + REMEMBERED);
            self.records.put("slack", &sent_name(key), id, until).await.map_err(unstored)?;
        }
        let mut params = json!({"files": [{"id": id, "title": file.name}], "channel_id": place.channel});
        if let Some(thread) = place.thread {
            params["thread_ts"] = json!(thread);
        }
        match self.api.call("files.completeUploadExternal", &params).await {
            Ok(_) => Ok(id.to_owned()),
            Err(failure) => {
                let fault = Fault::from(failure);
                self.forget(key, &fault).await;
                Err(fault)
            }
        }
    }

    async fn is_shared(&self, file: &str) -> std::result::Result<bool, Fault> {
        match self.api.get("files.info", &[("file", file)]).await.map_err(Fault::from) {
            Ok(told) => Ok(["channels", "groups", "ims"]
                .iter()
                .any(|kind| told["file"][kind].as_array().is_some_and(|places| !places.is_empty()))),
            Err(Fault::Refused(_)) => Ok(false),
            Err(fault) => Err(fault),
        }
    }
}

/// Returns whether a chat is a channel rather than one of its threads, which are chats of their own. Slash commands
/// name no thread.
fn has_threads(chat: &str) -> bool {
    chat.starts_with(['C', 'G']) && !chat.contains(':')
}

/// Returns whether this can be a recipient: the id of a conversation, optionally with a thread, or of a person.
fn is_recipient(recipient: &str) -> bool {
    let is_id = |id: &str, kinds: &str| {
        id.len() > 1
            && id.starts_with(|c| kinds.contains(c))
            && id.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    match recipient.split_once(':') {
        Some((channel, thread)) => is_id(channel, "CDG") && is_ts(thread),
        None => is_id(recipient, "CDGUW"),
    }
}

fn message(text: &Styled, buttons: &[Button]) -> Value {
    let mut params = json!({"text": form::mrkdwn(text), "unfurl_links": false, "unfurl_media": false});
    if !buttons.is_empty() {
        params["blocks"] = form::blocks(text, buttons);
    }
    params
}

/// Returns the reference under which a message is remembered. The channel must be the one Slack returned, since a
/// person's id is not a channel.
pub(super) fn reference(channel: &Value, ts: &Value) -> String {
    format!("{} {}", channel.as_str().unwrap_or_default(), ts.as_str().unwrap_or_default())
}

/// Returns a message id that is the same for every attempt, formatted as a UUID.
fn message_id(key: &str) -> String {
    let hex = digest_of(format!("slack {key}"), 16);
    format!("{}-{}-8{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

fn sent_name(key: &str) -> String {
    format!("sent:{key}")
}

fn unstored(error: Error) -> Fault {
    Fault::later(format!("the start of a delivery could not be stored: {error}"))
}

#[async_trait]
impl Reactions for Slack {
    async fn acknowledge(&self, _chat: &str, message: &str) -> std::result::Result<String, Fault> {
        self.react("reactions.add", message, "already_reacted").await?;
        Ok(String::new())
    }

    async fn withdraw(&self, _chat: &str, message: &str, _: Option<&str>) -> std::result::Result<(), Fault> {
        self.react("reactions.remove", message, "no_reaction").await
    }
}

#[async_trait]
impl Platform for Slack {
    fn dialect(&self) -> Dialect {
        let fit = Fit { measure: Measure::Slack, length: MAX_TEXT, spans: 200 };
        Dialect { sends_once: true, has_threads, splits_at: Some(4000), ..Dialect::chat(fit, |_| PACE) }
    }

    async fn post(&self, chat: &str, content: Content<'_>, key: &str) -> std::result::Result<String, Fault> {
        match content {
            Content::Text { text, buttons } => self.text(chat, (text, buttons), key).await,
            Content::File(file) => self.file(chat, file, key).await,
            _ => Err(Fault::no_such_form()),
        }
    }

    async fn edit(&self, _chat: &str, message: &str, content: Content<'_>) -> std::result::Result<(), Fault> {
        let Content::Text { text, buttons } = content else {
            return Err(Fault::Gone("a file takes no message's place".into()));
        };
        let mut params = self::message(text, buttons);
        // Blocks stay unless they are replaced, and their buttons with them.
        if buttons.is_empty() {
            params["blocks"] = json!([]);
        }
        self.replace(message, params).await
    }

    /// Slack has no typing indicator for bots.
    async fn typing(&self, _chat: &str) -> std::result::Result<(), Fault> {
        Ok(())
    }

    async fn fetch(&self, file: &RemoteFile) -> std::result::Result<Vec<u8>, Fault> {
        let is_page = file.mime.starts_with("text/html");
        self.api.fetch(&file.handle, is_page, self.most_file.saturating_add(1)).await
    }
}

#[async_trait]
impl Identity for Slack {
    async fn identify(&self) -> std::result::Result<(), Fault> {
        Slack::identify(self).await?;
        Ok(())
    }

    async fn inspect(&self) -> Vec<Check> {
        if let Some(token) = self.api.missing() {
            return vec![Check::new("token", false, format!("{} is empty", token.key()))];
        }
        let bot = match Slack::identify(self).await {
            Ok(account) => Check::new("auth.test", true, account.shown),
            Err(failure) => Check::new("auth.test", false, Fault::from(failure).message()),
        };
        // An unused address is only a ticket that expires.
        let socket = match self.api.post("apps.connections.open", Token::App, &json!({})).await {
            Ok(_) => Check::new("apps.connections.open", true, "Socket Mode is on"),
            Err(failure) => Check::new("apps.connections.open", false, Fault::from(failure).message()),
        };
        vec![bot, socket]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipients_are_conversations_threads_and_people() {
        for right in ["D024BE91L", "C12345", "G12345", "C1A:1700000000.000100", "U024BE7LH"] {
            assert!(is_recipient(right), "{right}");
        }
        for wrong in ["", "C", "#general", "U1A:1.2", "C1A:", "C1A:x", "c12345", "C1A 2"] {
            assert!(!is_recipient(wrong), "{wrong}");
        }
    }

    #[test]
    fn an_id_is_the_same_for_every_attempt() {
        let id = message_id("turn-1-0");
        assert!(id == message_id("turn-1-0") && id != message_id("turn-1-1"));
        assert!(id.len() == 36 && id.as_bytes()[14] == b'8' && id.as_bytes()[19] == b'a', "{id}");
    }
}
