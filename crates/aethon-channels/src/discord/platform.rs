//! Discord as a platform: sending each message once, editing, typing, files, commands.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::exchange::Method;
use async_trait::async_trait;
use serde_json::{Value, json};

use super::api::{Api, Body};
use super::lookups::Lookups;
use super::{Options, form, inbound};
use crate::digest::digest_of;
use crate::multipart;
use crate::options::{ChannelServices, Rules};
use crate::socket::Dial;
use crate::talk::{
    Check, Content, Dialect, EYES, Failure, Fault, Identity, Intake, Messenger, Platform, Reactions,
    RemoteFile,
};
use crate::text::{Fit, Measure};
use aethon_core::messenger::GroupMode;

/// Creates the channel.
pub fn channel(options: Options, rules: Rules, services: ChannelServices) -> Messenger {
    let wants_content = options.message_content && rules.groups == GroupMode::All;
    let discord = Discord {
        api: Api::new(&options.api_base, options.token, options.exchange),
        dial: options.dial,
        wants_content,
        most_file: usize::try_from(rules.max_file_bytes).unwrap_or(usize::MAX),
        lookups: Lookups::default(),
    };
    Messenger::new(Arc::new(discord), |recipient| inbound::id(&json!(recipient)).is_some(), rules, services)
}

/// The longest message, including markup and escapes.
const MAX_TEXT: usize = 1990;
/// The minimum interval between messages and edits: Discord allows five in five seconds.
const PACE: Duration = Duration::from_millis(1100);
/// The minimum interval between all messages and edits: Discord allows fifty requests a second.
const PACE_OF_ALL: Duration = Duration::from_millis(25);
/// The largest file that can be sent, in bytes.
const MAX_FILE: usize = 10 << 20;
/// The longest nonce of a message.
const NONCE: usize = 24;
/// Where the registered commands are stored.
const COMMANDS: &str = "commands";

pub(super) struct Discord {
    api: Api,
    dial: Arc<dyn Dial>,
    wants_content: bool,
    most_file: usize,
    lookups: Lookups,
}

impl Discord {
    pub(super) fn api(&self) -> &Api {
        &self.api
    }

    pub(super) fn dial(&self) -> &Arc<dyn Dial> {
        &self.dial
    }

    /// The remembered facts about channels and servers.
    pub(super) fn lookups(&self) -> &Lookups {
        &self.lookups
    }

    /// Returns whether to request the content of messages not addressed to us.
    pub(super) fn wants_content(&self) -> bool {
        self.wants_content
    }

    /// Returns our id and name.
    pub(super) async fn us(&self) -> std::result::Result<(String, String), Failure> {
        let us = self.api.get("/users/@me").await?;
        let id = inbound::id(&us["id"]);
        let id = id.ok_or_else(|| Failure::Fault(Fault::later("Discord does not say who we are")))?;
        Ok((id, us["username"].as_str().unwrap_or_default().to_owned()))
    }

    /// Answers an interaction with a message that only one person sees. Returns whether it arrived.
    pub(super) async fn answer(&self, interaction: &Interaction, text: &str) -> bool {
        let data = json!({
            "content": text, "flags": form::ONLY_FOR_YOU, "allowed_mentions": form::nobody(),
        });
        self.respond(interaction, json!({"type": 4, "data": data})).await
    }

    /// Announces an answer to an interaction.
    pub(super) async fn defer(&self, interaction: &Interaction) -> bool {
        self.respond(interaction, json!({"type": 5, "data": {"flags": form::ONLY_FOR_YOU}})).await
    }

    /// Sends the answer that was announced. Returns whether it arrived.
    pub(super) async fn follow_up(&self, interaction: &Interaction, text: &str) -> bool {
        let Interaction { application, token, .. } = interaction;
        let path = format!("/webhooks/{application}/{}/messages/@original", crate::rest::encoded(token));
        let body = json!({"content": text, "allowed_mentions": form::nobody()});
        noted(self.api.send(Method::Patch, &path, Body::Json(body)).await)
    }

    async fn respond(&self, interaction: &Interaction, body: Value) -> bool {
        let Interaction { id, token, .. } = interaction;
        let path = format!("/interactions/{id}/{}/callback", crate::rest::encoded(token));
        noted(self.api.send(Method::Post, &path, Body::Json(body)).await)
    }

    /// Registers the slash commands once. Without registration, they can still be typed.
    pub(super) async fn register(&self, intake: &Intake, application: &Value) {
        let Some(application) = inbound::id(application) else { return };
        let command = |name: &str, description: &str| json!({"name": name, "type": 1, "description": description, "contexts": [0, 1], "integration_types": [0]});
        let commands = json!([
            command("start", "Say hello"),
            command("help", "List the commands"),
            command("new", "Begin a new conversation"),
            command("stop", "Stop what runs"),
        ]);
        let what = format!("{application} {}", named(&commands.to_string()));
        let is_done = intake.records().get("discord", COMMANDS).await;
        if is_done.is_ok_and(|done| done.as_ref() == Some(&what)) {
            return;
        }
        let path = format!("/applications/{application}/commands");
        match self.api.send(Method::Put, &path, Body::Json(commands)).await {
            Ok(_) => {
                // If this fails, they are registered again, which has no effect.
                let _ = intake.records().put("discord", COMMANDS, &what, None).await;
            }
            Err(failure) => {
                let error = Fault::from(failure);
                tracing::warn!(
                    channel = "discord",
                    error = error.message(),
                    "the commands could not be registered"
                );
            }
        }
    }

    /// Sends something, as a reply to a message if there is one.
    async fn send(
        &self,
        chat: &str,
        content: Content<'_>,
        key: &str,
        question: Option<&str>,
    ) -> std::result::Result<String, Fault> {
        let path = format!("/channels/{chat}/messages");
        let name = |mut message: Value| {
            message["nonce"] = json!(named(key));
            // Makes Discord return the existing message instead of creating a second one.
            message["enforce_nonce"] = json!(true);
            if let Some(question) = question {
                message["message_reference"] = json!({"message_id": question, "fail_if_not_exists": false});
            }
            message
        };
        let body = match content {
            Content::Text { text, buttons } => Body::Json(name(form::message(text, buttons))),
            Content::File(file) => {
                // Base64 encodes three bytes as four.
                if file.data.len() / 4 * 3 > MAX_FILE {
                    return Err(Fault::Refused(
                        "the file is larger than the 10 MB that Discord takes".into(),
                    ));
                }
                let message = name(json!({"allowed_mentions": form::nobody()}));
                let fields = [("payload_json", message.to_string())];
                let (content_type, bytes) = multipart::form(&fields, "files[0]", file)?;
                Body::Form(content_type, bytes)
            }
            _ => return Err(Fault::no_such_form()),
        };
        let sent = self.api.send(Method::Post, &path, body).await?;
        inbound::id(&sent["id"]).ok_or_else(|| Fault::Doubtful("Discord does not name the message".into()))
    }
}

/// The reference by which a press or a command is answered.
#[derive(Debug, Clone)]
pub(super) struct Interaction {
    id: String,
    application: String,
    token: String,
}

impl Interaction {
    pub(super) fn read(event: &Value) -> Option<Self> {
        let application = inbound::id(&event["application_id"]).unwrap_or_default();
        Some(Self { id: inbound::id(&event["id"])?, application, token: event["token"].as_str()?.to_owned() })
    }
}

/// Returns whether an answer arrived.
fn noted(answered: std::result::Result<Value, Failure>) -> bool {
    if let Err(failure) = answered {
        let error = Fault::from(failure);
        tracing::debug!(channel = "discord", error = error.message(), "an interaction could not be answered");
        return false;
    }
    true
}

/// Returns the path of our reaction to a message.
fn reaction(chat: &str, message: &str) -> std::result::Result<String, Fault> {
    let id =
        inbound::id(&json!(message)).ok_or_else(|| Fault::Refused("this is no message of Discord".into()))?;
    Ok(format!("/channels/{chat}/messages/{id}/reactions/{}/@me", crate::rest::encoded(EYES)))
}

/// Returns a nonce that is the same for every attempt.
fn named(key: &str) -> String {
    // Two digits for each byte.
    digest_of(key, NONCE / 2)
}

#[async_trait]
impl Reactions for Discord {
    async fn acknowledge(&self, chat: &str, message: &str) -> std::result::Result<String, Fault> {
        self.api.send(Method::Put, &reaction(chat, message)?, Body::Nothing).await?;
        Ok(String::new())
    }

    async fn withdraw(&self, chat: &str, message: &str, _: Option<&str>) -> std::result::Result<(), Fault> {
        self.api.send(Method::Delete, &reaction(chat, message)?, Body::Nothing).await?;
        Ok(())
    }
}

#[async_trait]
impl Platform for Discord {
    fn dialect(&self) -> Dialect {
        let fit = Fit { measure: Measure::Discord, length: MAX_TEXT, spans: 200 };
        Dialect {
            sends_once: true,
            splits_at: Some(2000),
            pace_of_all: PACE_OF_ALL,
            ..Dialect::chat(fit, |_| PACE)
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
        self.send(chat, content, key, inbound::id(&json!(question)).as_deref()).await
    }

    async fn edit(&self, chat: &str, message: &str, content: Content<'_>) -> std::result::Result<(), Fault> {
        let Content::Text { text, buttons } = content else {
            return Err(Fault::Gone("a file takes no message's place".into()));
        };
        let path = format!("/channels/{chat}/messages/{message}");
        self.api.send(Method::Patch, &path, Body::Json(form::message(text, buttons))).await?;
        Ok(())
    }

    async fn typing(&self, chat: &str) -> std::result::Result<(), Fault> {
        self.api.send(Method::Post, &format!("/channels/{chat}/typing"), Body::Nothing).await?;
        Ok(())
    }

    async fn fetch(&self, file: &RemoteFile) -> std::result::Result<Vec<u8>, Fault> {
        self.api.fetch(&file.handle, self.most_file.saturating_add(1)).await
    }
}

#[async_trait]
impl Identity for Discord {
    async fn identify(&self) -> std::result::Result<(), Fault> {
        self.us().await?;
        Ok(())
    }

    async fn inspect(&self) -> Vec<Check> {
        if self.api.token().is_empty() {
            let detail = "channels.discord.token is empty; the developer portal gives one";
            return vec![Check::new("token", false, detail)];
        }
        let us = match self.us().await {
            Ok((_, name)) => Check::new("users/@me", true, name),
            Err(failure) => return vec![Check::new("users/@me", false, Fault::from(failure).message())],
        };
        let gateway = match self.api.get("/gateway/bot").await {
            Ok(told) => {
                let left = told["session_start_limit"]["remaining"].as_u64();
                let left = left.map_or("some".to_owned(), |left| left.to_string());
                Check::new("gateway/bot", true, format!("{left} new sessions are left today"))
            }
            Err(failure) => Check::new("gateway/bot", false, Fault::from(failure).message()),
        };
        vec![us, gateway]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_one_name_that_discord_takes() {
        assert!(named("turn-1-0").len() <= 25 && named("turn-1-0") == named("turn-1-0"));
        assert_ne!(named("turn-1-0"), named("turn-1-1"));
    }
}
