//! Builds the enabled messengers from `[channels]`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_channels::socket::{Dial, Network};
use aethon_channels::{ChannelServices, Messenger, Rules, discord, matrix, slack, telegram};
use aethon_config::Config;
use aethon_core::approval::PendingApprovals;
use aethon_core::channel::Channel;
use aethon_core::clock::Clock;
use aethon_core::exchange::Exchange;
use aethon_core::live::Live;
use aethon_core::messenger::{GroupMode, Pairing, Strangers, Streaming};
use aethon_core::program::Programs;
use aethon_core::storage::Storage;
use aethon_core::transcribe::Transcriber;

use super::channels::Deliveries;

/// How long a service may be silent before it answers.
pub(super) const SILENCE: Duration = Duration::from_secs(30);
/// The extra time for a service that holds a request until something happens (long polling).
const POLL_SLACK: Duration = Duration::from_secs(15);
/// A megabyte.
const MB: u64 = 1 << 20;

/// Extracts the keys that the sections of all messengers have.
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

/// Every messenger that this version supports.
pub(crate) const NAMES: [&str; 6] = ["telegram", "matrix", "discord", "slack", "whatsapp", "email"];

/// What the program provides to messengers.
pub(crate) struct MessengerDeps {
    pub(super) services: ChannelServices,
    allowed: AllowLists,
}

/// The allow lists by channel, replaced when the configuration is reloaded.
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowLists(Arc<Mutex<Lists>>);

type Lists = BTreeMap<&'static str, Live<Vec<String>>>;

impl AllowLists {
    fn of(&self, channel: &'static str, config: &Config) -> Live<Vec<String>> {
        self.lists().entry(channel).or_insert_with(|| Live::new(listed(channel, config))).clone()
    }

    /// Applies the current configuration.
    pub(crate) fn reload(&self, config: &Config) {
        self.lists().iter().for_each(|(channel, list)| list.set(listed(channel, config)));
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn listed(channel: &str, config: &Config) -> Vec<String> {
    let list = config.security.allowed_senders.get(channel).cloned().unwrap_or_default();
    // Mail addresses are compared without case, and senders arrive in lower case.
    if channel == super::mail::NAME { super::mail::lowered(list) } else { list }
}

/// Collects what the program provides to messengers.
pub(crate) fn deps(
    storage: &Storage,
    approvals: &PendingApprovals,
    deliveries: &Deliveries,
    (programs, transcriber): (&Arc<dyn Programs>, Option<&Arc<dyn Transcriber>>),
    (clock, allowed): (&Arc<dyn Clock>, &AllowLists),
) -> MessengerDeps {
    let services = ChannelServices {
        programs: programs.clone(),
        transcriber: transcriber.cloned(),
        records: storage.channel_records.clone(),
        audit: storage.audit.clone(),
        approvals: approvals.clone(),
        courier: deliveries.courier(storage.outbox.clone()),
        clock: clock.clone(),
    };
    MessengerDeps { services, allowed: allowed.clone() }
}

/// The enabled messengers as channels.
fn channels(config: &Config, deps: &MessengerDeps) -> Vec<Arc<dyn Channel>> {
    let messengers = NAMES.iter().filter(|name| is_enabled(config, name));
    let made = messengers.filter_map(|name| messenger(config, name, deps));
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

/// How senders who are not listed can be admitted.
pub(crate) fn pairing(config: &Config, name: &str) -> Option<Pairing> {
    switches(config, name).map(|switches| switches.pairing)
}

/// The recipient of deliveries that name none; empty for nobody.
pub(crate) fn home<'c>(config: &'c Config, name: &str) -> &'c str {
    switches(config, name).map_or("", |switches| switches.home)
}

/// What the rest of the program asks about a messenger without building it.
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

/// Builds a messenger, enabled or not. `None` if there is none of this name or its address is invalid.
pub(crate) fn messenger(config: &Config, name: &str, deps: &MessengerDeps) -> Option<Messenger> {
    match name {
        "telegram" => telegram(config, deps),
        "matrix" => matrix(config, deps),
        "discord" => discord(config, deps),
        "slack" => slack(config, deps),
        "whatsapp" => super::whatsapp::channel(config, deps),
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

fn discord(config: &Config, deps: &MessengerDeps) -> Option<Messenger> {
    let section = &config.channels.discord;
    let options = discord::Options {
        api_base: section.api_base.clone(),
        token: section.token.clone(),
        message_content: section.message_content,
        exchange: exchange("discord", &section.api_base, SILENCE)?,
        dial: network(),
    };
    Some(discord::channel(options, common!(section).rules("discord", config, deps), deps.services.clone()))
}

fn slack(config: &Config, deps: &MessengerDeps) -> Option<Messenger> {
    let section = &config.channels.slack;
    let options = slack::Options {
        api_base: section.api_base.clone(),
        bot_token: section.bot_token.clone(),
        app_token: section.app_token.clone(),
        native_streams: section.streaming == Streaming::Native,
        exchange: exchange("slack", &section.api_base, SILENCE)?,
        dial: network(),
    };
    Some(slack::channel(options, common!(section).rules("slack", config, deps), deps.services.clone()))
}

/// The network through which sockets are opened.
fn network() -> Arc<dyn Dial> {
    Arc::new(Network)
}

pub(super) fn exchange(channel: &str, address: &str, silence: Duration) -> Option<Arc<dyn Exchange>> {
    match aethon_providers::exchange(address, silence) {
        Ok(exchange) => Some(Arc::new(exchange)),
        Err(error) => {
            // The configuration was checked, so this reports what the check missed.
            tracing::error!(channel, %error, "a channel cannot be used");
            None
        }
    }
}

/// The settings that all messengers share.
pub(super) struct Common<'c> {
    pub(super) groups: GroupMode,
    pub(super) streaming: Streaming,
    pub(super) pairing: Pairing,
    pub(super) strangers: Strangers,
    pub(super) home: &'c str,
    pub(super) max_file_mb: u32,
    pub(super) stale_minutes: u32,
}

impl Common<'_> {
    pub(super) fn rules(&self, channel: &'static str, config: &Config, deps: &MessengerDeps) -> Rules {
        let security = &config.security;
        Rules {
            channel,
            allowed: deps.allowed.of(channel, config),
            owners: super::household::owners(config, channel),
            people: super::household::members(config, channel),
            groups: self.groups,
            pairing: self.pairing,
            strangers: self.strangers,
            streams: self.streaming != Streaming::Off,
            home: Some(self.home.trim().to_owned()).filter(|home| !home.is_empty()),
            max_file_bytes: u64::from(self.max_file_mb) * MB,
            stale_after: Duration::from_secs(u64::from(self.stale_minutes) * 60),
            marks_others: security.mark_untrusted_content && !security.owners.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reload_replaces_who_may_write() {
        let with = |channel: &str, sender: &str| {
            let mut config = Config::default();
            config.security.allowed_senders.insert(channel.into(), vec![sender.into()]);
            config
        };
        let lists = AllowLists::default();
        let (telegram, mail) =
            (lists.of("telegram", &with("telegram", "1")), lists.of("email", &Config::default()));
        assert_eq!((telegram.get().as_slice(), mail.get().len()), (&["1".to_owned()][..], 0));
        lists.reload(&with("email", " Ada@X.example"));
        assert!(telegram.get().is_empty(), "who is no longer listed is not heard any more");
        assert_eq!(*mail.get(), ["ada@x.example"], "senders come in lower case");
        // Asking again for a channel's list must not change it.
        let again = lists.of("telegram", &with("telegram", "1"));
        assert!(again.get().is_empty());
    }
}
