//! Builds the enabled messengers from `[channels]`.

use std::sync::Arc;
use std::time::Duration;

#[cfg(any(feature = "discord", feature = "slack"))]
use aethon_channels::socket::{Dial, Network};
use aethon_channels::{Messenger, matrix, telegram};
use aethon_config::Config;
use aethon_core::channel::Channel;
use aethon_core::messenger::{Pairing, Streaming};

pub(crate) use super::messenger_parts::MessengerDeps;
use super::messenger_parts::{SILENCE, common, exchange};

/// The extra time for a service that holds a request until something happens (long polling).
const POLL_SLACK: Duration = Duration::from_secs(15);
/// Every messenger that this version supports.
pub(crate) const NAMES: [&str; 6] = ["telegram", "matrix", "discord", "slack", "whatsapp", "email"];

/// The enabled messengers as channels.
fn channels(config: &Config, deps: &MessengerDeps) -> Vec<Arc<dyn Channel>> {
    let made = enabled(config).filter_map(|name| messenger(config, name, deps));
    made.map(|messenger| Arc::new(messenger) as Arc<dyn Channel>).collect()
}

/// The same, and the channels of the embedding program.
pub(crate) fn with_brought(
    config: &Config,
    deps: &MessengerDeps,
    brought: &[Arc<dyn Channel>],
) -> Vec<Arc<dyn Channel>> {
    channels(config, deps).into_iter().chain(brought.iter().cloned()).collect()
}

/// Returns whether the owner enabled it.
pub(crate) fn is_enabled(config: &Config, name: &str) -> bool {
    switches(config, name).is_some_and(|switches| switches.is_enabled)
}

/// Returns whether this program was built with it.
pub(crate) fn is_built(name: &str) -> bool {
    match name {
        "discord" => cfg!(feature = "discord"),
        "email" => cfg!(feature = "email"),
        "slack" => cfg!(feature = "slack"),
        _ => true,
    }
}

/// The names of the messengers that the owner enabled.
pub(crate) fn enabled(config: &Config) -> impl Iterator<Item = &'static str> + '_ {
    NAMES.into_iter().filter(|name| is_enabled(config, name))
}

/// How senders who are not listed can be admitted.
pub(crate) fn pairing(config: &Config, name: &str) -> Option<Pairing> {
    switches(config, name).map(|switches| switches.pairing)
}

/// The recipient of deliveries that name none; may be empty.
pub(crate) fn home<'c>(config: &'c Config, name: &str) -> &'c str {
    switches(config, name).map_or("", |switches| switches.home)
}

/// The settings of a messenger that the rest of the program needs without building it.
struct Switches<'c> {
    is_enabled: bool,
    pairing: Pairing,
    home: &'c str,
}

/// Returns those of a messenger; `None` if there is none of this name.
fn switches<'c>(config: &'c Config, name: &str) -> Option<Switches<'c>> {
    macro_rules! of {
        ($section:ident) => {{
            let section = &config.channels.$section;
            Some(Switches { is_enabled: section.enabled, pairing: section.pairing, home: &section.home })
        }};
    }
    match name {
        "telegram" => of!(telegram),
        "matrix" => of!(matrix),
        "discord" => of!(discord),
        "slack" => of!(slack),
        "whatsapp" => of!(whatsapp),
        "email" => of!(email),
        _ => None,
    }
}

/// Builds a messenger, enabled or not. `None` if there is none of this name in this program or its address is
/// invalid.
pub(crate) fn messenger(config: &Config, name: &str, deps: &MessengerDeps) -> Option<Messenger> {
    match name {
        "telegram" => telegram(config, deps),
        "matrix" => matrix(config, deps),
        #[cfg(feature = "discord")]
        "discord" => discord(config, deps),
        #[cfg(feature = "slack")]
        "slack" => slack(config, deps),
        "whatsapp" => super::whatsapp::channel(config, deps),
        #[cfg(feature = "email")]
        "email" => super::mail::channel(config, deps),
        _ => None,
    }
}

fn telegram(config: &Config, deps: &MessengerDeps) -> Option<Messenger> {
    let section = &config.channels.telegram;
    let options = telegram::Options {
        api_base: section.api_base.clone(),
        token: section.token.clone(),
        drafts: section.streaming == Streaming::Draft,
        rich: section.rich,
        messages_a_second: section.messages_a_second,
        exchange: exchange("telegram", &section.api_base, SILENCE)?,
        polling: exchange("telegram", &section.api_base, telegram::POLL + POLL_SLACK)?,
    };
    Some(telegram::channel(options, common!(section).rules("telegram", config, deps), deps.services.clone()))
}

fn matrix(config: &Config, deps: &MessengerDeps) -> Option<Messenger> {
    let section = &config.channels.matrix;
    let options = matrix::Options {
        api_base: section.api_base.clone(),
        user_id: section.user_id.clone(),
        token: section.token.clone(),
        exchange: exchange("matrix", &section.api_base, SILENCE)?,
        polling: exchange("matrix", &section.api_base, matrix::POLL + POLL_SLACK)?,
    };
    Some(matrix::channel(options, common!(section).rules("matrix", config, deps), deps.services.clone()))
}

#[cfg(feature = "discord")]
fn discord(config: &Config, deps: &MessengerDeps) -> Option<Messenger> {
    let section = &config.channels.discord;
    let options = aethon_channels::discord::Options {
        api_base: section.api_base.clone(),
        token: section.token.clone(),
        message_content: section.message_content,
        exchange: exchange("discord", &section.api_base, SILENCE)?,
        dial: network(),
    };
    Some(aethon_channels::discord::channel(
        options,
        common!(section).rules("discord", config, deps),
        deps.services.clone(),
    ))
}

#[cfg(feature = "slack")]
fn slack(config: &Config, deps: &MessengerDeps) -> Option<Messenger> {
    let section = &config.channels.slack;
    let options = aethon_channels::slack::Options {
        api_base: section.api_base.clone(),
        bot_token: section.bot_token.clone(),
        app_token: section.app_token.clone(),
        native_streams: section.streaming == Streaming::Native,
        exchange: exchange("slack", &section.api_base, SILENCE)?,
        dial: network(),
    };
    Some(aethon_channels::slack::channel(
        options,
        common!(section).rules("slack", config, deps),
        deps.services.clone(),
    ))
}

/// The network through which sockets are opened.
#[cfg(any(feature = "discord", feature = "slack"))]
fn network() -> Arc<dyn Dial> {
    Arc::new(Network)
}
