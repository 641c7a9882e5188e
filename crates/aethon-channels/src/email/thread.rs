//! Threads: which mails belong together, and the references of a reply.
//!
//! A thread with one person is a conversation. Its name consists of their address and the thread's first mail, so
//! that no sender enters another person's conversation by referencing its mails.

use aethon_core::channel::ChannelRecords;
use aethon_core::error::Result;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::address::is_address;
use crate::digest::digest_of;

/// How many bytes of the hash are in a name.
const NAME_BYTES: usize = 4;
/// How many mails a reply references: the first and the newest.
const MAX_REFERENCES: usize = 12;

/// The references of a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Thread {
    /// Its subject, without `Re:`.
    pub(super) subject: String,
    /// The id of the latest mail.
    pub(super) last: String,
    /// What that mail references.
    pub(super) references: Vec<String>,
}

impl Thread {
    /// Returns the references of a reply, in order.
    pub(super) fn named(&self) -> Vec<String> {
        let mut all = self.references.clone();
        all.retain(|id| *id != self.last);
        all.push(self.last.clone());
        if all.len() > MAX_REFERENCES {
            all.drain(1..all.len() - (MAX_REFERENCES - 1));
        }
        all
    }

    pub(super) async fn load(records: &dyn ChannelRecords, chat: &str) -> Result<Option<Self>> {
        let stored = records.get("email", &name(chat)).await?;
        Ok(stored.and_then(|stored| serde_json::from_str(&stored).ok()))
    }

    pub(super) async fn store(
        &self,
        records: &dyn ChannelRecords,
        chat: &str,
        until: Timestamp,
    ) -> Result<()> {
        let text = serde_json::to_string(self).unwrap_or_default();
        records.put("email", &name(chat), &text, Some(until)).await
    }
}

/// Remembers the thread of a mail that we sent.
pub(super) async fn remember_sent(
    records: &dyn ChannelRecords,
    chat: &str,
    id: &str,
    until: Timestamp,
) -> Result<()> {
    records.put("email", &sent_name(id), chat, Some(until)).await
}

/// Returns the thread in which we sent a mail with this id to this address.
pub(super) async fn of_sent(records: &dyn ChannelRecords, sender: &str, id: &str) -> Result<Option<String>> {
    let chat = records.get("email", &sent_name(id)).await?;
    Ok(chat.filter(|chat| address(chat) == Some(sender) && chat != sender))
}

fn sent_name(id: &str) -> String {
    format!("sent:{id}")
}

fn name(chat: &str) -> String {
    format!("thread:{chat}")
}

/// Names a thread as a chat: the address and a hash of the first mail's id.
pub(super) fn chat(address: &str, root: &str) -> String {
    format!("{address}:{}", digest_of(root, NAME_BYTES))
}

/// Returns the address of a chat, or `None` if the name is not a chat's.
pub(super) fn address(chat: &str) -> Option<&str> {
    let (address, hash) = chat.split_once(':').map_or((chat, None), |(address, hash)| (address, Some(hash)));
    let is_hash =
        |hash: &str| hash.len() == 2 * NAME_BYTES && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_address(address) && hash.is_none_or(is_hash)).then_some(address)
}

/// Strips reply prefixes from a subject.
pub(super) fn bare_subject(subject: &str) -> &str {
    let mut rest = subject.trim();
    loop {
        let lowered = rest.to_ascii_lowercase();
        let mark = ["re:", "aw:", "sv:", "antw:"].iter().find(|mark| lowered.starts_with(**mark));
        match mark {
            Some(mark) => rest = rest[mark.len()..].trim_start(),
            None => return rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_is_an_address_with_a_thread_or_without() {
        assert_eq!(chat("ada@x.example", "<1@x>").len(), "ada@x.example:".len() + 8);
        assert_ne!(chat("ada@x.example", "<1@x>"), chat("ada@x.example", "<2@x>"));
        assert_eq!(address("ada@x.example:0a1b2c3d"), Some("ada@x.example"));
        assert_eq!(address("ada@x.example"), Some("ada@x.example"));
        for wrong in
            ["", "ada", "ada@x:", "ada@x:zz", "ada@x.example:0a1b2c3d4", "a b@x", "ada@x>", "@x", "ada@"]
        {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_answer_names_the_first_and_the_newest() {
        let references: Vec<String> = (0..30).map(|number| format!("<{number}@x>")).collect();
        let thread = Thread { last: "<30@x>".into(), references, ..Thread::default() };
        let named = thread.named();
        assert_eq!((named.len(), named[0].as_str(), named[11].as_str()), (12, "<0@x>", "<30@x>"));
        assert_eq!(bare_subject("Re: AW: re: plan"), "plan");
        assert_eq!(bare_subject("Ärger"), "Ärger");
    }
}
