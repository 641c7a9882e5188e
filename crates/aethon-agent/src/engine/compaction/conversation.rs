//! A turn's conversation: its window, where the turn begins in it, and whether it fits.

use std::sync::Arc;

use aethon_core::ids::MessageId;
use aethon_core::message::Message;
use aethon_core::model::Usage;

use crate::window::{ContextWindow, Earlier, Limits, Prefix, Target, is_summary, plan};

/// The percentage of the available room that stays filled when older messages leave: enough to lose little, and little
/// enough that it need not be repeated soon.
const STAYS: u64 = 50;

/// The same if the newest messages need that much.
const STAYS_AT_MOST: u64 = 85;

/// A turn's view of its conversation.
pub(in crate::engine) struct Conversation {
    pub(in crate::engine) window: ContextWindow,
    /// The index of this turn's first message in the window.
    pub(in crate::engine) start: usize,
    /// Whether the window matches the storage, as far as is known.
    pub(in crate::engine) is_whole: bool,
    /// The usage of its summaries that is not yet added to the turn's.
    pub(in crate::engine) spent: Usage,
}

/// The token limit of a request, and the tokens it contains besides the conversation.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Allowance {
    pub(in crate::engine) limits: Limits,
    /// The estimated tokens of the system prompt, the tools and a partial answer that is to be continued.
    pub(in crate::engine) beside: u64,
}

/// The messages that leave a window.
#[derive(Debug, Clone)]
pub(super) struct Leaving {
    /// The messages themselves, without the summary in front.
    pub(super) messages: Vec<Arc<Message>>,
    /// The summary in front, which is refined.
    pub(super) earlier: Option<Earlier>,
    /// How many messages are in the storage only, and the message that they precede.
    pub(super) unread: Option<(MessageId, u64)>,
    /// The id of the last message that leaves.
    pub(super) last: i64,
    /// The part of the window that is replaced.
    pub(super) prefix: Prefix,
}

impl Conversation {
    /// Creates the conversation in this window of a turn that begins at `start`.
    pub(in crate::engine) fn new(window: ContextWindow, start: usize) -> Self {
        Self { window, start, is_whole: true, spent: Usage::default() }
    }

    /// Returns the part that leaves for this target; `None` if nothing can.
    pub(super) fn leaving(&self, target: &Target) -> Option<Leaving> {
        leaving(&self.window, target)
    }

    /// Replaces messages by the summary that covers them.
    pub(in crate::engine) fn replace(&mut self, summary: Arc<Message>, prefix: Prefix) {
        self.start = self.window.compact(summary, prefix.len, self.start);
    }
}

impl Allowance {
    /// Returns whether a request with this conversation takes at most `per_cent` of its limit. A tiny conversation
    /// always fits: then another part of the request is too long.
    pub(super) fn holds(&self, window: &ContextWindow, per_cent: u64) -> bool {
        self.holds_tokens(window, window.tokens(), per_cent) && window.len() <= self.limits.messages
    }

    /// Returns whether the model takes a request with this conversation, although it is more than it should get.
    pub(super) fn is_taken(&self, window: &ContextWindow) -> bool {
        let tokens = window.counter.tokens(self.beside + window.tokens());
        tokens <= self.limits.most && window.len() <= self.limits.messages.saturating_mul(2)
    }

    /// Returns whether a conversation of this many estimated tokens fits, as [`Self::holds`] does.
    pub(super) fn holds_tokens(&self, window: &ContextWindow, tokens: u64, per_cent: u64) -> bool {
        let limit = self.limits.tokens;
        window.counter.tokens(self.beside + tokens) <= limit / 100 * per_cent || tokens <= limit / 8
    }

    /// Returns how many estimated tokens the conversation may take.
    pub(super) fn room(&self, window: &ContextWindow) -> u64 {
        let limit = self.limits.tokens;
        // Two per cent are left for errors of the estimate.
        let all = window.counter.estimate_of(limit / 50 * 49);
        all.saturating_sub(self.beside).max(limit / 8)
    }

    /// Returns the target for making room for a turn that begins at `start`.
    pub(super) fn target(&self, window: &ContextWindow, start: usize, within_the_turn: bool) -> Target {
        let room = self.room(window);
        // The summary takes its share.
        let room = room.saturating_sub(self.limits.summary_chars() as u64 / 4).max(room / 2);
        Target {
            soft: room / 100 * STAYS,
            hard: room / 100 * STAYS_AT_MOST,
            keep: self.limits.keep,
            most: (self.limits.messages / 2).max(1),
            start,
            within_the_turn,
            worth: if window.len() > self.limits.messages { 0 } else { self.limits.worth() },
        }
    }

    /// Returns what should leave a window that is `per_cent` full. It is chosen so that the same stays as if this had
    /// been done when the window is full, because messages added until then stay too.
    pub(super) fn target_ahead(&self, window: &ContextWindow, per_cent: u64) -> Target {
        let target = self.target(window, window.len(), false);
        let room = target.soft / STAYS * 100;
        let to_come = room / 100 * (100 - per_cent);
        let messages_to_come = self.limits.messages * usize::try_from(100 - per_cent).unwrap_or(0) / 100;
        Target {
            soft: target.soft.saturating_sub(to_come),
            hard: target.hard.saturating_sub(to_come),
            most: target.most.saturating_sub(messages_to_come).max(1),
            worth: self.limits.tokens / 8,
            ..target
        }
    }
}

/// Returns the part of a window that leaves for this target.
pub(super) fn leaving(window: &ContextWindow, target: &Target) -> Option<Leaving> {
    let at = plan(window, target)?;
    let mut messages: Vec<Arc<Message>> = window.part(0, at.min(target.start)).cloned().collect();
    if at > target.start {
        // The message that started the turn stays visible.
        messages.extend(window.part(target.start + 1, at).cloned());
    }
    messages.retain(|message| !is_summary(message));
    let last = messages.iter().map(|message| message.id.0).filter(|id| *id > 0).max()?;
    let (earlier, unread, prefix) = (window.earlier(), window.unread(), window.prefix(at)?);
    Some(Leaving { messages, earlier, unread, last, prefix })
}
