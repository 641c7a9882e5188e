//! Decides where a conversation is compacted.
//!
//! The cut is always at the beginning of a turn, or of a step of the running one, so that no result loses its call. As
//! much stays as fits the target; the newest messages stay even beyond it, as long as they fit at all.

use aethon_core::message::Role;

use super::view::ContextWindow;

/// The goals of a compaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// Tokens that may stay in any case.
    pub(crate) soft: u64,
    /// Tokens that may stay if the newest messages need them.
    pub(crate) hard: u64,
    /// How many of the newest messages should stay.
    pub(crate) keep: usize,
    /// How many messages may stay at most.
    pub(crate) most: usize,
    /// Where the running turn begins.
    pub(crate) start: usize,
    /// Whether steps of the running turn may leave as well.
    pub(crate) within_the_turn: bool,
    /// Tokens that must leave for a summary to be worthwhile.
    pub(crate) worth: u64,
}

/// A possible cut, and the tokens that would stay.
#[derive(Debug, Clone, Copy)]
struct CutPoint {
    at: usize,
    kept: u64,
}

/// Returns the index of the first message that stays; `None` if too little can leave to be worthwhile.
pub(crate) fn plan(window: &ContextWindow, target: &Target) -> Option<usize> {
    let cut_points = cut_points(window, target);
    let len = window.len();
    let fits = |limit: u64| cut_points.iter().find(|cut| cut.kept <= limit && len - cut.at <= target.most);
    let most = fits(target.soft);
    if let Some(cut) = most.filter(|cut| len - cut.at >= target.keep) {
        return Some(cut.at);
    }
    let keeps = |cut: &&CutPoint| len - cut.at >= target.keep && cut.kept <= target.hard;
    let newest = cut_points.iter().rev().find(keeps);
    newest.or(most).or_else(|| fits(target.hard)).or(cut_points.last()).map(|cut| cut.at)
}

/// Returns all possible cuts; the one that keeps the most comes first.
fn cut_points(window: &ContextWindow, target: &Target) -> Vec<CutPoint> {
    let (front, start) = (window.front(), target.start);
    let mut cut_points = Vec::new();
    let mut kept = 0;
    let all: u64 = window.message_tokens().map(|message| message.tokens).sum();
    let own = window.message_tokens().nth(start).map_or(0, |first| first.tokens);
    for (back, message) in window.message_tokens().rev().enumerate() {
        kept += message.tokens;
        if all.saturating_sub(kept) < target.worth {
            break;
        }
        let at = window.len() - 1 - back;
        let is_turn = at <= start && message.role == Role::User;
        // Nothing but the message that started the turn precedes its first step.
        let is_step = at > start + 1 && message.role == Role::Assistant && target.within_the_turn;
        if at > front && is_turn {
            cut_points.push(CutPoint { at, kept });
        } else if is_step {
            cut_points.push(CutPoint { at, kept: kept + own });
        }
    }
    cut_points.reverse();
    cut_points
}
