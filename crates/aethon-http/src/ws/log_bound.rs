//! A shared limit on the logs of all rooms.
//!
//! Each log is bounded, but there may be many of them. A log that exceeds the shared limit makes others give way: first
//! the logs of unused rooms, longest unused first; then the largest logs lose their older half. A reader in that part
//! then has a gap and must reload the conversation, of which it is notified.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, Weak};

use tokio::time::Instant;

/// A log that counts towards the limit.
pub(super) trait Bounded: Send + Sync {
    /// Returns its current state.
    fn stats(&self) -> RoomStats;

    /// Empties the log, unless the room is in use again.
    fn forget(&self);

    /// Drops the older half of the log.
    fn shorten(&self);
}

/// What decides which logs give way.
pub(super) struct RoomStats {
    /// Whether anyone reads or a turn runs.
    pub(super) is_in_use: bool,
    /// When it was last used.
    pub(super) touched: Instant,
    /// The size of its log in bytes.
    pub(super) bytes: usize,
    /// The number of its newest frame.
    pub(super) newest: u64,
}

/// The limit on all logs together, in bytes.
const MAX_BYTES: usize = 48 << 20;
/// The size they are reduced to when over the limit, so that not every frame triggers it.
const TARGET_BYTES: usize = MAX_BYTES / 4 * 3;

/// The total size of all logs.
#[derive(Default)]
pub(super) struct LogBound {
    bytes: AtomicUsize,
    rooms: Mutex<Vec<Weak<dyn Bounded>>>,
}

impl LogBound {
    /// Adds a room to the count.
    pub(super) fn enter(&self, room: Weak<dyn Bounded>) {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if rooms.len() == rooms.capacity() {
            rooms.retain(|room| room.strong_count() > 0);
        }
        rooms.push(room);
    }

    /// Records that a log changed in size.
    pub(super) fn change(&self, before: usize, after: usize) {
        if after >= before {
            self.bytes.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.bytes.fetch_sub(before - after, Ordering::Relaxed);
        }
    }

    /// Makes logs give way if they exceed the limit together. The caller must not hold a room's lock.
    pub(super) fn enforce(&self) {
        if self.bytes() <= MAX_BYTES {
            return;
        }
        // Another caller is already doing this for all.
        let Ok(mut rooms) = self.rooms.try_lock() else { return };
        rooms.retain(|room| room.strong_count() > 0);
        let mut counted: Vec<_> =
            rooms.iter().filter_map(Weak::upgrade).map(|room| (room.stats(), room)).collect();
        counted.sort_by_key(|(stats, _)| stats.touched);
        for (_, room) in counted.iter().filter(|(stats, _)| !stats.is_in_use && stats.bytes > 0) {
            if self.bytes() <= TARGET_BYTES {
                return;
            }
            room.forget();
        }
        counted.sort_by_key(|(stats, _)| std::cmp::Reverse(stats.bytes));
        while self.bytes() > TARGET_BYTES {
            let before = self.bytes();
            for (_, room) in &counted {
                room.shorten();
                if self.bytes() <= TARGET_BYTES {
                    return;
                }
            }
            // Only the newest frames of each log remain.
            if self.bytes() >= before {
                return;
            }
        }
    }

    /// Returns the total size.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aethon_core::ids::{SessionId, TurnId};
    use aethon_core::message::TurnEnd;
    use tokio::sync::Notify;

    use super::super::frames::Body;
    use super::super::room::Room;
    use super::*;

    fn room(bound: &Arc<LogBound>, number: usize) -> Arc<Room> {
        let room =
            Arc::new(Room::new(SessionId::of("webchat", &number.to_string()).unwrap(), 0, Arc::clone(bound)));
        bound.enter(Arc::downgrade(&room) as _);
        room
    }

    fn fill(room: &Room, mebibytes: usize) {
        let text = "x".repeat(1 << 20);
        for _ in 0..mebibytes {
            let turn = TurnId::fresh();
            room.push(&turn, &Body::Done { text: &text, html: "", stop_reason: TurnEnd::End, model: "m" });
        }
    }

    #[test]
    fn the_logs_of_all_rooms_are_bounded_together() {
        let bound = Arc::new(LogBound::default());
        let rooms: Vec<_> = (0..60).map(|number| room(&bound, number)).collect();
        let reader = Arc::new(Notify::new());
        for watched in &rooms[..30] {
            watched.enter(&reader);
        }
        for room in &rooms {
            fill(room, 3);
            assert!(bound.bytes() <= MAX_BYTES, "{}", bound.bytes());
        }
        let kept: usize = rooms.iter().map(|room| room.stats().bytes).sum();
        assert_eq!(kept, bound.bytes());
        assert!(rooms[59].stats().bytes > 1 << 20, "the newest has its frames");
        drop(rooms);
        assert_eq!(bound.bytes(), 0);
    }

    #[test]
    fn unused_rooms_give_way_first() {
        let bound = Arc::new(LogBound::default());
        let (idle, used) = (room(&bound, 1), room(&bound, 2));
        used.enter(&Arc::new(Notify::new()));
        fill(&used, 3);
        fill(&idle, 3);
        let others: Vec<_> = (3..18).map(|number| room(&bound, number)).collect();
        for other in &others {
            other.enter(&Arc::new(Notify::new()));
            fill(other, 3);
            if idle.stats().bytes == 0 {
                break;
            }
        }
        assert_eq!(idle.stats().bytes, 0);
        assert!(used.stats().bytes > 1 << 20, "it has at least its newest frame");
    }
}
