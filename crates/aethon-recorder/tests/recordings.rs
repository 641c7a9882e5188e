//! Sessions that are recorded, from the storage and the hook to the files and back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::event::{Event, EventBus, RecordingChange};
use aethon_core::hook::{Hook, TurnContext};
use aethon_core::ids::TurnId;
use aethon_core::live::Live;
use aethon_core::message::{Message, Reply};
use aethon_core::model::{ModelRequest, Usage};
use aethon_core::recording::{EventQuery, ListedRecording, RecordingName, Recordings, resume};
use aethon_core::secret::Secret;
use aethon_core::session::{Accepted, Clear};
use aethon_core::storage::Storage;
use aethon_core::testkit::phrases::{begin, finish, message, replacing, say, session, start, texts};
use aethon_core::testkit::{ManualClock, MemoryStore};
use aethon_core::tool::ToolSpec;
use aethon_guard::redact::Redactor;
use aethon_recorder::{Keep, Library, Options, Recorder, Seal};
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

const S: &str = "webchat:a b/../c";

/// A recorder, and the storage that it watches.
struct Stage {
    folder: TempDir,
    recorder: Recorder,
    storage: Storage,
    hook: Arc<dyn Hook>,
    clock: Arc<ManualClock>,
    bus: EventBus,
}

/// The key of a folder, kept beside it.
fn seal(folder: &Path) -> Seal {
    Seal::load_or_create(&folder.join("recordings.key")).unwrap()
}

fn options(folder: &Path, clock: &Arc<ManualClock>, bus: &EventBus) -> Options {
    Options {
        folder: folder.to_owned(),
        version: "0.3.0",
        cwd: "/work".into(),
        idle: Duration::from_secs(1800),
        keep: Keep { most: 20, days: 0 },
        redactor: Live::new(Redactor::new([Secret::new("open sesame")])),
        clock: clock.clone(),
        bus: bus.clone(),
        seal: Some(seal(folder)),
    }
}

impl Stage {
    fn new() -> Self {
        Self::of(MemoryStore::storage(Arc::new(ManualClock::at(start()))))
    }

    /// A recorder of this storage.
    fn of(storage: Storage) -> Self {
        let (folder, bus) = (TempDir::new().unwrap(), EventBus::default());
        let clock = Arc::new(ManualClock::at(start()));
        let recorder = Recorder::start(options(folder.path(), &clock, &bus)).unwrap();
        let (storage, hook) = (recorder.watch(storage), recorder.hook());
        Self { folder, recorder, storage, hook, clock, bus }
    }

    /// A whole turn, as the engine would go through it.
    async fn turn(&self, text: &str, reply: &str, replaces: Option<&TurnId>) -> TurnId {
        let (turn, inbound) = (TurnId::fresh(), say(S, text));
        let begins = replaces.map_or_else(|| begin(text), |turn| replacing(text, turn));
        let accepted = self.storage.turns.accept(&turn, &inbound, Some(begins)).await.unwrap();
        let Accepted::New(Some(begun)) = accepted else { panic!("{accepted:?}") };
        let context = TurnContext::of(turn.clone(), &inbound);
        let mut question = message(aethon_core::message::Role::User, text);
        question.id = begun.message;
        let mut request = ModelRequest::new(session(S), turn.clone(), "You help.", vec![Arc::new(question)]);
        request.tools = [ToolSpec::new("echo", "Says it again.", json!({"type": "object"}))].into();
        self.hook.before_model(&context, &request).await.unwrap();
        let end = finish(&turn, S, reply);
        let (said, reply): (Message, Arc<Reply>) = (end.messages[0].clone(), end.reply.clone());
        self.hook.after_model(&context, Ok(&said), &Usage::default()).await;
        self.storage.turns.finish(end).await.unwrap();
        self.hook.after_turn(&context, &reply).await;
        turn
    }

    async fn transcript(&self) -> Vec<Message> {
        self.storage.transcripts.messages(&session(S), None, 1000).await.unwrap()
    }

    fn library(&self) -> Library {
        Library::sealed(self.folder.path().to_owned(), self.bus.clone(), Some(seal(self.folder.path())))
    }

    async fn close(&self) {
        self.recorder.close(Duration::from_secs(60)).await;
    }

    /// The only recording.
    async fn only(&self) -> ListedRecording {
        let mut listed = self.library().list().await.unwrap().ended;
        assert_eq!(listed.len(), 1, "{listed:?}");
        listed.remove(0)
    }

    fn files(&self, ending: &str) -> Vec<String> {
        let names = std::fs::read_dir(self.folder.path()).unwrap().flatten();
        names
            .filter_map(|file| file.file_name().into_string().ok())
            .filter(|name| name.ends_with(ending))
            .collect()
    }
}

/// Whether anything in these messages comes from outside.
fn outside(messages: &[Message]) -> bool {
    messages.iter().flat_map(|message| &message.content).any(|block| block.outside().is_some())
}

/// Waits for something that the recorder does in its own time.
async fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..2_000 {
        if let Some(found) = look() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not come to it within 20 s");
}

#[tokio::test]
async fn a_recorded_session_can_be_resumed_from_each_turn() {
    let stage = Stage::new();
    let mut events = stage.bus.subscribe();
    let mut states = Vec::new();
    for n in 1..=3 {
        stage.turn(&format!("q{n}"), &format!("a{n}"), None).await;
        states.push(stage.transcript().await);
    }
    stage.close().await;
    let listed = stage.only().await;
    let manifest = listed.manifest.unwrap();
    assert_eq!(listed.name.as_str(), "webchat-a-b----c-20261120T100000000Z");
    assert_eq!((manifest.session_id.as_str(), manifest.snapshots_count), (S, 3));
    assert!(stage.files(".journal").is_empty() && listed.size > 500);
    let changes: Vec<RecordingChange> = std::iter::from_fn(|| events.try_recv().ok())
        .filter_map(|event| match event {
            Event::Recording(news) => Some(news.change),
            _ => None,
        })
        .collect();
    assert_eq!(changes, [RecordingChange::Began, RecordingChange::Ended]);

    let (library, name) = (stage.library(), listed.name);
    let counts: Vec<u64> =
        library.snapshots(&name).await.unwrap().iter().map(|summary| summary.message_count).collect();
    assert_eq!(counts, [2, 4, 6]);
    for (n, expected) in (1..).zip(&states) {
        let state = library.snapshot(&name, n).await.unwrap();
        assert_eq!(&state.messages, expected, "snapshot {n}");
        assert_eq!((state.system_prompt.as_str(), state.cwd.as_str()), ("You help.", "/work"));
        assert_eq!((&state.tools[0]["name"], state.model.as_str()), (&json!("echo"), "m"));
        let made = resume(&library, &*stage.storage.imports(), (&name, n)).await.unwrap();
        let there = stage.storage.transcripts.messages(&made, None, 100).await.unwrap();
        assert_eq!(texts(&there), texts(expected));
        assert!(!outside(&there), "what was led here keeps the marks that it had, which are none");
    }
    // The same file in another home, or with the key gone.
    let elsewhere = Library::new(stage.folder.path().to_owned(), EventBus::default());
    let made = resume(&elsewhere, &*stage.storage.imports(), (&name, 3)).await.unwrap();
    let there = stage.storage.transcripts.messages(&made, None, 100).await.unwrap();
    assert_eq!(texts(&there), texts(&states[2]));
    assert!(there.iter().all(|message| outside(std::slice::from_ref(message))), "{there:?}");
    let page = library.events(&name, EventQuery { limit: 100, ..EventQuery::default() }).await.unwrap();
    let kinds: Vec<&str> = page.events.iter().take(6).map(|event| event.r#type.as_str()).collect();
    let turn = ["turn_started", "model_request", "model_response", "snapshot", "turn_ended"];
    assert_eq!(kinds[0], "recording_started");
    assert_eq!(kinds[1..], turn);
    assert_eq!(page.events.len() as u64, manifest.events_count);
    assert_eq!(page.events.last().unwrap().data, json!({"reason": "shutdown"}));
}

#[tokio::test]
async fn running_recordings_are_listed_until_they_end() {
    let stage = Stage::new();
    assert!(stage.library().list().await.unwrap().running.is_empty());
    stage.turn("hello", "good day", None).await;
    let running = async || stage.library().list().await.unwrap().running;
    let mut listed = running().await;
    // The thread that writes begins the journal in its own time.
    for _ in 0..2_000 {
        if !listed.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        listed = running().await;
    }
    let [one] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((one.session_id.as_str(), one.started_at.as_str()), (S, "2026-11-20T10:00:00.000Z"));
    assert!(one.size > 0);
    let refused = stage.library().show(&one.name).await.unwrap_err();
    assert!(refused.to_string().contains("still being written"), "{refused}");
    stage.close().await;
    assert!(running().await.is_empty());
    assert_eq!(stage.only().await.name, one.name);
    // A journal without a writer is abandoned and not a running recording.
    let left_over = stage.folder.path().join("left.journal");
    std::fs::write(left_over, "").unwrap();
    assert!(running().await.is_empty());
}

#[tokio::test]
async fn snapshots_contain_only_new_messages() {
    let stage = Stage::new();
    for n in 0..50 {
        stage.turn(&format!("question {n}"), "the answer", None).await;
    }
    stage.close().await;
    let size = stage.only().await.size;
    // Fifty times the whole would come to five times this.
    assert!(size < 60_000, "{size} bytes");
}

#[tokio::test]
async fn snapshots_include_the_messages_of_another_program() {
    let storage = MemoryStore::storage(Arc::new(ManualClock::at(start())));
    let (one, other) = (Stage::of(storage.clone()), Stage::of(storage));
    let (mut states, mut last) = (Vec::new(), None);
    for n in 0..50 {
        // The other one takes back what this one said, now and then.
        let replaces = last.filter(|_| n % 7 == 6);
        other.turn(&format!("aside {n}"), "noted", replaces.as_ref()).await;
        last = Some(one.turn(&format!("question {n}"), "the answer", None).await);
        states.push(one.transcript().await);
    }
    one.close().await;
    let recording = one.only().await;
    assert!(recording.size < 60_000, "{} bytes", recording.size);
    for (n, state) in (1..).zip(&states) {
        assert_eq!(&one.library().snapshot(&recording.name, n).await.unwrap().messages, state, "{n}");
    }
}

#[tokio::test]
async fn a_thousand_short_turns_stay_small_and_each_is_there() {
    let stage = Stage::new();
    for n in 0..1_000 {
        stage.turn(&format!("question {n}"), &format!("answer {n}"), None).await;
    }
    // Only the end of the journal and the archive are left to write.
    let started = std::time::Instant::now();
    stage.close().await;
    let took = started.elapsed();
    eprintln!("the stop after 1,000 turns took {took:?}");
    // A stop that writes all turns again takes minutes; a loaded machine takes seconds for what is left.
    assert!(took < std::time::Duration::from_secs(15), "{took:?}");
    let listed = stage.only().await;
    assert!(listed.size < 5 << 20, "{} bytes", listed.size);
    let (library, name) = (stage.library(), listed.name);
    assert_eq!(library.show(&name).await.unwrap().manifest.snapshots_count, 1_000);
    for n in [1, 500, 1_000] {
        let state = library.snapshot(&name, n).await.unwrap();
        assert_eq!(state.messages.len() as u64, 2 * n);
        assert_eq!(texts(&state.messages).last().unwrap(), &format!("answer {}", n - 1));
    }
}

#[tokio::test]
async fn retries_and_earlier_conversations_are_recorded() {
    let storage = MemoryStore::storage(Arc::new(ManualClock::at(start())));
    let before = TurnId::fresh();
    storage.turns.accept(&before, &say(S, "long ago"), Some(begin("long ago"))).await.unwrap();
    storage.turns.finish(finish(&before, S, "yes")).await.unwrap();
    let stage = Stage::of(storage);
    let first = stage.turn("one", "1", None).await;
    let one = stage.transcript().await;
    stage.turn("two", "2", None).await;
    stage.turn("other", "3", Some(&first)).await;
    let other = stage.transcript().await;
    assert_eq!(texts(&other), ["long ago", "yes", "other", "3"]);
    stage.close().await;
    let (library, name) = (stage.library(), stage.only().await.name);
    assert_eq!(library.snapshot(&name, 1).await.unwrap().messages, one);
    assert_eq!(library.snapshot(&name, 3).await.unwrap().messages, other);
}

#[tokio::test]
async fn reset_ends_a_recording_and_the_next_turn_begins_another() {
    let stage = Stage::new();
    stage.turn("one", "1", None).await;
    stage.storage.transcripts.clear(&session(S), Clear::Reset).await.unwrap();
    assert_eq!(stage.only().await.manifest.unwrap().snapshots_count, 1, "it is there at once");
    stage.turn("two", "2", None).await;
    stage.close().await;
    let listed = stage.library().list().await.unwrap().ended;
    assert_eq!(listed.len(), 2, "two of the same moment have names of their own");
    for recording in listed {
        let state = stage.library().snapshot(&recording.name, 1).await.unwrap();
        assert_eq!(state.messages.len(), 2);
    }
}

#[tokio::test]
async fn abandoned_journals_become_recordings_and_live_ones_are_left_alone() {
    let stage = Stage::new();
    for n in 0..3 {
        stage.turn(&format!("q{n}"), "a", None).await;
    }
    // Written within a second, without anybody asking.
    let journal = eventually(|| {
        let path = stage.folder.path().join(stage.files(".journal").first()?);
        let content = std::fs::read(path).ok()?;
        let written = String::from_utf8_lossy(&content).matches("\"type\":\"turn_ended\"").count();
        (written == 3).then_some(content)
    })
    .await;
    assert_eq!(stage.library().recover().await, 0, "it is being written");
    assert_eq!(stage.files(".journal").len(), 1);

    let left = TempDir::new().unwrap();
    let library = Library::new(left.path().to_owned(), EventBus::default());
    let name = RecordingName::parse("left").unwrap();
    let path = left.path().join("left.journal");
    // Torn in the middle of each record, at its end, and once behind each end.
    let ends: Vec<usize> = (0..journal.len()).filter(|&at| journal[at] == b'\n').collect();
    let starts = std::iter::once(0).chain(ends.iter().map(|end| end + 1));
    let middles: Vec<usize> = starts.zip(&ends).map(|(start, end)| (start + end) / 2).collect();
    let cuts = middles.iter().chain(&ends).copied().chain(ends.iter().map(|end| end + 1));
    for cut in cuts.chain([0, journal.len()]) {
        std::fs::write(&path, &journal[..cut]).unwrap();
        let whole = String::from_utf8_lossy(&journal[..cut]);
        let whole = whole.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let (events, snapshots) = (whole.matches(" E {").count(), whole.matches(" S {").count());
        let recovered = library.recover().await;
        assert_eq!(recovered, usize::from(events > 0), "cut at {cut}");
        assert!(!path.exists(), "cut at {cut}");
        if recovered == 1 {
            let recording = library.show(&name).await.unwrap();
            assert_eq!(recording.manifest.snapshots_count, snapshots as u64, "cut at {cut}");
            assert_eq!(recording.manifest.events_count, events as u64 + 1, "cut at {cut}");
            assert!(library.remove(&name).await.unwrap());
        }
    }
    stage.close().await;
}

#[tokio::test]
async fn an_interrupted_packing_is_repeated() {
    let stage = Stage::new();
    stage.turn("q", "a", None).await;
    let journal = eventually(|| {
        let name = stage.files(".journal").pop()?;
        let content = std::fs::read(stage.folder.path().join(&name)).ok()?;
        String::from_utf8_lossy(&content).contains("turn_ended").then_some((name, content))
    })
    .await;
    stage.close().await;
    let zip = journal.0.replace(".journal", ".zip");
    // Killed before the journal was removed, and with an unfinished ZIP beside it.
    std::fs::write(stage.folder.path().join(&journal.0), &journal.1).unwrap();
    std::fs::write(stage.folder.path().join(format!(".{zip}.new-1")), "half").unwrap();
    assert_eq!(stage.library().recover().await, 1);
    assert!(stage.only().await.manifest.is_ok());
    let mut left = stage.files("");
    left.retain(|name| name != "recordings.key");
    assert_eq!(left.len(), 1, "nothing is left over: {left:?}");
}

#[tokio::test]
async fn no_secret_is_written_in_any_form() {
    let stage = Stage::new();
    let secrets =
        "open sesame, b3BlbiBzZXNhbWU=, password=hunter2x, Bearer abcdef123456, sk-abcd1234efgh5678ijkl";
    stage.turn(secrets, &format!("you said {secrets}"), None).await;
    let journal = eventually(|| {
        let name = stage.files(".journal").pop()?;
        let content = std::fs::read_to_string(stage.folder.path().join(name)).ok()?;
        content.contains("turn_ended").then_some(content)
    })
    .await;
    stage.close().await;
    let name = stage.only().await.name;
    let state = stage.library().snapshot(&name, 1).await.unwrap();
    let told = journal + &texts(&state.messages).join(" ");
    for secret in ["sesame", "b3BlbiBz", "hunter2x", "abcdef123456", "efgh5678"] {
        assert!(!told.contains(secret), "{secret} is in {told}");
    }
    assert!(told.contains("password=***"));
}

#[tokio::test]
async fn no_part_of_a_secret_at_the_cut_of_an_event_is_written() {
    let stage = Stage::new();
    // An event has 16,000 characters: all but the last one of the secret.
    let long = format!("{}open sesame and more", "x".repeat(15_990));
    stage.turn(&long, &long, None).await;
    let journal = eventually(|| {
        let name = stage.files(".journal").pop()?;
        let content = std::fs::read_to_string(stage.folder.path().join(name)).ok()?;
        content.contains("turn_ended").then_some(content)
    })
    .await;
    assert!(journal.contains("x***") && !journal.contains("open ses"), "a part of the secret is there");
    stage.close().await;
}

#[tokio::test]
async fn foreign_files_are_listed_refused_and_removable() {
    let stage = Stage::new();
    std::fs::write(stage.folder.path().join("evil.zip"), "not a zip").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", stage.folder.path().join("link.zip")).unwrap();
    let listed = stage.library().list().await.unwrap().ended;
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|recording| recording.manifest.is_err()), "{listed:?}");
    let (library, name) = (stage.library(), RecordingName::parse("evil.zip").unwrap());
    assert!(library.show(&name).await.unwrap_err().is_invalid());
    assert!(library.download(&name).await.unwrap_err().is_invalid());
    assert!(library.snapshot(&name, 1).await.unwrap_err().is_invalid());
    assert!(library.remove(&name).await.unwrap());
    assert!(!library.remove(&name).await.unwrap());
    assert!(library.show(&name).await.unwrap_err().is_not_found());
    stage.close().await;
}

#[tokio::test]
async fn recordings_beyond_the_limit_are_removed() {
    let (folder, bus) = (TempDir::new().unwrap(), EventBus::default());
    let clock = Arc::new(ManualClock::at(start()));
    std::fs::write(folder.path().join("mine.zip"), "put there by somebody").unwrap();
    let mut options = options(folder.path(), &clock, &bus);
    options.keep = Keep { most: 2, days: 0 };
    let recorder = Recorder::start(options).unwrap();
    let storage = recorder.watch(MemoryStore::storage(clock.clone()));
    let hook = recorder.hook();
    let stage = Stage { folder, recorder, storage, hook, clock, bus };
    for n in 0..4 {
        stage.turn(&format!("q{n}"), "a", None).await;
        stage.storage.transcripts.clear(&session(S), Clear::Reset).await.unwrap();
        stage.clock.advance(jiff::SignedDuration::from_secs(60));
    }
    stage.close().await;
    assert_eq!(stage.files(".zip").len(), 3, "{:?}", stage.files(".zip"));
    assert!(stage.files(".zip").contains(&"mine.zip".to_owned()));
}

/// What may happen in a session.
#[derive(Debug, Clone)]
enum Step {
    Turn(String),
    Retry(usize, String),
    Post(String),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text = "[a-z\\n\"\\\\{}äß\u{1f511} ]{0,40}";
    let step = prop_oneof![
        4 => text.prop_map(Step::Turn),
        2 => (any::<usize>(), text).prop_map(|(which, text)| Step::Retry(which, text)),
        1 => text.prop_map(Step::Post),
    ];
    prop::collection::vec(step, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever happens in a session, each snapshot is the conversation as it was behind its turn.
    #[test]
    fn every_snapshot_equals_the_transcript_after_its_turn(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let stage = Stage::new();
            let (mut turns, mut states): (Vec<TurnId>, Vec<Vec<Message>>) = Default::default();
            for (n, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Turn(text) => turns.push(stage.turn(&text, "answer", None).await),
                    Step::Retry(which, text) if !turns.is_empty() => {
                        let which = which % turns.len();
                        let replaced = turns[which].clone();
                        turns.truncate(which);
                        turns.push(stage.turn(&text, "answer", Some(&replaced)).await);
                    }
                    Step::Retry(..) => continue,
                    Step::Post(text) => {
                        let posted = message(aethon_core::message::Role::Assistant, &text);
                        stage.storage.transcripts.post(&session(S), &n.to_string(), posted).await.unwrap();
                        continue;
                    }
                }
                states.push(stage.transcript().await);
            }
            stage.close().await;
            if states.is_empty() {
                return;
            }
            let (library, name) = (stage.library(), stage.only().await.name);
            assert_eq!(library.snapshots(&name).await.unwrap().len(), states.len());
            for (n, expected) in (1..).zip(&states) {
                assert_eq!(&library.snapshot(&name, n).await.unwrap().messages, expected, "snapshot {}", n);
            }
        });
    }
}
