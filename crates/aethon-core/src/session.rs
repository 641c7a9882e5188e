//! Stored conversations: the log of turns that the engine writes, and the transcripts that people read.
//!
//! Two traits over the same storage. [`TurnLog`] is for the engine: every method is one durable transaction, and what
//! it has returned survives a crash. [`Transcripts`] is for pages, the API and the terminal.

use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::ids::{MessageId, SessionId, TurnId};
use crate::import::SessionImport;
use crate::message::{Inbound, Message, Reply, TurnEnd};
use crate::model::Usage;
use crate::order::{Order, SessionField};
pub use crate::session_keeping::{BinId, BinPage, BinQuery, Binned, BinnedSession, Discard, SessionKeeping};
pub use crate::session_settings::{SessionPatch, SessionSettings, TurnDefaults, no_such_model};
pub use crate::session_summary::SessionSummary;
use crate::version::{Expected, Version};
use crate::words::setters;

/// Looks up stored turns.
#[async_trait]
pub trait TurnLookup: Send + Sync {
    /// Returns the turn begun by the message with this channel and dedupe id, while the id is valid.
    async fn known(&self, channel: &str, dedupe_id: &str) -> Result<Option<TurnRecord>>;

    /// Returns a turn by its id.
    async fn turn(&self, turn: &TurnId) -> Result<Option<TurnRecord>>;

    /// Returns the turns of all owners that were accepted and have not ended, oldest first.
    async fn unfinished(&self) -> Result<Vec<TurnRecord>>;
}

/// The engine's side of the storage. Turns accepted through it belong to this [owner](crate::owner); turns of
/// another owner can neither be begun nor extended.
#[async_trait]
pub trait TurnLog: SessionImport + TurnLookup {
    /// Stores an inbound message, unless its dedupe id is already known; afterwards it may be acknowledged. Creates the
    /// session if it is new. With `begin`, the turn also begins in the same transaction, unless another owner has a
    /// turn in the session: then it waits.
    async fn accept(&self, turn: &TurnId, inbound: &Inbound, begin: Option<Begin>) -> Result<Accepted>;

    /// Begins a waiting turn. If the turn has begun before (and a crash came in between), this only counts the attempt
    /// and returns the id of the existing user message. Refused ([`crate::error::Error::is_elsewhere`]) while another
    /// owner's turn in the session has begun or was accepted earlier, and while the turn itself is another owner's.
    async fn begin(&self, turn: &TurnId, begin: Begin) -> Result<Begun>;

    /// Appends messages of a running turn: an assistant message with tool calls, and the results. Invalid if another
    /// owner has taken the turn over.
    async fn append(&self, turn: &TurnId, messages: Vec<Message>) -> Result<Vec<MessageId>>;

    /// Returns whether a turn has not ended and is this owner's. Another may have taken it over while this program stood still; then nothing
    /// of it may begin here any more. A storage that only one program uses has nobody who would.
    async fn is_ours(&self, _turn: &TurnId) -> Result<bool> {
        Ok(true)
    }

    /// Ends a turn: stores its last messages, its outcome and the deliveries of its reply in one transaction. The turn
    /// that waits behind it begins in the same transaction, if possible. Invalid if another owner has taken the turn
    /// over.
    ///
    /// A turn that never began can be ended as well. Its messages, the user's first, then take their place in the
    /// transcript in the order in which turns were accepted: at once, or when the last older turn of the session ends.
    /// Without messages, the turn leaves no trace in the transcript.
    async fn finish(&self, finish: Finish) -> Result<Finished>;

    /// Returns the newest messages of a session's live branch, oldest first: at most `limit`, and none older than a
    /// model may need. Messages of turns that a retry or an edit has replaced are not included.
    async fn window(&self, session: &SessionId, limit: usize) -> Result<Vec<Message>>;
}

/// The start of a turn.
#[derive(Debug, Clone)]
pub struct Begin {
    /// The user's message as the transcript keeps it.
    pub message: Message,
    /// The turn that it replaces; that turn's messages and all later ones leave the live branch.
    pub replaces: Option<TurnId>,
}

/// A turn that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// The id of the user's message.
    pub message: MessageId,
    /// The newest message of the live branch before it, which tells a reader whether it has seen everything.
    pub after: Option<MessageId>,
    /// What the session sets for its turns, if anything.
    pub defaults: Option<Arc<TurnDefaults>>,
}

/// The end of a turn.
#[derive(Debug, Clone)]
pub struct Finish {
    /// The messages to append; the last one carries the turn's end.
    pub messages: Arc<Vec<Message>>,
    /// The outcome, kept for duplicate deliveries.
    pub reply: Arc<Reply>,
    /// The deliveries to other recipients.
    pub deliveries: Vec<crate::delivery::NewDelivery>,
    /// The next turn waiting in the session, which replaces nothing. If it cannot begin because it was removed or
    /// ended, the end of this one is stored all the same.
    pub next: Option<(TurnId, Begin)>,
}

/// The result of a [`Finish`].
#[derive(Debug, Clone, Default)]
pub struct Finished {
    /// The ids of the appended messages, in order; none while they wait for their place.
    pub messages: Vec<MessageId>,
    /// Whether any program put messages that are not the turn's between the turn's own.
    pub beside: bool,
    /// How the next turn began, if it did.
    pub next: Option<Begun>,
}

/// What happened to an inbound message.
#[derive(Debug, Clone)]
pub enum Accepted {
    /// It is stored, and may have begun.
    New(Option<Begun>),
    /// It was already known.
    Known(Box<TurnRecord>),
}

/// A stored turn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnRecord {
    /// Its id.
    pub turn: TurnId,
    /// What started it.
    pub inbound: Inbound,
    /// Its phase.
    pub phase: TurnPhase,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// How many times it has begun; more than once means that a crash came in between.
    pub attempts: u32,
    /// The outcome, if it has ended.
    pub reply: Option<Reply>,
}

impl TurnRecord {
    /// A turn in this phase, not begun and without an outcome.
    pub fn new(turn: TurnId, inbound: Inbound, phase: TurnPhase, accepted_at: Timestamp) -> Self {
        Self { turn, inbound, phase, accepted_at, attempts: 0, reply: None }
    }

    setters! {
        /// Sets how many times it has begun.
        pub fn with_attempts(attempts: u32);
        /// Sets the outcome.
        pub fn with_reply(reply: Option<Reply>);
    }

    /// Returns what is known of a turn whose session was removed: that it is over, and nothing of what was said.
    #[must_use]
    pub fn emptied(self) -> Self {
        let Self { turn, mut inbound, accepted_at, attempts, .. } = self;
        (inbound.text, inbound.attachments) = (String::new(), Vec::new());
        let reply = Reply {
            turn: turn.clone(),
            session: inbound.session.clone(),
            text: String::new(),
            end: TurnEnd::Stopped,
            model: String::new(),
            usage: Usage::default(),
            failure: None,
        };
        Self { turn, inbound, phase: TurnPhase::Done, accepted_at, attempts, reply: Some(reply) }
    }
}

/// The phase of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TurnPhase {
    /// Accepted, waiting for its turn in the session.
    Queued,
    /// Begun and not ended.
    Running,
    /// Ended, with a reply.
    Done,
}

/// The most bytes that the messages of a page have together, as stored; a single message may be larger.
pub const MAX_PAGE_BYTES: usize = 2 << 20;

/// The reader's side of the storage.
#[async_trait]
pub trait Transcripts: SessionKeeping {
    /// Returns sessions, most recently used first.
    async fn sessions(&self, query: SessionQuery) -> Result<SessionPage>;

    /// Returns one session.
    async fn session(&self, id: &SessionId) -> Result<Option<SessionSummary>>;

    /// Returns messages of the live branch before `before` (or the newest), oldest first: at most `limit`, and fewer if
    /// they are large, so that no page takes much more than [`MAX_PAGE_BYTES`]. Only an empty page means that there
    /// are no more.
    async fn messages(&self, id: &SessionId, before: Option<MessageId>, limit: usize)
    -> Result<Vec<Message>>;

    /// Returns the session's queued and running turns; and, as [done](TurnPhase::Done), those that ended before they
    /// began and whose messages still wait for their place in the transcript.
    async fn pending(&self, id: &SessionId) -> Result<Vec<TurnRecord>>;

    /// Changes a session's title and settings, if it is as expected. `false` if there is no such session.
    async fn patch(&self, id: &SessionId, patch: &SessionPatch, expected: Expected) -> Result<bool>;

    /// Removes a session's messages and, with [`Clear::Delete`], the session. `false` if there is no such session. For
    /// a session in use, only [`crate::assistant::Assistant::clear`] may do this.
    async fn clear(&self, id: &SessionId, how: Clear) -> Result<bool>;

    /// Puts a message that belongs to no turn into a session, creating the session if necessary. Posting with the same
    /// `key` again adds nothing and returns `None`.
    async fn post(&self, id: &SessionId, key: &str, message: Message) -> Result<Option<MessageId>>;
}

/// Reads the messages of the live branch page by page, from the newest back, at most `limit` at a time. Each page, oldest message
/// first, goes to `visit`, which ends the reading with what it has found; `None` if it has seen all.
pub async fn read_back<T>(
    transcripts: &dyn Transcripts,
    id: &SessionId,
    limit: usize,
    mut visit: impl FnMut(Vec<Message>) -> ControlFlow<T>,
) -> Result<Option<T>> {
    let mut before = None;
    loop {
        let page = transcripts.messages(id, before, limit).await?;
        let Some(first) = page.first() else { return Ok(None) };
        before = Some(first.id);
        if let ControlFlow::Break(found) = visit(page) {
            return Ok(Some(found));
        }
    }
}

/// How much of a session is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clear {
    /// Its messages; id and title stay.
    Reset,
    /// The session with everything that belongs to it.
    Delete,
    /// The same, if the session is as expected.
    DeleteIf(Expected),
    /// The session, as with [`Delete`](Self::Delete), if it is as expected; but it can come back from the
    /// [bin](SessionKeeping).
    Bin(Expected),
}

impl Clear {
    /// Returns whether the session itself goes.
    pub fn is_delete(&self) -> bool {
        *self != Self::Reset
    }

    /// Refuses unless the session is as expected.
    pub fn check(&self, present: impl FnOnce() -> Option<Version>) -> Result<()> {
        match self {
            Self::DeleteIf(expected) | Self::Bin(expected) => expected.check(present),
            Self::Reset | Self::Delete => Ok(()),
        }
    }
}

/// A query for sessions.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SessionQuery {
    /// The most sessions to return.
    pub limit: usize,
    /// Where the previous page ended.
    pub cursor: Option<String>,
    /// Words that the title, id or messages must contain.
    pub search: Option<String>,
    /// Only those of this channel.
    pub channel: Option<String>,
    /// Their order; the most recently used first if none is given.
    pub order: Option<Order<SessionField>>,
}

impl SessionQuery {
    /// The most recently used sessions, at most this many.
    pub fn newest(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    setters! {
        /// Continues where the previous page ended.
        pub fn from_cursor(cursor: Option<String>);
        /// Only sessions that contain these words.
        pub fn with_search(search: Option<String>);
        /// Only sessions of this channel.
        pub fn of_channel(channel: Option<String>);
        /// In this order.
        pub fn in_order(order: Option<Order<SessionField>>);
    }
}

/// A page of sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionSummary>,
    /// How many match in all.
    pub count: u64,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

/// The longest title that is derived from a message, in characters.
const TITLE: usize = 80;

/// Returns the title that a message suggests: its first line with words, without the marks of Markdown around it, at most
/// 80 characters, cut between words.
pub fn title_of(message: &Message) -> String {
    title_of_text(&message.text())
}

/// Returns the title that a text suggests, like [`title_of`].
pub fn title_of_text(text: &str) -> String {
    let mut lines = text.lines().map(|line| (line, without_marks(line)));
    let Some(line) =
        lines.find(|(_, plain)| plain.chars().any(char::is_alphanumeric)).map(|(_, plain)| plain)
    else {
        // Nothing but signs, which then are what was meant.
        return text
            .split_whitespace()
            .next()
            .map(|word| word.chars().take(TITLE).collect())
            .unwrap_or_default();
    };
    let line = without_call(&line.chars().take(4 * TITLE).collect::<String>());
    let line = line.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    let Some((cut, _)) = line.char_indices().nth(TITLE) else { return line };
    // Leaves one character for the ellipsis; a single word longer than a title is cut inside.
    let end = line[..cut].char_indices().next_back().map_or(0, |(at, _)| at);
    let end = line[..cut].rfind(' ').filter(|&space| space > 0).unwrap_or(end);
    format!("{}…", line[..end].trim_end())
}

/// Returns a line without the signs of a call: `/trip from="Lyon" to="Rome"` is about a trip, Lyon and Rome.
fn without_call(line: &str) -> String {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    let mut words = Vec::new();
    let mut rest = line;
    if let Some(after) = line.strip_prefix('/') {
        let (name, arguments) = after.split_once(' ').unwrap_or((after, ""));
        if is_name(name) {
            words.push(if arguments.trim().is_empty() { name.to_owned() } else { format!("{name}:") });
            rest = arguments;
        }
    }
    // What stands in quotation marks behind a name is the value of an argument.
    while let Some((before, value)) = rest.split_once("=\"")
        && let Some((value, after)) = value.split_once('"')
        && let name = before.rsplit(' ').next().unwrap_or_default()
        && is_name(name)
    {
        words.push(before[..before.len() - name.len()].to_owned());
        words.push(value.to_owned());
        rest = after;
    }
    words.push(rest.to_owned());
    let plain = words.join(" ");
    if plain.chars().any(char::is_alphanumeric) { plain } else { line.to_owned() }
}

/// Returns a line without the marks that make it a heading, a quotation, an item, or emphasised as a whole. A line that opens a
/// block of code has no words of its own.
fn without_marks(line: &str) -> &str {
    let mut line = line.trim();
    if line.starts_with("```") || line.starts_with("~~~") {
        return "";
    }
    while let Some((mark, rest)) = line.split_once(' ')
        && (matches!(mark, ">" | "-" | "*" | "+")
            || (mark.len() <= 6 && mark.bytes().all(|byte| byte == b'#')))
    {
        line = rest.trim_start();
    }
    for mark in ["**", "__", "`"] {
        let inner = line.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
        line = inner.filter(|inner| !inner.contains(mark)).unwrap_or(line);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_no_marks_of_markdown() {
        let check = |text: &str, expected: &str| assert_eq!(title_of_text(text), expected, "{text:?}");
        check("# Hello, this is Aethon\n\nText", "Hello, this is Aethon");
        check("> - **Buy bread**", "Buy bread");
        check("```rust\nfn main() {}\n```", "fn main() {}");
        check("**bold** and **more**", "**bold** and **more**");
        check("#tag and 2**3", "#tag and 2**3");
        check("---\n\nafter the line", "after the line");
        check("/trip from=\"Lyon\" to=\"Rome\"", "trip: Lyon Rome");
        check("additional_context=\"The garden is dry\"", "The garden is dry");
        check("/etc/hosts is broken", "/etc/hosts is broken");
        check("/new", "new");
        check("set a=\"b\" in the file", "set b in the file");
        check("topic=\"\"", "topic=\"\"");
        check("a=\"unfinished", "a=\"unfinished");
        check("- ", "-");
        check("???", "???");
        check("!say one", "!say one");
        check("你好", "你好");
    }

    #[test]
    fn a_title_is_the_first_line_cut_between_words() {
        let check = |text: &str, expected: &str| assert_eq!(title_of_text(text), expected, "{text:?}");
        check("", "");
        check(" \n\n  hello   there\tyou \nmore", "hello there you");
        check("a\u{7}b", "a b");
        check(&"x".repeat(80), &"x".repeat(80));
        check(&"x".repeat(81), &format!("{}…", "x".repeat(79)));
        check(&"ü".repeat(200), &format!("{}…", "ü".repeat(79)));
        check(&format!("{} {}", "a".repeat(70), "b".repeat(20)), &format!("{}…", "a".repeat(70)));
        check(&format!("{} {}", "a".repeat(79), "b"), &format!("{}…", "a".repeat(79)));
    }
}
