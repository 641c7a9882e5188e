//! Whom a message is for, and in which conversation it continues.
//!
//! Without a household, everyone who may write is the owner, unless owners are named. With one, a sender is the
//! person that the configuration says, and otherwise a guest, who shares nothing with anyone. Messages in a group are
//! for everyone, because everyone reads the answer. A conversation is a chat of the platform, or the one in which a
//! person's private messages from all messengers meet.

use aethon_core::person::Person;

use super::access;
use super::platform::{Arrival, Sender};
use crate::options::{Member, Rules};

/// The channel of conversations that several messengers share.
pub(super) const HOUSEHOLD: &str = "household";

/// Where a message belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The person it is for.
    pub(super) person: Person,
    /// The channel of its conversation, which names sessions and their stored state.
    pub(super) channel: String,
    /// The conversation within the channel.
    pub(super) conversation: String,
}

impl Place {
    /// Returns the place of an arrival.
    pub(super) fn of(rules: &Rules, arrival: &Arrival) -> Self {
        let member = member(rules, &arrival.sender).filter(|_| arrival.is_private);
        let shared = member.and_then(|member| member.conversation.clone());
        let (channel, conversation) = match shared {
            Some(conversation) => (HOUSEHOLD.to_owned(), conversation),
            None => (rules.channel.to_owned(), conversation(rules.channel, &arrival.chat).to_owned()),
        };
        let person = match (member, &rules.people) {
            (Some(member), _) => member.person.clone(),
            (None, Some(_)) if !arrival.is_private => Person::everybody(),
            (None, None) if access::is_owner(rules, &arrival.sender) => Person::default(),
            (None, _) => Person::guest(rules.channel, &arrival.sender.id),
        };
        Self { person, channel, conversation }
    }
}

/// Returns the conversation of a chat. Threads of private chats on Slack and of rooms on Matrix are answered where
/// they are, but belong to the conversation around them.
pub(super) fn conversation<'c>(channel: &str, chat: &'c str) -> &'c str {
    let mark = match channel {
        "slack" if chat.starts_with('D') => ':',
        "matrix" => '$',
        _ => return chat,
    };
    chat.split_once(mark).map_or(chat, |(around, _)| around)
}

/// Returns whether a sender outside the household writes where everyone reads. They act for everyone there, but
/// what everyone may know is not theirs to change.
pub(super) fn is_from_guest_to_all(rules: &Rules, arrival: &Arrival) -> bool {
    rules.people.is_some() && !arrival.is_private && member(rules, &arrival.sender).is_none()
}

fn member<'r>(rules: &'r Rules, sender: &Sender) -> Option<&'r Member> {
    rules.people.iter().flatten().find(|member| access::names(rules, &member.sender, sender))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::talk::tests::rules;

    fn arrival(sender: &str, is_private: bool) -> Arrival {
        let author = Sender { id: sender.into(), name: Some(format!("@N{sender}")), group: None };
        Arrival { is_private, text: "hi".into(), ..Arrival::new("1", "chat", author, Timestamp::UNIX_EPOCH) }
    }

    #[test]
    fn threads_belong_to_a_conversation() {
        for (channel, chat, expected) in [
            ("slack", "D1", "D1"),
            ("slack", "D1:1.2", "D1"),
            ("slack", "C1:1.2", "C1:1.2"),
            ("matrix", "!r:hs", "!r:hs"),
            ("matrix", "!r:hs$event", "!r:hs"),
            ("telegram", "-7:3", "-7:3"),
        ] {
            assert_eq!(conversation(channel, chat), expected, "{chat}");
        }
    }

    #[test]
    fn senders_are_people_and_groups_are_everybodys() {
        let ben = Person::member("ben").unwrap();
        let member = |sender: &str, conversation: Option<&str>| Member {
            sender: sender.into(),
            person: ben.clone(),
            conversation: conversation.map(str::to_owned),
        };
        let people = Some(vec![member("2", None), member("@n3", Some("ben"))]);
        let household = Rules { people, ..rules() };
        let named = Rules { owners: Some(vec!["1".into()]), ..rules() };
        let check = |rules: &Rules,
                     sender: &str,
                     is_private: bool,
                     person: &Person,
                     session: (&str, &str)| {
            let place = Place::of(rules, &arrival(sender, is_private));
            assert_eq!((&place.person, place.channel.as_str()), (person, session.0), "{sender} {is_private}");
            assert_eq!(place.conversation, session.1);
        };
        let (owner, chat) = (Person::default(), ("telegram", "chat"));
        check(&rules(), "1", true, &owner, chat);
        check(&rules(), "1", false, &owner, chat);
        check(&named, "1", true, &owner, chat);
        check(&named, "2", true, &Person::guest("telegram", "2"), chat);
        check(&household, "2", true, &ben, chat);
        check(&household, "3", true, &ben, ("household", "ben"));
        check(&household, "3", false, &Person::everybody(), chat);
        check(&household, "1", true, &Person::guest("telegram", "1"), chat);
        check(&household, "1", false, &Person::everybody(), chat);
        for (rules, sender, is_private, expected) in [
            (&household, "1", false, true),
            (&household, "1", true, false),
            (&household, "2", false, false),
            (&named, "2", false, false),
        ] {
            assert_eq!(is_from_guest_to_all(rules, &arrival(sender, is_private)), expected, "{sender}");
        }
    }
}
