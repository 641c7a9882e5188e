//! Limits how many commands run at once: `tools.max_shells`, shared by everything that runs commands.
//!
//! If all slots are taken, a command waits a while. Turns that strangers began never get the last slots, so
//! that a flood of them leaves room for the owner.

use std::time::Duration;

use aethon_core::turn::Trust;
use tokio::time::timeout;

use crate::slots::{SharedSlot, SharedSlots};

/// How long a command waits for a slot.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(60);
/// Number of slots unless the configuration says otherwise.
const USUAL: usize = 8;

/// The slots for commands. Cheap to clone; clones share them.
#[derive(Debug, Clone)]
pub struct CommandSlots(SharedSlots);

impl Default for CommandSlots {
    fn default() -> Self {
        Self::of(USUAL)
    }
}

impl CommandSlots {
    /// Creates this many slots, and at least one.
    pub fn of(most: usize) -> Self {
        Self(SharedSlots::of(most))
    }

    /// Acquires a slot for a command of a turn of this trust. The error is a sentence.
    pub(crate) async fn take(&self, trust: Trust) -> Result<SharedSlot, String> {
        timeout(MAX_WAIT, self.0.take(trust)).await.map_err(|_| {
            format!(
                "{} commands run already, which is as many as may (`tools.max_shells`), and none of them ended within {} s; \
                 try again later",
                self.0.most(),
                MAX_WAIT.as_secs()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_command_waits_for_a_place_and_not_for_ever() {
        let slots = CommandSlots::of(2);
        let (first, second) =
            (slots.take(Trust::Owner).await.unwrap(), slots.take(Trust::Guest).await.unwrap());
        let refused = slots.take(Trust::Owner).await.err().unwrap();
        assert!(refused.contains("tools.max_shells"), "{refused}");
        drop(first);
        slots.take(Trust::Owner).await.unwrap();
        drop(second);
    }

    #[tokio::test(start_paused = true)]
    async fn strangers_leave_room_for_the_owner() {
        let slots = CommandSlots::of(8);
        let mut held = Vec::new();
        while let Ok(slot) = slots.take(Trust::Outside).await {
            held.push(slot);
        }
        assert_eq!(held.len(), 6);
        let (first, second) =
            (slots.take(Trust::Owner).await.unwrap(), slots.take(Trust::Owner).await.unwrap());
        assert!(slots.take(Trust::Owner).await.is_err());
        drop((first, second));
        drop(held.pop());
        slots.take(Trust::Outside).await.unwrap();
        assert!(CommandSlots::of(0).take(Trust::Outside).await.is_ok(), "there is always one");
    }
}
