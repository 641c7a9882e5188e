//! `[channels.whatsapp]`: a number of Meta's Cloud API.

use aethon_core::messenger::{Acknowledge, Pairing, UnknownSenderPolicy};
use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::messenger_section::{MAX_FILE_MB, MessengerSection, STALE_MINUTES, SharedKeys};

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

impl MessengerSection for WhatsApp {
    fn shared(&self) -> SharedKeys<'_> {
        SharedKeys {
            enabled: self.enabled,
            api_base: &self.api_base,
            streaming: None,
            group_mode: None,
            acknowledge: Some(self.acknowledge),
            pairing: self.pairing,
            strangers: self.strangers,
            home: &self.home,
            max_file_mb: self.max_file_mb,
            stale_minutes: self.stale_minutes,
        }
    }

    fn secrets(&self) -> Vec<&Secret> {
        vec![&self.token, &self.secret, &self.verify_token]
    }

    fn secrets_mut(&mut self) -> Vec<&mut Secret> {
        vec![&mut self.token, &mut self.secret, &mut self.verify_token]
    }
}
