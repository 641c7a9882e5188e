//! Full-text search in the in-memory storage: a message with more of the words comes first.

use std::cmp::Reverse;

use async_trait::async_trait;

use super::MemoryStore;
use crate::error::Result;
use crate::history::{History, HistoryQuery, Passage, PassageSource};
use crate::ids::SessionId;
use crate::message::{Block, Message, Role};

#[async_trait]
impl History for MemoryStore {
    async fn search(&self, session: &SessionId, query: HistoryQuery) -> Result<Vec<Passage>> {
        let tables = self.enter("search")?;
        let words: Vec<String> =
            query.words.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
        let messages = tables.sessions.get(session).map(|session| session.messages.as_slice());
        let mut found: Vec<(usize, Passage)> = messages
            .unwrap_or_default()
            .iter()
            .filter(|message| query.except.is_none() || message.turn != query.except)
            .flat_map(|message| {
                message.content.iter().filter_map(|block| passage(message, block, query.chars))
            })
            .map(|passage| {
                let text = passage.text.to_lowercase();
                (words.iter().filter(|word| !word.is_empty() && text.contains(*word)).count(), passage)
            })
            .filter(|(matches, _)| *matches > 0)
            .collect();
        found.sort_by_key(|(matches, passage)| Reverse((*matches, passage.message)));
        Ok(found.into_iter().take(query.limit).map(|(_, passage)| passage).collect())
    }
}

fn passage(message: &Message, block: &Block, chars: usize) -> Option<Passage> {
    let (source, text) = match block {
        Block::Text { untrusted: Some(_), text } => (PassageSource::Outside, text.clone()),
        Block::Text { text, .. } if message.role == Role::User => (PassageSource::Person, text.clone()),
        Block::Text { text, .. } => (PassageSource::Assistant, text.clone()),
        Block::File { name, text, .. } => (PassageSource::File(name.clone()), text.clone()),
        Block::ToolCall(call) => (PassageSource::Call(call.name.clone()), call.input.to_string()),
        Block::ToolResult(result) => (PassageSource::Tool(result.name.clone()), result.output.clone()),
        Block::Image { .. }
        | Block::Search(_)
        | Block::Context { .. }
        | Block::Reasoning { .. }
        | Block::Notice { .. }
        | Block::Folded { .. } => return None,
    };
    let text = text.chars().take(chars).collect();
    Some(Passage { message: message.id, at: message.created_at, source, text })
}
