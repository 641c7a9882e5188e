//! `[channels]`: the browser chat, a section for each messenger, and the table that says what the rest of the program asks
//! about them. Each messenger has `api_base`, so that it can be pointed at another server.
//!
//! A messenger is a section, a field of [`Channels`] and a row of [`MESSENGERS`]; checks, secrets and guards follow the row.

use aethon_core::messenger::Streaming;
use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::discord::Discord;
use super::email::Email;
use super::matrix::Matrix;
use super::messenger_section::MessengerSection;
use super::slack::Slack;
use super::telegram::Telegram;
use super::webchat::WebChat;
use super::whatsapp::WhatsApp;

/// Every messenger that this version supports.
pub const MESSENGERS: &[Messenger] = &[
    Messenger {
        name: "telegram",
        section: |channels| &channels.telegram,
        section_mut: |channels| &mut channels.telegram,
        secrets: &[SecretKey::token("token")],
        streaming: Some(&[Streaming::Draft]),
        has_api: true,
    },
    Messenger {
        name: "discord",
        section: |channels| &channels.discord,
        section_mut: |channels| &mut channels.discord,
        secrets: &[SecretKey::token("token")],
        streaming: Some(&[]),
        has_api: true,
    },
    Messenger {
        name: "slack",
        section: |channels| &channels.slack,
        section_mut: |channels| &mut channels.slack,
        secrets: &[SecretKey::token("bot_token"), SecretKey::token("app_token")],
        streaming: Some(&[Streaming::Native]),
        has_api: true,
    },
    Messenger {
        name: "whatsapp",
        section: |channels| &channels.whatsapp,
        section_mut: |channels| &mut channels.whatsapp,
        secrets: &[
            SecretKey::token("token"),
            SecretKey { is_sent: false, ..SecretKey::token("secret") },
            SecretKey { key: "verify_token", is_needed: false, is_sent: false, is_nameable: false },
        ],
        streaming: None,
        has_api: true,
    },
    Messenger {
        name: "matrix",
        section: |channels| &channels.matrix,
        section_mut: |channels| &mut channels.matrix,
        secrets: &[SecretKey::token("token")],
        streaming: Some(&[]),
        has_api: true,
    },
    Messenger {
        name: "email",
        section: |channels| &channels.email,
        section_mut: |channels| &mut channels.email,
        secrets: &[
            // It travels inside the sign-in of IMAP and SMTP, where any character may stand.
            SecretKey { is_sent: false, ..SecretKey::token("password") },
            SecretKey { is_needed: false, ..SecretKey::token("oauth_token") },
        ],
        streaming: None,
        has_api: false,
    },
];

/// The names of the messengers, in the order of the table.
pub const MESSENGER_NAMES: [&str; MESSENGERS.len()] = {
    let mut names = [""; MESSENGERS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = MESSENGERS[at].name;
        at += 1;
    }
    names
};

/// Where people talk to the assistant.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Channels {
    /// The browser chat, and with it the HTTP application.
    pub webchat: WebChat,
    /// Telegram.
    pub telegram: Telegram,
    /// Discord.
    pub discord: Discord,
    /// Slack.
    pub slack: Slack,
    /// WhatsApp.
    pub whatsapp: WhatsApp,
    /// Matrix.
    pub matrix: Matrix,
    /// Mail.
    pub email: Email,
}

/// A messenger as the configuration knows it.
pub struct Messenger {
    /// Its name: that of its section, its channel and its senders.
    pub name: &'static str,
    /// Its section.
    pub section: fn(&Channels) -> &dyn MessengerSection,
    /// The same, to be changed.
    pub(crate) section_mut: fn(&mut Channels) -> &mut dyn MessengerSection,
    /// Its secrets, in the order of [`MessengerSection::secrets`].
    pub(crate) secrets: &'static [SecretKey],
    /// The ways of showing a growing reply that it has besides those that all have; `None` if it shows none.
    pub(crate) streaming: Option<&'static [Streaming]>,
    /// Whether `api_base` is the address of the service that its secrets are sent to.
    pub(crate) has_api: bool,
}

impl Messenger {
    /// Whether the owner enabled it.
    pub fn is_enabled(&self, channels: &Channels) -> bool {
        (self.section)(channels).shared().enabled
    }

    /// The keys of its secrets that a person may give by the name of a stored credential.
    pub fn secret_keys(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.secrets.iter().filter(|secret| secret.is_nameable).map(|secret| secret.key)
    }

    /// Its secrets, with what is known about each.
    pub(crate) fn secrets<'c>(&self, channels: &'c Channels) -> Vec<(&'static SecretKey, &'c Secret)> {
        self.secrets.iter().zip((self.section)(channels).secrets()).collect()
    }
}

/// A secret of a messenger.
pub(crate) struct SecretKey {
    /// Its key in the section.
    pub(crate) key: &'static str,
    /// Whether the messenger cannot run without it.
    pub(crate) is_needed: bool,
    /// Whether requests carry it as it is, so that nothing but plain characters may stand in it.
    pub(crate) is_sent: bool,
    /// Whether a change through the API may name a stored credential for it.
    pub(crate) is_nameable: bool,
}

impl SecretKey {
    /// A token that every request carries.
    pub(crate) const fn token(key: &'static str) -> Self {
        Self { key, is_needed: true, is_sent: true, is_nameable: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mask;
    use crate::schema::Config;

    #[test]
    fn every_row_names_the_secrets_of_its_section_in_their_order() {
        let before = mask::to_value(&Config::default());
        for messenger in MESSENGERS {
            let name = messenger.name;
            for (at, known) in messenger.secrets.iter().enumerate() {
                let mut config = Config::default();
                let mut secrets = (messenger.section_mut)(&mut config.channels).secrets_mut();
                assert_eq!(secrets.len(), messenger.secrets.len(), "{name}");
                *secrets[at] = Secret::new("s3cret");
                let (_, secret) = messenger.secrets(&config.channels)[at];
                assert_eq!(secret.expose(), "s3cret", "{name}.{}", known.key);
                let after = mask::to_value(&config);
                let (before, after) = (&before["channels"][name], &after["channels"][name]);
                let changed =
                    before.as_object().unwrap().iter().filter(|(key, value)| after[*key] != **value);
                assert_eq!(changed.map(|(key, _)| key.as_str()).collect::<Vec<_>>(), [known.key], "{name}");
            }
        }
        let sections = before["channels"].as_object().unwrap().keys().filter(|key| *key != "webchat");
        let mut names = MESSENGER_NAMES.to_vec();
        names.sort_unstable();
        let mut known: Vec<&str> = sections.map(String::as_str).collect();
        known.sort_unstable();
        assert_eq!(known, names, "every section has its row");
    }
}
