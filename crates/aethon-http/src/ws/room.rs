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
/// The newest frames and their bytes, which stay as they are when the log is full: those who keep up get every one.
const FRESH: (usize, usize) = (512, 1 << 20);

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
    /// The newest frame that it stands for.
    seq: u64,
    /// The frames that were joined to it, each with where its text ends; none where nothing was.
    parts: Vec<(u64, usize)>,
    turn: TurnId,
    kind: Kind,
    text: Utf8Bytes,
}

impl Entry {
    fn size(&self) -> usize {
        self.text.len() + self.parts.len() * size_of::<(u64, usize)>()
    }

    /// The frame for a reader who has seen everything up to `seq`: what is left of it where that is within.
    fn after(&self, seq: u64) -> Utf8Bytes {
        let seen = self.parts.iter().take_while(|(part, _)| *part <= seq).last().map(|(_, end)| *end);
        let rest = seen.and_then(|end| self.kind.words(&self.text)?.get(end..).map(str::to_owned));
        rest.map_or_else(|| self.text.clone(), |rest| self.kind.frame(self.seq, &self.turn, &rest))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Delta,
    Reasoning,
    Blocks { from: usize },
    Done,
    Other,
}

impl Kind {
    fn of(body: &Body<'_>) -> Self {
        match body {
            Body::Delta { .. } => Self::Delta,
            Body::Reasoning { .. } => Self::Reasoning,
            Body::Blocks { from, .. } => Self::Blocks { from: *from },
            Body::Done { .. } => Self::Done,
            _ => Self::Other,
        }
    }

    /// The words of a frame whose neighbours go on with them; `None` for others.
    fn words(self, frame: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct Words {
            text: String,
        }
        let has_words = matches!(self, Self::Delta | Self::Reasoning);
        has_words.then(|| serde_json::from_str::<Words>(frame).ok().map(|words| words.text)).flatten()
    }

    /// A frame with these words.
    fn frame(self, seq: u64, turn: &TurnId, text: &str) -> Utf8Bytes {
        let body = if self == Self::Reasoning { Body::Reasoning { text } } else { Body::Delta { text } };
        frames::of_turn(seq, turn, &body)
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
        state.log.push_back(Entry { seq, parts: Vec::new(), turn: turn.clone(), kind, text });
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
        let (mut texts, mut bytes, mut reached) = (Vec::new(), 0, seq);
        for entry in state.log.range(start..).take(BATCH.0) {
            if bytes > BATCH.1 {
                break;
            }
            bytes += entry.text.len();
            reached = entry.seq;
            texts.push(entry.after(seq));
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
        if after < state.floor { Err(state.newest) } else { Ok(after.min(state.newest)) }
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

    /// Keeps the log within bounds: of all but the newest frames first what later ones say again goes, then neighbours
    /// are joined, then what the end of a turn said again goes, and at last the oldest are forgotten.
    fn make_room(&mut self) {
        if !self.is_over() {
            return;
        }
        let fresh = self.log.split_off(self.log.len() - self.fresh());
        let older = std::mem::take(&mut self.log);
        self.log = joined(without_superseded_blocks(older, &fresh));
        self.log.extend(fresh);
        self.count();
        if self.is_large() {
            self.drop_what_done_says();
            self.count();
        }
        while self.is_large() {
            let Some(entry) = self.log.pop_front() else { break };
            self.bytes -= entry.size();
            self.floor = entry.seq;
        }
    }

    /// How many of the newest frames stay as they are.
    fn fresh(&self) -> usize {
        let mut bytes = 0;
        let is_within = |entry: &&Entry| {
            bytes += entry.size();
            bytes <= FRESH.1
        };
        self.log.iter().rev().take(FRESH.0).take_while(is_within).count()
    }

    /// With some slack, so that not every frame from now on tidies up again.
    fn is_large(&self) -> bool {
        match self.log.len() {
            0 | 1 => false,
            2..=NEWEST => self.bytes > MAX_BYTES,
            frames => frames > MAX_FRAMES / 4 * 3 || self.bytes > MAX_BYTES / 4 * 3,
        }
    }

    fn count(&mut self) {
        self.bytes = self.log.iter().map(Entry::size).sum();
    }

    /// The end of a turn says again what its texts and blocks said.
    fn drop_what_done_says(&mut self) {
        let ended = |entry: &&Entry| entry.kind == Kind::Done;
        let done: Vec<TurnId> = self.log.iter().filter(ended).map(|entry| entry.turn.clone()).collect();
        let is_said = |kind| matches!(kind, Kind::Delta | Kind::Blocks { .. });
        let older = self.log.len() - self.fresh();
        let mut at = 0;
        self.log.retain(|entry| {
            at += 1;
            at > older || !is_said(entry.kind) || !done.contains(&entry.turn)
        });
    }
}

/// Blocks are said again by later ones of the same turn from the same block or an earlier one on.
fn without_superseded_blocks(older: VecDeque<Entry>, fresh: &VecDeque<Entry>) -> VecDeque<Entry> {
    let mut rendered: Vec<(TurnId, usize)> = Vec::new();
    let mut is_superseded = |entry: &Entry| {
        let Kind::Blocks { from } = entry.kind else { return false };
        match rendered.iter_mut().find(|(turn, _)| *turn == entry.turn) {
            Some((_, later)) if *later <= from => true,
            Some((_, later)) => {
                *later = from;
                false
            }
            None => {
                rendered.push((entry.turn.clone(), from));
                false
            }
        }
    };
    for entry in fresh.iter().rev() {
        is_superseded(entry);
    }
    let mut kept = VecDeque::with_capacity(older.len());
    for entry in older.into_iter().rev() {
        if !is_superseded(&entry) {
            kept.push_front(entry);
        }
    }
    kept
}

/// Neighbouring parts of an answer become one, which remembers where each part ended.
fn joined(entries: VecDeque<Entry>) -> VecDeque<Entry> {
    let mut joined: VecDeque<Entry> = VecDeque::with_capacity(entries.len());
    let mut run: Option<(Entry, String)> = None;
    for entry in entries {
        let words = entry.kind.words(&entry.text);
        run = match (run, words) {
            (Some((before, said)), Some(words))
                if before.turn == entry.turn
                    && before.kind == entry.kind
                    && said.len() + words.len() <= MAX_JOINED =>
            {
                Some(join(before, said, entry, &words))
            }
            (before, words) => {
                joined.extend(before.map(rewritten));
                if let Some(words) = words {
                    Some((entry, words))
                } else {
                    joined.push_back(entry);
                    None
                }
            }
        };
    }
    joined.extend(run.map(rewritten));
    joined
}

fn join(before: Entry, mut said: String, entry: Entry, words: &str) -> (Entry, String) {
    let start = said.len();
    let own =
        |entry: &Entry, length| if entry.parts.is_empty() { vec![(entry.seq, length)] } else { Vec::new() };
    let mut parts = own(&before, start);
    parts.extend(&before.parts);
    parts.extend(own(&entry, words.len()).iter().chain(&entry.parts).map(|(seq, end)| (*seq, start + end)));
    said.push_str(words);
    (Entry { parts, ..entry }, said)
}

/// The frame that stands for a run of parts.
fn rewritten((mut entry, said): (Entry, String)) -> Entry {
    if !entry.parts.is_empty() {
        entry.text = entry.kind.frame(entry.seq, &entry.turn, &said);
    }
    entry
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
        // Whoever has seen a part of what was joined gets the rest of it.
        let seqs =
            room.lock().log.iter().find(|entry| !entry.parts.is_empty()).map(|entry| entry.parts.clone());
        for (seq, end) in seqs.unwrap().into_iter().step_by(211) {
            let rest: String = read(&room, seq)
                .unwrap()
                .iter()
                .filter(|frame| frame["type"] == "delta")
                .filter_map(|frame| frame["text"].as_str())
                .collect();
            assert_eq!(rest, said[end..], "after {seq}");
        }
    }

    #[test]
    fn who_keeps_up_gets_every_frame_however_much_is_said() {
        let room = room();
        let (mut seen, mut said, mut heard) = (1000, String::new(), String::new());
        for number in 0..30_000 {
            let word = format!("{number} ");
            room.push(&turn(&format!("t{}", number / 700)), &Body::Delta { text: &word });
            said.push_str(&word);
            if number % 700 == 699 {
                done(&room, &format!("t{}", number / 700), "all of it");
            }
            // A moment behind, by a different distance each time.
            if number % 97 == 0 {
                while seen < room.census().newest {
                    let Batch::Frames(texts, reached) = room.read_after(seen) else {
                        panic!("a gap at {seen}")
                    };
                    let deltas = texts.iter().filter(|text| text.contains("delta"));
                    heard.extend(deltas.filter_map(|text| Kind::Delta.words(text)));
                    seen = reached;
                }
                assert!(said == heard, "{} {}", heard.len(), said.len());
            }
            assert!(room.lock().log.len() <= MAX_FRAMES + 1);
        }
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
