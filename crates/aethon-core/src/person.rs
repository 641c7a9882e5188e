//! The person something is for, of those who share an assistant.
//!
//! Without a household, everybody who may write is the owner. With one, each sender is a separate person: the owner, a
//! member named in the configuration, or a guest who is not. What several people read, such as a group, belongs to
//! everybody. The person is stored with a message, a job and a piece of work, so that later results are still for them.
//! Senders are identified where messages come in; [`crate::memory::Reach`] decides which memories a person may recall.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The owner's name.
const OWNER: &str = "owner";

/// The name for what belongs to everybody.
const EVERYBODY: &str = "shared";

/// The prefix of guests' names. No member's name contains a colon.
const GUEST: &str = "guest:";

/// The longest name of a member.
const MAX_LEN: usize = 32;

/// A member of the household, by the name in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Person(String);

impl Person {
    /// Everybody in the household at once: the readers of a group.
    pub fn everybody() -> Self {
        Self(EVERYBODY.to_owned())
    }

    /// The member with this name; `owner` is the owner. `None` unless it is 1 to 32 lower-case letters, digits, `-` and
    /// `_`, and not the name for everybody.
    pub fn member(name: &str) -> Option<Self> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
        let is_name = (1..=MAX_LEN).contains(&name.len()) && name.bytes().all(is_plain) && name != EVERYBODY;
        is_name.then(|| Self(name.to_owned()))
    }

    /// A sender who may write but does not belong to the household.
    pub fn guest(channel: &str, sender: &str) -> Self {
        Self(format!("{GUEST}{channel}:{sender}"))
    }

    /// Returns whether this is the owner.
    pub fn is_owner(&self) -> bool {
        self.0 == OWNER
    }

    /// Returns whether this is a guest.
    pub fn is_guest(&self) -> bool {
        self.0.starts_with(GUEST)
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether they may view and change data of a person: the owner everything, others their own.
    pub fn may_see(&self, whose: &Self) -> bool {
        self.is_owner() || self == whose
    }
}

impl Default for Person {
    /// The owner.
    fn default() -> Self {
        Self(OWNER.to_owned())
    }
}

impl std::fmt::Display for Person {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_members_are_plain_words() {
        for name in ["ben", "owner", "aunt-mary_2"] {
            assert_eq!(Person::member(name).unwrap().as_str(), name);
        }
        for wrong in ["", "Ben", "shared", "guest:telegram:1", "a b", "ä", &"x".repeat(33)] {
            assert!(Person::member(wrong).is_none(), "{wrong:?}");
        }
        assert!(Person::member("owner").unwrap() == Person::default() && Person::default().is_owner());
    }

    #[test]
    fn the_owner_sees_everything_and_others_their_own() {
        let (ben, guest) = (Person::member("ben").unwrap(), Person::guest("telegram", "ben"));
        assert!(Person::default().may_see(&ben) && Person::default().may_see(&guest));
        assert!(ben.may_see(&ben) && guest.is_guest());
        for other in [Person::default(), guest, Person::everybody()] {
            assert!(!ben.may_see(&other), "{other}");
        }
    }
}
