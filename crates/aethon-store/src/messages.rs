//! Messages as rows.
//!
//! The content is the JSON of the core's blocks. A block that this version does not know (written by a newer version or
//! by hand) is shown as a notice in its place, and so is a message whose content is damaged: neither may make a
//! conversation unreadable.

use std::borrow::Cow;

use aethon_core::history::Aside;
use aethon_core::ids::{MessageId, TurnId};
use aethon_core::message::{Block, Message, Role};
use aethon_core::tool::OutputBlock;
use rusqlite::{Row, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::db::Sql;
use crate::error::Error;
use crate::lenient;
use crate::time::{from_millis, to_millis};

/// A message ready to be stored. Serialized by the caller, so that the writer thread spends no time on JSON.
#[derive(Serialize, Deserialize)]
pub(crate) struct NewMessage {
    role: Cow<'static, str>,
    content: String,
    created_at: i64,
    model: Option<String>,
    usage: Option<String>,
    stop_reason: Option<Cow<'static, str>>,
    folds_through: Option<i64>,
}

impl NewMessage {
    pub(crate) fn from(message: &Message) -> Result<Self, Error> {
        Ok(Self {
            role: role_word(message.role).into(),
            content: content(message)?,
            created_at: to_millis(message.created_at),
            model: message.model.clone(),
            usage: message.usage.as_ref().map(to_json).transpose()?,
            stop_reason: message.stop_reason.map(|end| end.as_str().into()),
            folds_through: message.content.iter().filter_map(folds_through).max(),
        })
    }

    /// Returns how many bytes its content takes.
    pub(crate) fn bytes(&self) -> usize {
        self.content.len()
    }
}

/// Adds a message to a session.
pub(crate) fn insert(
    sql: &Sql<'_>,
    session: i64,
    turn: Option<&str>,
    message: &NewMessage,
) -> Result<i64, Error> {
    const INSERT: &str = "INSERT INTO messages
        (session_key, folds_through, created_at, role, turn, model, usage, stop_reason, content)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    Ok(sql.insert(
        INSERT,
        params![
            session,
            message.folds_through,
            message.created_at,
            message.role,
            turn,
            message.model,
            message.usage,
            message.stop_reason,
            message.content
        ],
    )?)
}

/// Puts the live messages from `first` up to but excluding `by` aside, as one branch. Returns how many.
pub(crate) fn put_aside(sql: &Sql<'_>, session: i64, first: i64, by: i64) -> Result<usize, Error> {
    const PUT_ASIDE: &str = "UPDATE messages SET superseded_by = ?2
        WHERE session_key = ?1 AND superseded_by IS NULL AND id >= ?2 AND id < ?3";
    Ok(sql.execute(PUT_ASIDE, params![session, first, by])?)
}

/// Returns whether the message is in the live branch of the session.
pub(crate) fn is_live(sql: &Sql<'_>, session: i64, id: i64) -> Result<bool, Error> {
    const LIVE: &str = "SELECT 1 FROM messages WHERE id = ?1 AND session_key = ?2 AND superseded_by IS NULL";
    Ok(sql.first(LIVE, params![id, session], |_| Ok(()))?.is_some())
}

/// Returns the newest message of the live branch.
pub(crate) fn newest(sql: &Sql<'_>, session: i64) -> Result<Option<i64>, Error> {
    const NEWEST: &str = "SELECT id FROM messages WHERE session_key = ?1 AND superseded_by IS NULL
        ORDER BY id DESC LIMIT 1";
    Ok(sql.first(NEWEST, [session], |row| row.get(0))?)
}

/// Returns the text of a stored message, for a reply that repeats it.
pub(crate) fn text(sql: &Sql<'_>, id: i64) -> Result<Option<String>, Error> {
    const CONTENT: &str = "SELECT content FROM messages WHERE id = ?1";
    let content = sql.first(CONTENT, [id], |row| Ok(lenient::text(row, 0)?.into_owned()))?;
    Ok(content.map(|content| Message::new(Role::Assistant, blocks(&content), from_millis(0)).text()))
}

/// Bytes of a window beyond which older pictures are replaced by a note.
const MAX_PICTURES: usize = 16 << 20;
/// Maximum bytes of a window, more than any model accepts; earlier messages are left to a summary.
const MAX_WINDOW: usize = 64 << 20;

/// Selects live messages of a session, in the columns that [`read`] expects.
macro_rules! live {
    ($which:literal) => {
        concat!(
            "SELECT id, role, content, created_at, turn, model, usage, stop_reason FROM messages
             WHERE session_key = ?1 AND superseded_by IS NULL AND ",
            $which
        )
    };
}

const PAGE: &str = live!("id > ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4");

/// Limits for one read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageLimits {
    pub(crate) messages: usize,
    /// Maximum total size, except that the first message is always included.
    pub(crate) bytes: usize,
}

/// Returns the newest live messages with ids strictly between the two, oldest first.
pub(crate) fn page(
    sql: &Sql<'_>,
    session: i64,
    (after, before): (i64, i64),
    limits: PageLimits,
) -> Result<Vec<Message>, Error> {
    let limit = i64::try_from(limits.messages).unwrap_or(i64::MAX);
    let mut bytes = 0;
    let mut messages = sql.take(PAGE, params![session, after, before, limit], |row| {
        let is_first = bytes == 0;
        bytes += lenient::text(row, 2)?.len();
        if is_first || bytes <= limits.bytes { read(row).map(Some) } else { Ok(None) }
    })?;
    messages.reverse();
    Ok(messages)
}

const NEXT_PAGE: &str = live!("id > ?2 ORDER BY id LIMIT ?3");

/// Returns the live messages after one, oldest first.
pub(crate) fn page_after(
    sql: &Sql<'_>,
    session: i64,
    after: i64,
    limits: PageLimits,
) -> Result<Vec<Message>, Error> {
    let limit = i64::try_from(limits.messages).unwrap_or(i64::MAX);
    let mut bytes = 0;
    let read_some = |row: &Row<'_>| {
        let is_first = bytes == 0;
        bytes += lenient::text(row, 2)?.len();
        if is_first || bytes <= limits.bytes { read(row).map(Some) } else { Ok(None) }
    };
    Ok(sql.take(NEXT_PAGE, params![session, after, limit], read_some)?)
}

/// Returns messages that are put aside, branch by branch, behind one of them.
pub(crate) fn page_aside(
    sql: &Sql<'_>,
    session: i64,
    after: Option<MessageId>,
    limits: PageLimits,
) -> Result<Vec<Aside>, Error> {
    const PLACE: &str = "SELECT superseded_by FROM messages WHERE id = ?1 AND superseded_by IS NOT NULL";
    const NEXT: &str =
        "SELECT id, role, content, created_at, turn, model, usage, stop_reason, superseded_by FROM messages
        WHERE session_key = ?1 AND (superseded_by, id) > (?2, ?3) ORDER BY superseded_by, id LIMIT ?4";
    let limit = i64::try_from(limits.messages).unwrap_or(i64::MAX);
    let after = after.map_or(0, |after| after.0);
    let branch: i64 = sql.first(PLACE, [after], |row| row.get(0))?.unwrap_or(0);
    let mut bytes = 0;
    let read_some = |row: &Row<'_>| {
        let is_first = bytes == 0;
        bytes += lenient::text(row, 2)?.len();
        let fits = is_first || bytes <= limits.bytes;
        if !fits {
            return Ok(None);
        }
        Ok(Some(Aside { branch: MessageId(row.get(8)?), message: read(row)? }))
    };
    Ok(sql.take(NEXT, params![session, branch, after, limit], read_some)?)
}

/// Returns the newest live messages that a model sees, oldest first.
pub(crate) fn window(sql: &Sql<'_>, session: i64, limit: usize) -> Result<Vec<Message>, Error> {
    let folded = sql.first(FOLDED, [session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (through, turn): (i64, Option<String>) = folded.unwrap_or_default();
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let (mut seen, mut kept) = (0, 0);
    let mut messages = sql.take(PAGE, params![session, through, i64::MAX, most], |row| {
        let bytes = lenient::text(row, 2)?.len();
        let mut message = read(row)?;
        seen += bytes;
        let gone = if seen > MAX_PICTURES && kept > 0 { leave_out_pictures(&mut message.content) } else { 0 };
        let fits = kept == 0 || kept + bytes <= MAX_WINDOW + gone;
        kept += bytes.saturating_sub(gone);
        Ok(fits.then_some(message))
    })?;
    // Messages inserted during the turn that made the summary were in no window of it, so no summary covers them.
    let left = most - i64::try_from(messages.len()).unwrap_or(most);
    messages.extend(sql.all(BESIDE, params![session, turn, through, left], read)?);
    messages.reverse();
    Ok(messages)
}

/// Returns whether other turns' messages came after the first one of this turn.
pub(crate) fn has_beside(sql: &Sql<'_>, session: i64, first: i64, turn: &str) -> Result<bool, Error> {
    const OF_OTHERS: &str =
        "SELECT 1 FROM messages WHERE session_key = ?1 AND superseded_by IS NULL AND id > ?2
        AND turn IS NOT ?3 AND folds_through IS NULL LIMIT 1";
    Ok(sql.first(OF_OTHERS, params![session, first, turn], |_| Ok(()))?.is_some())
}

const BESIDE: &str = live!(
    "folds_through IS NULL AND turn IS NOT ?2
     AND id > (SELECT first_message FROM turns WHERE turns.id = ?2) AND id <= ?3 ORDER BY id DESC LIMIT ?4"
);

/// Replaces pictures by a note and returns how many bytes they took.
fn leave_out_pictures(blocks: &mut [Block]) -> usize {
    let words =
        |mime: &str| format!("[A picture ({mime}) is left out here, because later ones take its room.]");
    let mut gone = 0;
    for block in blocks {
        match block {
            Block::Image { mime, data, .. } => {
                gone += data.len();
                *block = Block::text(words(mime));
            }
            Block::ToolResult(result) => {
                for block in &mut result.blocks {
                    if let OutputBlock::Image { mime, data } = block {
                        gone += data.len();
                        *block = OutputBlock::Text { text: words(mime) };
                    }
                }
            }
            _ => {}
        }
    }
    gone
}

const FOLDED: &str = "SELECT folds_through, turn FROM messages INDEXED BY messages_folding
    WHERE session_key = ?1 AND folds_through IS NOT NULL AND superseded_by IS NULL ORDER BY id DESC LIMIT 1";

fn read(row: &Row<'_>) -> rusqlite::Result<Message> {
    let usage = lenient::text_or_null(row, 6)?;
    let stop_reason = lenient::text_or_null(row, 7)?;
    Ok(Message {
        id: MessageId(row.get(0)?),
        role: role_of(&lenient::text(row, 1)?),
        content: blocks(&lenient::text(row, 2)?),
        created_at: from_millis(row.get(3)?),
        turn: lenient::text_or_null(row, 4)?.map(|turn| TurnId::existing(&turn)),
        model: lenient::text_or_null(row, 5)?.map(Cow::into_owned),
        usage: usage.and_then(|usage| serde_json::from_str(&usage).ok()),
        stop_reason: stop_reason.and_then(|word| from_word(&word)),
    })
}

/// Parses blocks; an unreadable one becomes a notice, and so does content that is no list of blocks.
pub(crate) fn blocks(json: &str) -> Vec<Block> {
    if let Ok(mut blocks) = serde_json::from_str::<Vec<Block>>(json) {
        // Parsing reserves room for four, and messages are kept for the turns to come.
        blocks.shrink_to_fit();
        return blocks;
    }
    let unreadable = || {
        Block::notice(
            "unknown_block",
            "a newer version of aethon wrote something here that this one cannot show",
        )
    };
    match serde_json::from_str::<Vec<Value>>(json) {
        Ok(values) => values
            .into_iter()
            .map(|value| serde_json::from_value(value).unwrap_or_else(|_| unreadable()))
            .collect(),
        Err(_) => {
            vec![Block::notice("damaged", "this message is damaged in the database and cannot be shown")]
        }
    }
}

/// Returns the stored id of the last message that a folded block replaces.
fn folds_through(block: &Block) -> Option<i64> {
    if let Block::Folded { to, .. } = block { to.parse().ok() } else { None }
}

fn role_word(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::System => "system",
    }
}

pub(crate) fn role_of(word: &str) -> Role {
    from_word(word).unwrap_or(Role::System)
}

/// Parses a value that is a single word on the wire.
pub(crate) fn from_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(Value::String(word.to_owned())).ok()
}

/// From this length on, the buffer for a text's JSON is allocated up front instead of growing by copies.
const LONG: usize = 512 << 10;

/// Returns the blocks of a message as JSON.
fn content(message: &Message) -> Result<String, Error> {
    let bytes = message.text_bytes();
    if bytes < LONG {
        return to_json(&message.content);
    }
    // Line ends and quotes take an extra byte each.
    let mut json = Vec::with_capacity(bytes + bytes / 16);
    serde_json::to_writer(&mut json, &message.content).map_err(not_json)?;
    String::from_utf8(json).map_err(not_json)
}

/// Serializes one of the core's types.
pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(not_json)
}

fn not_json(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    aethon_core::error::Error::invalid("this cannot be written as JSON").because(error).into()
}
