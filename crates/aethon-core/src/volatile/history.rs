//! Full-text search in the in-memory storage: a message with more of the words comes first.

use std::cmp::Reverse;

use async_trait::async_trait;

use super::store::MemoryStore;
use crate::error::Result;
use crate::history::{
    Aside, History, HistoryQuery, MessageHit, MessageHits, MessageQuery, Passage, PassageSource, SnippetPart,
    TurnVersions,
};
use crate::ids::{MessageId, SessionId, TurnId};
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

    async fn find(&self, query: MessageQuery) -> Result<MessageHits> {
        let tables = self.enter("find")?;
        let words: Vec<String> = plain(&query.words).split_whitespace().map(str::to_owned).collect();
        let is_wanted = |id: &SessionId| query.session.as_ref().is_none_or(|wanted| wanted == id);
        let is_older = |message: &Message| query.before.is_none_or(|before| message.id < before);
        let is_match = |message: &Message| {
            let text = plain(&message.text());
            let has = |word: &String| text.split_whitespace().any(|other| other.starts_with(word.as_str()));
            matches!(message.role, Role::User | Role::Assistant) && words.iter().all(has)
        };
        let sessions = tables.sessions.iter().filter(|(id, _)| is_wanted(id) && !words.is_empty());
        let mut hits: Vec<MessageHit> = sessions
            .flat_map(|(id, session)| session.messages.iter().map(move |message| (id, session, message)))
            .filter(|(_, _, message)| is_older(message) && is_match(message))
            .map(|(id, session, message)| MessageHit {
                session_id: id.clone(),
                title: session.title.clone(),
                message_id: message.id,
                turn: message.turn.clone(),
                role: message.role,
                created_at: message.created_at,
                snippet: marked(&message.text(), &words),
            })
            .collect();
        hits.sort_by_key(|hit| Reverse(hit.message_id));
        let has_more = hits.len() > query.limit;
        hits.truncate(query.limit);
        Ok(MessageHits { hits, has_more })
    }

    async fn messages_after(
        &self,
        session: &SessionId,
        after: MessageId,
        limit: usize,
    ) -> Result<Vec<Message>> {
        let tables = self.enter("messages_after")?;
        let messages = tables.sessions.get(session).map(|session| session.messages.as_slice());
        let newer = messages.unwrap_or_default().iter().filter(|message| message.id > after);
        Ok(newer.take(limit).cloned().collect())
    }

    async fn versions(&self, session: &SessionId) -> Result<Vec<TurnVersions>> {
        Ok(self.enter("versions")?.versions(session))
    }

    async fn aside(&self, session: &SessionId, after: Option<MessageId>, limit: usize) -> Result<Vec<Aside>> {
        let tables = self.enter("aside")?;
        let branches = tables.sessions.get(session).map(|session| session.versions.aside.iter());
        let all = branches.into_iter().flatten().flat_map(|(branch, messages)| {
            messages.iter().map(|message| Aside { branch: *branch, message: message.clone() })
        });
        let mut all: Vec<Aside> = all.collect();
        if let Some(last) = all.iter().position(|aside| Some(aside.message.id) == after) {
            all.drain(..=last);
        }
        all.truncate(limit);
        Ok(all)
    }

    async fn switch(&self, session: &SessionId, turn: &TurnId) -> Result<()> {
        self.enter("switch")?.switch(session, turn)
    }
}

/// A text in lower case without the usual accents, its words between blanks.
fn plain(text: &str) -> String {
    let bare = |c: char| match c {
        'é' | 'è' | 'ê' => 'e',
        'ü' => 'u',
        'ö' => 'o',
        'ä' => 'a',
        c if c.is_alphanumeric() => c,
        _ => ' ',
    };
    text.to_lowercase().chars().map(bare).collect()
}

/// The words of a text, with those marked that begin with one of the words looked for.
fn marked(text: &str, words: &[String]) -> Vec<SnippetPart> {
    let is_hit = |piece: &str| words.iter().any(|word| plain(piece).trim().starts_with(word.as_str()));
    let pieces = text.split_inclusive(' ');
    pieces.map(|piece| SnippetPart { text: piece.to_owned(), hit: is_hit(piece) }).collect()
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
