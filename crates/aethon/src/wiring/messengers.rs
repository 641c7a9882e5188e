//! `[channels]` to the messengers that are switched on.

use std::sync::Arc;
use std::time::Duration;

use aethon_channels::socket::{Dial, Network};
use aethon_channels::{
    Groups, Messenger, Pairing, Rules, Strangers, Surroundings, discord, matrix, slack, telegram,
};
use aethon_config::Config;
use aethon_config::schema::{self, GroupMode, Streaming};
use aethon_core::approval::PendingApprovals;
use aethon_core::channel::Channel;
use aethon_core::clock::Clock;
use aethon_core::exchange::Exchange;
use aethon_core::program::Programs;
use aethon_core::storage::Storage;

use super::channels::Deliveries;

/// How long a service may be silent that answers at once.
pub(super) const SILENCE: Duration = Duration::from_secs(30);
/// How much longer one may be that waits for something to happen.
const POLL_SLACK: Duration = Duration::from_secs(15);
/// A megabyte.
const MB: u64 = 1 << 20;

/// The keys that the sections of all messengers have, of one of them.
macro_rules! common {
    ($section:expr) => {
        $crate::wiring::messengers::common!($section, $section.group_mode, $section.streaming)
    };
    ($section:expr, $groups:expr, $streaming:expr) => {
        $crate::wiring::messengers::Common {
            groups: $groups,
            streaming: $streaming,
            pairing: $section.pairing,
            strangers: $section.strangers,
            home: &$section.home,
            max_file_mb: $section.max_file_mb,
            stale_minutes: $section.stale_minutes,
        }
    };
}
pub(super) use common;

/// Every messenger that this version has.
pub(crate) const NAMES: [&str; 6] = ["telegram", "matrix", "discord", "slack", "whatsapp", "email"];

/// What messengers are given by the program.
pub(crate) fn surroundings(
    storage: &Storage,
    desk: &PendingApprovals,
    deliveries: &Deliveries,
    programs: &Arc<dyn Programs>,
    clock: &Arc<dyn Clock>,
) -> Surroundings {
    Surroundings {
        programs: programs.clone(),
        records: storage.channel_records.clone(),
        desk: desk.clone(),
        courier: deliveries.courier(storage.outbox.clone()),
        clock: clock.clone(),
    }
}

/// Those that are switched on, as channels.
fn channels(config: &Config, around: &Surroundings) -> Vec<Arc<dyn Channel>> {
    let messengers = NAMES.iter().filter(|name| is_enabled(config, name));
    let made = messengers.filter_map(|name| messenger(config, name, around));
    made.map(|messenger| Arc::new(messenger) as Arc<dyn Channel>).collect()
}

/// The same, and the channels that the embedding program brought.
pub(crate) fn with_brought(
    config: &Config,
    around: &Surroundings,
    brought: &[Arc<dyn Channel>],
) -> Vec<Arc<dyn Channel>> {
    channels(config, around).into_iter().chain(brought.iter().cloned()).collect()
}

/// Whether the owner has switched it on.
pub(crate) fn is_enabled(config: &Config, name: &str) -> bool {
    match name {
        "telegram" => config.channels.telegram.enabled,
        "matrix" => config.channels.matrix.enabled,
        "discord" => config.channels.discord.enabled,
        "slack" => config.channels.slack.enabled,
        "whatsapp" => config.channels.whatsapp.enabled,
        "email" => config.channels.email.enabled,
        _ => false,
    }
}

/// A messenger, on or off. `None` when there is none of this name, or its address is none.
pub(crate) fn messenger(config: &Config, name: &str, around: &Surroundings) -> Option<Messenger> {
    match name {
        "telegram" => telegram(config, around.clone()),
        "matrix" => matrix(config, around.clone()),
        "discord" => discord(config, around.clone()),
        "slack" => slack(config, around.clone()),
        "whatsapp" => super::whatsapp::channel(config, around.clone()),
        "email" => super::mail::channel(config, around.clone()),
        _ => None,
    }
}

fn telegram(config: &Config, around: Surroundings) -> Option<Messenger> {
    let section = &config.channels.telegram;
    let options = telegram::Options {
        api_base: section.api_base.clone(),
        token: section.token.clone(),
        exchange: exchange("telegram", &section.api_base, SILENCE)?,
        polling: exchange("telegram", &section.api_base, telegram::POLL + POLL_SLACK)?,
    };
    Some(telegram::channel(options, common!(section).rules("telegram", config), around))
}

fn matrix(config: &Config, around: Surroundings) -> Option<Messenger> {
    let section = &config.channels.matrix;
    let options = matrix::Options {
        api_base: section.api_base.clone(),
        token: section.token.clone(),
        exchange: exchange("matrix", &section.api_base, SILENCE)?,
        polling: exchange("matrix", &section.api_base, matrix::POLL + POLL_SLACK)?,
    };
    Some(matrix::channel(options, common!(section).rules("matrix", config), around))
}

fn discord(config: &Config, around: Surroundings) -> Option<Messenger> {
    let section = &config.channels.discord;
    let options = discord::Options {
        api_base: section.api_base.clone(),
        token: section.token.clone(),
        message_content: section.message_content,
        exchange: exchange("discord", &section.api_base, SILENCE)?,
        dial: network(),
    };
    Some(discord::channel(options, common!(section).rules("discord", config), around))
}

fn slack(config: &Config, around: Surroundings) -> Option<Messenger> {
    let section = &config.channels.slack;
    let options = slack::Options {
        api_base: section.api_base.clone(),
        bot_token: section.bot_token.clone(),
        app_token: section.app_token.clone(),
        exchange: exchange("slack", &section.api_base, SILENCE)?,
        dial: network(),
    };
    Some(slack::channel(options, common!(section).rules("slack", config), around))
}

/// What sockets are opened through.
fn network() -> Arc<dyn Dial> {
    Arc::new(Network)
}

pub(super) fn exchange(channel: &str, address: &str, silence: Duration) -> Option<Arc<dyn Exchange>> {
    match aethon_providers::exchange(address, silence) {
        Ok(exchange) => Some(Arc::new(exchange)),
        Err(error) => {
            // The configuration was checked, so this says what was overlooked there.
            tracing::error!(channel, %error, "a channel cannot be used");
            None
        }
    }
}

/// The keys that all messengers have.
pub(super) struct Common<'c> {
    pub(super) groups: GroupMode,
    pub(super) streaming: Streaming,
    pub(super) pairing: schema::Pairing,
    pub(super) strangers: schema::Strangers,
    pub(super) home: &'c str,
    pub(super) max_file_mb: u32,
    pub(super) stale_minutes: u32,
}

impl Common<'_> {
    pub(super) fn rules(&self, channel: &'static str, config: &Config) -> Rules {
        let security = &config.security;
        let prefix = format!("{channel}:");
        let owners =
            security.owners.iter().filter_map(|owner| owner.strip_prefix(&prefix).map(str::to_owned));
        let are_named = !security.owners.is_empty();
        Rules {
            channel,
            allowed: security.allowed_senders.get(channel).cloned().unwrap_or_default(),
            owners: are_named.then(|| owners.collect()),
            people: super::household::members(config, channel),
            groups: match self.groups {
                GroupMode::Mention => Groups::Mention,
                GroupMode::All => Groups::All,
                GroupMode::Off => Groups::Off,
            },
            pairing: match self.pairing {
                schema::Pairing::Invite => Pairing::Invite,
                schema::Pairing::Request => Pairing::Request,
                schema::Pairing::Off => Pairing::Off,
            },
            strangers: match self.strangers {
                schema::Strangers::Silence => Strangers::Silence,
                schema::Strangers::Once => Strangers::Once,
            },
            streams: self.streaming == Streaming::Edit,
            home: Some(self.home.trim().to_owned()).filter(|home| !home.is_empty()),
            max_file_bytes: u64::from(self.max_file_mb) * MB,
            stale_after: Duration::from_secs(u64::from(self.stale_minutes) * 60),
            marks_others: security.mark_untrusted_content,
        }
    }
}
