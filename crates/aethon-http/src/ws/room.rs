//! A session in use: the log of its frames, and who reads it.
//!
//! Readers have no queue of their own. Each keeps the number of the last frame that it has sent, and takes what came
//! after it from the log: live frames and a replay are the same thing, nothing is lost or doubled between them, a frame is
//! serialised once, and a slow reader costs nothing. The log is bounded; whoever lags behind its beginning has a gap and
//! is told so.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use aethon_core::ids::{SessionId, TurnId};
use serde::Deserialize;
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::feed::Feed;
use super::frames::{self, Body};

/// How many frames a log holds.
const MAX_FRAMES: usize = 4096;
/// How many bytes of frames a log holds.
const MAX_BYTES: usize = 4 << 20;
/// How many frames may fill the log to the brim, so that a single long reply is no gap for those who keep up.
const NEWEST: usize = 8;
/// How many frames and bytes a reader takes at once.
const BATCH: (usize, usize) = (64, 256 << 10);
/// The longest text that parts of an answer are joined to when the log is full.
const MAX_JOINED: usize = 32 << 10;

/// A session in use.
pub(super) struct Room {
    session: SessionId,
    state: Mutex<State>,
}

struct State {
    log: VecDeque<Entry>,
    bytes: usize,
    /// The number of the newest frame, or what numbering starts after.
    newest: u64,
    /// Frames up to this one are not in the log.
    floor: u64,
    /// The number of the newest `done`, or what numbering starts after.
    last_done: u64,
    open: Vec<OpenTurn>,
    readers: Vec<Arc<Notify>>,
    touched: Instant,
}

struct Entry {
    /// The first frame that it stands for: itself, or the first of those that were joined.
    first: u64,
    seq: u64,
    turn: TurnId,
    kind: Kind,
    text: Utf8Bytes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Delta,
    Blocks { from: usize },
    Done,
    Other,
}

impl Kind {
    fn of(body: &Body<'_>) -> Self {
        match body {
            Body::Delta { .. } => Self::Delta,
            Body::Blocks { from, .. } => Self::Blocks { from: *from },
            Body::Done { .. } => Self::Done,
            _ => Self::Other,
        }
    }
}

/// A turn that is not over.
struct OpenTurn {
    turn: TurnId,
    /// What comes just before its first frame.
    before: u64,
    /// Whether it has left the queue.
    is_running: bool,
    feed: Weak<Feed>,
}

/// What a reader gets.
pub(super) enum Batch {
    /// The next frames, perhaps none, and where the reader stands after them.
    Frames(Vec<Utf8Bytes>, u64),
    /// What comes next is not in the log any more.
    Gap,
}

/// What the hub wants to know of a room when it tidies up.
pub(super) struct Census {
    /// Whether anybody reads or anything runs.
    pub(super) is_in_use: bool,
    /// When it was last used.
    pub(super) touched: Instant,
    /// How much its log takes.
    pub(super) bytes: usize,
    /// The number of its newest frame.
    pub(super) newest: u64,
}

impl Room {
    /// A room whose frames are numbered after `base`.
    pub(super) fn new(session: SessionId, base: u64) -> Self {
        let state = State {
            log: VecDeque::new(),
            bytes: 0,
            newest: base,
            floor: base,
            last_done: base,
            open: Vec::new(),
            readers: Vec::new(),
            touched: Instant::now(),
        };
        Self { session, state: Mutex::new(state) }
    }

    /// The session.
    pub(super) fn session(&self) -> &SessionId {
        &self.session
    }

    /// Adds a frame and wakes the readers.
    pub(super) fn push(&self, turn: &TurnId, body: &Body<'_>) {
        let mut state = self.lock();
        state.newest += 1;
        let seq = state.newest;
        let kind = Kind::of(body);
        let text = frames::of_turn(seq, turn, body);
        state.bytes += text.len();
        state.log.push_back(Entry { first: seq, seq, turn: turn.clone(), kind, text });
        if kind == Kind::Done {
            state.last_done = seq;
            state.open.retain(|open| open.turn != *turn);
        }
        state.touched = Instant::now();
        state.make_room();
        for reader in &state.readers {
            reader.notify_one();
        }
    }

    /// Notes that a turn has begun to exist (and runs, once it is past the queue).
    pub(super) fn open_turn(&self, turn: &TurnId, feed: &Weak<Feed>, is_running: bool) {
        let mut state = self.lock();
        if let Some(open) = state.open.iter_mut().find(|open| open.turn == *turn) {
            open.is_running |= is_running;
            return;
        }
        let before = state.newest;
        state.open.push(OpenTurn { turn: turn.clone(), before, is_running, feed: feed.clone() });
    }

    /// Forgets a turn that ended without a word.
    pub(super) fn close_turn(&self, turn: &TurnId) {
        let mut state = self.lock();
        state.open.retain(|open| open.turn != *turn);
        for reader in &state.readers {
            reader.notify_one();
        }
    }

    /// Whether this turn waits or runs here.
    pub(super) fn has_turn(&self, turn: &str) -> bool {
        self.lock().open.iter().any(|open| open.turn.as_str() == turn)
    }

    /// Whether frames of this turn are still in the log, or it waits or runs.
    pub(super) fn knows_turn(&self, turn: &str) -> bool {
        let state = self.lock();
        state.open.iter().any(|open| open.turn.as_str() == turn)
            || state.log.iter().rev().any(|entry| entry.turn.as_str() == turn)
    }

    /// Whether a turn runs. Those that wait do not count: when the program stops, they are left for the next start.
    pub(super) fn is_running(&self) -> bool {
        self.lock().open.iter().any(|open| open.is_running)
    }

    /// Whether anybody reads.
    pub(super) fn is_watched(&self) -> bool {
        !self.lock().readers.is_empty()
    }

    /// The last frame whose content is in the stored messages: the newest `done`, or what came before the first frame of
    /// the turn that runs.
    pub(super) fn stored_seq(&self) -> u64 {
        let state = self.lock();
        let running = state.open.iter().filter(|open| open.is_running).map(|open| open.before).min();
        running.map_or(state.last_done, |before| before.max(state.last_done))
    }

    /// What comes after a frame.
    pub(super) fn read_after(&self, seq: u64) -> Batch {
        let state = self.lock();
        if seq < state.floor {
            return Batch::Gap;
        }
        let start = state.log.partition_point(|entry| entry.seq <= seq);
        if state.log.get(start).is_some_and(|entry| entry.first <= seq) {
            return Batch::Gap;
        }
        let (mut texts, mut bytes, mut reached) = (Vec::new(), 0, seq);
        for entry in state.log.range(start..).take(BATCH.0) {
            if bytes > BATCH.1 {
                break;
            }
            bytes += entry.text.len();
            reached = entry.seq;
            texts.push(entry.text.clone());
        }
        Batch::Frames(texts, reached)
    }

    /// Where a reader stands who has seen everything up to `after`: there, or with 0 at the beginning of what is kept.
    /// `Err` with the newest frame when something that it has not seen is gone.
    pub(super) fn resume_point(&self, after: u64) -> Result<u64, u64> {
        let state = self.lock();
        if after == 0 {
            return Ok(state.floor);
        }
        let is_within_joined = state
            .log
            .get(state.log.partition_point(|entry| entry.seq <= after))
            .is_some_and(|entry| entry.first <= after);
        if after < state.floor || is_within_joined { Err(state.newest) } else { Ok(after.min(state.newest)) }
    }

    /// Starts to read: the reader is woken for every frame from now on. Returns the newest frame so far.
    pub(super) fn enter(&self, reader: &Arc<Notify>) -> u64 {
        let feeds: Vec<_> = {
            let mut state = self.lock();
            state.readers.push(Arc::clone(reader));
            state.touched = Instant::now();
            state.open.iter().filter_map(|open| open.feed.upgrade()).collect()
        };
        // Nothing is rendered while nobody reads; what was left out is made up for now.
        for feed in feeds {
            feed.catch_up();
        }
        self.lock().newest
    }

    /// Ends reading.
    pub(super) fn leave(&self, reader: &Arc<Notify>) {
        let mut state = self.lock();
        state.readers.retain(|other| !Arc::ptr_eq(other, reader));
        state.readers.shrink_to_fit();
        state.touched = Instant::now();
    }

    /// For the hub's tidying.
    pub(super) fn census(&self) -> Census {
        let state = self.lock();
        Census {
            is_in_use: !state.readers.is_empty() || !state.open.is_empty(),
            touched: state.touched,
            bytes: state.bytes,
            newest: state.newest,
        }
    }

    /// Empties the log, unless somebody has begun to use the room again.
    pub(super) fn forget(&self) {
        let mut state = self.lock();
        if state.readers.is_empty() && state.open.is_empty() {
            state.log = VecDeque::new();
            state.bytes = 0;
            state.floor = state.newest;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every method leaves the state whole, so a panic elsewhere does not make it unusable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_over(&self) -> bool {
        self.log.len() > MAX_FRAMES || self.bytes > MAX_BYTES
    }

    /// Keeps the log within bounds: first by what later frames say again, then by joining, at last by forgetting.
    fn make_room(&mut self) {
        if !self.is_over() {
            return;
        }
        self.drop_superseded();
        self.join_deltas();
        // Some slack, so that not every frame from now on tidies up again.
        let is_large = |state: &Self| match state.log.len() {
            0 | 1 => false,
            2..=NEWEST => state.bytes > MAX_BYTES,
            frames => frames > MAX_FRAMES / 4 * 3 || state.bytes > MAX_BYTES / 4 * 3,
        };
        while is_large(self) {
            let Some(entry) = self.log.pop_front() else { break };
            self.bytes -= entry.text.len();
            self.floor = entry.seq;
        }
    }

    /// Of a turn that is over, `done` says what its texts and blocks said; blocks are said again by later ones from the
    /// same block or an earlier one on.
    fn drop_superseded(&mut self) {
        let mut done: Vec<TurnId> = Vec::new();
        let mut rendered: Vec<(TurnId, usize)> = Vec::new();
        let mut kept = VecDeque::with_capacity(self.log.len());
        for entry in std::mem::take(&mut self.log).into_iter().rev() {
            let is_done = done.contains(&entry.turn);
            let is_superseded = match entry.kind {
                Kind::Done => {
                    done.push(entry.turn.clone());
                    false
                }
                Kind::Delta => is_done,
                Kind::Blocks { from } => match rendered.iter_mut().find(|(turn, _)| *turn == entry.turn) {
                    _ if is_done => true,
                    Some((_, later)) if *later <= from => true,
                    Some((_, later)) => {
                        *later = from;
                        false
                    }
                    None => {
                        rendered.push((entry.turn.clone(), from));
                        false
                    }
                },
                Kind::Other => false,
            };
            if is_superseded {
                self.bytes -= entry.text.len();
            } else {
                kept.push_front(entry);
            }
        }
        self.log = kept;
    }

    /// Neighbouring parts of an answer become one.
    fn join_deltas(&mut self) {
        let mut joined: VecDeque<Entry> = VecDeque::with_capacity(self.log.len());
        let mut run: Option<(Entry, String)> = None;
        for entry in std::mem::take(&mut self.log) {
            let text = (entry.kind == Kind::Delta).then(|| delta_text(&entry.text)).flatten();
            run = match (run, text) {
                (Some((before, mut said)), Some(text))
                    if before.turn == entry.turn && said.len() + text.len() <= MAX_JOINED =>
                {
                    said.push_str(&text);
                    Some((Entry { first: before.first, ..entry }, said))
                }
                (before, text) => {
                    joined.extend(before.map(rewritten));
                    if let Some(text) = text {
                        Some((entry, text))
                    } else {
                        joined.push_back(entry);
                        None
                    }
                }
            };
        }
        joined.extend(run.map(rewritten));
        self.bytes = joined.iter().map(|entry| entry.text.len()).sum();
        self.log = joined;
    }
}

/// The frame that stands for a run of parts.
fn rewritten((mut entry, said): (Entry, String)) -> Entry {
    if entry.first != entry.seq {
        entry.text = frames::of_turn(entry.seq, &entry.turn, &Body::Delta { text: &said });
    }
    entry
}

fn delta_text(frame: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Delta {
        text: String,
    }
    serde_json::from_str::<Delta>(frame).ok().map(|delta| delta.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room() -> Room {
        Room::new(SessionId::parse("webchat:a").unwrap(), 1000)
    }

    fn turn(name: &str) -> TurnId {
        TurnId::existing(name)
    }

    /// All frames after `seq`, as values; `None` for a gap.
    fn read(room: &Room, mut seq: u64) -> Option<Vec<serde_json::Value>> {
        let mut values = Vec::new();
        loop {
            match room.read_after(seq) {
                Batch::Gap => return None,
                Batch::Frames(texts, _) if texts.is_empty() => return Some(values),
                Batch::Frames(texts, reached) => {
                    values.extend(
                        texts.iter().map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap()),
                    );
                    seq = reached;
                }
            }
        }
    }

    fn done(room: &Room, name: &str, text: &str) {
        room.push(&turn(name), &Body::Done { text, html: "", stop_reason: "end", model: "m" });
    }

    #[test]
    fn frames_are_numbered_and_replayed_from_any_point() {
        let room = room();
        for text in ["a", "b", "c"] {
            room.push(&turn("t"), &Body::Delta { text });
        }
        let seqs = |after| -> Vec<u64> {
            read(&room, after).unwrap().iter().map(|frame| frame["seq"].as_u64().unwrap()).collect()
        };
        assert_eq!(seqs(1000), [1001, 1002, 1003]);
        assert_eq!(seqs(1002), [1003]);
        assert_eq!(seqs(1003), [0; 0]);
        assert_eq!(seqs(9999), [0; 0]);
        assert!(read(&room, 999).is_none(), "from before this log began");
    }

    #[test]
    fn a_full_log_keeps_what_a_reader_needs() {
        let room = room();
        for number in 0..6000 {
            room.push(&turn("t"), &Body::Delta { text: &format!("{number} ") });
            if number % 10 == 0 {
                room.push(&turn("t"), &Body::Blocks { from: 0, html: &[format!("<p>{number}</p>")] });
            }
        }
        let frames = read(&room, 1000).expect("no gap from the start of the turn");
        assert!(frames.len() < 4200, "{}", frames.len());
        let said: String = frames
            .iter()
            .filter(|frame| frame["type"] == "delta")
            .filter_map(|frame| frame["text"].as_str())
            .collect();
        assert_eq!(said, (0..6000).map(|number| format!("{number} ")).collect::<String>());
        let blocks = frames.iter().rfind(|frame| frame["type"] == "blocks").unwrap();
        assert_eq!(blocks["html"][0], "<p>5990</p>");
        let seqs: Vec<_> = frames.iter().map(|frame| frame["seq"].as_u64().unwrap()).collect();
        assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(read(&room, 1005).is_none(), "within what was joined");
    }

    #[test]
    fn a_log_is_bounded_whatever_comes() {
        let room = room();
        let long = "x".repeat(100_000);
        for number in 0..100 {
            done(&room, &format!("t{number}"), &long);
        }
        assert!(room.census().bytes <= MAX_BYTES);
        assert!(read(&room, 1000).is_none());
        done(&room, "huge", &"x".repeat(MAX_BYTES));
        assert!(room.lock().log.len() == 1, "one frame is kept, however long");
        for number in 0..3 {
            done(&room, &format!("again{number}"), &long);
        }
        assert!(read(&room, room.census().newest - 3).is_some_and(|frames| frames.len() == 3));
        for number in 0..20_000 {
            room.push(&turn("u"), &Body::Ack { id: &number.to_string(), queued: 0 });
        }
        assert!(room.lock().log.len() <= MAX_FRAMES);
    }

    #[test]
    fn stored_seq_is_the_last_done_or_the_start_of_what_runs() {
        let room = room();
        let nobody = Weak::new();
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
    fn a_forgotten_log_goes_on_numbering() {
        let room = room();
        done(&room, "a", "x");
        room.forget();
        assert!(read(&room, 1001).is_some_and(|frames| frames.is_empty()));
        assert!(read(&room, 1000).is_none());
        done(&room, "b", "y");
        assert_eq!(read(&room, 1001).unwrap()[0]["seq"], 1002);
    }
}
