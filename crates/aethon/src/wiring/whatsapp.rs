//! Builds the WhatsApp channel from `[channels.whatsapp]`.

use aethon_channels::Messenger;
use aethon_channels::whatsapp::{self, Options};
use aethon_config::Config;

use super::messenger_parts::{MessengerDeps, SILENCE, exchange, rules};

pub(super) fn channel(config: &Config, deps: &MessengerDeps) -> Option<Messenger> {
    let section = &config.channels.whatsapp;
    let options = Options {
        api_base: section.api_base.clone(),
        api_version: section.api_version.clone(),
        phone_number_id: section.phone_number_id.clone(),
        token: section.token.clone(),
        secret: section.secret.clone(),
        verify_token: section.verify_token.clone(),
        exchange: exchange("whatsapp", &section.api_base, SILENCE)?,
    };
    Some(whatsapp::channel(options, rules("whatsapp", section, config, deps), deps.services.clone()))
}
