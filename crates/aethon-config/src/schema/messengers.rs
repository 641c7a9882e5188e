//! `[channels.telegram]` and its siblings. Each has `api_base`, so that it can be pointed at another server.

use aethon_core::messenger::{Acknowledge, GroupMode, Pairing, Streaming, UnknownSenderPolicy};
use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Telegram's limit for bots without paid broadcasts.
const MESSAGES_A_SECOND: u32 = 30;
/// The largest file that is downloaded, in MB. Larger ones are reported.
const MAX_FILE_MB: u32 = 20;
/// The age in minutes from which a message is reported instead of answered.
const STALE_MINUTES: u32 = 1440;

/// `[channels.telegram]`: a bot by long polling.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Telegram {
    /// Whether the bot runs.
    pub enabled: bool,
    /// The Bot API's address.
    pub api_base: String,
    /// The bot's token, from BotFather.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub token: Secret,
    /// Whether a reply is shown while it is written.
    pub streaming: Streaming,
    /// Whether a reply with headings or tables is a rich message, which Telegram Web, macOS and other apps show blank.
    pub rich: bool,
    /// How many messages and edits a second Telegram accepts from the bot, over all chats. 0: no limit.
    pub messages_a_second: u32,
    /// Which messages of a group are answered.
    pub group_mode: GroupMode,
    /// Whether a message gets a reaction while its answer is on its way.
    pub acknowledge: Acknowledge,
    /// How an unknown sender can get access.
    pub pairing: Pairing,
    /// The reply to unknown senders.
    pub strangers: UnknownSenderPolicy,
    /// The recipient of deliveries that name none. Empty: none.
    pub home: String,
    /// The largest file that is downloaded, in MB. Larger ones are reported.
    pub max_file_mb: u32,
    /// The age in minutes above which a message is not answered.
    pub stale_minutes: u32,
}

impl Default for Telegram {
    fn default() -> Self {
        Self {
            enabled: false,
            api_base: "https://api.telegram.org".to_owned(),
            token: Secret::default(),
            streaming: Streaming::default(),
            rich: false,
            messages_a_second: MESSAGES_A_SECOND,
            group_mode: GroupMode::default(),
            acknowledge: Acknowledge::default(),
            pairing: Pairing::default(),
            strangers: UnknownSenderPolicy::default(),
            home: String::new(),
            max_file_mb: MAX_FILE_MB,
            stale_minutes: STALE_MINUTES,
        }
    }
}

/// `[channels.discord]`: a bot over the gateway.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Discord {
    /// Whether the bot runs.
    pub enabled: bool,
    /// The address of the REST API, which also supplies the gateway's.
    pub api_base: String,
    /// The bot's token.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub token: Secret,
    /// Whether to ask Discord for the content of messages that are not for the assistant: the privileged message content
    /// intent, which `group_mode = "all"` needs and nothing else does.
    pub message_content: bool,
    /// Whether a reply is shown while it is written.
    pub streaming: Streaming,
    /// Which messages of a group are answered.
    pub group_mode: GroupMode,
    /// Whether a message gets a reaction while its answer is on its way.
    pub acknowledge: Acknowledge,
    /// How an unknown sender can get access.
    pub pairing: Pairing,
    /// The reply to unknown senders.
    pub strangers: UnknownSenderPolicy,
    /// The recipient of deliveries that name none. Empty: none.
    pub home: String,
    /// The largest file that is downloaded, in MB. Larger ones are reported.
    pub max_file_mb: u32,
    /// The age in minutes above which a message is not answered.
    pub stale_minutes: u32,
}

impl Default for Discord {
    fn default() -> Self {
        Self {
            enabled: false,
            api_base: "https://discord.com/api/v10".to_owned(),
            token: Secret::default(),
            message_content: false,
            streaming: Streaming::default(),
            group_mode: GroupMode::default(),
            acknowledge: Acknowledge::default(),
            pairing: Pairing::default(),
            strangers: UnknownSenderPolicy::default(),
            home: String::new(),
            max_file_mb: MAX_FILE_MB,
            stale_minutes: STALE_MINUTES,
        }
    }
}

/// Slack, over Socket Mode.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Slack {
    /// Whether the bot runs.
    pub enabled: bool,
    /// The Web API's address.
    pub api_base: String,
    /// The bot's token, `xoxb-...`.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub bot_token: Secret,
    /// The app-level token that opens the socket, `xapp-...`.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub app_token: Secret,
    /// Whether a reply is shown while it is written.
    pub streaming: Streaming,
    /// Which messages of a group are answered.
    pub group_mode: GroupMode,
    /// Whether a message gets a reaction while its answer is on its way.
    pub acknowledge: Acknowledge,
    /// How an unknown sender can get access.
    pub pairing: Pairing,
    /// The reply to unknown senders.
    pub strangers: UnknownSenderPolicy,
    /// The recipient of deliveries that name none. Empty: none.
    pub home: String,
    /// The largest file that is downloaded, in MB. Larger ones are reported.
    pub max_file_mb: u32,
    /// The age in minutes above which a message is not answered.
    pub stale_minutes: u32,
}

impl Default for Slack {
    fn default() -> Self {
        Self {
            enabled: false,
            api_base: "https://slack.com/api".to_owned(),
            bot_token: Secret::default(),
            app_token: Secret::default(),
            streaming: Streaming::default(),
            group_mode: GroupMode::default(),
            acknowledge: Acknowledge::default(),
            pairing: Pairing::default(),
            strangers: UnknownSenderPolicy::default(),
            home: String::new(),
            max_file_mb: MAX_FILE_MB,
            stale_minutes: STALE_MINUTES,
        }
    }
}

/// WhatsApp, over the Cloud API.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WhatsApp {
    /// Whether the bot runs.
    pub enabled: bool,
    /// The Graph API's address.
    pub api_base: String,
    /// The Graph API's version, which stands before every path. Empty where `api_base` has one.
    pub api_version: String,
    /// The number that sends.
    pub phone_number_id: String,
    /// The access token.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub token: Secret,
    /// The app's secret, with which inbound calls are signed.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub secret: Secret,
    /// The word that Meta repeats when the webhook is registered.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub verify_token: Secret,
    /// Whether a message gets a reaction while its answer is on its way.
    pub acknowledge: Acknowledge,
    /// How an unknown sender can get access.
    pub pairing: Pairing,
    /// The reply to unknown senders.
    pub strangers: UnknownSenderPolicy,
    /// The recipient of deliveries that name none. Empty: none.
    pub home: String,
    /// The largest file that is downloaded, in MB. Larger ones are reported.
    pub max_file_mb: u32,
    /// The age in minutes above which a message is not answered.
    pub stale_minutes: u32,
}

impl Default for WhatsApp {
    fn default() -> Self {
        Self {
            enabled: false,
            api_base: "https://graph.facebook.com".to_owned(),
            api_version: "v26.0".to_owned(),
            phone_number_id: String::new(),
            token: Secret::default(),
            secret: Secret::default(),
            verify_token: Secret::default(),
            acknowledge: Acknowledge::default(),
            pairing: Pairing::default(),
            strangers: UnknownSenderPolicy::default(),
            home: String::new(),
            max_file_mb: MAX_FILE_MB,
            stale_minutes: STALE_MINUTES,
        }
    }
}

/// `[channels.matrix]`: an account on a homeserver.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Matrix {
    /// Whether the bot runs.
    pub enabled: bool,
    /// The homeserver's address.
    pub api_base: String,
    /// The bot's user, such as `@aethon:example.org`. When set, a token of another account is refused.
    pub user_id: String,
    /// The bot's access token.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub token: Secret,
    /// Whether a reply is shown while it is written.
    pub streaming: Streaming,
    /// Which messages of a group are answered.
    pub group_mode: GroupMode,
    /// Whether a message gets a reaction while its answer is on its way.
    pub acknowledge: Acknowledge,
    /// How an unknown sender can get access.
    pub pairing: Pairing,
    /// The reply to unknown senders.
    pub strangers: UnknownSenderPolicy,
    /// The recipient of deliveries that name none. Empty: none.
    pub home: String,
    /// The largest file that is downloaded, in MB. Larger ones are reported.
    pub max_file_mb: u32,
    /// The age in minutes above which a message is not answered.
    pub stale_minutes: u32,
}

impl Default for Matrix {
    fn default() -> Self {
        Self {
            enabled: false,
            api_base: "https://matrix.org".to_owned(),
            user_id: String::new(),
            token: Secret::default(),
            streaming: Streaming::default(),
            group_mode: GroupMode::default(),
            acknowledge: Acknowledge::default(),
            pairing: Pairing::default(),
            strangers: UnknownSenderPolicy::default(),
            home: String::new(),
            max_file_mb: MAX_FILE_MB,
            stale_minutes: STALE_MINUTES,
        }
    }
}

/// Mail: IMAP in, SMTP out.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Email {
    /// Whether mail is read and answered.
    pub enabled: bool,
    /// The mail server's name, when IMAP and SMTP are the same machine.
    pub api_base: String,
    /// The IMAP server's name. Empty: `api_base`.
    pub imap_host: String,
    /// The IMAP port.
    pub imap_port: u16,
    /// The SMTP server's name. Empty: `api_base`.
    pub smtp_host: String,
    /// The SMTP port.
    pub smtp_port: u16,
    /// Whether connections are encrypted. Off only for a server on this machine.
    pub tls: bool,
    /// The account's name.
    pub username: String,
    /// The account's password.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub password: Secret,
    /// A program and its arguments that print an access token for mail: the account signs in by it (XOAUTH2) in place of the
    /// password. It runs again when a token may have expired.
    pub oauth_command: Vec<String>,
    /// The access token itself, while it is valid; `oauth_command` takes precedence.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub oauth_token: Secret,
    /// The sender of replies. Empty: `username`.
    pub from: String,
    /// The name at the beginning of your own mail server's `Authentication-Results`, which prove who sent a mail. Empty: no
    /// mail is accepted.
    pub authserv_id: String,
    /// Whether `From` is believed without proof. Anybody can write any name there.
    pub trust_from: bool,
    /// How often to look for new mail, in seconds, if the server does not announce it.
    pub poll_seconds: u64,
    /// The folder that is read.
    pub folder: String,
    /// How an unknown sender can get access.
    pub pairing: Pairing,
    /// The reply to unknown senders.
    pub strangers: UnknownSenderPolicy,
    /// The recipient of deliveries that name none. Empty: none.
    pub home: String,
    /// The largest file that is downloaded, in MB. Larger ones are reported.
    pub max_file_mb: u32,
    /// The age in minutes above which a mail is not answered.
    pub stale_minutes: u32,
}

impl Default for Email {
    fn default() -> Self {
        Self {
            enabled: false,
            api_base: String::new(),
            imap_host: String::new(),
            imap_port: 993,
            smtp_host: String::new(),
            smtp_port: 465,
            tls: true,
            username: String::new(),
            password: Secret::default(),
            oauth_command: Vec::new(),
            oauth_token: Secret::default(),
            from: String::new(),
            authserv_id: String::new(),
            trust_from: false,
            poll_seconds: 60,
            folder: "INBOX".to_owned(),
            pairing: Pairing::default(),
            strangers: UnknownSenderPolicy::default(),
            home: String::new(),
            max_file_mb: MAX_FILE_MB,
            stale_minutes: STALE_MINUTES,
        }
    }
}
