//! `[channels.telegram]` and its siblings. Each has `api_base`, so that it can be pointed at another server.

use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Telegram.
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
}

impl Default for Telegram {
    fn default() -> Self {
        Self { enabled: false, api_base: "https://api.telegram.org".to_owned(), token: Secret::default() }
    }
}

/// Discord.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Discord {
    /// Whether the bot runs.
    pub enabled: bool,
    /// The REST interface's address; the gateway's is asked for there.
    pub api_base: String,
    /// The bot's token.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub token: Secret,
}

impl Default for Discord {
    fn default() -> Self {
        Self { enabled: false, api_base: "https://discord.com/api/v10".to_owned(), token: Secret::default() }
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
}

impl Default for Slack {
    fn default() -> Self {
        Self {
            enabled: false,
            api_base: "https://slack.com/api".to_owned(),
            bot_token: Secret::default(),
            app_token: Secret::default(),
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
}

impl Default for WhatsApp {
    fn default() -> Self {
        Self {
            enabled: false,
            api_base: "https://graph.facebook.com".to_owned(),
            phone_number_id: String::new(),
            token: Secret::default(),
            secret: Secret::default(),
            verify_token: Secret::default(),
        }
    }
}

/// Matrix.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Matrix {
    /// Whether the bot runs.
    pub enabled: bool,
    /// The homeserver's address.
    pub api_base: String,
    /// The bot's user, such as `@aethon:example.org`.
    pub user_id: String,
    /// The bot's access token.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub token: Secret,
}

impl Default for Matrix {
    fn default() -> Self {
        Self {
            enabled: false,
            api_base: "https://matrix.org".to_owned(),
            user_id: String::new(),
            token: Secret::default(),
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
    /// The sender of replies. Empty: `username`.
    pub from: String,
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
            from: String::new(),
        }
    }
}
