//! WhatsApp as a platform: sending within a day after a person's message, files, and the typing indicator.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::channel::ChannelRecords;
use aethon_core::clock::Clock;
use aethon_core::error::Error;
use aethon_core::live::Live;
use aethon_core::message::Attachment;
use async_trait::async_trait;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::api::Api;
use super::calls::Calls;
use super::{Options, TERMS, form, inbound, window, words};
use crate::multipart;
use crate::options::{ChannelServices, Rules};
use crate::talk::{
    Button, Check, Content, Dialect, EYES, Failure, Fault, Identity, Messenger, Platform, Reactions,
    RemoteFile, described,
};
use crate::text::{Fit, Measure, Styled};

/// Creates the channel.
pub fn channel(options: Options, rules: Rules, services: ChannelServices) -> Messenger {
    let platform = Arc::new(WhatsApp::new(options, &rules, &services));
    let calls = platform.calls.clone();
    Messenger::new(platform, inbound::is_person, rules, services).called_by_its_platform(calls)
}

/// The longest message, leaving space for its marks.
const MAX_TEXT: usize = 3800;
/// The longest text above buttons, in UTF-16 units.
const MAX_ABOVE_BUTTONS: usize = 1024;
/// How many spans a message may have.
const MAX_SPANS: usize = 100;
/// The minimum interval between messages to a person.
const PACE: Duration = Duration::from_secs(1);
/// How long the typing indicator lasts.
const TYPING: Duration = Duration::from_secs(20);
/// How many chats are remembered for it.
const MAX_CHATS: usize = 1000;
/// How long Meta may take to report that a message failed.
const FAILS_WITHIN: SignedDuration = SignedDuration::from_hours(72);

pub(super) struct WhatsApp {
    api: Api,
    calls: Arc<Calls>,
    /// The missing setting that prevents the channel from running.
    missing: Option<&'static str>,
    records: Arc<dyn ChannelRecords>,
    clock: Arc<dyn Clock>,
    allowed: Live<Vec<String>>,
    max_file_bytes: usize,
    last: Mutex<BTreeMap<String, Last>>,
}

/// The last message of a chat, to which the typing indicator is attached.
struct Last {
    message: String,
    signed_at: Option<Instant>,
}

impl WhatsApp {
    fn new(options: Options, rules: &Rules, services: &ChannelServices) -> Self {
        let calls = Arc::new(Calls::new(&options, services));
        let unsigned = options.secret.is_empty();
        let api = Api::new(options);
        let missing = api.missing().or_else(|| {
            unsigned.then_some("channels.whatsapp.secret is empty; set it to the app's secret, under which Meta signs its calls")
        });
        Self {
            api,
            calls,
            missing,
            records: services.records.clone(),
            clock: services.clock.clone(),
            allowed: rules.allowed.clone(),
            max_file_bytes: usize::try_from(rules.max_file_bytes).unwrap_or(usize::MAX),
            last: Mutex::default(),
        }
    }

    pub(super) fn api(&self) -> &Api {
        &self.api
    }

    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }

    pub(super) fn missing(&self) -> Option<&'static str> {
        self.missing
    }

    /// Returns whether the owner's list contains this id.
    pub(super) fn is_listed(&self, id: &str) -> bool {
        self.allowed.get().iter().any(|allowed| allowed == id)
    }

    /// Where the key of a sent message is stored.
    pub(super) fn sent(message: &str) -> String {
        format!("sent:{message}")
    }

    /// Records the last message of a chat.
    pub(super) fn note_last(&self, chat: &str, message: &str) {
        let mut last = self.last();
        if last.len() >= MAX_CHATS {
            last.pop_first();
        }
        last.insert(chat.to_owned(), Last { message: message.to_owned(), signed_at: None });
    }

    fn last(&self) -> MutexGuard<'_, BTreeMap<String, Last>> {
        // Every statement leaves the map consistent, so a poisoned lock is usable.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, chat: &str, kind: &str, content: Value) -> std::result::Result<String, Fault> {
        // An id in place of a hidden number goes in another field.
        let to = if inbound::is_user_id(chat) { "recipient" } else { "to" };
        let mut body = json!({"messaging_product": "whatsapp", "recipient_type": "individual", "type": kind});
        body[to] = json!(chat);
        body[kind] = content;
        let sent = self.api.messages(&body).await?;
        Ok(sent["messages"][0]["id"].as_str().unwrap_or_default().to_owned())
    }

    async fn text(
        &self,
        chat: &str,
        text: &Styled,
        buttons: &[Button],
    ) -> std::result::Result<String, Fault> {
        let body = form::marked(text);
        if buttons.is_empty() {
            return self.send(chat, "text", json!({"preview_url": false, "body": body})).await;
        }
        let is_short = body.encode_utf16().count() <= MAX_ABOVE_BUTTONS;
        if !is_short {
            self.send(chat, "text", json!({"preview_url": false, "body": body})).await?;
        }
        let above = if is_short { body.as_str() } else { "Your answer to what stands above:" };
        let button =
            |button: &Button| json!({"type": "reply", "reply": {"id": button.data, "title": button.label}});
        let buttons: Vec<Value> = buttons.iter().take(3).map(button).collect();
        let content = json!({"type": "button", "body": {"text": above}, "action": {"buttons": buttons}});
        self.send(chat, "interactive", content).await
    }

    async fn file(&self, chat: &str, file: &Attachment) -> std::result::Result<String, Fault> {
        let is_picture = matches!(file.mime.as_str(), "image/png" | "image/jpeg");
        let fields = [("messaging_product", "whatsapp".to_owned()), ("type", file.mime.clone())];
        let id = self.api.upload(multipart::form(&fields, "file", file)?).await?;
        match is_picture {
            true => self.send(chat, "image", json!({"id": id})).await,
            false => self.send(chat, "document", json!({"id": id, "filename": file.name})).await,
        }
    }
}

#[async_trait]
impl Reactions for WhatsApp {
    async fn acknowledge(&self, chat: &str, message: &str) -> std::result::Result<String, Fault> {
        self.send(chat, "reaction", json!({"message_id": message, "emoji": EYES})).await
    }

    async fn withdraw(&self, chat: &str, message: &str, _: Option<&str>) -> std::result::Result<(), Fault> {
        self.send(chat, "reaction", json!({"message_id": message, "emoji": ""})).await?;
        Ok(())
    }
}

#[async_trait]
impl Platform for WhatsApp {
    fn dialect(&self) -> Dialect {
        let fit = Fit { measure: Measure::Utf16, length: MAX_TEXT, spans: MAX_SPANS };
        Dialect { edits: false, ..Dialect::chat(fit, |_| PACE) }
    }

    async fn post(&self, chat: &str, content: Content<'_>, key: &str) -> std::result::Result<String, Fault> {
        let unstored = |error: Error| Fault::later(error.to_string());
        let now = self.clock.now();
        if window::is_closed(&*self.records, chat, now).await.map_err(unstored)? {
            return Err(Fault::Refused(
                "more than a day after the person's last message WhatsApp takes no free text; they have to write first".into(),
            ));
        }
        let (message, words) = match content {
            Content::Text { text, buttons } => (self.text(chat, text, buttons).await?, text.text.clone()),
            Content::File(file) => (self.file(chat, file).await?, described("File", [file.name.as_str()])),
            _ => return Err(Fault::no_such_form()),
        };
        if let Err(error) = words::remember_ours(&*self.records, &message, &words, now).await {
            tracing::warn!(channel = "whatsapp", %error, "the words of a message could not be remembered");
        }
        // Remembered in case Meta reports a failure later. The message is sent even if this cannot be stored.
        let kept = self.records.put("whatsapp", &Self::sent(&message), key, Some(now + FAILS_WITHIN)).await;
        if let Err(error) = kept {
            tracing::warn!(channel = "whatsapp", %error, "the words of a sent message could not be stored");
        }
        Ok(message)
    }

    async fn edit(&self, _: &str, _: &str, _: Content<'_>) -> std::result::Result<(), Fault> {
        Err(Fault::Gone("messages of WhatsApp cannot be changed".into()))
    }

    async fn typing(&self, chat: &str) -> std::result::Result<(), Fault> {
        let message = {
            let mut last = self.last();
            let Some(last) = last.get_mut(chat) else { return Ok(()) };
            if last.signed_at.is_some_and(|at| at.elapsed() < TYPING) {
                return Ok(());
            }
            last.signed_at = Some(Instant::now());
            last.message.clone()
        };
        let read = json!({
            "messaging_product": "whatsapp", "status": "read", "message_id": message,
            "typing_indicator": {"type": "text"},
        });
        self.api.messages(&read).await?;
        Ok(())
    }

    async fn fetch(&self, file: &RemoteFile) -> std::result::Result<Vec<u8>, Fault> {
        Ok(self.api.download(&file.handle, self.max_file_bytes).await?)
    }
}

#[async_trait]
impl Identity for WhatsApp {
    async fn identify(&self) -> std::result::Result<(), Fault> {
        self.api.look().await?;
        Ok(())
    }

    async fn inspect(&self) -> Vec<Check> {
        let terms = Check::new("terms", true, TERMS);
        if let Some(missing) = self.missing {
            return vec![Check::new("keys", false, missing), terms];
        }
        let number = match self.api.look().await {
            Ok(number) => {
                let shown = |name: &str| number[name].as_str().unwrap_or_default().to_owned();
                let account = [shown("display_phone_number"), shown("verified_name")].join(" ");
                Check::new("number", true, account.trim())
            }
            Err(Failure::Token(message)) => Check::new("number", false, message),
            Err(failure) => Check::new("number", false, Fault::from(failure).message()),
        };
        vec![number, terms]
    }
}
