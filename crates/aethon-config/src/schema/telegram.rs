//! `[channels.telegram]`: a bot of Telegram.

use aethon_core::messenger::{Acknowledge, GroupMode, Pairing, Streaming, UnknownSenderPolicy};
use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::messenger_section::{MAX_FILE_MB, MessengerSection, STALE_MINUTES, SharedKeys};

/// Telegram's limit for bots without paid broadcasts.
const MESSAGES_A_SECOND: u32 = 30;

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

impl MessengerSection for Telegram {
    fn shared(&self) -> SharedKeys<'_> {
        SharedKeys {
            enabled: self.enabled,
            api_base: &self.api_base,
            streaming: Some(self.streaming),
            group_mode: Some(self.group_mode),
            acknowledge: Some(self.acknowledge),
            pairing: self.pairing,
            strangers: self.strangers,
            home: &self.home,
            max_file_mb: self.max_file_mb,
            stale_minutes: self.stale_minutes,
        }
    }

    fn secrets(&self) -> Vec<&Secret> {
        vec![&self.token]
    }

    fn secrets_mut(&mut self) -> Vec<&mut Secret> {
        vec![&mut self.token]
    }
}
