//! A rate budget for each chat, and one for all of them where the platform limits them together. Messages, edits and
//! indicators all count.
//!
//! A quiet chat has a few calls in reserve. If the platform asks for a pause, nothing is sent before it ends. Calls
//! that are not urgent, such as the next step of a growing reply, are skipped when the budget is empty.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many calls a quiet chat has in reserve.
const BURST: u32 = 3;
/// How many calls a quiet channel has in reserve for all chats together.
pub(crate) const BURST_OF_ALL: u32 = 5;
/// How many chats are remembered. Quiet ones are dropped first, which loses nothing.
const MAX_CHATS: usize = 4096;

/// The budgets of a channel's chats, and of all of them together.
#[derive(Debug, Default)]
pub(super) struct Budget(Mutex<Slots>);

#[derive(Debug, Default)]
struct Slots {
    chats: HashMap<String, Chat>,
    /// When the shared budget is fully restored.
    all_paid_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Chat {
    /// When the chat's budget is fully restored.
    paid_at: Instant,
    /// Until when the platform asked for silence.
    closed_until: Instant,
}

impl Budget {
    /// Takes a call, or returns how long to wait: for this chat at one pace, for all chats at the other.
    pub(super) fn take(&self, chat: &str, (pace, of_all): (Duration, Duration)) -> Result<(), Duration> {
        let now = Instant::now();
        let mut slots = self.slots(now);
        let all_paid_at = slots.all_paid_at.unwrap_or(now).max(now) + of_all;
        let slot = slots.chats.entry(chat.to_owned()).or_insert(Chat { paid_at: now, closed_until: now });
        let paid_at = slot.paid_at.max(now) + pace;
        let too_much = (paid_at - now).saturating_sub(pace * BURST);
        let too_much_of_all = (all_paid_at - now).saturating_sub(of_all * BURST_OF_ALL);
        let wait = too_much.max(too_much_of_all).max(slot.closed_until.saturating_duration_since(now));
        if !wait.is_zero() {
            return Err(wait);
        }
        slot.paid_at = paid_at;
        slots.all_paid_at = Some(all_paid_at);
        Ok(())
    }

    /// Records a pause that the platform asked for.
    pub(super) fn close(&self, chat: &str, pause: Duration) {
        let now = Instant::now();
        let mut slots = self.slots(now);
        let slot = slots.chats.entry(chat.to_owned()).or_insert(Chat { paid_at: now, closed_until: now });
        slot.closed_until = slot.closed_until.max(now + pause);
    }

    fn slots(&self, now: Instant) -> MutexGuard<'_, Slots> {
        // Every statement leaves the slots consistent, so a poisoned lock is usable.
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.chats.len() >= MAX_CHATS {
            slots.chats.retain(|_, chat| chat.paid_at > now || chat.closed_until > now);
        }
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_chat_keeps_to_its_pace_and_to_what_the_platform_says() {
        let (budget, second) = (Budget::default(), Duration::from_secs(1));
        let take = |chat: &str| budget.take(chat, (second, Duration::ZERO));
        for _ in 0..3 {
            take("a").unwrap();
        }
        assert_eq!(take("a"), Err(second));
        assert_eq!(take("b"), Ok(()), "chats do not wait for each other");
        tokio::time::advance(second).await;
        assert_eq!(take("a"), Ok(()));
        budget.close("b", second * 30);
        assert_eq!(take("b"), Err(second * 30));
        tokio::time::advance(second * 30).await;
        assert_eq!(take("b"), Ok(()));
    }
    #[tokio::test(start_paused = true)]
    async fn all_chats_together_keep_to_the_pace_of_the_platform() {
        let (budget, paces) = (Budget::default(), (Duration::from_secs(1), Duration::from_millis(40)));
        let began = Instant::now();
        let mut taken = Vec::new();
        for chat in 0..200 {
            while let Err(wait) = budget.take(&chat.to_string(), paces) {
                tokio::time::sleep(wait).await;
            }
            taken.push(began.elapsed());
        }
        let most = taken.iter().map(|from| {
            let within = |at: &&Duration| **at >= *from && **at < *from + Duration::from_secs(1);
            taken.iter().filter(within).count()
        });
        assert!(most.max() <= Some(30), "more than the platform takes in a second");
        assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
    }
}
