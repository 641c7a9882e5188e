//! The senders that were not admitted lately, so that the owner can see their ids and add them.

use std::collections::VecDeque;

use aethon_core::visible;
use jiff::{SignedDuration, Timestamp};

/// How many are kept. The oldest are dropped.
const MAX_COUNT: usize = 3;
/// How long they are shown.
const SHOWN_FOR: SignedDuration = SignedDuration::from_hours(24);
/// How often a channel logs one.
const LOGGED_EVERY: SignedDuration = SignedDuration::from_hours(1);
/// Longer ids are not shown.
const MAX_LENGTH: usize = 200;

/// The latest senders, newest last.
#[derive(Debug, Clone, Default)]
pub(super) struct Knocks {
    senders: VecDeque<(String, Timestamp)>,
    logged_at: Option<Timestamp>,
}

impl Knocks {
    /// Adds a sender. Returns whether one may be logged again.
    pub(super) fn note(&mut self, sender: &str, at: Timestamp) -> bool {
        if sender.is_empty() || sender.len() > MAX_LENGTH {
            return false;
        }
        self.senders.retain(|(known, _)| known != sender);
        while self.senders.len() >= MAX_COUNT {
            self.senders.pop_front();
        }
        self.senders.push_back((sender.to_owned(), at));
        let is_time = self.logged_at.is_none_or(|last| at.duration_since(last) >= LOGGED_EVERY || at < last);
        if is_time {
            self.logged_at = Some(at);
        }
        is_time
    }

    /// Removes a sender.
    pub(super) fn forget(&mut self, sender: &str) {
        self.senders.retain(|(known, _)| known != sender);
    }

    /// Returns a sentence about them for the owner, if there are any that still are not admitted.
    pub(super) fn told(&self, channel: &str, now: Timestamp, is_admitted: impl Fn(&str) -> bool) -> String {
        let is_recent = |at: Timestamp| now.duration_since(at) < SHOWN_FOR;
        let senders: Vec<String> = self
            .senders
            .iter()
            .rev()
            .filter(|(sender, at)| is_recent(*at) && !is_admitted(sender))
            .map(|(sender, _)| visible::exact(sender))
            .collect();
        match senders.as_slice() {
            [] => String::new(),
            [sender] => sentence(channel, sender),
            senders => format!(
                "messages from {} were not taken; add those whom you know to security.allowed_senders.{channel}",
                senders.join(", ")
            ),
        }
    }
}

/// Returns the sentence about one sender for the owner.
pub(super) fn sentence(channel: &str, sender: &str) -> String {
    format!(
        "a message from {sender} was not taken; if you know them, add {sender} to security.allowed_senders.{channel}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_senders_are_shown_for_a_day_and_one_an_hour_is_logged() {
        let start = Timestamp::UNIX_EPOCH;
        let at = |minutes: i64| start + SignedDuration::from_mins(minutes);
        let mut knocks = Knocks::default();
        assert!(knocks.note("1", at(0)));
        assert!(!knocks.note("2", at(1)) && !knocks.note("1", at(59)));
        assert!(knocks.note("3", at(60)));
        knocks.note("4", at(61));
        let told = |minutes, listed: &str| knocks.told("telegram", at(minutes), |sender| sender == listed);
        assert_eq!(
            told(62, ""),
            "messages from 4, 3, 1 were not taken; add those whom you know to security.allowed_senders.telegram"
        );
        assert!(told(62, "4").starts_with("messages from 3, 1 were"));
        assert!(told(60 + 24 * 60, "3").contains("add 4 to security.allowed_senders.telegram"));
        assert_eq!(told(61 + 24 * 60, ""), "");
    }
}
