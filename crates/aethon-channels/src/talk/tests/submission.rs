//! How an act begins its turn: that this holds up no one else, and what becomes of an act that changes meanwhile.

use std::sync::atomic::AtomicBool;

use aethon_core::assistant::{ActiveTurn, Assistant, Posting, Submitted};
use aethon_core::channel::ChannelRecords as _;
use aethon_core::error::Error;
use aethon_core::message::Intent;
use aethon_core::session::Clear;
use aethon_core::surface::Surface;

use super::*;

/// An assistant that is slow to read messages with files, and that knows the turn of a repeated message.
#[derive(Default)]
struct Reader {
    inner: Arc<CollectingAssistant>,
    reading: Duration,
    turns: Mutex<HashMap<String, TurnId>>,
    /// Whether it stores the next message without its caller learning it.
    loses_answer: AtomicBool,
}

#[async_trait]
impl Assistant for Reader {
    async fn submit(&self, inbound: Inbound, surface: Arc<dyn Surface>) -> Result<Submitted> {
        if inbound.attachments.iter().any(|file| !file.is_quoted()) {
            tokio::time::sleep(self.reading).await;
        }
        let id = inbound.dedupe.clone().unwrap().id;
        let mut submitted = self.inner.submit(inbound, surface).await?;
        let turn = self.turns.lock().unwrap().entry(id).or_insert(submitted.turn).clone();
        submitted.turn = turn;
        match self.loses_answer.swap(false, Ordering::Relaxed) {
            true => Err(Error::unavailable("the answer was lost")),
            false => Ok(submitted),
        }
    }

    async fn stop(&self, session: &SessionId, turn: Option<&TurnId>) -> usize {
        self.inner.stop(session, turn).await
    }

    fn activity(&self) -> Vec<ActiveTurn> {
        self.inner.activity()
    }

    fn is_busy(&self, session: &SessionId) -> bool {
        self.inner.is_busy(session)
    }

    async fn clear(&self, session: &SessionId, how: Clear) -> Result<bool> {
        self.inner.clear(session, how).await
    }

    async fn post(&self, session: &SessionId, key: &str, posting: &Posting) -> Result<bool> {
        self.inner.post(session, key, posting).await
    }
}

fn read_by(stage: &Stage, reader: &Arc<Reader>) -> Desk {
    let mut desk = stage.intake();
    desk.0.assistant = reader.clone();
    desk
}

fn reader(stage: &Stage, seconds: u64) -> Arc<Reader> {
    let reading = Duration::from_secs(seconds);
    Arc::new(Reader { inner: stage.assistant.clone(), reading, ..Reader::default() })
}

/// Lets an intake process what waits while something else happens.
async fn beside(intake: &Desk, happening: impl Future<Output = ()>) {
    tokio::select! {
        () = intake.process_waiting() => {}
        () = happening => {}
    }
}

async fn seconds(count: u64) {
    tokio::time::sleep(Duration::from_secs(count)).await;
}

fn later(stage: &Stage, id: &str, text: &str) -> Arrival {
    let arrival = stage.arrival(id, text);
    Arrival { at: arrival.at + SignedDuration::from_secs(30), ..arrival }
}

fn edit(stage: &Stage, of: &str, text: &str) -> Arrival {
    Arrival { replaces: Some(of.into()), ..stage.arrival(&format!("{of}!{text}"), text) }
}

#[tokio::test(start_paused = true)]
async fn a_document_that_is_read_for_minutes_holds_up_no_one_else() {
    let stage = Stage::new(known());
    let intake = read_by(&stage, &reader(&stage, 300));
    beside(&intake, async {
        intake.0.arrive(with_file(stage.arrival("1", "look"))).await.unwrap();
        seconds(10).await;
        let began = tokio::time::Instant::now();
        intake.0.arrive(later(&stage, "2", "behind it")).await.unwrap();
        intake.0.arrive(Arrival { chat: "8".into(), ..stage.arrival("3", "hi") }).await.unwrap();
        intake.0.arrive(Arrival { chat: "9".into(), ..stage.arrival("4", "/stop") }).await.unwrap();
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        seconds(10).await;
        assert_eq!(stage.assistant.texts(), ["hi"]);
        seconds(600).await;
    })
    .await;
    assert_eq!(stage.assistant.texts(), ["hi", "look", "behind it"], "the order of the chat holds");
    assert!(stage.records.list("telegram", "arrived:", 9).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn act_changed_during_reading_replaces_its_turn() {
    let check = async |change: &dyn Fn(&Stage) -> Arrival, expected: &str| {
        let stage = Stage::new(known());
        let intake = read_by(&stage, &reader(&stage, 60));
        beside(&intake, async {
            intake.0.arrive(with_file(stage.arrival("1", "look"))).await.unwrap();
            seconds(10).await;
            intake.0.arrive(change(&stage)).await.unwrap();
            seconds(600).await;
        })
        .await;
        let inbound = stage.assistant.inbound();
        assert_eq!(stage.assistant.texts(), ["look", expected]);
        assert!(matches!(inbound[1].intent, Intent::Edit { .. }), "{expected}");
        assert_eq!(stage.assistant.activity().len(), 1, "{expected}");
        assert!(stage.records.list("telegram", "arrived:", 9).await.unwrap().is_empty());
    };
    check(&|stage| stage.arrival("2", "and say why"), "look\n\nand say why").await;
    check(&|stage| with_file(edit(stage, "1", "read")), "read").await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_fetched_of_what_is_not_wanted() {
    let mut stage = Stage::new(known());
    stage.paper = Arc::new(Paper { fetching: Duration::from_secs(60), ..Paper::default() });
    let intake = stage.intake();
    let in_group = |id: &str| Arrival { is_private: false, chat: "-7".into(), ..stage.arrival(id, "") };
    let unaddressed = with_file(Arrival { is_addressed: false, ..in_group("1") });
    let stale = with_file(stage.arrival("2", "look"));
    stage.clock.advance(SignedDuration::from_hours(2));
    let began = tokio::time::Instant::now();
    for arrival in [unaddressed, stale] {
        intake.0.arrive(arrival).await.unwrap();
        intake.process_all_waiting().await;
    }
    intake.0.arrive(with_file(stage.arrival("3", "look"))).await.unwrap();
    stage.rules.allowed.set(Vec::new());
    intake.process_all_waiting().await;
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(stage.assistant.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_running_turn_that_was_withdrawn_ends_at_once() {
    for is_edit in [false, true] {
        let mut stage = Stage::new(known());
        stage.paper = Arc::new(Paper { fetching: Duration::from_secs(60), ..Paper::default() });
        let intake = stage.intake();
        intake.arrive(stage.arrival("1", "sum this up")).await.unwrap();
        assert_eq!(stage.assistant.activity().len(), 1);
        let change = if is_edit { edit(&stage, "1", "read this") } else { stage.arrival("2", "") };
        intake.0.arrive(with_file(change)).await.unwrap();
        assert!(stage.assistant.activity().is_empty(), "before the file is fetched");
        intake.process_all_waiting().await;
        assert!(matches!(stage.assistant.last().unwrap().intent, Intent::Edit { .. }));
    }
}

#[tokio::test(start_paused = true)]
async fn stopped_act_does_not_come_back() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    intake.0.arrive(with_file(stage.arrival("1", "look"))).await.unwrap();
    let left = stage.records.list("telegram", "arrived:", 9).await.unwrap().remove(0);
    intake.arrive(stage.arrival("s", "/stop")).await.unwrap();
    assert_eq!(stage.said(), ["Stopped."]);
    // The program ended before the record was removed, and the platform delivers the message again.
    stage.records.put("telegram", &left.0, &left.1, None).await.unwrap();
    let intake = stage.intake();
    intake.resume().await.unwrap();
    intake.0.arrive(with_file(stage.arrival("1", "look"))).await.unwrap();
    intake.0.arrive(with_file(edit(&stage, "1", "read"))).await.unwrap();
    intake.process_all_waiting().await;
    assert_eq!(stage.assistant.count(), 0);
    intake.arrive(later(&stage, "2", "hi")).await.unwrap();
    assert_eq!(stage.assistant.texts(), ["hi"]);
}

#[tokio::test(start_paused = true)]
async fn a_file_does_not_bring_back_what_a_stop_ended() {
    for is_withdrawn in [false, true] {
        let stage = Stage::new(known());
        let intake = stage.intake();
        intake.arrive(stage.arrival("1", "sum this up")).await.unwrap();
        if is_withdrawn {
            intake.0.arrive(edit(&stage, "1", "read this")).await.unwrap();
        }
        intake.0.arrive(stage.arrival("s", "/stop")).await.unwrap();
        assert_eq!(stage.said(), ["Stopped."]);
        intake.0.arrive(with_file(stage.arrival("2", ""))).await.unwrap();
        intake.process_all_waiting().await;
        assert_eq!(stage.assistant.texts(), ["sum this up", ""], "{is_withdrawn}");
        assert!(matches!(stage.assistant.last().unwrap().intent, Intent::Say), "{is_withdrawn}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_reaches_a_message_whose_turn_is_beginning() {
    let stage = Stage::new(known());
    let intake = read_by(&stage, &reader(&stage, 60));
    beside(&intake, async {
        intake.0.arrive(with_file(stage.arrival("1", "look"))).await.unwrap();
        seconds(10).await;
        intake.0.arrive(stage.arrival("s", "/stop")).await.unwrap();
        seconds(600).await;
    })
    .await;
    assert_eq!(stage.said(), ["Stopped."]);
    assert!(stage.assistant.activity().is_empty());
}

#[tokio::test(start_paused = true)]
async fn part_that_arrives_between_storing_and_noting_is_not_lost() {
    let stage = Stage::new(known());
    let reader = reader(&stage, 0);
    reader.loses_answer.store(true, Ordering::Relaxed);
    let intake = read_by(&stage, &reader);
    beside(&intake, async {
        intake.0.arrive(stage.arrival("1", "sum this up")).await.unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
    })
    .await;
    assert_eq!(stage.assistant.texts(), ["sum this up"]);
    // The program ended then.
    let intake = read_by(&stage, &reader);
    intake.resume().await.unwrap();
    beside(&intake, async {
        intake.0.arrive(with_file(stage.arrival("2", ""))).await.unwrap();
        seconds(60).await;
    })
    .await;
    let last = stage.assistant.last().unwrap();
    assert_eq!((last.text.as_str(), last.attachments.len()), ("sum this up", 1));
    assert!(matches!(last.intent, Intent::Edit { .. }) && stage.assistant.activity().len() == 1);
}

#[tokio::test(start_paused = true)]
async fn later_turns_of_others_stay_in_the_transcript() {
    // Whether the program was started again meanwhile.
    for is_restarted in [false, true] {
        let stage = Stage::new(Rules { allowed: Live::new(vec!["1".into(), "2".into()]), ..rules() });
        let mut intake = stage.intake();
        let of = |sender: &str, arrival: Arrival| Arrival {
            sender: Sender { id: sender.into(), name: None, group: None },
            ..arrival
        };
        intake.arrive(of("1", stage.arrival("1", "one"))).await.unwrap();
        intake.arrive(of("2", stage.arrival("2", "two"))).await.unwrap();
        // Both end.
        stage.assistant.stop(&SessionId::of("telegram", "7").unwrap(), None).await;
        if is_restarted {
            intake = stage.intake();
        }
        intake.arrive(of("1", edit(&stage, "1", "one more"))).await.unwrap();
        assert_eq!(stage.assistant.texts(), ["one", "two", "one more"]);
        assert!(matches!(stage.assistant.last().unwrap().intent, Intent::Say), "{is_restarted}");
    }
}

#[tokio::test(start_paused = true)]
async fn stop_reaches_messages_waiting_in_threads() {
    let stage = Stage::new(Rules { channel: "matrix", ..known() });
    let intake = stage.intake();
    let of = |chat: &str, arrival: Arrival| Arrival { chat: chat.into(), ..arrival };
    intake.0.arrive(with_file(of("!r:hs$e", stage.arrival("1", "look")))).await.unwrap();
    intake.0.arrive(with_file(of("!other:hs", stage.arrival("2", "see")))).await.unwrap();
    intake.0.arrive(of("!r:hs", stage.arrival("3", "/stop"))).await.unwrap();
    intake.process_all_waiting().await;
    assert_eq!(stage.assistant.texts(), ["see"]);
}

#[tokio::test(start_paused = true)]
async fn corrections_go_with_the_turn_that_stands() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    intake.arrive(stage.arrival("1", "old")).await.unwrap();
    stage.clock.advance(SignedDuration::from_mins(1));
    intake.arrive(edit(&stage, "1", "new")).await.unwrap();
    intake.arrive(stage.arrival("2", "next")).await.unwrap();
    intake.arrive(edit(&stage, "2", "next one")).await.unwrap();
    stage.clock.advance(SignedDuration::from_mins(1));
    intake.arrive(stage.arrival("3", "and")).await.unwrap();
    let texts = stage.assistant.texts();
    let above = "(The person corrected an earlier message. It now reads like this.)\n> new";
    assert_eq!(texts[1..], [format!("{above}\n\nnext"), format!("{above}\n\nnext one"), "and".to_owned()]);
}
