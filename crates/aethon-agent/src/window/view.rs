//! The context window of one session: the part of its conversation that the model sees.
//!
//! It only grows until it is compacted; then a summary takes the place of the older messages. Old tool output is
//! shortened at marks that depend on the messages alone, so a process that reads the conversation afresh shows the
//! model the same bytes as the one before, and provider caches keep working.

use std::sync::Arc;

use aethon_core::ids::{MessageId, TurnId};
use aethon_core::message::{Block, Message, Role};
use aethon_core::shaping;
use aethon_core::weight;
use jiff::Timestamp;

use super::counter::TokenCounter;
use super::shorten::Pictures;
use super::tokens::MessageTokens;
use super::{estimate, pairs, shorten};

/// Truncation leaves at least this many tokens of a message.
const MIN_TRUNCATED_TOKENS: u64 = 60;

/// When old tool output is shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rule {
    /// The first time after this many tokens, then after every further half as many; 0 means never.
    pub(crate) mark: u64,
    /// How many of the newest messages stay unshortened.
    pub(crate) keep: usize,
}

/// The newest messages of a session, as a model sees them.
#[derive(Debug, Default, Clone)]
pub(crate) struct ContextWindow {
    rule: Rule,
    entries: Vec<Entry>,
    /// The entries as the model sees them, in the form that requests share.
    shown: Arc<Vec<Arc<Message>>>,
    /// The tokens that the model is shown.
    tokens: u64,
    /// The size of the messages in memory, whole and as they are shown.
    bytes: usize,
    /// The tokens that it would be shown if nothing were shortened.
    whole: u64,
    /// The token count at which tool output is shortened next.
    next_mark: u64,
    /// Tool output is already shortened in the entries before this index.
    shortened: usize,
    /// How many older messages of the conversation were not read.
    unread: u64,
    /// The latest context page among the messages.
    context: Option<Arc<str>>,
    /// Calibrates the estimates with the provider's counts.
    pub(crate) counter: TokenCounter,
}

#[derive(Debug, Clone)]
struct Entry {
    message: Arc<Message>,
    whole: u64,
    /// The tokens of the part that the model sees.
    tokens: u64,
}

impl ContextWindow {
    /// Creates an empty window.
    pub(crate) fn new(rule: Rule, counter: TokenCounter) -> Self {
        Self { rule, counter, next_mark: rule.mark, ..Self::default() }
    }

    /// Builds the window from messages read from the storage. They may begin in the middle of a turn and end in the
    /// middle of one that was cut off. The newest summary comes first, whatever was stored before it.
    pub(crate) fn of(mut messages: Vec<Message>, rule: Rule, counter: TokenCounter) -> Self {
        let mut window = Self::new(rule, counter);
        if let Some(newest) = messages.iter().rposition(is_summary) {
            window.push(Arc::new(messages.remove(newest)));
        }
        pairs::reorder_results(&mut messages);
        for message in messages {
            let without_call = message.role == Role::Tool && !window.waits_for(&message);
            // The newest summary includes the content of older ones.
            if without_call || is_summary(&message) {
                continue;
            }
            window.close_pairs(&message);
            window.push(Arc::new(message));
        }
        window
    }

    /// Returns whether the newest message that is not a result made calls that these results answer.
    fn waits_for(&self, results: &Message) -> bool {
        let newest = self.entries.iter().rev().find(|entry| entry.message.role != Role::Tool);
        newest.is_some_and(|entry| pairs::has_calls_of(&entry.message, results))
    }

    /// Records that `messages` older messages were not read.
    #[must_use]
    pub(crate) fn after_unread(self, messages: u64) -> Self {
        Self { unread: messages, ..self }
    }

    /// Appends a message. Messages that models never see are left out.
    pub(crate) fn push(&mut self, message: Arc<Message>) {
        let tokens = estimate::message(&message);
        if tokens == 0 {
            return;
        }
        if message.role == Role::User
            && let Some(page) = message.content.iter().find_map(context_page)
        {
            self.context = Some(page.into());
        }
        self.tokens += tokens;
        self.whole += tokens;
        self.bytes += weight::shared(&*message);
        // No request is in flight when a message is added, so the list is not shared and nothing is copied.
        Arc::make_mut(&mut self.shown).push(message.clone());
        self.entries.push(Entry { tokens, message, whole: tokens });
        if self.rule.mark > 0 && self.whole > self.next_mark {
            while self.whole > self.next_mark {
                self.next_mark += (self.rule.mark / 2).max(1);
            }
            self.shorten(self.rule.keep);
        }
    }

    /// Returns a copy whose tokens another model counts. The messages are shared.
    pub(crate) fn uncounted(&self) -> Self {
        Self { counter: self.counter.emptied(), ..self.clone() }
    }

    /// Returns the index of a turn's first message.
    pub(crate) fn turn_start(&self, turn: &TurnId) -> usize {
        let is_own =
            |entry: &&Entry| entry.message.turn.as_ref() == Some(turn) && !is_summary(&entry.message);
        self.entries.len() - self.entries.iter().rev().take_while(is_own).count()
    }

    /// Returns how many messages there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the messages for a request.
    pub(crate) fn messages(&self) -> Arc<Vec<Arc<Message>>> {
        self.shown.clone()
    }

    /// Returns roughly how many tokens the model is shown.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Returns the context page that the model has last seen.
    pub(crate) fn context(&self) -> Option<&Arc<str>> {
        self.context.as_ref()
    }

    /// Shortens the tool output of all but the newest `keep` messages.
    pub(crate) fn shorten(&mut self, keep: usize) {
        let until = self.entries.len().saturating_sub(keep);
        for place in self.shortened..until {
            if let Some(shorter) = shorten::outputs(&self.shown[place]) {
                self.show(place, shorter);
            }
        }
        self.shortened = self.shortened.max(until);
    }

    /// Iterates over the unshortened messages from `from` up to, but not including, `to`.
    pub(crate) fn part(&self, from: usize, to: usize) -> impl Iterator<Item = &Arc<Message>> {
        self.entries[from.min(to)..to].iter().map(|entry| &entry.message)
    }

    /// Iterates over the unshortened token count and the role of every message.
    pub(super) fn message_tokens(&self) -> impl DoubleEndedIterator<Item = MessageTokens> {
        self.entries.iter().map(|entry| MessageTokens { role: entry.message.role, tokens: entry.whole })
    }

    /// Returns how many summaries are in front: one or none.
    pub(crate) fn front(&self) -> usize {
        usize::from(self.entries.first().is_some_and(|entry| is_summary(&entry.message)))
    }

    /// Returns the summary in front.
    pub(crate) fn earlier(&self) -> Option<Earlier> {
        self.entries.first().and_then(|entry| earlier(&entry.message))
    }

    /// Returns how many messages were not read, and the message that they precede.
    pub(crate) fn unread(&self) -> Option<(MessageId, u64)> {
        let first = self.entries.first().filter(|_| self.unread > 0)?;
        Some((first.message.id, self.unread))
    }

    /// Returns a fingerprint of the messages before `at`, to recognise them later.
    pub(crate) fn prefix(&self, at: usize) -> Option<Prefix> {
        let id = |place: usize| self.entries.get(place).map(|entry| entry.message.id);
        Some(Prefix { len: at, first: id(0)?, last: id(at.checked_sub(1)?)? })
    }

    /// Returns roughly how many tokens the model is shown of the messages from an index on.
    pub(crate) fn tokens_from(&self, place: usize) -> u64 {
        self.entries.iter().skip(place).map(|entry| entry.tokens).sum()
    }

    /// Returns how many tokens the model would be shown if the tool output of all but the newest `keep` messages were
    /// shortened.
    pub(crate) fn tokens_when_shortened(&self, keep: usize) -> u64 {
        let until = self.entries.len().saturating_sub(keep);
        let saved = (self.shortened..until).filter_map(|place| {
            let shorter = shorten::outputs(&self.shown[place])?;
            Some(self.entries[place].tokens.saturating_sub(estimate::message(&shorter)))
        });
        self.tokens.saturating_sub(saved.sum())
    }

    /// Replaces the messages before `at` by a summary. The message that started the turn at `start` stays. Returns
    /// the index at which the turn begins afterwards.
    pub(crate) fn compact(&mut self, summary: Arc<Message>, at: usize, start: usize) -> usize {
        let mut next = Self::new(self.rule, self.counter.emptied());
        let rest = self.entries.split_off(at);
        next.push(summary);
        let question = self.entries.get(start).filter(|entry| at > start && entry.message.role == Role::User);
        if let Some(question) = question {
            next.push(question.message.clone());
        }
        for entry in rest {
            next.push(entry.message);
        }
        *self = next;
        if at > start { 1 } else { start - at + 1 }
    }

    /// Cuts the longest messages until the whole takes at most `room` tokens or nothing is left to cut. The pictures of
    /// the message at `place` stay; returns whether anything else of it was cut.
    pub(crate) fn truncate(&mut self, room: u64, place: usize) -> bool {
        let mut as_short_as_can_be = vec![false; self.entries.len()];
        let mut cut_there = false;
        while self.tokens > room {
            let candidates = self
                .entries
                .iter()
                .enumerate()
                .filter(|(at, entry)| entry.tokens > MIN_TRUNCATED_TOKENS && !as_short_as_can_be[*at]);
            let Some((longest, tokens)) =
                candidates.map(|(at, entry)| (at, entry.tokens)).max_by_key(|(_, tokens)| *tokens)
            else {
                break;
            };
            let pictures = if longest == place { Pictures::Stay } else { Pictures::Go };
            match shorten::to_tokens(
                &self.entries[longest].message,
                (tokens / 2).max(MIN_TRUNCATED_TOKENS),
                pictures,
            ) {
                Some(shorter) if estimate::message(&shorter) < tokens => {
                    self.show(longest, shorter);
                    cut_there |= longest == place;
                }
                _ => as_short_as_can_be[longest] = true,
            }
        }
        cut_there
    }

    /// Replaces pictures of the message at `place` by a note, the last one first, until the whole takes at most `room`
    /// tokens. Returns how many went.
    pub(crate) fn leave_out_pictures(&mut self, room: u64, place: usize) -> usize {
        let mut removed = 0;
        while self.tokens > room
            && let Some(shown) = self.shown.get(place)
            && let Some(without) = shorten::without_last_picture(shown)
        {
            self.show(place, without);
            removed += 1;
        }
        removed
    }

    /// Returns how many bytes the window takes in memory.
    pub(super) fn bytes(&self) -> usize {
        let lists = weight::list::<Entry>(self.entries.capacity())
            + weight::list::<Arc<Message>>(self.shown.capacity());
        self.bytes + lists + self.context.as_deref().map_or(0, weight::shared_text)
    }

    fn show(&mut self, place: usize, shorter: Message) {
        let entry = &mut self.entries[place];
        let tokens = estimate::message(&shorter);
        self.tokens = self.tokens - entry.tokens + tokens;
        entry.tokens = tokens;
        let shown = &mut Arc::make_mut(&mut self.shown)[place];
        if !Arc::ptr_eq(shown, &entry.message) {
            self.bytes -= weight::shared(&**shown);
        }
        self.bytes += weight::shared(&shorter);
        *shown = Arc::new(shorter);
    }

    /// Gives unanswered calls a result before anything but their results follows them. The storage has such results
    /// too, unless the process that ran the turn died and no other has cleaned up after it yet.
    fn close_pairs(&mut self, next: &Message) {
        if next.role == Role::Tool {
            return;
        }
        let why = "interrupted; it may or may not have run";
        let newest = self.entries.iter().map(|entry| &*entry.message);
        if let Some(mut missing) = pairs::missing_results(newest, |_| why, Timestamp::UNIX_EPOCH) {
            missing.turn = self.entries.last().and_then(|entry| entry.message.turn.clone());
            self.push(Arc::new(missing));
        }
    }
}

/// An older summary, and the messages it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Earlier {
    /// How many messages it covers.
    pub(crate) messages: u64,
    /// The id of the first of them.
    pub(crate) from: String,
    /// Its text.
    pub(crate) summary: String,
}

/// The beginning of a window. Messages are only ever appended, and an edit or a retry removes everything from some
/// message on; so two windows that agree in these fields have the same beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prefix {
    pub(crate) len: usize,
    first: MessageId,
    last: MessageId,
}

/// Returns whether a message is a summary of older ones.
pub(crate) fn is_summary(message: &Message) -> bool {
    message.content.iter().any(|block| matches!(block, Block::Folded { .. }))
}

fn earlier(message: &Message) -> Option<Earlier> {
    message.content.iter().find_map(|block| match block {
        Block::Folded { messages, from, summary, .. } => {
            Some(Earlier { messages: *messages, from: from.clone(), summary: summary.clone() })
        }
        _ => None,
    })
}

fn context_page(block: &Block) -> Option<&str> {
    match block {
        Block::File { name, text, untrusted: None, .. } if name == shaping::CONTEXT => Some(text),
        _ => None,
    }
}
