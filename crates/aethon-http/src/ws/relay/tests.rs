//! Two instances whose notes are carried, kept back or lost by hand.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::TurnEnd;
use aethon_core::peers::{Heard, PeerId, Peers};
use aethon_core::testkit::ManualClock;
use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Value, from_str};
use tokio::sync::{Notify, broadcast};
use tokio::time::{advance, sleep};

use super::super::frames::Body;
use super::super::hub::Hub;
use super::super::log::Batch;
use super::super::room::Room;
use super::hearing::Hearing;
use super::notes::{Follow, Frames};
use super::telling::Telling;

const TELLER: PeerId = PeerId(1);
const READER: PeerId = PeerId(2);

/// Keeps what is told until the test takes it.
#[derive(Default)]
struct Wire(Mutex<VecDeque<String>>);

impl Wire {
    fn take(&self) -> VecDeque<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[async_trait]
impl Peers for Wire {
    fn id(&self) -> PeerId {
        TELLER
    }

    fn tell(&self, _to: Option<PeerId>, _topic: &str, body: String) {
        self.0.lock().unwrap().push_back(body);
    }

    fn listen(&self) -> broadcast::Receiver<Heard> {
        broadcast::channel(1).1
    }

    async fn others(&self) -> Result<Vec<PeerId>> {
        Ok(Vec::new())
    }
}

/// A session of which one instance runs the turns and another has a reader.
struct Pair {
    turn: TurnId,
    theirs: Arc<Room>,
    telling: Telling,
    told: Arc<Wire>,
    ours: Arc<Room>,
    hearing: Hearing,
    asked: Arc<Wire>,
    /// The last frame that the reader has.
    reached: u64,
}

impl Pair {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_millisecond(1_700_000_000_000).unwrap()));
        let hub = || Arc::new(Hub::new(clock.clone()).shared());
        let session = SessionId::of("webchat", "a").unwrap();
        let (teller, reader, told, asked) = (hub(), hub(), Arc::<Wire>::default(), Arc::<Wire>::default());
        let (theirs, ours) = (teller.room(&session), reader.room(&session));
        let reached = ours.enter(&Arc::new(Notify::new()));
        let telling = Telling::new(teller, told.clone());
        let mut hearing = Hearing::new(reader, asked.clone());
        hearing.read(&ours);
        let turn = TurnId::existing("t");
        let mut pair = Self { turn, theirs, telling, told, ours, hearing, asked, reached };
        pair.carry_requests();
        pair.carry_frames();
        pair
    }

    /// Has the turn say a word, and returns the notes of it.
    fn say(&mut self, text: &str) -> VecDeque<String> {
        self.theirs.push(&self.turn, &Body::Delta { text });
        self.telling.tell_new();
        self.told.take()
    }

    fn hear(&mut self, notes: VecDeque<String>) {
        for note in notes {
            self.hearing.told(TELLER, from_str::<Frames>(&note).unwrap());
        }
    }

    fn carry_requests(&mut self) {
        for note in self.asked.take() {
            self.telling.asked(READER, &from_str::<Follow>(&note).unwrap());
        }
    }

    fn carry_frames(&mut self) {
        let notes = self.told.take();
        self.hear(notes);
    }

    /// Tells the reader's instance that notes were lost.
    fn lose(&mut self) {
        self.hearing.missed(None, &BTreeSet::from([TELLER]));
    }

    /// Returns the words that have come to the reader since the last time; `None` for a gap, behind which it reads on.
    fn read(&mut self) -> Option<String> {
        let mut words = String::new();
        loop {
            match self.ours.read_after(self.reached) {
                Batch::Gap => {
                    self.reached = self.ours.stored_seq();
                    return None;
                }
                Batch::Frames(texts, _) if texts.is_empty() => return Some(words),
                Batch::Frames(texts, reached) => {
                    self.reached = reached;
                    let frames = texts.iter().map(|text| from_str::<Value>(text).unwrap());
                    words.extend(frames.filter_map(|frame| frame["text"].as_str().map(str::to_owned)));
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_behind_a_loss_waits_for_what_was_lost() {
    let mut pair = Pair::new();
    let notes = pair.say("1 ");
    pair.hear(notes);
    drop(pair.say("2 "));
    pair.lose();
    let early = pair.say("3 ");
    pair.hear(early);
    assert_eq!(pair.read().as_deref(), Some("1 "));
    // It may be told of the loss in more than one way.
    pair.lose();
    pair.carry_requests();
    pair.carry_frames();
    let notes = pair.say("4 ");
    pair.hear(notes);
    assert_eq!(pair.read().as_deref(), Some("2 3 4 "));
}

#[tokio::test(start_paused = true)]
async fn first_words_of_a_turn_may_be_those_that_are_lost() {
    let mut pair = Pair::new();
    drop(pair.say("1 "));
    pair.lose();
    let early = pair.say("2 ");
    pair.hear(early);
    pair.lose();
    pair.carry_requests();
    pair.carry_frames();
    let notes = pair.say("3 ");
    pair.hear(notes);
    assert_eq!(pair.read().as_deref(), Some("1 2 3 "));
}

#[tokio::test(start_paused = true)]
async fn lost_request_is_repeated_and_without_an_answer_readers_have_a_gap() {
    let mut pair = Pair::new();
    let notes = pair.say("1 ");
    pair.hear(notes);
    drop(pair.say("2 "));
    pair.lose();
    drop(pair.asked.take());
    sleep(Duration::from_secs(2)).await;
    assert!(pair.hearing.due().is_some_and(|due| due <= tokio::time::Instant::now()));
    pair.hearing.ask_again();
    pair.carry_requests();
    pair.carry_frames();
    assert_eq!(pair.read().as_deref(), Some("1 2 "));
    drop(pair.say("3 "));
    pair.lose();
    let early = pair.say("4 ");
    pair.hear(early);
    for _ in 0..5 {
        advance(Duration::from_secs(2)).await;
        pair.hearing.ask_again();
        drop(pair.asked.take());
    }
    assert_eq!(pair.read(), None);
    let notes = pair.say("5 ");
    pair.hear(notes);
    assert_eq!(pair.read().as_deref(), Some("5 "));
}

#[tokio::test(start_paused = true)]
async fn where_lost_frames_are_gone_readers_have_one_gap_and_then_the_running_turn() {
    let mut pair = Pair::new();
    let notes = pair.say("1 ");
    pair.hear(notes);
    assert_eq!(pair.read().as_deref(), Some("1 "));
    let done = Body::Done { text: "1 2", html: "", stop_reason: TurnEnd::End, model: "m" };
    drop(pair.say("2 "));
    pair.theirs.push(&pair.turn, &done);
    pair.theirs.lose();
    pair.telling.tell_new();
    drop(pair.told.take());
    pair.turn = TurnId::existing("u");
    drop(pair.say("3 "));
    pair.lose();
    pair.lose();
    pair.carry_requests();
    pair.carry_frames();
    assert_eq!(pair.read(), None);
    let notes = pair.say("4 ");
    pair.hear(notes);
    assert_eq!(pair.read().as_deref(), Some("3 4 "));
}
