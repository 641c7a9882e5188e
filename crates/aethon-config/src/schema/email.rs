//! `[channels.email]`: an account whose mail is read and answered.

use aethon_core::messenger::{Pairing, UnknownSenderPolicy};
use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::messenger_section::{MAX_FILE_MB, MessengerSection, STALE_MINUTES, SharedKeys};

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

impl MessengerSection for Email {
    fn shared(&self) -> SharedKeys<'_> {
        SharedKeys {
            enabled: self.enabled,
            api_base: &self.api_base,
            streaming: None,
            group_mode: None,
            acknowledge: None,
            pairing: self.pairing,
            strangers: self.strangers,
            home: &self.home,
            max_file_mb: self.max_file_mb,
            stale_minutes: self.stale_minutes,
        }
    }

    fn secrets(&self) -> Vec<&Secret> {
        vec![&self.password, &self.oauth_token]
    }

    fn secrets_mut(&mut self) -> Vec<&mut Secret> {
        vec![&mut self.password, &mut self.oauth_token]
    }

    fn needs(&self, secret: &str) -> bool {
        // An account that signs in by tokens has no password.
        secret != "password" || (self.oauth_command.is_empty() && self.oauth_token.is_empty())
    }
}
