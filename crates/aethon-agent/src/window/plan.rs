//! Decides where a conversation is compacted.
//!
//! The cut is always at the beginning of a turn, or of a step of the running one, so that no result loses its call. As
//! much stays as fits the target; the newest messages stay even beyond it, as long as they fit at all.

use aethon_core::message::Role;

use super::view::ContextWindow;

/// A message as the planner sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    pub(super) role: Role,
    pub(super) tokens: u64,
}

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
struct Place {
    at: usize,
    stays: u64,
}

/// Returns the index of the first message that stays; `None` if too little can leave to be worthwhile.
pub(crate) fn plan(window: &ContextWindow, target: &Target) -> Option<usize> {
    let places = places(window, target);
    let len = window.len();
    let fits = |limit: u64| places.iter().find(|place| place.stays <= limit && len - place.at <= target.most);
    let most = fits(target.soft);
    if let Some(place) = most.filter(|place| len - place.at >= target.keep) {
        return Some(place.at);
    }
    let keeps = |place: &&Place| len - place.at >= target.keep && place.stays <= target.hard;
    let newest = places.iter().rev().find(keeps);
    newest.or(most).or_else(|| fits(target.hard)).or(places.last()).map(|place| place.at)
}

/// All possible cuts; the one that keeps the most comes first.
fn places(window: &ContextWindow, target: &Target) -> Vec<Place> {
    let (front, start) = (window.front(), target.start);
    let mut places = Vec::new();
    let mut stays = 0;
    let all: u64 = window.stretches().map(|stretch| stretch.tokens).sum();
    let own = window.stretches().nth(start).map_or(0, |first| first.tokens);
    for (back, stretch) in window.stretches().rev().enumerate() {
        stays += stretch.tokens;
        if all.saturating_sub(stays) < target.worth {
            break;
        }
        let at = window.len() - 1 - back;
        let is_turn = at <= start && stretch.role == Role::User;
        // Nothing but the message that started the turn precedes its first step.
        let is_step = at > start + 1 && stretch.role == Role::Assistant && target.within_the_turn;
        if at > front && is_turn {
            places.push(Place { at, stays });
        } else if is_step {
            places.push(Place { at, stays: stays + own });
        }
    }
    places.reverse();
    places
}
