//! Builds the enabled messengers from `[channels]`.

use std::sync::Arc;
use std::time::Duration;

#[cfg(any(feature = "discord", feature = "slack"))]
use aethon_channels::socket::{Dial, Network};
use aethon_channels::{Messenger, matrix, telegram};
use aethon_config::Config;
pub(crate) use aethon_config::schema::MESSENGER_NAMES as NAMES;
use aethon_config::schema::{MESSENGERS, SharedKeys};
use aethon_core::channel::Channel;
use aethon_core::messenger::{Pairing, Streaming};

pub(crate) use super::messenger_parts::MessengerDeps;
use super::messenger_parts::{SILENCE, exchange, rules};

/// The extra time for a service that holds a request until something happens (long polling).
const POLL_SLACK: Duration = Duration::from_secs(15);
/// Builds a messenger from its section. `None` if its address is invalid.
type Build = fn(&Config, &MessengerDeps) -> Option<Messenger>;

/// How each messenger of this program is built. A test compares it with the sections.
const BUILDERS: &[(&str, Build)] = &[
    ("telegram", telegram),
    #[cfg(feature = "discord")]
    ("discord", discord),
    #[cfg(feature = "slack")]
    ("slack", slack),
    ("whatsapp", super::whatsapp::channel),
    ("matrix", matrix),
    #[cfg(feature = "email")]
    ("email", super::mail::channel),
];

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
    shared(config, name).is_some_and(|keys| keys.enabled)
}

/// Returns whether this program was built with it.
pub(crate) fn is_built(name: &str) -> bool {
    BUILDERS.iter().any(|(built, _)| *built == name)
}

/// The names of the messengers that the owner enabled.
pub(crate) fn enabled(config: &Config) -> impl Iterator<Item = &'static str> + '_ {
    NAMES.into_iter().filter(|name| is_enabled(config, name))
}

/// How senders who are not listed can be admitted.
pub(crate) fn pairing(config: &Config, name: &str) -> Option<Pairing> {
    shared(config, name).map(|keys| keys.pairing)
}

/// The recipient of deliveries that name none; may be empty.
pub(crate) fn home<'c>(config: &'c Config, name: &str) -> &'c str {
    shared(config, name).map_or("", |keys| keys.home)
}

/// The keys that a messenger shares with others; `None` if there is none of this name.
fn shared<'c>(config: &'c Config, name: &str) -> Option<SharedKeys<'c>> {
    let messenger = MESSENGERS.iter().find(|messenger| messenger.name == name)?;
    Some((messenger.section)(&config.channels).shared())
}

/// Builds a messenger, enabled or not. `None` if there is none of this name in this program or its address is
/// invalid.
pub(crate) fn messenger(config: &Config, name: &str, deps: &MessengerDeps) -> Option<Messenger> {
    let (_, build) = BUILDERS.iter().find(|(known, _)| *known == name)?;
    build(config, deps)
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
    Some(telegram::channel(options, rules("telegram", section, config, deps), deps.services.clone()))
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
    Some(matrix::channel(options, rules("matrix", section, config, deps), deps.services.clone()))
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
        rules("discord", section, config, deps),
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
        rules("slack", section, config, deps),
        deps.services.clone(),
    ))
}

/// The network through which sockets are opened.
#[cfg(any(feature = "discord", feature = "slack"))]
fn network() -> Arc<dyn Dial> {
    Arc::new(Network)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(feature = "discord", feature = "slack", feature = "email"))]
    fn every_section_is_built_and_nothing_else() {
        let built: Vec<&str> = BUILDERS.iter().map(|(name, _)| *name).collect();
        assert_eq!(built, NAMES);
    }
}
