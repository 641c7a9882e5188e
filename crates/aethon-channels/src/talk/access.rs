//! Who may write, and whose words are the owner's.
//!
//! Ids are compared exactly, except that a telephone number of WhatsApp is the same however it is written. A name counts only if the platform makes it unique to one account, and ignoring case. A
//! group in the list lets its members write there and nowhere else. Display names never count.

use super::numbers;
use super::platform::Sender;
use crate::options::Rules;

/// Returns whether the owner's list lets the sender write.
pub(super) fn is_listed(rules: &Rules, sender: &Sender) -> bool {
    let is_meant = |entry: &String| sender.group.as_ref() == Some(entry) || names(rules, entry, sender);
    rules.allowed.get().iter().any(is_meant)
}

/// Returns whether the owner's list contains this id.
pub(super) fn is_listed_by_id(rules: &Rules, id: &str) -> bool {
    rules.allowed.get().iter().any(|entry| is_id(rules, entry, id))
}

/// Returns whether the owner's list has an entry that is not an id, so that an id alone does not say that its sender is not listed.
/// Of the ids of people, only those of Matrix begin like that, and they have a colon.
pub(super) fn lists_names_or_groups(rules: &Rules) -> bool {
    let is_name = |entry: &str| entry.starts_with('@') && !entry.contains(':');
    rules.allowed.get().iter().any(|entry| entry.starts_with(['!', '-']) || is_name(entry))
}

/// Returns whether the sender is an owner.
pub(super) fn is_owner(rules: &Rules, sender: &Sender) -> bool {
    rules.owners.as_ref().is_none_or(|owners| owners.iter().any(|owner| names(rules, owner, sender)))
}

/// Returns whether a list entry matches this sender.
pub(super) fn names(rules: &Rules, entry: &str, sender: &Sender) -> bool {
    let by_name = || sender.name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(entry));
    is_id(rules, entry, &sender.id) || (entry.starts_with('@') && by_name())
}

fn is_id(rules: &Rules, entry: &str, id: &str) -> bool {
    entry == id || (rules.channel == "whatsapp" && numbers::is_same(entry, id))
}

#[cfg(test)]
mod tests {
    use aethon_core::live::Live;

    use super::*;
    use crate::talk::tests::rules;

    #[test]
    fn senders_match_the_allow_list_by_id_name_or_group() {
        let check = |allowed: &[&str], id: &str, name: Option<&str>, group: Option<&str>, expected: bool| {
            let rules = Rules {
                allowed: Live::new(allowed.iter().map(|&entry| entry.to_owned()).collect()),
                ..rules()
            };
            let sender =
                Sender { id: id.into(), name: name.map(str::to_owned), group: group.map(str::to_owned) };
            assert_eq!(is_listed(&rules, &sender), expected, "{allowed:?} {sender:?}");
        };
        check(&[], "1", None, None, false);
        check(&["1"], "1", None, None, true);
        check(&["1"], "11", None, None, false);
        check(&["1 "], "1", None, None, false);
        check(&["@Ada"], "1", Some("@ada"), None, true);
        check(&["ada"], "1", Some("@ada"), None, false);
        check(&["@ada"], "1", None, None, false);
        check(&["-100"], "1", None, Some("-100"), true);
        check(&["-100"], "1", None, None, false);
    }

    #[test]
    fn lists_of_ids_differ_from_those_with_names_or_groups() {
        let check = |allowed: &[&str], expected: bool| {
            let allowed = Live::new(allowed.iter().map(|&entry| entry.to_owned()).collect());
            assert_eq!(lists_names_or_groups(&Rules { allowed, ..rules() }), expected);
        };
        check(&[], false);
        check(&["1", "U024BE7LH", "@ada:hs", "ada@x.example"], false);
        check(&["1", "@ada"], true);
        check(&["-100"], true);
        check(&["!r:hs"], true);
    }

    #[test]
    fn owners_are_everybody_until_some_are_named() {
        let sender = |id: &str| Sender { id: id.into(), name: None, group: None };
        assert!(is_owner(&rules(), &sender("2")));
        let rules = Rules { owners: Some(vec!["1".into()]), ..rules() };
        assert!(is_owner(&rules, &sender("1")) && !is_owner(&rules, &sender("2")));
    }
}
