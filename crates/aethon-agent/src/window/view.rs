//! The window of one session.
//!
//! It is cut at the front and only there, at the beginning of a turn, so that a tool message never loses its call; and it
//! is cut by a good piece at a time, so that the prefix of the requests stays the same for many turns and the providers'
//! caches hold.

use std::sync::Arc;

use aethon_core::ids::TurnId;
use aethon_core::message::{Message, Role};
use aethon_core::model::Capabilities;
use aethon_core::tool::ToolSpec;
use jiff::Timestamp;

use super::{estimate, pairs};

/// What a cut leaves, in per cent of what fits.
const AFTER_A_CUT: u64 = 70;

/// The newest messages of a session, as a model sees them.
#[derive(Debug, Default)]
pub(crate) struct Window {
    entries: Vec<Entry>,
    tokens: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    message: Arc<Message>,
    tokens: u64,
}

impl Window {
    /// The window over messages that were read from the storage. They may begin in the middle of a turn, and end in the
    /// middle of one that was broken off.
    pub(crate) fn of(messages: Vec<Message>) -> Self {
        let mut window = Self::default();
        for message in messages {
            if window.entries.is_empty() && message.role == Role::Tool {
                continue;
            }
            window.close_pairs(&message);
            window.push(Arc::new(message));
        }
        window
    }

    /// Adds a message at the end. What a model never sees is left out.
    pub(crate) fn push(&mut self, message: Arc<Message>) {
        let tokens = estimate::message(&message);
        if tokens > 0 {
            self.tokens += tokens;
            self.bytes += estimate::bytes(&message);
            self.entries.push(Entry { message, tokens });
        }
    }

    /// Where the messages of a turn begin.
    pub(crate) fn turn_start(&self, turn: &TurnId) -> usize {
        let own = self.entries.iter().rev().take_while(|entry| entry.message.turn.as_ref() == Some(turn));
        self.entries.len() - own.count()
    }

    /// How many messages there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The messages, for a request.
    pub(crate) fn messages(&self) -> Vec<Arc<Message>> {
        self.entries.iter().map(|entry| entry.message.clone()).collect()
    }

    /// Makes it fit: at most so many tokens and messages. Keeps what comes from `turn_start` on in any case, and returns
    /// where that is afterwards.
    pub(crate) fn fit(&mut self, room: u64, messages: usize, turn_start: usize) -> usize {
        if self.tokens <= room && self.entries.len() <= messages {
            return turn_start;
        }
        self.cut(room / 100 * AFTER_A_CUT, messages * AFTER_A_CUT as usize / 100, turn_start)
    }

    /// Drops the older half of what came before this turn; `None` when there is nothing left to drop.
    pub(crate) fn halve(&mut self, turn_start: usize) -> Option<usize> {
        if turn_start == 0 {
            return None;
        }
        let own: u64 = self.entries[turn_start..].iter().map(|entry| entry.tokens).sum();
        Some(self.cut(own + (self.tokens - own) / 2, usize::MAX, turn_start))
    }

    /// The bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn cut(&mut self, room: u64, messages: usize, turn_start: usize) -> usize {
        let mut tokens = self.tokens;
        let mut drop = 0;
        for (place, entry) in self.entries.iter().enumerate().take(turn_start + 1) {
            if entry.message.role == Role::User || place == turn_start {
                drop = place;
                if tokens <= room && self.entries.len() - place <= messages {
                    break;
                }
            }
            tokens -= entry.tokens;
        }
        for entry in self.entries.drain(..drop) {
            self.tokens -= entry.tokens;
            self.bytes = self.bytes.saturating_sub(estimate::bytes(&entry.message));
        }
        turn_start - drop
    }

    /// Before anything but the results follows a call, the call gets its results. The storage has them too, unless the
    /// process that ran the turn died and nobody has tidied up after it yet.
    fn close_pairs(&mut self, next: &Message) {
        if next.role == Role::Tool {
            return;
        }
        let why = "interrupted; it may or may not have run";
        let newest = self.entries.iter().map(|entry| &*entry.message);
        if let Some(mut missing) = pairs::missing_results(newest, why, Timestamp::UNIX_EPOCH) {
            missing.turn = self.entries.last().and_then(|entry| entry.message.turn.clone());
            self.push(Arc::new(missing));
        }
    }
}

/// The tokens that a conversation may take in a request to this model.
pub(crate) fn room(model: &Capabilities, share: f64, system: &str, tools: &[ToolSpec]) -> u64 {
    if model.context_window == 0 {
        return u64::MAX;
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate; context windows are far below 2^52"
    )]
    let usable = (model.context_window as f64 * share.clamp(0.1, 1.0)) as u64;
    let taken = model.max_output + estimate::text(system) + estimate::tools(tools);
    // A quarter is left to the conversation whatever else asks for room; the service has the last word.
    usable.saturating_sub(taken).max(model.context_window / 4)
}
