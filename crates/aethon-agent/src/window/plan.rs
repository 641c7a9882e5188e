//! Where a conversation is compacted.
//!
//! Always at the beginning of a turn, or of a step of the running one, so that no result loses its call. As much as fits
//! the target stays; the newest messages stay even beyond it, as long as they fit at all.

use aethon_core::message::Role;

use super::view::ContextWindow;

/// A message to whoever plans.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    pub(super) role: Role,
    pub(super) tokens: u64,
}

/// What is wanted of a compaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// Tokens that may well stay.
    pub(crate) soft: u64,
    /// Tokens that may stay for the sake of the newest messages.
    pub(crate) hard: u64,
    /// How many of the newest messages should stay.
    pub(crate) keep: usize,
    /// How many messages may stay.
    pub(crate) most: usize,
    /// Where the running turn begins.
    pub(crate) start: usize,
    /// Whether steps of the running turn may leave too.
    pub(crate) within_the_turn: bool,
    /// Tokens that must leave, or it is not worth a summary.
    pub(crate) worth: u64,
}

/// A place where it can be parted, and what would stay.
#[derive(Debug, Clone, Copy)]
struct Place {
    at: usize,
    stays: u64,
}

/// The first message that stays; `None` when nothing can leave that is worth it.
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

/// All of them, the one where the most stays first.
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
        // The first step of the turn has nothing before it but the message that started it.
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
