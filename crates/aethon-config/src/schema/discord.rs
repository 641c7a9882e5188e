//! `[channels.discord]`: a bot of Discord.

use aethon_core::messenger::{Acknowledge, GroupMode, Pairing, Streaming, UnknownSenderPolicy};
use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::messenger_section::{MAX_FILE_MB, MessengerSection, STALE_MINUTES, SharedKeys};

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

impl MessengerSection for Discord {
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
