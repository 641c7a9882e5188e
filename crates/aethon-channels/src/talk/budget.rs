//! One budget of calls for each chat: what is sent, edited and shown there together keeps to the platform's pace.
//!
//! A chat that was quiet has a few calls in hand. When the platform says how long to wait, nothing goes there before. What
//! is not urgent, such as the next step of a reply that grows, is left out when there is no call left.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many calls a quiet chat has in hand.
const BURST: u32 = 3;
/// How many chats are remembered; quiet ones go first, which costs nothing.
const MOST_CHATS: usize = 4096;

/// The budgets of a channel's chats.
#[derive(Debug, Default)]
pub(super) struct Budget(Mutex<HashMap<String, Chat>>);

#[derive(Debug, Clone, Copy)]
struct Chat {
    /// When the calls made so far are paid off.
    paid_at: Instant,
    /// Before this, the platform wants nothing.
    closed_until: Instant,
}

impl Budget {
    /// Takes a call, or says how long there is none.
    pub(super) fn take(&self, chat: &str, pace: Duration) -> Result<(), Duration> {
        let now = Instant::now();
        let mut chats = self.chats(now);
        let slot = chats.entry(chat.to_owned()).or_insert(Chat { paid_at: now, closed_until: now });
        let owed = slot.paid_at.max(now) + pace - now;
        let too_much = owed.saturating_sub(pace * BURST);
        let wait = too_much.max(slot.closed_until.saturating_duration_since(now));
        if wait.is_zero() {
            slot.paid_at = slot.paid_at.max(now) + pace;
            return Ok(());
        }
        Err(wait)
    }

    /// The platform wants nothing there for so long.
    pub(super) fn close(&self, chat: &str, pause: Duration) {
        let now = Instant::now();
        let mut chats = self.chats(now);
        let slot = chats.entry(chat.to_owned()).or_insert(Chat { paid_at: now, closed_until: now });
        slot.closed_until = slot.closed_until.max(now + pause);
    }

    fn chats(&self, now: Instant) -> MutexGuard<'_, HashMap<String, Chat>> {
        // The map is whole after every statement, so a panic elsewhere does not make it unusable.
        let mut chats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if chats.len() >= MOST_CHATS {
            chats.retain(|_, chat| chat.paid_at > now || chat.closed_until > now);
        }
        chats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_chat_keeps_to_its_pace_and_to_what_the_platform_says() {
        let (budget, second) = (Budget::default(), Duration::from_secs(1));
        for _ in 0..3 {
            budget.take("a", second).unwrap();
        }
        assert_eq!(budget.take("a", second), Err(second));
        assert_eq!(budget.take("b", second), Ok(()), "chats do not wait for each other");
        tokio::time::advance(second).await;
        assert_eq!(budget.take("a", second), Ok(()));
        budget.close("b", second * 30);
        assert_eq!(budget.take("b", second), Err(second * 30));
        tokio::time::advance(second * 30).await;
        assert_eq!(budget.take("b", second), Ok(()));
    }
}
