//! The parts that all messengers share: their common settings, the lists of allowed senders, and the services that they use.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_channels::{ChannelServices, Rules};
use aethon_config::Config;
use aethon_config::schema::MessengerSection;
use aethon_core::exchange::Exchange;
use aethon_core::live::Live;
use aethon_core::messenger::{Acknowledge, GroupMode, Streaming};

use super::mail_address;

/// The name of the mail channel, whose senders are compared without case.
pub(super) const EMAIL: &str = "email";
/// How long a service may be silent before it answers.
pub(super) const SILENCE: Duration = Duration::from_secs(30);
/// A megabyte.
const MB: u64 = 1 << 20;

/// The parts of the program that messengers use.
pub(crate) struct MessengerDeps {
    pub(crate) services: ChannelServices,
    pub(crate) allowed: AllowLists,
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
    if channel == EMAIL { list.iter().map(|entry| mail_address::compared(entry)).collect() } else { list }
}

pub(super) fn exchange(channel: &str, address: &str, silence: Duration) -> Option<Arc<dyn Exchange>> {
    match aethon_providers::exchange(address, silence) {
        Ok(exchange) => Some(Arc::new(exchange)),
        Err(error) => {
            // The configuration was checked, so this reports a gap of the check.
            tracing::error!(channel, %error, "a channel cannot be used");
            None
        }
    }
}

/// The owner's settings for a messenger, from the keys that its section shares with others. Where a platform lacks something,
/// such as groups, its section has no key for it, and it is off.
pub(super) fn rules(
    channel: &'static str,
    section: &dyn MessengerSection,
    config: &Config,
    deps: &MessengerDeps,
) -> Rules {
    let (keys, security) = (section.shared(), &config.security);
    Rules {
        channel,
        allowed: deps.allowed.of(channel, config),
        owners: super::household::owners(config, channel),
        people: super::household::members(config, channel),
        groups: keys.group_mode.unwrap_or(GroupMode::Off),
        pairing: keys.pairing,
        strangers: keys.strangers,
        streams: keys.streaming.is_some_and(|streaming| streaming != Streaming::Off),
        acknowledges: keys.acknowledge.is_some_and(|acknowledge| acknowledge != Acknowledge::Off),
        home: Some(keys.home.trim().to_owned()).filter(|home| !home.is_empty()),
        max_file_bytes: u64::from(keys.max_file_mb) * MB,
        stale_after: Duration::from_secs(u64::from(keys.stale_minutes) * 60),
        marks_others: security.mark_untrusted_content && !security.owners.is_empty(),
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
        lists.reload(&with("email", "Jürgen@Bücher.example"));
        assert_eq!(*mail.get(), ["jürgen@xn--bcher-kva.example"], "and in one form of their domain");
        // Asking again for a channel's list must not change it.
        let again = lists.of("telegram", &with("telegram", "1"));
        assert!(again.get().is_empty());
    }
}
