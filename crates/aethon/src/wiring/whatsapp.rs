//! Builds the WhatsApp channel from `[channels.whatsapp]`.

use aethon_channels::Messenger;
use aethon_channels::whatsapp::{self, Options};
use aethon_config::Config;
use aethon_core::messenger::{GroupMode, Streaming};

use super::messenger_parts::{MessengerDeps, SILENCE, common, exchange};

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
    // A message cannot be edited, so the reply is sent when it is complete.
    let common = common!(section, GroupMode::Off, Streaming::Off, section.acknowledge);
    Some(whatsapp::channel(options, common.rules("whatsapp", config, deps), deps.services.clone()))
}
