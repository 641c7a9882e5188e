//! Maps messenger senders to people according to `[household]`.

use std::collections::BTreeMap;

use aethon_agent::hooks::StrangerBounds;
use aethon_channels::Member;
use aethon_config::Config;
use aethon_core::feature::{Feature, FeatureState};
use aethon_core::person::Person;

/// The members on a channel; `None` without a household. The configuration was checked.
pub(crate) fn members(config: &Config, channel: &str) -> Option<Vec<Member>> {
    let people = &config.household.people;
    if people.is_empty() {
        return None;
    }
    let mut takers = BTreeMap::<&str, usize>::new();
    for person in people.values() {
        *takers.entry(person.conversation.trim()).or_default() += 1;
    }
    let mut members = Vec::new();
    for (name, person) in people {
        let Some(own) = Person::member(name) else { continue };
        let conversation = Some(person.conversation.trim()).filter(|name| !name.is_empty());
        // A conversation read by several people counts as shared, like a group.
        let is_shared = conversation.is_some_and(|name| takers.get(name).is_some_and(|count| *count > 1));
        let whose = if is_shared { Person::everybody() } else { own };
        members.extend(senders(&person.senders, channel).map(|sender| Member {
            sender,
            person: whose.clone(),
            conversation: conversation.map(str::to_owned),
        }));
    }
    // The owner need not be listed twice. The first match wins, so senders listed above keep their person.
    let owners = senders(&config.security.owners, channel);
    members.extend(owners.map(|sender| Member { sender, person: Person::default(), conversation: None }));
    Some(members)
}

/// The senders on a channel who are the owner; `None` if everyone who may write is, because neither owners nor a household
/// are named.
pub(crate) fn owners(config: &Config, channel: &str) -> Option<Vec<String>> {
    let (named, people) = (&config.security.owners, &config.household.people);
    if named.is_empty() && people.is_empty() {
        return None;
    }
    let own = people.iter().filter(|(name, _)| Person::member(name).is_some_and(|person| person.is_owner()));
    let own = own.flat_map(|(_, person)| senders(&person.senders, channel));
    Some(senders(named, channel).chain(own).collect())
}

fn senders<'s>(all: &'s [String], channel: &'s str) -> impl Iterator<Item = String> + 's {
    let here = all.iter().filter_map(move |sender| sender.strip_prefix(channel)?.strip_prefix(':'));
    // Mail addresses are compared without case, and the channel delivers senders in lower case.
    here.map(move |id| if channel == "email" { super::mail_address::compared(id) } else { id.to_owned() })
}

/// The tools that are open to people who are not the owner.
pub(crate) fn bounds(config: &Config) -> StrangerBounds {
    let trimmed = |names: &[String]| names.iter().map(|name| name.trim().to_owned()).collect::<Vec<_>>();
    let own = config.household.people.iter().filter(|(_, person)| !person.tools.is_empty());
    let own = own.filter_map(|(name, person)| Some((Person::member(name)?, trimmed(&person.tools))));
    StrangerBounds { guest_tools: trimmed(&config.security.guest_tools), people_tools: own.collect() }
}

/// Describes the household.
pub(crate) fn sentence(config: &Config) -> String {
    let names: Vec<&str> = config.household.people.keys().map(String::as_str).collect();
    match names.as_slice() {
        [] => "no people are listed; all permitted senders share the owner's memory".to_owned(),
        names => format!("{}, with separate memories and a shared one", names.join(", ")),
    }
}

/// The household's row on the feature board.
pub(crate) fn feature(config: &Config) -> Feature {
    let state = FeatureState::of_switch(!config.household.people.is_empty());
    Feature::new(("household", "Household"), state, sentence(config), "household.people")
}

#[cfg(test)]
mod tests {
    use aethon_config::schema::HouseholdPerson;

    use super::*;

    #[test]
    fn senders_are_people_of_their_channel() {
        let mut config = Config::default();
        assert!(members(&config, "telegram").is_none());
        let mut person = |name: &str, senders: &[&str], conversation: &str| {
            let senders = senders.iter().map(|&sender| sender.to_owned()).collect();
            let person = HouseholdPerson {
                senders,
                conversation: conversation.to_owned(),
                ..HouseholdPerson::default()
            };
            config.household.people.insert(name.to_owned(), person);
        };
        person("ada", &["telegram:1", "email:Ada@X.example"], "us");
        person("ben", &["telegram:2"], "us");
        person("cleo", &["telegram:3"], "cleo");
        config.security.owners = vec!["telegram:9".to_owned()];
        let told = |channel: &str| -> Vec<String> {
            let members = members(&config, channel).unwrap();
            let line = |member: Member| {
                let conversation = member.conversation.unwrap_or_default();
                format!("{} {} {conversation}", member.sender, member.person)
            };
            members.into_iter().map(line).collect()
        };
        assert_eq!(told("telegram"), ["1 shared us", "2 shared us", "3 cleo cleo", "9 owner "]);
        assert_eq!(told("email"), ["ada@x.example shared us"]);
        assert_eq!(owners(&config, "telegram").unwrap(), ["9"]);
        assert!(told("slack").is_empty());
        assert_eq!(feature(&config).state, FeatureState::On);
    }

    #[test]
    fn in_a_household_only_the_owners_own_senders_are_owners() {
        let with = |named: &[&str], people: &[(&str, &str)]| {
            let mut config = Config::default();
            config.security.owners = named.iter().map(|&sender| sender.to_owned()).collect();
            for (name, sender) in people {
                let senders = vec![(*sender).to_owned()];
                let person = HouseholdPerson { senders, ..HouseholdPerson::default() };
                config.household.people.insert((*name).to_owned(), person);
            }
            owners(&config, "telegram").map(|owners| owners.join(" "))
        };
        assert_eq!(with(&[], &[]), None);
        assert_eq!(with(&["telegram:1", "email:a@x.example"], &[]).as_deref(), Some("1"));
        assert_eq!(with(&[], &[("ben", "telegram:2")]).as_deref(), Some(""));
        assert_eq!(with(&[], &[("ben", "telegram:2"), ("owner", "telegram:1")]).as_deref(), Some("1"));
        assert_eq!(with(&["telegram:9"], &[("owner", "telegram:1")]).as_deref(), Some("9 1"));
    }
}
