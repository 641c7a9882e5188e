//! A session in use: its turns, the log of its frames, and who reads it.
//!
//! Readers have no queue of their own. Each keeps the number of the last frame that it has sent, and takes the frames
//! after it from the log: live frames and a replay are the same thing, nothing is lost or doubled between them, a frame is
//! serialised once, and a slow reader costs nothing. The log is bounded; a reader that lags behind its beginning has a gap
//! and is notified of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use aethon_core::clock::Clock;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::peers::PeerId;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::frames::Body;
use super::log::{Batch, Log, RelayedFrame};
use super::log_bound::{Bounded, LogBound, RoomStats};
use super::numbers::number_at;

/// How long a room is followed at other instances after its last reader has left: who comes back in this time misses nothing.
pub(super) const FOLLOWED: Duration = Duration::from_secs(60);

/// A session in use.
pub(super) struct Room {
    session: SessionId,
    state: Mutex<RoomState>,
    bound: Arc<LogBound>,
    /// Numbers the frames where other instances have some of this session too.
    clock: Option<Arc<dyn Clock>>,
}

struct RoomState {
    log: Log,
    /// The number of the newest `done`, or what numbering starts after.
    last_done: u64,
    open: Vec<OpenTurn>,
    readers: Vec<Arc<Notify>>,
    /// Those who tell other instances.
    relays: Vec<Arc<Notify>>,
    /// When the last reader left.
    left: Option<Instant>,
    touched: Instant,
}

impl RoomState {
    fn wake(&self) {
        for reader in self.readers.iter().chain(&self.relays) {
            reader.notify_one();
        }
    }

    /// Returns whether other instances tell this one of the session.
    fn is_followed(&self) -> bool {
        !self.readers.is_empty() || self.left.is_some_and(|left| left.elapsed() < FOLLOWED)
    }
}

/// The producer of a turn's frames, which leaves some out while the room has no readers.
pub(super) trait CatchUp: Send + Sync {
    /// Sends the frames that were left out.
    fn catch_up(&self);
}

/// A turn that is not over.
struct OpenTurn {
    turn: TurnId,
    /// The number of the frame just before its first one.
    before: u64,
    /// Whether it has left the queue.
    is_running: bool,
    /// What shows it; `None` where another instance runs it.
    shown_by: Result<Weak<dyn CatchUp>, PeerId>,
}

impl Room {
    /// Creates a room whose frames are numbered after `base`, and whose log counts against this bound.
    pub(super) fn new(session: SessionId, base: u64, bound: Arc<LogBound>) -> Self {
        let state = RoomState {
            log: Log::new(base),
            last_done: base,
            open: Vec::new(),
            readers: Vec::new(),
            relays: Vec::new(),
            left: None,
            touched: Instant::now(),
        };
        Self { session, state: Mutex::new(state), bound, clock: None }
    }

    /// The same, for a session of which other instances have frames too.
    pub(super) fn shared_by(mut self, clock: Arc<dyn Clock>) -> Self {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner).log.remember_numbers();
        self.clock = Some(clock);
        self
    }

    /// Returns the session.
    pub(super) fn session(&self) -> &SessionId {
        &self.session
    }

    /// Adds a frame and wakes the readers.
    pub(super) fn push(&self, turn: &TurnId, body: &Body<'_>) {
        let mut state = self.lock();
        if let Some(now) = self.number_now() {
            // It was read from the storage while another instance told it.
            if matches!(body, Body::Done { .. }) && state.log.has_end(turn) {
                return;
            }
            state.log.number_from(now);
        }
        let seq = self.counted(&mut state.log, |log| log.push(turn, body));
        if matches!(body, Body::Done { .. }) {
            state.last_done = seq;
            state.open.retain(|open| open.turn != *turn);
        }
        // The stored messages are those of the branch.
        if matches!(body, Body::Switched {}) {
            state.last_done = seq;
        }
        state.touched = Instant::now();
        state.wake();
        drop(state);
        self.bound.enforce();
    }

    /// Returns the number of this moment, where frames are numbered by the time.
    fn number_now(&self) -> Option<u64> {
        self.clock.as_ref().map(|clock| number_at(clock.now()))
    }

    /// Changes the log, and tells the common bound of it.
    fn counted<T>(&self, log: &mut Log, change: impl FnOnce(&mut Log) -> T) -> T {
        let before = log.bytes();
        let outcome = change(log);
        self.bound.change(before, log.bytes());
        outcome
    }

    /// Notes that a turn has begun to exist (and runs, once it is past the queue).
    pub(super) fn open_turn(&self, turn: &TurnId, surface: &Weak<dyn CatchUp>, is_running: bool) {
        let mut state = self.lock();
        if let Some(open) = state.open.iter_mut().find(|open| open.turn == *turn) {
            // It may have been another instance's, which is gone.
            (open.is_running, open.shown_by) = (open.is_running || is_running, Ok(surface.clone()));
            return;
        }
        let before = self.begin_after(&mut state);
        state.open.push(OpenTurn { turn: turn.clone(), before, is_running, shown_by: Ok(surface.clone()) });
    }

    /// Returns the number behind which a turn begins. Among several instances no frame has it: a client that knows it has
    /// loaded the conversation from this one.
    fn begin_after(&self, state: &mut RoomState) -> u64 {
        match self.number_now() {
            Some(now) => self.counted(&mut state.log, |log| log.mark(now)),
            None => state.log.newest(),
        }
    }

    /// Forgets a turn that ended without a word.
    pub(super) fn close_turn(&self, turn: &TurnId) {
        let mut state = self.lock();
        state.open.retain(|open| open.turn != *turn);
        state.wake();
    }

    /// Returns whether this turn waits or runs here.
    pub(super) fn has_turn(&self, turn: &str) -> bool {
        self.lock().open.iter().any(|open| open.turn.as_str() == turn)
    }

    /// Returns whether frames of this turn are still in the log, or it waits or runs.
    pub(super) fn knows_turn(&self, turn: &str) -> bool {
        let state = self.lock();
        state.open.iter().any(|open| open.turn.as_str() == turn) || state.log.knows_turn(turn)
    }

    /// Returns whether readers would never learn of the end of this turn: it neither waits nor runs here, and no frame
    /// has reported its end.
    pub(super) fn misses_end(&self, turn: &TurnId) -> bool {
        let state = self.lock();
        let is_open = state.open.iter().any(|open| open.turn == *turn && open.shown_by.is_ok());
        !state.readers.is_empty() && !is_open && !state.log.has_end(turn)
    }

    /// Returns whether a turn runs. Waiting turns do not count: when the program stops, they are left for the next start.
    pub(super) fn is_running(&self) -> bool {
        self.lock().open.iter().any(|open| open.is_running && open.shown_by.is_ok())
    }

    /// Returns whether the room has readers, here or at another instance.
    pub(super) fn is_watched(&self) -> bool {
        let state = self.lock();
        !state.readers.is_empty() || !state.relays.is_empty()
    }

    /// Returns whether the room has readers here.
    pub(super) fn is_watched_here(&self) -> bool {
        !self.lock().readers.is_empty()
    }

    /// Returns the last frame whose content is in the stored messages: the newest `done`, or the frame before the first
    /// one of the running turn.
    pub(super) fn stored_seq(&self) -> u64 {
        let state = self.lock();
        let running = state.open.iter().filter(|open| open.is_running).map(|open| open.before).min();
        running.map_or(state.last_done, |before| before.max(state.last_done))
    }

    /// Returns the frames after this one.
    pub(super) fn read_after(&self, seq: u64) -> Batch {
        self.lock().log.read_after(seq)
    }

    /// Returns the position of a reader that has seen everything up to `after`: there, or with 0 at the beginning of the
    /// log. `Err` with the newest frame when a frame that it has not seen is gone, or when `after` is a number that was
    /// not assigned yet: it was counted by a clock that was ahead, so the frames since then are unknown.
    pub(super) fn resume_point(&self, after: u64) -> Result<u64, u64> {
        let state = self.lock();
        if after == 0 {
            return Ok(state.log.floor());
        }
        let newest = state.log.newest();
        let is_known = (state.log.floor()..=newest).contains(&after);
        // Among several instances, a number of another one may lie between those that were given here.
        if is_known && (self.clock.is_none() || state.log.knows(after)) { Ok(after) } else { Err(newest) }
    }

    /// Starts to read: the reader is woken for every frame from now on. Returns the newest frame so far.
    pub(super) fn enter(&self, reader: &Arc<Notify>) -> u64 {
        let surfaces = {
            let mut state = self.lock();
            if let Some(now) = self.number_now().filter(|_| !state.is_followed()) {
                self.begin_following(&mut state, now);
            }
            state.readers.push(Arc::clone(reader));
            state.touched = Instant::now();
            surfaces(&state)
        };
        // Nothing is rendered without readers; the frames that were left out are sent now.
        for surface in surfaces {
            surface.catch_up();
        }
        self.lock().log.newest()
    }

    /// Ends reading.
    pub(super) fn leave(&self, reader: &Arc<Notify>) {
        let mut state = self.lock();
        state.readers.retain(|other| !Arc::ptr_eq(other, reader));
        state.readers.shrink_to_fit();
        state.touched = Instant::now();
        state.left = Some(state.touched);
    }

    /// Forgets what was before the turns that run here: other instances have told nothing meanwhile, so what a client has seen
    /// until then may have been more.
    fn begin_following(&self, state: &mut RoomState, now: u64) {
        let running = state.open.iter().filter(|open| open.shown_by.is_ok()).map(|open| open.before).min();
        self.counted(&mut state.log, |log| {
            let through = running.unwrap_or_else(|| log.mark(now));
            log.forget_through(through);
        });
        state.last_done = state.last_done.max(state.log.floor());
    }

    /// Starts to tell another instance: like [`Self::enter`], but nobody reads here.
    pub(super) fn enter_relay(&self, relay: &Arc<Notify>) {
        let surfaces = {
            let mut state = self.lock();
            state.relays.push(Arc::clone(relay));
            surfaces(&state)
        };
        for surface in surfaces {
            surface.catch_up();
        }
    }

    /// Ends telling another instance.
    pub(super) fn leave_relay(&self, relay: &Arc<Notify>) {
        let mut state = self.lock();
        if let Some(own) = state.relays.iter().position(|other| Arc::ptr_eq(other, relay)) {
            state.relays.swap_remove(own);
        }
        state.touched = Instant::now();
    }

    /// Returns whether other instances tell this one of the session.
    pub(super) fn is_followed(&self) -> bool {
        self.lock().is_followed()
    }

    /// Adds a frame of another instance.
    pub(super) fn push_relayed(&self, from: PeerId, frame: &RelayedFrame) {
        let mut state = self.lock();
        // Its end was read from the storage already.
        if frame.is_of_answer() && state.log.has_end(&frame.turn) {
            return;
        }
        let is_running = !frame.is_acknowledgement();
        if let Some(open) = state.open.iter_mut().find(|open| open.turn == frame.turn) {
            open.is_running |= is_running;
        } else if !frame.is_switch() && !state.log.has_end(&frame.turn) {
            let before = self.begin_after(&mut state);
            state.open.push(OpenTurn { turn: frame.turn.clone(), before, is_running, shown_by: Err(from) });
        }
        let seq = self.counted(&mut state.log, |log| log.push_relayed(frame));
        if frame.is_end() {
            state.open.retain(|open| open.turn != frame.turn);
        }
        if frame.is_end() || frame.is_switch() {
            state.last_done = seq;
        }
        state.touched = Instant::now();
        state.wake();
        drop(state);
        self.bound.enforce();
    }

    /// Returns this instance's frames after this one, about so many bytes; `None` if some are gone.
    pub(super) fn own_after(&self, seq: u64, bytes: usize) -> Option<(Vec<RelayedFrame>, u64)> {
        self.lock().log.own_after(seq, bytes)
    }

    /// Returns the number behind which the log begins.
    pub(super) fn floor(&self) -> u64 {
        self.lock().log.floor()
    }

    /// Returns whether the frames after this number are certain.
    pub(super) fn knows(&self, number: u64) -> bool {
        self.lock().log.knows(number)
    }

    /// Begins the log anew behind a number of another instance, whose frames follow. `false` if that would lose frames of this
    /// one, or confuse another reader.
    pub(super) fn rewind(&self, number: u64) -> bool {
        let mut state = self.lock();
        let is_alone = state.readers.len() <= 1 && state.open.iter().all(|open| open.shown_by.is_err());
        let is_done = is_alone && self.counted(&mut state.log, |log| log.rewind(number));
        if is_done {
            state.open.clear();
            state.last_done = number;
        }
        is_done
    }

    /// Forgets all frames, because some of another instance were lost: readers have a gap.
    pub(super) fn lose(&self) {
        let mut state = self.lock();
        let now = self.number_now().unwrap_or_default();
        let through = self.counted(&mut state.log, |log| {
            let through = log.mark(now);
            log.forget_through(through);
            through
        });
        // The running turn of another instance is told again from its start, behind this.
        for open in state.open.iter_mut().filter(|open| open.shown_by.is_err()) {
            open.before = through;
        }
        state.wake();
    }

    /// Forgets the turns of an instance that is gone. They go on elsewhere, or their end is read from the storage.
    pub(super) fn forget_peer(&self, peer: PeerId) {
        self.lock().open.retain(|open| open.shown_by.as_ref().err() != Some(&peer));
    }

    fn lock(&self) -> MutexGuard<'_, RoomState> {
        // Every method leaves the state whole, so a panic elsewhere does not make it unusable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns what shows the turns that run here.
fn surfaces(state: &RoomState) -> Vec<Arc<dyn CatchUp>> {
    state.open.iter().filter_map(|open| open.shown_by.as_ref().ok()?.upgrade()).collect()
}

impl Bounded for Room {
    fn stats(&self) -> RoomStats {
        let state = self.lock();
        RoomStats {
            is_in_use: !state.readers.is_empty() || !state.relays.is_empty() || !state.open.is_empty(),
            touched: state.touched,
            bytes: state.log.bytes(),
            newest: state.log.newest(),
        }
    }

    fn forget(&self) {
        let mut state = self.lock();
        if state.readers.is_empty() && state.open.is_empty() {
            self.counted(&mut state.log, Log::clear);
        }
    }

    fn shorten(&self) {
        self.counted(&mut self.lock().log, Log::shorten);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.bound.change(state.log.bytes(), 0);
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::message::TurnEnd;

    use super::*;

    struct Nobody;

    impl CatchUp for Nobody {
        fn catch_up(&self) {}
    }

    fn room() -> Room {
        Room::new(SessionId::parse("webchat:a").unwrap(), 1000, Arc::default())
    }

    fn turn(name: &str) -> TurnId {
        TurnId::existing(name)
    }

    fn done(room: &Room, name: &str, text: &str) {
        room.push(&turn(name), &Body::Done { text, html: "", stop_reason: TurnEnd::End, model: "m" });
    }

    #[test]
    fn stored_seq_is_the_last_done_or_the_start_of_what_runs() {
        let room = room();
        let nobody: Weak<dyn CatchUp> = Weak::<Nobody>::new();
        assert_eq!(room.stored_seq(), 1000);
        room.open_turn(&turn("a"), &nobody, false);
        room.push(&turn("a"), &Body::Ack { id: "1", queued: 0 });
        assert_eq!(room.stored_seq(), 1000);
        room.open_turn(&turn("a"), &nobody, true);
        room.open_turn(&turn("b"), &nobody, false);
        room.push(&turn("b"), &Body::Ack { id: "2", queued: 1 });
        room.push(&turn("a"), &Body::Delta { text: "x" });
        assert_eq!(room.stored_seq(), 1000);
        done(&room, "a", "x");
        assert_eq!(room.stored_seq(), 1004);
        room.open_turn(&turn("b"), &nobody, true);
        room.push(&turn("b"), &Body::Delta { text: "y" });
        assert_eq!(room.stored_seq(), 1004);
        done(&room, "b", "y");
        assert_eq!(room.stored_seq(), 1006);
        assert!(!room.is_running());
    }

    #[test]
    fn a_number_of_another_time_is_a_gap() {
        let room = room();
        done(&room, "a", "x");
        let check = |after, expected| assert_eq!(room.resume_point(after), expected, "{after}");
        check(0, Ok(1000));
        check(999, Err(1001));
        check(1000, Ok(1000));
        check(1001, Ok(1001));
        check(1002, Err(1001));
        check(u64::MAX, Err(1001));
    }

    #[test]
    fn a_cleared_log_continues_its_numbering() {
        let room = room();
        done(&room, "a", "x");
        room.forget();
        assert!(matches!(room.read_after(1001), Batch::Frames(texts, 1001) if texts.is_empty()));
        assert!(matches!(room.read_after(1000), Batch::Gap));
        done(&room, "b", "y");
        let Batch::Frames(texts, 1002) = room.read_after(1001) else { panic!("it goes on with 1002") };
        assert_eq!(serde_json::from_str::<serde_json::Value>(&texts[0]).unwrap()["seq"], 1002);
    }
}
