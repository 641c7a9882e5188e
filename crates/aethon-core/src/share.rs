//! The owner's share: of everything bounded that strangers use as well, a quarter is kept for the owner.
//!
//! Strangers are all whose words the owner did not write ([`Trust`]): callers of webhooks, guests, groups, and the jobs
//! made by them. A [`Share`] says how much of a limit they may take; [`Shares`] counts who holds how much of it. There is
//! one rule, so that a turn, a byte and a command cannot be shared out differently.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::turn::Trust;

/// A limit, and the part of it that strangers may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    all: u64,
    strangers: u64,
}

impl Share {
    /// Splits a limit. Below four there is nothing to keep back.
    pub const fn of(all: u64) -> Self {
        Self { all, strangers: all - all / 4 }
    }

    /// The same for a number of things in memory.
    pub fn of_count(all: usize) -> Self {
        Self::of(u64::try_from(all).unwrap_or(u64::MAX))
    }

    /// Returns the whole limit.
    pub const fn all(self) -> u64 {
        self.all
    }

    /// Returns the part that strangers may take, all of them together.
    pub const fn of_strangers(self) -> u64 {
        self.strangers
    }

    /// Returns the part that a turn of this trust may fill.
    pub fn open_to(self, trust: Trust) -> u64 {
        if trust.is_owner() { self.all } else { self.strangers }
    }
}

/// Who holds how much of a limit. Cheap to clone; clones share it.
#[derive(Debug, Clone)]
pub struct Shares {
    share: Share,
    used: Arc<Mutex<Used>>,
}

#[derive(Debug, Default)]
struct Used {
    owner: u64,
    strangers: u64,
}

impl Used {
    fn by(&mut self, trust: Trust) -> &mut u64 {
        if trust.is_owner() { &mut self.owner } else { &mut self.strangers }
    }
}

/// A held part of a limit. It is given back when dropped.
#[derive(Debug)]
pub struct Held {
    used: Arc<Mutex<Used>>,
    trust: Trust,
    amount: u64,
}

impl Shares {
    /// Nothing of it is held yet.
    pub fn of(share: Share) -> Self {
        Self { share, used: Arc::default() }
    }

    /// Takes a part, if that leaves the owner's share free. One thing always fits, however large it is and whatever the
    /// others hold: a limit that nothing passes would be of no use.
    pub fn take(&self, trust: Trust, amount: u64) -> Option<Held> {
        let mut used = lock(&self.used);
        let all = used.owner.saturating_add(used.strangers).saturating_add(amount);
        let own = used.by(trust).saturating_add(amount);
        let fits = all <= self.share.all && (trust.is_owner() || own <= self.share.strangers);
        if !fits && *used.by(trust) > 0 {
            return None;
        }
        *used.by(trust) = own;
        drop(used);
        Some(self.held(trust, amount))
    }

    /// Takes a part whatever is left, for data that an earlier run of the program accepted.
    pub fn take_anyway(&self, trust: Trust, amount: u64) -> Held {
        let mut used = lock(&self.used);
        let own = used.by(trust).saturating_add(amount);
        *used.by(trust) = own;
        drop(used);
        self.held(trust, amount)
    }

    /// Returns how much is held by all together.
    pub fn used(&self) -> u64 {
        let used = lock(&self.used);
        used.owner.saturating_add(used.strangers)
    }

    fn held(&self, trust: Trust, amount: u64) -> Held {
        Held { used: Arc::clone(&self.used), trust, amount }
    }
}

impl Held {
    /// Gives back all but this much of it. Does nothing if that is more than is held.
    pub fn shrink(&mut self, amount: u64) {
        let surplus = self.amount.saturating_sub(amount);
        self.amount -= surplus;
        let mut used = lock(&self.used);
        let own = used.by(self.trust);
        *own = own.saturating_sub(surplus);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut used = lock(&self.used);
        let own = used.by(self.trust);
        *own = own.saturating_sub(self.amount);
    }
}

/// Every statement leaves the sums consistent, so a poisoned lock is usable.
fn lock(used: &Mutex<Used>) -> MutexGuard<'_, Used> {
    used.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_is_kept_for_the_owner() {
        let check = |all: u64, strangers: u64| {
            let share = Share::of(all);
            assert_eq!((share.open_to(Trust::Owner), share.of_strangers()), (all, strangers), "{all}");
            assert_eq!(share.open_to(Trust::Guest), share.open_to(Trust::Outside));
        };
        check(0, 0);
        check(1, 1);
        check(3, 3);
        check(4, 3);
        check(512, 384);
        check(u64::MAX, u64::MAX - u64::MAX / 4);
    }

    #[test]
    fn strangers_cannot_take_what_is_kept_and_the_owner_can() {
        let shares = Shares::of(Share::of(8));
        let strangers: Vec<Held> = [Trust::Outside, Trust::Guest]
            .into_iter()
            .cycle()
            .map_while(|trust| shares.take(trust, 1))
            .collect();
        assert_eq!((strangers.len(), shares.used()), (6, 6));
        let owner: Vec<Held> = std::iter::from_fn(|| shares.take(Trust::Owner, 1)).collect();
        assert_eq!(owner.len(), 2);
        assert!(shares.take(Trust::Outside, 1).is_none());
        drop((owner, strangers));
        assert_eq!(shares.used(), 0, "everything is given back");
    }

    #[test]
    fn shrunk_parts_give_back_their_surplus_once() {
        let shares = Shares::of(Share::of(8));
        let mut held = shares.take(Trust::Owner, 6).unwrap();
        held.shrink(2);
        assert_eq!(shares.used(), 2);
        held.shrink(5);
        assert_eq!(shares.used(), 2, "it does not grow");
        drop(held);
        assert_eq!(shares.used(), 0);
    }

    #[test]
    fn first_entry_always_fits_its_share() {
        for (first, second) in [(Trust::Outside, Trust::Owner), (Trust::Owner, Trust::Guest)] {
            let shares = Shares::of(Share::of(8));
            let large = shares.take(first, 100);
            assert!(large.is_some() && shares.take(first, 1).is_none(), "one, and not two");
            assert!(shares.take(second, 100).is_some(), "nor does it keep others out");
        }
    }

    #[test]
    fn entries_accepted_before_count_towards_the_share() {
        let shares = Shares::of(Share::of(4));
        let left: Vec<Held> = (0..9).map(|_| shares.take_anyway(Trust::Outside, 1)).collect();
        assert!(shares.take(Trust::Outside, 1).is_none());
        assert!(shares.take(Trust::Owner, 1).is_some());
        drop(left);
    }
}
