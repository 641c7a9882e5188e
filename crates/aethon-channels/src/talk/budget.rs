//! One budget of calls for each chat, and one for all of them where the platform counts them together: what is sent, edited and shown there together keeps to the platform's pace.
//!
//! A chat that was quiet has a few calls in hand. When the platform says how long to wait, nothing goes there before. What
//! is not urgent, such as the next step of a reply that grows, is left out when there is no call left.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many calls a quiet chat has in hand.
const BURST: u32 = 3;
/// How many calls a quiet channel has in hand for all of them together.
pub(crate) const BURST_OF_ALL: u32 = 5;
/// How many chats are remembered; quiet ones go first, which costs nothing.
const MOST_CHATS: usize = 4096;

/// The budgets of a channel's chats, and of all of them together.
#[derive(Debug, Default)]
pub(super) struct Budget(Mutex<Slots>);

#[derive(Debug, Default)]
struct Slots {
    chats: HashMap<String, Chat>,
    /// When the calls made so far are paid off that everything together may have.
    all_paid_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Chat {
    /// When the calls made so far are paid off.
    paid_at: Instant,
    /// Before this, the platform wants nothing.
    closed_until: Instant,
}

impl Budget {
    /// Takes a call, or says how long there is none: for this chat at one pace, and for all together at the other.
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

    /// The platform wants nothing there for so long.
    pub(super) fn close(&self, chat: &str, pause: Duration) {
        let now = Instant::now();
        let mut slots = self.slots(now);
        let slot = slots.chats.entry(chat.to_owned()).or_insert(Chat { paid_at: now, closed_until: now });
        slot.closed_until = slot.closed_until.max(now + pause);
    }

    fn slots(&self, now: Instant) -> MutexGuard<'_, Slots> {
        // The slots are whole after every statement, so a panic elsewhere does not make them unusable.
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.chats.len() >= MOST_CHATS {
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
