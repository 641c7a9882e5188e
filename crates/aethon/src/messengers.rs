//! The configuration of the messengers for the owner: permitted senders, missing settings, and rows on the feature board.

use aethon_config::Config;
use aethon_core::feature::{Feature, FeatureState};
use aethon_core::messenger::Pairing as PairingWay;

use crate::finding::Finding;
use crate::wiring::household;
use crate::wiring::messengers::{self, NAMES};

/// How the first person is admitted.
fn way_in(config: &Config, name: &str) -> String {
    let way = messengers::pairing(config, name).unwrap_or_default();
    let invitation = format!("`aethon-cli channels pair {name}` makes a code");
    no_invitation(name, way)
        .unwrap_or_else(|| format!("{invitation}, or list ids in security.allowed_senders.{name}"))
}

/// Why a pairing code from the owner would not work, and the remedy; `None` if it works.
pub(crate) fn no_invitation(name: &str, way: PairingWay) -> Option<String> {
    let key = format!("channels.{name}.pairing");
    match way {
        PairingWay::Invite => None,
        PairingWay::Off => Some(format!(
            "{key} is \"off\", so a code would be useless; set it to \"invite\", or list the sender in security.allowed_senders.{name}"
        )),
        PairingWay::Request => Some(format!(
            "{key} is \"request\", so anyone who writes gets a code and `aethon-cli channels approve CODE` lets them in; set it to \"invite\" to hand codes out"
        )),
    }
}

/// The row of each messenger according to the configuration.
pub(crate) fn configured(config: &Config) -> Vec<Feature> {
    let rows = NAMES.iter().map(|name| {
        let state = FeatureState::of_switch(messengers::is_enabled(config, name));
        row(name, state, &who_may_write(config, name))
    });
    rows.collect()
}

fn row(name: &str, state: FeatureState, detail: &str) -> Feature {
    let (id, title, key) =
        (format!("channel.{name}"), format!("Channel {name}"), format!("channels.{name}.enabled"));
    Feature::new((&id, &title), state, detail, &key)
}

/// Describes who may write, and who of them is an owner.
fn who_may_write(config: &Config, name: &str) -> String {
    let heard = match config.security.allowed_senders.get(name).map_or(0, Vec::len) {
        0 => format!("heard are only those who were paired; security.allowed_senders.{name} is empty"),
        1 => "one sender is allowed, besides those who were paired".to_owned(),
        some => format!("{some} senders are allowed, besides those who were paired"),
    };
    let owners = match household::owners(config, name).map(|owners| owners.len()) {
        None if lists_group(config, name) => {
            "security.owners is empty, so every one of them is an owner, and so is every member of a listed group"
                .to_owned()
        }
        None => "security.owners is empty, so every one of them is an owner".to_owned(),
        Some(0) => "no one there is an owner (security.owners, household.people.owner)".to_owned(),
        Some(here) => format!("owners there: {here}"),
    };
    format!("{heard}; {owners}")
}

/// Returns whether a group is listed whose members may write.
fn lists_group(config: &Config, name: &str) -> bool {
    let listed = config.security.allowed_senders.get(name);
    listed.is_some_and(|listed| listed.iter().any(|entry| entry.starts_with(['-', '!'])))
}

/// Findings about messengers where every member of a listed group can approve calls.
fn open_groups(config: &Config) -> impl Iterator<Item = Finding> + '_ {
    let open = messengers::enabled(config)
        .filter(|name| household::owners(config, name).is_none() && lists_group(config, name));
    open.map(|name| {
        let message = format!("a group is listed in security.allowed_senders.{name}, and security.owners is empty: every member is an owner and approves what they ask for");
        Finding::warning("channel", message, format!("name yourself in security.owners, such as \"{name}:YOUR_ID\""))
    })
}

/// One line for each enabled messenger and one for the household, for `--check`.
pub(crate) fn summary(config: &Config) -> String {
    let on = messengers::enabled(config);
    let people = (!config.household.people.is_empty()).then(|| household::sentence(config));
    on.map(|name| format!("\nchannel   {name}: on, {}", who_may_write(config, name)))
        .chain(people.map(|people| format!("\nhousehold {people}")))
        .collect()
}

/// The findings of `doctor` about enabled messengers and the household.
pub(crate) fn findings(config: &Config) -> Vec<Finding> {
    let on = messengers::enabled(config);
    let terms = messengers::is_enabled(config, "whatsapp").then(|| {
        let remedy = "use a number that you can do without, or another messenger".to_owned();
        Finding::warning("channel", aethon_channels::whatsapp::TERMS.to_owned(), remedy)
    });
    let terms = terms.into_iter().chain(open_groups(config));
    let found = on.map(|name| {
        let message = format!(
            "{name} is on; {}; `aethon-cli channels test {name}` looks whether it is let in",
            who_may_write(config, name)
        );
        match config.security.allowed_senders.get(name).is_none_or(Vec::is_empty) {
            true => Finding::warning("channel", message, way_in(config, name)),
            false => Finding::ok("channel", message),
        }
    });
    let people = (!config.household.people.is_empty()).then(|| household::sentence(config));
    found.chain(terms).chain(people.map(|people| Finding::ok("household", people))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_ways_of_pairing_are_not_suggested() {
        let mut config = Config::default();
        config.channels.telegram.enabled = true;
        for (way, word) in [(PairingWay::Off, "off"), (PairingWay::Request, "request")] {
            config.channels.telegram.pairing = way;
            let remedy = way_in(&config, "telegram");
            let named = format!("channels.telegram.pairing is \"{word}\"");
            assert!(remedy.contains(&named) && !remedy.contains("channels pair"), "{remedy}");
            assert!(way_in(&config, "matrix").contains("channels pair matrix"));
        }
    }

    #[test]
    fn members_of_a_listed_group_are_owners_without_owners() {
        let mut config = Config::default();
        config.channels.telegram.enabled = true;
        let listed = ["1", "-700"].map(str::to_owned).to_vec();
        config.security.allowed_senders.insert("telegram".into(), listed);
        let warnings = |config: &Config| open_groups(config).count();
        assert!(summary(&config).contains("every member of a listed group"), "{}", summary(&config));
        assert_eq!((warnings(&config), findings(&config).len()), (1, 2));
        config.security.owners = vec!["telegram:1".into()];
        assert!(summary(&config).contains("owners there: 1"), "{}", summary(&config));
        assert_eq!(warnings(&config), 0);
        config.security.owners = vec!["matrix:@ada:hs".into()];
        assert!(summary(&config).contains("no one there is an owner"), "{}", summary(&config));
    }
}
