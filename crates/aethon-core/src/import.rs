//! Imports a whole conversation at once, from messages written before: a recording that is continued, or a fork.
//!
//! The store behind the log of turns ([`crate::session::TurnLog`]) implements this as well. An import belongs to no
//! running turn, and is one transaction however long the conversation is.

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::error::Result;
use crate::ids::{MessageId, SessionId, TurnId};
use crate::message::{Attachment, Block, Inbound, Message, Outside, Role};

/// The part of the storage that imports conversations.
#[async_trait]
pub trait SessionImport: Send + Sync {
    /// Creates a session with exactly these messages, in this order, or nothing at all. Messages and turns get fresh
    /// ids, and references to messages (in a summary of older ones) are updated. `false` if a session with this id
    /// already exists.
    async fn import(&self, session: NewSession) -> Result<bool>;
}

/// A conversation to import.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The id of the new session.
    pub id: SessionId,
    /// Its title; empty for the one that its first message suggests.
    pub title: String,
    /// Its sender.
    pub sender: String,
    /// Its messages, oldest first, with their original ids.
    pub messages: Vec<Message>,
}

/// A turn of an imported conversation.
#[derive(Debug)]
pub struct ImportedTurn {
    /// Its fresh id.
    pub turn: TurnId,
    /// The inbound message that started it, as far as it can be reconstructed.
    pub inbound: Inbound,
}

impl NewSession {
    /// Gives all turns fresh ids, and builds rows for those that a person may want to retry. Oldest first.
    pub fn renew_turns(&mut self) -> Vec<ImportedTurn> {
        let mut fresh: BTreeMap<TurnId, TurnId> = BTreeMap::new();
        let mut turns = Vec::new();
        for message in &mut self.messages {
            let Some(old) = message.turn.clone() else { continue };
            let is_known = fresh.contains_key(&old);
            let turn = fresh.entry(old).or_insert_with(TurnId::fresh).clone();
            message.turn = Some(turn.clone());
            if !is_known && message.role == Role::User {
                let mut inbound =
                    Inbound::say(self.id.clone(), message.text()).from_sender(self.sender.clone());
                // If it is retried, it is still untrusted and has its pictures.
                inbound.untrusted =
                    message.content.iter().any(|block| block.outside() == Some(Outside::Words));
                inbound.attachments = message.content.iter().filter_map(picture).collect();
                turns.push(ImportedTurn { turn, inbound });
            }
        }
        turns
    }
}

fn picture(block: &Block) -> Option<Attachment> {
    let Block::Image { mime, data, .. } = block else { return None };
    Some(Attachment::new("picture", mime.as_str(), data.as_str()))
}

/// Updates the message ids that a message refers to. References to messages that were not imported become empty.
pub fn rename_messages(message: &mut Message, known: &BTreeMap<MessageId, MessageId>) {
    let renamed = |id: &str| {
        let old = id.parse().ok().map(MessageId);
        old.and_then(|old| known.get(&old)).map_or_else(|| "0".to_owned(), |new| new.0.to_string())
    };
    for block in &mut message.content {
        if let Block::Folded { from, to, .. } = block {
            (*from, *to) = (renamed(from), renamed(to));
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn turns_get_fresh_ids_and_summaries_name_the_new_messages() {
        let now = Timestamp::default();
        let picture = Block::image("image/png", "AAAA");
        let words = Block::Text { text: "what?".into(), untrusted: Some("b".into()) };
        let mut question = Message::new(Role::User, vec![words, picture], now);
        question.turn = Some(TurnId::existing("old"));
        let mut answer = Message::new(Role::Assistant, vec![Block::text("that")], now);
        answer.turn = question.turn.clone();
        let id = SessionId::of("webchat", "a").unwrap();
        let messages = vec![question, answer];
        let mut session = NewSession { id, title: String::new(), sender: "owner".into(), messages };
        let turns = session.renew_turns();
        assert_eq!((turns.len(), turns[0].inbound.text.as_str()), (1, "what?"));
        assert!(turns[0].inbound.untrusted, "asked again, it is still a stranger's");
        assert_eq!(turns[0].inbound.attachments, [Attachment::new("picture", "image/png", "AAAA")]);
        assert!(session.messages.iter().all(|message| message.turn.as_ref() == Some(&turns[0].turn)));
        assert_ne!(turns[0].turn.as_str(), "old");

        let folded = Block::Folded { messages: 2, from: "7".into(), to: "8".into(), summary: "s".into() };
        let mut message = Message::new(Role::System, vec![folded], now);
        rename_messages(&mut message, &BTreeMap::from([(MessageId(8), MessageId(80))]));
        let expected = Block::Folded { messages: 2, from: "0".into(), to: "80".into(), summary: "s".into() };
        assert_eq!(message.content, [expected]);
    }
}
