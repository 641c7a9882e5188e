//! Room for the bodies of callers who have not proven yet who they are.
//!
//! A signature can be judged only when the body is there, so such a body has to be kept before its sender is known. All of
//! them together get a fixed number of bytes, and one address a quarter of it. A body that finds no room waits unread: the
//! rest of it stays with its sender. Room is reserved for a whole body before any of it is read, because bodies that each
//! got a part would wait for each other. Small bodies need no room, so that large ones cannot keep them out; the memory
//! for them is bounded by the number of connections.
//!
//! A body whose signature was wrong keeps its room for a second: that bounds how much an address can have judged.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::neighbourhood;

/// How many bytes of all such bodies are kept.
const MAX_BYTES: usize = 16 << 20;
/// How many of one address.
const MAX_BYTES_PER_ADDRESS: usize = MAX_BYTES / 4;
/// A body up to this size needs no room; a connection buffers as much anyway.
const SMALL: usize = 8 << 10;
/// How long the room of a body with a wrong signature stays taken.
const PENALTY: Duration = Duration::from_secs(1);

/// The room.
#[derive(Debug)]
pub(crate) struct Intake {
    all: Arc<Semaphore>,
    by_address: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
}

/// Room for one body, given back when dropped.
#[derive(Debug)]
pub(crate) struct Room {
    intake: Arc<Intake>,
    address: IpAddr,
    /// Of the address and of all. Empty for a small body.
    permits: Option<[OwnedSemaphorePermit; 2]>,
}

impl Default for Intake {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(MAX_BYTES)), by_address: Mutex::default() }
    }
}

impl Intake {
    /// Waits for room for a body of this size. A body larger than the share of an address takes the whole share.
    pub(crate) async fn reserve(self: &Arc<Self>, address: IpAddr, bytes: usize) -> Room {
        let address = neighbourhood(address);
        let mut room = Room { intake: Arc::clone(self), address, permits: None };
        if bytes > SMALL {
            let bytes = u32::try_from(bytes.min(MAX_BYTES_PER_ADDRESS)).unwrap_or(u32::MAX);
            let own = self.of_address(address).acquire_many_owned(bytes).await;
            let all = Arc::clone(&self.all).acquire_many_owned(bytes).await;
            // The semaphores are never closed.
            room.permits = own.ok().zip(all.ok()).map(|(own, all)| [own, all]);
        }
        room
    }

    fn of_address(&self, address: IpAddr) -> Arc<Semaphore> {
        let new = || Arc::new(Semaphore::new(MAX_BYTES_PER_ADDRESS));
        Arc::clone(self.lock().entry(address).or_insert_with(new))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Arc<Semaphore>>> {
        // Every statement leaves the map consistent, so a poisoned lock is usable.
        self.by_address.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// Keeps the room taken for a while, because the body in it had a wrong signature.
    pub(crate) fn penalise(self) {
        if self.permits.is_some() {
            tokio::spawn(async move {
                tokio::time::sleep(PENALTY).await;
                drop(self);
            });
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // Released under the lock, so that no caller comes between this and the check for remaining ones.
        let mut by_address = self.intake.lock();
        self.permits = None;
        if by_address.get(&self.address).is_some_and(|address| Arc::strong_count(address) == 1) {
            by_address.remove(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_has_a_quarter_and_all_together_have_what_there_is() {
        let intake = Arc::<Intake>::default();
        let mebibyte = |last| intake.reserve(address(last), 1 << 20);
        let mut held = Vec::new();
        for last in 0..4 {
            for _ in 0..4 {
                held.push(mebibyte(last).now_or_never().expect("there is room"));
            }
            assert!(mebibyte(last).now_or_never().is_none(), "it has its quarter");
        }
        assert!(mebibyte(9).now_or_never().is_none(), "nothing is left for another one");
        assert!(intake.reserve(address(0), SMALL).now_or_never().is_some(), "small ones always pass");
        drop(held.pop());
        let last = mebibyte(9).now_or_never().expect("some was given back");
        drop((held, last));
        assert!(intake.lock().is_empty(), "nobody is remembered");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_larger_than_the_quarter_passes_alone() {
        let intake = Arc::<Intake>::default();
        let large = intake.reserve(address(1), 1 << 30).now_or_never().expect("it passes");
        assert!(intake.reserve(address(1), SMALL + 1).now_or_never().is_none());
        drop(large);
    }

    #[tokio::test(start_paused = true)]
    async fn room_of_an_unsigned_body_stays_taken_for_a_second() {
        let intake = Arc::<Intake>::default();
        intake.reserve(address(1), 4 << 20).await.penalise();
        tokio::task::yield_now().await;
        assert!(intake.reserve(address(1), 1 << 20).now_or_never().is_none());
        tokio::time::sleep(2 * PENALTY).await;
        assert!(intake.reserve(address(1), 1 << 20).now_or_never().is_some());
    }
}
