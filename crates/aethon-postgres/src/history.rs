//! Passages of one session that match some words, for a model that sees only a summary of the conversation.
//!
//! Unlike the search for sessions, which requires all words and looks only at what people and the assistant wrote, this
//! ranks: a message with the rarest words comes first, of any author, tools included. The server looks through the whole live
//! transcript, however far the index has got, and sends only messages in which some of the words may be.

use aethon_core::error::Result as CoreResult;
use aethon_core::finding::{Query, Text};
use aethon_core::history::{
    Aside, History, HistoryQuery, MessageHits, MessageQuery, Passage, PassageSource, TurnVersions,
};
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::message::{Block, Message};
use aethon_core::session::MAX_PAGE_BYTES;
use aethon_core::untrusted;
use async_trait::async_trait;

use crate::db::{Sql, params};
use crate::error::Error;
use crate::messages::{self, PageLimits, blocks};
use crate::sessions;
use crate::store::Store;
use crate::time::from_millis;
use crate::turns;
use crate::versions;

mod found;

/// The search tool itself; its earlier results are not a source.
const OWN_TOOL: &str = "search_history";

/// Hits that score below this share of the best one are not shown.
const WORTH_SHOWING: f64 = 0.35;

#[async_trait]
impl History for Store {
    async fn search(&self, session: &SessionId, query: HistoryQuery) -> CoreResult<Vec<Passage>> {
        let session = session.clone();
        Ok(self.read(move |sql| search(sql, &session, &query)).await?)
    }

    async fn find(&self, query: MessageQuery) -> CoreResult<MessageHits> {
        Ok(self.read(move |sql| found::page(sql, &query)).await?)
    }

    async fn messages_after(
        &self,
        session: &SessionId,
        after: MessageId,
        limit: usize,
    ) -> CoreResult<Vec<Message>> {
        let session = session.clone();
        let read = move |sql: &Sql<'_>| {
            let Some(key) = sessions::key(sql, session.as_str())? else { return Ok(Vec::new()) };
            let limits = PageLimits { messages: limit, bytes: MAX_PAGE_BYTES };
            messages::page_after(sql, key, after.0, limits)
        };
        Ok(self.read(read).await?)
    }

    async fn versions(&self, session: &SessionId) -> CoreResult<Vec<TurnVersions>> {
        let session = session.clone();
        let read = move |sql: &Sql<'_>| match sessions::key(sql, session.as_str())? {
            Some(key) => versions::all(sql, key),
            None => Ok(Vec::new()),
        };
        Ok(self.read(read).await?)
    }

    async fn aside(
        &self,
        session: &SessionId,
        after: Option<MessageId>,
        limit: usize,
    ) -> CoreResult<Vec<Aside>> {
        let session = session.clone();
        let read = move |sql: &Sql<'_>| {
            let Some(key) = sessions::key(sql, session.as_str())? else { return Ok(Vec::new()) };
            let limits = PageLimits { messages: limit, bytes: MAX_PAGE_BYTES };
            messages::page_aside(sql, key, after, limits)
        };
        Ok(self.read(read).await?)
    }

    async fn switch(&self, session: &SessionId, turn: &TurnId) -> CoreResult<()> {
        let (session, turn, now) = (session.clone(), turn.clone(), self.now());
        let switch = move |sql: &Sql<'_>| match sessions::key(sql, session.as_str())? {
            Some(key) => versions::switch(sql, key, &turn, now),
            None => Err(turns::no_turn(&turn)),
        };
        Ok(self.write(switch).await?)
    }
}

fn search(sql: &Sql<'_>, session: &SessionId, wanted: &HistoryQuery) -> Result<Vec<Passage>, Error> {
    let Some(key) = sessions::key(sql, session.as_str())? else { return Ok(Vec::new()) };
    let Some(query) = Query::of(&wanted.words) else { return Ok(Vec::new()) };
    let best = rank(&query, matches(sql, key, &query, wanted.except.as_ref())?, wanted.limit);
    let weights = best.weights;
    let passages = best.ids.into_iter().map(|id| passage(sql, id, &query, &weights, wanted.chars));
    Ok(passages.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// A message that contains some of the words.
struct Match {
    id: i64,
    /// Match quality per word.
    words: Vec<f64>,
    has_phrases: bool,
}

/// The messages to show, best first.
struct RankedMessages {
    ids: Vec<i64>,
    /// Weight per word: the fewer messages contain it, the more it counts.
    weights: Vec<f64>,
}

fn matches(sql: &Sql<'_>, session: i64, query: &Query, except: Option<&TurnId>) -> Result<Vec<Match>, Error> {
    // Only letters of ASCII are made small, as in `Query::may_be_in`. A needle has no line break.
    const SOME: &str = "SELECT id, role, content FROM messages
        WHERE session_key = $1 AND superseded_by IS NULL AND (turn IS NULL OR turn <> $2)
        AND ($3 = '' OR EXISTS (SELECT FROM unnest(string_to_array($3, chr(10))) AS needle
            WHERE strpos(lower(content COLLATE \"C\"), needle COLLATE \"C\") > 0)) ORDER BY id";
    let needles = query.needles().unwrap_or_default().join("\n");
    let except = except.map_or("", TurnId::as_str);
    // Row by row, so that a long conversation is never in memory as a whole.
    let found = sql.take(SOME, params![session, except, needles], |row| {
        let content = row.text(2)?;
        let role = row.text(1)?;
        let mut words = vec![0.0_f64; query.len()];
        let mut has_phrases = false;
        for (_, text) in parts(role, content) {
            let text = Text::of(&text);
            for (sum, quality) in words.iter_mut().zip(query.qualities(&text)) {
                *sum = sum.max(quality);
            }
            has_phrases |= query.phrases_are_in(&text);
        }
        let is_match = words.iter().any(|quality| *quality > 0.0);
        let id = row.get(0)?;
        Ok(Some(is_match.then_some(Match { id, words, has_phrases })))
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// Orders matches by score. If any message contains the quoted phrases, drops all that do not.
fn rank(query: &Query, mut matches: Vec<Match>, limit: usize) -> RankedMessages {
    if query.has_phrases() && matches.iter().any(|found| found.has_phrases) {
        matches.retain(|found| found.has_phrases);
    }
    let count = |word: usize| matches.iter().filter(|found| found.words[word] > 0.0).count();
    let all = number(matches.len());
    let weights: Vec<f64> =
        (0..query.len()).map(|word| (1.0 + all / number(count(word).max(1))).ln()).collect();
    let score = |found: &Match| -> f64 {
        let sum: f64 = found.words.iter().zip(&weights).map(|(quality, weight)| quality * weight).sum();
        let is_complete = found.words.iter().all(|quality| *quality > 0.0);
        if is_complete { sum * 1.5 } else { sum }
    };
    let mut scored: Vec<(f64, i64)> = matches.iter().map(|found| (score(found), found.id)).collect();
    // Newest first among equals: later statements supersede earlier ones.
    scored.sort_by(|one, other| other.0.total_cmp(&one.0).then(other.1.cmp(&one.1)));
    let least = scored.first().map_or(0.0, |(best, _)| best * WORTH_SHOWING);
    let ids = scored.into_iter().take_while(|(score, _)| *score >= least).take(limit).map(|(_, id)| id);
    RankedMessages { ids: ids.collect(), weights }
}

/// Returns the text around the best match in a message.
fn passage(
    sql: &Sql<'_>,
    id: i64,
    query: &Query,
    weights: &[f64],
    chars: usize,
) -> Result<Option<Passage>, Error> {
    const ONE: &str = "SELECT role, content, created_at FROM messages WHERE id = $1";
    let row = sql.first(ONE, [id], |row| {
        let (role, content) = (row.text(0)?.to_owned(), row.text(1)?.to_owned());
        Ok((role, content, row.get::<i64>(2)?))
    })?;
    let Some((role, content, created_at)) = row else { return Ok(None) };
    let best = parts(&role, &content)
        .into_iter()
        .map(|(source, text)| {
            let excerpt = query.excerpt(&Text::of(&text), weights, chars);
            (excerpt.score, source, excerpt.text)
        })
        .max_by(|one, other| one.0.total_cmp(&other.0));
    Ok(best.map(|(_, source, text)| Passage {
        message: MessageId(id),
        at: from_millis(created_at),
        source,
        text,
    }))
}

/// Returns the searchable parts of a message, each with its source.
fn parts(role: &str, content: &str) -> Vec<(PassageSource, String)> {
    let said_by = match role {
        "user" => PassageSource::Person,
        "assistant" | "tool" => PassageSource::Assistant,
        // Summaries only repeat what stands elsewhere.
        _ => return Vec::new(),
    };
    let part = |block: Block| match block {
        Block::Text { text, untrusted: Some(_) } => Some((PassageSource::Outside, text)),
        Block::Text { text, untrusted: None } => Some((said_by.clone(), text)),
        Block::File { name, text, .. } => {
            Some((PassageSource::File(name.clone()), format!("{name}\n{text}")))
        }
        Block::ToolCall(call) if call.name != OWN_TOOL => {
            Some((PassageSource::Call(call.name), strings(&call.input)))
        }
        Block::ToolResult(result) if result.name != OWN_TOOL => {
            Some((PassageSource::Tool(result.name), untrusted::scrub(&result.output).into_owned()))
        }
        _ => None,
    };
    blocks(content).into_iter().filter_map(part).filter(|(_, text)| !text.trim().is_empty()).collect()
}

/// Returns the strings and numbers in a call's arguments, one per line.
fn strings(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => items.iter().map(strings).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => fields.values().map(strings).collect::<Vec<_>>().join("\n"),
        Value::Null | Value::Bool(_) => String::new(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a session has far fewer than 2^52 messages")]
fn number(count: usize) -> f64 {
    count as f64
}
