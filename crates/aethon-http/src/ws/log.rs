//! The frames of a session, newest last, for those who read them live and those who come back.
//!
//! The log is bounded. When it is full, frames whose content a later one repeats go first, and then the oldest: a reader who
//! comes back for those gets a gap, and loads the transcript. Of the output of a running call only the newest frame is kept.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use aethon_core::ids::TurnId;
use aethon_core::weight;
use serde::{Deserialize, Serialize};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::frames::{self, Body};
use super::numbers::{Numbers, numbered, without_number};

/// How many frames a log holds.
const MAX_FRAMES: usize = 16_384;
/// How many bytes of frames a log holds.
const MAX_BYTES: usize = 4 << 20;
/// How far back the output of a call is looked for.
const LOOKED_BACK: usize = 256;
/// How many frames and bytes a reader takes at once.
const BATCH: (usize, usize) = (64, 256 << 10);
/// The newest frames and their bytes, which stay as they are when the log is full: those who keep up get every one.
const FRESH: (usize, usize) = (512, 1 << 20);

/// What sharing a frame with its readers takes.
const SHARED: usize = 32;

/// The frames.
pub(super) struct Log {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// The number of the newest frame, or what numbering starts after.
    newest: u64,
    /// Frames up to this one are not here.
    floor: u64,
    /// The numbers that were given, where other instances have frames of the session too.
    numbers: Option<Numbers>,
}

/// A frame as one instance tells it another.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RelayedFrame {
    /// Its number there.
    pub(super) seq: u64,
    pub(super) turn: TurnId,
    kind: Kind,
    /// Its text without the number and the turn.
    body: String,
}

impl RelayedFrame {
    /// Returns whether it says that its turn is over.
    pub(super) fn is_end(&self) -> bool {
        self.kind == Kind::Done
    }

    /// Returns whether it says that another branch is live now.
    pub(super) fn is_switch(&self) -> bool {
        self.body.starts_with(r#"{"type":"switched""#)
    }

    /// Returns whether it only says that its message is stored.
    pub(super) fn is_acknowledgement(&self) -> bool {
        self.body.starts_with(r#"{"type":"ack""#)
    }

    /// Returns whether it has a part of the answer, or its end.
    pub(super) fn is_of_answer(&self) -> bool {
        self.kind != Kind::Other
    }
}

struct Entry {
    seq: u64,
    turn: TurnId,
    kind: Kind,
    text: Utf8Bytes,
    /// Its number at the instance that has told it; `None` for a frame of this one.
    origin: Option<u64>,
}

impl Entry {
    /// Returns its size in memory, with its place in the log. The frames of a turn share its id.
    fn size(&self) -> usize {
        size_of::<Self>() + weight::allocation(self.text.len()) + SHARED
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    Delta,
    Blocks {
        from: usize,
    },
    /// The output of a call so far; `call` is the stand-in for the call's id.
    Output {
        call: u64,
    },
    /// Another change of this call.
    Call {
        call: u64,
    },
    Done,
    Other,
}

impl Kind {
    fn of(body: &Body<'_>) -> Self {
        match body {
            Body::Delta { .. } => Self::Delta,
            Body::Blocks { from, .. } => Self::Blocks { from: *from },
            Body::Tool(tool) if tool.is_output() => Self::Output { call: stand_in(tool.call()) },
            Body::Tool(tool) => Self::Call { call: stand_in(tool.call()) },
            Body::Done { .. } => Self::Done,
            _ => Self::Other,
        }
    }
}

/// Returns a number in place of an id. Two ids with the same number, in one turn and close to each other, would only cost
/// a line of output, which is not read twice.
fn stand_in(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// The result of reading the log.
pub(super) enum Batch {
    /// The next frames, perhaps none, and where the reader stands after them.
    Frames(Vec<Utf8Bytes>, u64),
    /// The next frame is not in the log any more.
    Gap,
}

impl Log {
    /// Creates a log whose frames are numbered after `base`.
    pub(super) fn new(base: u64) -> Self {
        Self { entries: VecDeque::new(), bytes: 0, newest: base, floor: base, numbers: None }
    }

    /// Has the log remember its numbers, because other instances have frames of the session too.
    pub(super) fn remember_numbers(&mut self) {
        self.numbers = Some(Numbers::default());
    }

    /// Lets the next frame have no number below this.
    pub(super) fn number_from(&mut self, number: u64) {
        self.newest = self.newest.max(number.saturating_sub(1));
    }

    /// Gives a number to no frame, which is larger than all before.
    pub(super) fn mark(&mut self, number: u64) -> u64 {
        self.number_from(number);
        self.newest += 1;
        self.note_number();
        self.newest
    }

    fn note_number(&mut self) {
        if let Some(numbers) = &mut self.numbers {
            numbers.note(self.newest);
        }
    }

    /// Adds a frame that another instance has told.
    pub(super) fn push_relayed(&mut self, frame: &RelayedFrame) -> u64 {
        self.number_from(frame.seq);
        self.newest += 1;
        let text = numbered(&frame.body, self.newest, &frame.turn);
        self.add(frame.turn.clone(), frame.kind, text, Some(frame.seq))
    }

    /// Returns the frames of this instance after this one, and where the reader stands after them; about so many bytes. `None`
    /// if some are not here any more.
    pub(super) fn own_after(&self, seq: u64, bytes: usize) -> Option<(Vec<RelayedFrame>, u64)> {
        if seq < self.floor {
            return None;
        }
        let start = self.entries.partition_point(|entry| entry.seq <= seq);
        let (mut frames, mut taken, mut reached) = (Vec::new(), 0, seq);
        for entry in self.entries.range(start..) {
            if taken > bytes {
                break;
            }
            reached = entry.seq;
            if entry.origin.is_none() {
                let body = without_number(&entry.text).to_owned();
                taken += body.len();
                let (seq, turn, kind) = (entry.seq, entry.turn.clone(), entry.kind);
                frames.push(RelayedFrame { seq, turn, kind, body });
            }
        }
        Some((frames, reached))
    }

    /// Returns whether this log has given this number, so that the frames after it are certain.
    pub(super) fn knows(&self, number: u64) -> bool {
        let is_given = number == self.floor || self.numbers.as_ref().is_some_and(|given| given.has(number));
        // The same frame has another number here.
        let is_other = |entry: &Entry| entry.origin == Some(number) && entry.seq != number;
        is_given && !self.entries.iter().any(is_other)
    }

    /// Begins anew behind this number, if nothing but frames of others would be lost.
    pub(super) fn rewind(&mut self, number: u64) -> bool {
        let is_others = self.entries.iter().all(|entry| entry.origin.is_some());
        if is_others {
            self.newest = number;
            self.clear();
        }
        is_others
    }

    /// Forgets the frames up to this one.
    pub(super) fn forget_through(&mut self, number: u64) {
        let gone = self.entries.partition_point(|entry| entry.seq <= number);
        self.bytes -= self.entries.drain(..gone).map(|entry| entry.size()).sum::<usize>();
        self.entries.shrink_to_fit();
        self.raise_floor(number);
    }

    fn raise_floor(&mut self, number: u64) {
        self.floor = self.floor.max(number);
        if let Some(numbers) = &mut self.numbers {
            numbers.forget_below(self.floor);
        }
    }

    /// Adds a frame and returns its number.
    pub(super) fn push(&mut self, turn: &TurnId, body: &Body<'_>) -> u64 {
        self.newest += 1;
        let text = frames::of_turn(self.newest, turn, body);
        self.add(turn.clone(), Kind::of(body), text, None)
    }

    fn add(&mut self, turn: TurnId, kind: Kind, text: Utf8Bytes, origin: Option<u64>) -> u64 {
        self.note_number();
        self.replace_output(&turn, kind);
        let entry = Entry { seq: self.newest, turn, kind, text, origin };
        self.bytes += entry.size();
        self.entries.push_back(entry);
        self.make_room();
        self.newest
    }

    /// Removes the earlier output of this frame's call: the frame contains it again, or the end of it.
    fn replace_output(&mut self, turn: &TurnId, kind: Kind) {
        let (Kind::Output { call } | Kind::Call { call }) = kind else { return };
        let is_before = |entry: &Entry| entry.kind == Kind::Output { call } && entry.turn == *turn;
        let newest = self.entries.iter().rev().take(LOOKED_BACK).position(is_before);
        if let Some(entry) = newest.and_then(|back| self.entries.remove(self.entries.len() - 1 - back)) {
            self.bytes -= entry.size();
        }
    }

    /// Returns the frames after this one.
    pub(super) fn read_after(&self, seq: u64) -> Batch {
        if seq < self.floor {
            return Batch::Gap;
        }
        let start = self.entries.partition_point(|entry| entry.seq <= seq);
        let (mut texts, mut bytes, mut reached) = (Vec::new(), 0, seq);
        for entry in self.entries.range(start..).take(BATCH.0) {
            if bytes > BATCH.1 {
                break;
            }
            bytes += entry.text.len();
            reached = entry.seq;
            texts.push(entry.text.clone());
        }
        Batch::Frames(texts, reached)
    }

    /// Returns whether frames of this turn are here.
    pub(super) fn knows_turn(&self, turn: &str) -> bool {
        self.entries.iter().rev().any(|entry| entry.turn.as_str() == turn)
    }

    /// Returns whether the end of this turn is here.
    pub(super) fn has_end(&self, turn: &TurnId) -> bool {
        self.entries.iter().rev().any(|entry| entry.kind == Kind::Done && entry.turn == *turn)
    }

    /// Returns the number of the newest frame, or the number after which numbering starts.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// Frames up to this one are not here.
    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    /// Returns the memory of the log, including reserved capacity.
    pub(super) fn bytes(&self) -> usize {
        let numbers = self.numbers.as_ref().map_or(0, Numbers::bytes);
        self.bytes + numbers + (self.entries.capacity() - self.entries.len()) * size_of::<Entry>()
    }

    /// Empties the log; numbering continues.
    pub(super) fn clear(&mut self) {
        let numbers = self.numbers.as_ref().map(|_| Numbers::default());
        *self = Self { numbers, ..Self::new(self.newest) };
    }

    /// Forgets the older half of its bytes, but never the newest frame.
    pub(super) fn shorten(&mut self) {
        let wanted = self.bytes / 2;
        while self.entries.len() > 1 && self.bytes > wanted {
            let Some(entry) = self.entries.pop_front() else { break };
            self.bytes -= entry.size();
            self.raise_floor(entry.seq);
        }
        self.entries.shrink_to_fit();
    }

    fn is_over(&self) -> bool {
        self.entries.len() > MAX_FRAMES || self.bytes > MAX_BYTES
    }

    /// Keeps the log within bounds. With some slack, so that not every frame from now on tidies up again.
    fn make_room(&mut self) {
        if !self.is_over() {
            return;
        }
        self.drop_repeated();
        self.bytes = self.entries.iter().map(Entry::size).sum();
        let (frames, bytes) = (MAX_FRAMES / 4 * 3, MAX_BYTES / 4 * 3);
        while self.entries.len() > 1 && (self.entries.len() > frames || self.bytes > bytes) {
            let Some(entry) = self.entries.pop_front() else { break };
            self.bytes -= entry.size();
            self.raise_floor(entry.seq);
        }
    }

    /// Returns how many of the newest frames are kept even if a later one repeats them.
    fn fresh(&self) -> usize {
        let mut bytes = 0;
        let is_within = |entry: &&Entry| {
            bytes += entry.size();
            bytes <= FRESH.1
        };
        self.entries.iter().rev().take(FRESH.0).take_while(is_within).count()
    }

    /// Drops frames, but for the newest, whose content a later one repeats: blocks that later ones of the turn replace, and
    /// the texts and blocks of turns whose end is here.
    fn drop_repeated(&mut self) {
        let fresh = self.fresh();
        let mut ended: Vec<TurnId> = Vec::new();
        let mut rendered: Vec<(TurnId, usize)> = Vec::new();
        let mut kept = VecDeque::with_capacity(self.entries.len());
        for (back, entry) in std::mem::take(&mut self.entries).into_iter().rev().enumerate() {
            let is_repeated = match entry.kind {
                Kind::Done => {
                    ended.push(entry.turn.clone());
                    false
                }
                Kind::Delta => ended.contains(&entry.turn),
                Kind::Blocks { from } => {
                    let later = rendered.iter_mut().find(|(turn, _)| *turn == entry.turn);
                    let is_replaced = later.as_ref().is_some_and(|(_, later)| *later <= from);
                    match later {
                        Some((_, later)) => *later = from.min(*later),
                        None => rendered.push((entry.turn.clone(), from)),
                    }
                    is_replaced || ended.contains(&entry.turn)
                }
                _ => false,
            };
            if back < fresh || !is_repeated {
                kept.push_front(entry);
            }
        }
        self.entries = kept;
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::surface::{ToolPhase, ToolState};

    use super::*;

    fn turn(name: &str) -> TurnId {
        TurnId::existing(name)
    }

    /// Returns all frames after `seq`, as values; `None` for a gap.
    fn read(log: &Log, mut seq: u64) -> Option<Vec<serde_json::Value>> {
        let mut values = Vec::new();
        loop {
            match log.read_after(seq) {
                Batch::Gap => return None,
                Batch::Frames(texts, _) if texts.is_empty() => return Some(values),
                Batch::Frames(texts, reached) => {
                    let frames =
                        texts.iter().map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap());
                    values.extend(frames);
                    seq = reached;
                }
            }
        }
    }

    fn done(log: &mut Log, name: &str, text: &str) {
        log.push(&turn(name), &Body::Done { text, html: "", stop_reason: "end", model: "m" });
    }

    #[test]
    fn frames_are_numbered_and_replayed_from_any_point() {
        let mut log = Log::new(1000);
        for text in ["a", "b", "c"] {
            log.push(&turn("t"), &Body::Delta { text });
        }
        let seqs = |after| -> Vec<u64> {
            read(&log, after).unwrap().iter().map(|frame| frame["seq"].as_u64().unwrap()).collect()
        };
        assert_eq!(seqs(1000), [1001, 1002, 1003]);
        assert_eq!(seqs(1002), [1003]);
        assert_eq!(seqs(1003), [0; 0]);
        assert_eq!(seqs(9999), [0; 0]);
        assert!(read(&log, 999).is_none(), "from before this log began");
    }

    #[test]
    fn frames_of_another_log_keep_their_numbers_and_places_are_certain_or_unknown() {
        let (mut here, mut there) = (Log::new(1000), Log::new(2000));
        here.remember_numbers();
        there.remember_numbers();
        for (at, text) in [(3000, "a"), (3001, "b"), (5000, "c")] {
            here.number_from(at);
            here.push(&turn("t"), &Body::Delta { text });
        }
        let (frames, reached) = here.own_after(1000, usize::MAX).unwrap();
        assert_eq!((frames.len(), reached), (3, 5000));
        // One came of the other instance itself meanwhile.
        there.push_relayed(&frames[0]);
        there.number_from(4000);
        there.push(&turn("u"), &Body::Delta { text: "x" });
        there.push_relayed(&frames[1]);
        there.push_relayed(&frames[2]);
        let read: Vec<_> = read(&there, 2000).unwrap();
        let shown: Vec<_> =
            read.iter().map(|frame| (frame["seq"].as_u64().unwrap(), frame["text"].clone())).collect();
        let frame = |seq: u64, text: &str| (seq, serde_json::json!(text));
        assert_eq!(shown, [frame(3000, "a"), frame(4000, "x"), frame(4001, "b"), frame(5000, "c")]);
        // What came from elsewhere is not told again.
        let told = there.own_after(2000, usize::MAX).unwrap().0;
        assert_eq!(told.iter().map(|frame| frame.seq).collect::<Vec<_>>(), [4000]);
        for (number, is_known) in
            [(2000, true), (3000, true), (3001, false), (3500, false), (5000, true), (6000, false)]
        {
            assert_eq!(there.knows(number), is_known, "{number}");
        }
        assert!(!there.rewind(3001), "that would lose a frame of its own");
        there.forget_through(4000);
        assert!(!there.knows(3000) && there.knows(4001) && there.own_after(3000, 1).is_none());
        assert!(there.rewind(3001));
        there.push_relayed(&frames[2]);
        assert_eq!((there.knows(3001), there.knows(5000), there.floor()), (true, true, 3001));
    }

    #[test]
    fn the_newest_output_of_a_running_call_is_kept() {
        let tool = |call: &str, phase, output: Option<String>| ToolState {
            call: call.into(),
            name: "shell".into(),
            phase,
            input: (output.is_none()).then(|| serde_json::json!({"command": "make"})),
            output,
            blocks: Vec::new(),
            milliseconds: None,
        };
        let mut log = Log::new(0);
        for call in ["a", "b"] {
            log.push(&turn("t"), &Body::Tool((&tool(call, ToolPhase::Running, None)).into()));
        }
        for number in 0..5000 {
            let state = tool("a", ToolPhase::Running, Some(format!("line {number}")));
            log.push(&turn("t"), &Body::Tool((&state).into()));
        }
        let frames = read(&log, 0).unwrap();
        assert_eq!(frames.len(), 3, "{frames:?}");
        assert_eq!((&frames[2]["output"], &frames[2]["seq"]), (&"line 4999".into(), &5002.into()));
        log.push(&turn("t"), &Body::Tool((&tool("a", ToolPhase::Ok, Some("all".into()))).into()));
        let frames = read(&log, 0).unwrap();
        let states: Vec<_> = frames.iter().map(|frame| frame["state"].as_str().unwrap()).collect();
        assert_eq!(states, ["running", "running", "ok"]);
        assert_eq!(log.bytes, log.entries.iter().map(Entry::size).sum::<usize>());
    }

    /// Returns the texts of deltas in frames.
    fn spoken<'f>(frames: impl Iterator<Item = &'f serde_json::Value>) -> String {
        let deltas = frames.filter(|frame| frame["type"] == "delta");
        deltas.filter_map(|frame| frame["text"].as_str()).collect()
    }

    #[test]
    fn a_long_reply_is_replayed_from_its_start() {
        let mut log = Log::new(1000);
        for number in 0..12_000 {
            log.push(&turn("t"), &Body::Delta { text: &format!("{number} ") });
            if number % 10 == 0 {
                log.push(
                    &turn("t"),
                    &Body::Blocks { from: 0, html: &[format!("<p>{number}</p>").repeat(50)] },
                );
            }
        }
        let frames = read(&log, 1000).expect("no gap from the start of the turn");
        assert_eq!(spoken(frames.iter()), (0..12_000).map(|number| format!("{number} ")).collect::<String>());
        let blocks = frames.iter().rfind(|frame| frame["type"] == "blocks").unwrap();
        assert!(blocks["html"][0].as_str().unwrap().starts_with("<p>11990</p>"));
        let seqs: Vec<_> = frames.iter().map(|frame| frame["seq"].as_u64().unwrap()).collect();
        assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_reader_that_keeps_up_gets_every_frame() {
        let mut log = Log::new(1000);
        let (mut seen, mut expected, mut received) = (1000, String::new(), String::new());
        for number in 0..60_000 {
            let word = format!("{number} ");
            log.push(&turn(&format!("t{}", number / 700)), &Body::Delta { text: &word });
            expected.push_str(&word);
            if number % 700 == 699 {
                done(&mut log, &format!("t{}", number / 700), "all of it");
            }
            // A moment behind.
            if number % 97 == 0 {
                let frames = read(&log, seen).unwrap_or_else(|| panic!("a gap at {seen}"));
                seen = log.newest();
                received.push_str(&spoken(frames.iter()));
                assert!(expected == received, "{} {}", received.len(), expected.len());
            }
            assert!(log.entries.len() <= MAX_FRAMES + 1);
        }
    }

    /// Returns the resident memory of this process that no file backs.
    fn resident_bytes() -> Option<usize> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
        let kibibytes: usize = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kibibytes << 10)
    }

    #[test]
    fn the_counted_size_of_logs_is_their_memory() {
        let Some(before) = resident_bytes() else { return };
        let logs: Vec<Log> = (0..60)
            .map(|number| {
                let mut log = Log::new(1000);
                for of in 0..500 {
                    let turn = turn(&format!("{number:016}{of:016}"));
                    for length in 0..5 {
                        log.push(&turn, &Body::Delta { text: &"word ".repeat(length * 5) });
                    }
                }
                assert_eq!(read(&log, 1000).unwrap().len(), 2500);
                log
            })
            .collect();
        let taken = resident_bytes().unwrap().saturating_sub(before);
        let counted: usize = logs.iter().map(Log::bytes).sum();
        assert!(counted > 30 << 20, "{counted}");
        let ratio = counted as f64 / taken as f64;
        assert!((0.75..1.25).contains(&ratio), "{counted} counted, {taken} taken: {ratio}");
    }

    #[test]
    fn a_log_is_bounded_whatever_comes() {
        let mut log = Log::new(1000);
        let long = "x".repeat(100_000);
        for number in 0..100 {
            done(&mut log, &format!("t{number}"), &long);
        }
        assert!(log.bytes() <= MAX_BYTES);
        assert!(read(&log, 1000).is_none());
        done(&mut log, "huge", &"x".repeat(MAX_BYTES));
        assert!(log.entries.len() == 1, "one frame is kept, however long");
        for number in 0..3 {
            done(&mut log, &format!("again{number}"), &long);
        }
        assert!(read(&log, log.newest() - 3).is_some_and(|frames| frames.len() == 3));
        for number in 0..20_000 {
            log.push(&turn("u"), &Body::Ack { id: &number.to_string(), queued: 0 });
        }
        assert!(log.entries.len() <= MAX_FRAMES);
    }
}
