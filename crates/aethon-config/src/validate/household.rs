//! Checks the household: names, senders assigned to one person, and permitted senders without a person.

use std::collections::BTreeMap;

use aethon_core::ids::SessionId;
use aethon_core::person::Person;

use crate::echo::{quoted, shown};
use crate::path::{KeyPath, Step};
use crate::remark::Remarks;
use crate::schema::{Config, MESSENGER_NAMES, MESSENGERS};

/// How a sender is written.
pub(super) fn sender_form() -> String {
    let [first @ .., last] = &MESSENGER_NAMES;
    format!("CHANNEL:SENDER, where the channel is {} or {last}: telegram:123456789", first.join(", "))
}

/// The maximum length of a conversation's name, in characters.
const MAX_LEN: usize = 64;

pub(super) fn check(config: &Config, remarks: &mut Remarks) {
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    for (name, person) in &config.household.people {
        let key = KeyPath::of(["household", "people", name]);
        if Person::member(name).is_none() {
            let allowed = "1 to 32 of a-z, 0-9, - and _, and not `shared`";
            remarks.problem(key.clone(), format!("the name {:?}", shown(name)), allowed);
        }
        if person.senders.is_empty() {
            remarks.warning(key.key("senders"), "no senders: this person can never be matched");
        }
        for (index, sender) in person.senders.iter().enumerate() {
            let key = key.key("senders").join(Step::Index(index));
            let Some((channel, _)) = split(sender) else {
                remarks.problem(key, quoted(sender), sender_form());
                continue;
            };
            if let Some(other) = known.insert(same(sender), name) {
                let found = format!("{}, which is already assigned to {other}", quoted(sender));
                remarks.problem(key, found, "each sender once");
            } else if !is_enabled(config, channel) {
                remarks.warning(
                    key,
                    format!("channels.{channel}.enabled is off, so no messages arrive from there"),
                );
            }
        }
        let conversation = person.conversation.trim();
        let is_name = conversation.is_empty() || SessionId::of("household", conversation).is_ok();
        if !is_name || conversation.contains('~') || conversation.chars().count() > MAX_LEN {
            let found = quoted(&person.conversation);
            remarks.problem(key.key("conversation"), found, "a short name without ~ and control characters");
        }
    }
    guests(config, &known, remarks);
}

/// Warns of senders who may write but belong to no person, which is rarely intended.
fn guests(config: &Config, known: &BTreeMap<String, &str>, remarks: &mut Remarks) {
    if config.household.people.is_empty() {
        return;
    }
    let security = &config.security;
    for (channel, senders) in &security.allowed_senders {
        for (index, sender) in senders.iter().enumerate() {
            let named = same(&format!("{channel}:{sender}"));
            let is_somebody =
                known.contains_key(&named) || security.owners.iter().any(|owner| same(owner) == named);
            // A group is not a sender.
            if MESSENGER_NAMES.contains(&channel.as_str()) && !is_somebody && !sender.starts_with('-') {
                let key = KeyPath::of(["security", "allowed_senders", channel]).join(Step::Index(index));
                remarks.warning(
                    key,
                    "is not listed in household.people, and is therefore a guest with a separate memory",
                );
            }
        }
    }
}

/// Splits into the channel and the sender's id there.
pub(super) fn split(sender: &str) -> Option<(&str, &str)> {
    let (channel, id) = sender.split_once(':')?;
    (MESSENGER_NAMES.contains(&channel) && !id.trim().is_empty()).then_some((channel, id))
}

/// Normalises a sender so that two spellings compare equal: addresses and names are case-insensitive.
fn same(sender: &str) -> String {
    match split(sender) {
        Some((channel, id)) if channel == "email" || id.starts_with('@') && channel == "telegram" => {
            format!("{channel}:{}", id.trim().to_lowercase())
        }
        _ => sender.to_owned(),
    }
}

fn is_enabled(config: &Config, channel: &str) -> bool {
    MESSENGERS.iter().any(|messenger| messenger.name == channel && messenger.is_enabled(&config.channels))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::HouseholdPerson;
    use crate::validate::Remark;

    /// The remarks about a household, one line each.
    fn said(people: &[(&str, &[&str], &str)], change: impl FnOnce(&mut Config)) -> Vec<String> {
        let mut config = Config::default();
        config.channels.telegram.enabled = true;
        for (name, senders, conversation) in people {
            let senders = senders.iter().map(|&sender| sender.to_owned()).collect();
            let person = HouseholdPerson {
                senders,
                conversation: (*conversation).to_owned(),
                ..HouseholdPerson::default()
            };
            config.household.people.insert((*name).to_owned(), person);
        }
        change(&mut config);
        let mut remarks = Remarks(Vec::new());
        check(&config, &mut remarks);
        let line = |remark: Remark| match remark {
            Remark::Problem { key, found, .. } => format!("problem {key}: {found}"),
            Remark::Warning { key, message } => format!("warning {key}: {message}"),
        };
        remarks.0.into_iter().map(line).collect()
    }

    #[test]
    fn mistakes_are_reported_with_their_key() {
        let check = |people: &[(&str, &[&str], &str)], expected: &[&str]| {
            let said = said(people, |_| {});
            assert_eq!(said.len(), expected.len(), "{said:?}");
            for (said, expected) in said.iter().zip(expected) {
                assert!(expected.split(" .. ").all(|part| said.contains(part)), "{said} | {expected}");
            }
        };
        check(&[("ben", &["telegram:1"], "ben"), ("owner", &["telegram:2"], "")], &[]);
        check(&[("Ben", &["telegram:1"], "")], &["problem household.people.Ben"]);
        check(&[("shared", &["telegram:1"], "")], &["problem household.people.shared"]);
        check(&[("ben", &[], "")], &["warning household.people.ben.senders"]);
        check(&[("ben", &["pigeon:1"], "")], &["problem household.people.ben.senders .. pigeon"]);
        check(&[("ben", &["telegram:"], "")], &["problem"]);
        check(&[("ben", &["telegram"], "")], &["problem"]);
        check(&[("ben", &["matrix:@b:x"], "")], &["warning .. channels.matrix.enabled"]);
        check(
            &[("ada", &["telegram:@Ada"], ""), ("ben", &["telegram:@ada"], "")],
            &["problem household.people.ben .. already assigned to ada"],
        );
        check(&[("ben", &["telegram:1"], "a~2")], &["problem household.people.ben.conversation"]);
    }

    #[test]
    fn permitted_senders_outside_the_household_are_reported_as_guests() {
        let allow = |config: &mut Config| {
            let senders = ["1", "2", "3", "-100"].map(str::to_owned).to_vec();
            config.security.allowed_senders.insert("telegram".to_owned(), senders);
            config.security.owners = vec!["telegram:2".to_owned()];
        };
        assert!(said(&[], allow).is_empty());
        let said = said(&[("ben", &["telegram:1"], "")], allow);
        assert!(
            said.len() == 1 && said[0].contains("allowed_senders.telegram") && said[0].contains("guest"),
            "{said:?}"
        );
    }
}
