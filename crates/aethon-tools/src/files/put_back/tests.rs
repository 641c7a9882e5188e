//! Files that the tools change in a workspace, and that are put back.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use aethon_core::agents::Caller;
use aethon_core::message::{Inbound, ToolCall};
use aethon_core::surface::{Surface, TurnEvent, Unattended};
use aethon_core::testkit::ManualClock;
use aethon_core::tool::{Tool, ToolContext};
use aethon_core::turn::TurnContext;
use serde_json::{Value, json};

use super::super::edit::FileEdit;
use super::super::write::FileWrite;
use super::*;

/// A home with a workspace, and a journal.
struct Place {
    folder: tempfile::TempDir,
    options: Options,
    journal: ChangeJournal,
    files: ChangedFiles,
    calls: std::cell::Cell<u32>,
}

fn session(name: &str) -> SessionId {
    SessionId::of("webchat", name).unwrap()
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        let workspace = folder.path().join("workspace");
        let options = Options { home: Some(folder.path().to_owned()), workspace, ..Options::default() };
        // File times come from the machine, so the test clock starts from them.
        let now = fs::metadata(folder.path()).unwrap().modified().unwrap();
        let clock = Arc::new(ManualClock::at(now.try_into().unwrap()));
        let journal = ChangeJournal::new(folder.path().join("changes"), clock);
        let files = ChangedFiles::new(&options, journal.clone());
        Self { folder, options, journal, files, calls: std::cell::Cell::new(0) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("workspace").join(name)
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Calls a tool in a turn of a session.
    async fn call(&self, session: &SessionId, turn: &TurnId, name: &str, input: Value) {
        let workspace = Arc::new(Workspace::new(&self.options));
        let changes = Some(self.journal.clone());
        let tool: Box<dyn Tool> = match name {
            "file_edit" => Box::new(FileEdit::new(workspace, changes)),
            _ => Box::new(FileWrite::new(workspace, changes)),
        };
        self.calls.set(self.calls.get() + 1);
        let id = self.calls.get().to_string();
        let call = ToolCall { id, name: name.into(), input: input.clone(), opaque: None };
        let context = TurnContext::of(turn.clone(), &Inbound::say(session.clone(), "x"));
        let context = ToolContext::of(&context, Arc::new(Unattended), 12_000).for_call(&call);
        tool.call(&context, input).await.unwrap();
    }

    async fn write(&self, session: &SessionId, turn: &TurnId, name: &str, content: &str) {
        self.call(session, turn, "file_write", json!({"path": name, "content": content})).await;
    }

    async fn undo(&self, session: &SessionId, from: &TurnId) -> Vec<(String, PutBackOutcome)> {
        let done = self.files.put_back(session, Timestamp::MIN, from).await.unwrap();
        done.into_iter().map(|file| (file.path, file.outcome)).collect()
    }

    async fn states(&self, session: &SessionId) -> Vec<ChangeState> {
        let changes = self.files.changes(session, Timestamp::MIN).await.unwrap().changes;
        changes.into_iter().map(|change| change.state).collect()
    }

    fn records(&self) -> usize {
        fs::read_dir(self.folder.path().join("changes")).map_or(0, Iterator::count)
    }
}

fn told(path: &str, outcome: PutBackOutcome) -> (String, PutBackOutcome) {
    (path.to_owned(), outcome)
}

use PutBackOutcome::{Already, ChangedSince, Failed, NotKept, Partly, Removed, Restored};

#[tokio::test]
async fn changed_file_gets_its_content_and_keeps_its_mode_and_created_file_goes() {
    let place = Place::new();
    let (session, turn) = (session("a"), TurnId::fresh());
    place.put("notes.md", "one\ntwo\n");
    fs::set_permissions(place.path("notes.md"), fs::Permissions::from_mode(0o750)).unwrap();
    place.call(&session, &turn, "file_edit", json!({"path": "notes.md", "old": "two", "new": "three"})).await;
    place
        .call(&session, &turn, "file_write", json!({"path": "notes.md", "content": "four\n", "append": true}))
        .await;
    place.write(&session, &turn, "made/new.md", "new").await;
    assert_eq!(place.text("notes.md").as_deref(), Some("one\nthree\nfour\n"));
    let changes = place.files.changes(&session, Timestamp::MIN).await.unwrap().changes;
    let listed: Vec<_> =
        changes.iter().map(|change| (change.path.as_str(), change.tool.as_str(), change.kind)).collect();
    let expected = [
        ("notes.md", "file_edit", ChangeKind::Changed),
        ("notes.md", "file_write", ChangeKind::Changed),
        ("made/new.md", "file_write", ChangeKind::Created),
    ];
    assert_eq!(listed, expected);
    assert_eq!(place.states(&session).await, [ChangeState::AsLeft; 3]);
    let done = place.undo(&session, &turn).await;
    assert_eq!(done, [told("notes.md", Restored), told("made/new.md", Removed)]);
    assert_eq!(place.text("notes.md").as_deref(), Some("one\ntwo\n"));
    assert_eq!(fs::metadata(place.path("notes.md")).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(place.text("made/new.md"), None);
    assert_eq!(place.states(&session).await, [ChangeState::PutBack; 3]);
    let again = place.undo(&session, &turn).await;
    assert_eq!(again, [told("notes.md", Already), told("made/new.md", Already)]);
}

#[tokio::test]
async fn only_changes_since_the_turn_are_taken_back() {
    let place = Place::new();
    let (session, turns) = (session("a"), [TurnId::fresh(), TurnId::fresh(), TurnId::fresh()]);
    for (turn, text) in turns.iter().zip(["one", "two", "three"]) {
        place.write(&session, turn, "a.md", text).await;
    }
    assert_eq!(place.undo(&session, &turns[1]).await, [told("a.md", Restored)]);
    assert_eq!(place.text("a.md").as_deref(), Some("one"));
    assert_eq!(place.undo(&session, &turns[0]).await, [told("a.md", Removed)]);
    assert_eq!(place.text("a.md"), None);
    // What has been put back is undone in the opposite order.
    let redoable = place.files.changes(&session, Timestamp::MIN).await.unwrap().redoable;
    assert_eq!(redoable, ["a.md"]);
    for text in ["one", "three"] {
        let done = place.files.redo(&session, Timestamp::MIN).await.unwrap();
        assert_eq!((done.len(), done[0].outcome), (1, Restored));
        assert_eq!(place.text("a.md").as_deref(), Some(text));
    }
    assert_eq!(place.files.redo(&session, Timestamp::MIN).await.unwrap(), []);
    assert_eq!(place.undo(&session, &turns[2]).await, [told("a.md", Restored)]);
    assert_eq!(place.text("a.md").as_deref(), Some("two"));
}

#[tokio::test]
async fn file_that_somebody_has_changed_since_is_left_alone() {
    let place = Place::new();
    let (mine, other, turn) = (session("a"), session("b"), TurnId::fresh());
    place.put("a.md", "one");
    place.write(&mine, &turn, "a.md", "two").await;
    place.put("a.md", "by hand");
    assert_eq!(place.undo(&mine, &turn).await, [told("a.md", ChangedSince)]);
    assert_eq!(place.text("a.md").as_deref(), Some("by hand"));
    assert_eq!(place.states(&mine).await, [ChangeState::ChangedSince]);
    fs::remove_file(place.path("a.md")).unwrap();
    assert_eq!(place.undo(&mine, &turn).await, [told("a.md", ChangedSince)], "nothing comes back by itself");

    // Two conversations on one file: the later one first.
    place.put("b.md", "one");
    place.write(&mine, &turn, "b.md", "two").await;
    place.write(&other, &TurnId::fresh(), "b.md", "three").await;
    let done = place.undo(&mine, &turn).await;
    assert_eq!(done, [told("a.md", ChangedSince), told("b.md", ChangedSince)]);
    let from = place.files.changes(&other, Timestamp::MIN).await.unwrap().changes[0].turn.clone();
    assert_eq!(place.undo(&other, &from).await, [told("b.md", Restored)]);
    assert_eq!(place.undo(&mine, &turn).await.pop(), Some(told("b.md", Restored)));
    assert_eq!(place.text("b.md").as_deref(), Some("one"));
}

#[tokio::test]
async fn file_that_was_changed_in_between_is_put_back_in_part() {
    let place = Place::new();
    let (session, turn) = (session("a"), TurnId::fresh());
    place.write(&session, &turn, "a.md", "one").await;
    place.put("a.md", "by hand");
    place.write(&session, &turn, "a.md", "two").await;
    assert_eq!(place.undo(&session, &turn).await, [told("a.md", Partly)]);
    assert_eq!(place.text("a.md").as_deref(), Some("by hand"), "what the person wrote stays");
}

#[tokio::test]
async fn record_of_a_change_that_never_happened_is_passed_over() {
    let place = Place::new();
    let (session, turn) = (session("a"), TurnId::fresh());
    place.write(&session, &turn, "a.md", "one").await;
    place.write(&session, &turn, "a.md", "two").await;
    // Killed after the record was written and before the file was replaced.
    place.put("a.md", "one");
    assert_eq!(place.undo(&session, &turn).await, [told("a.md", Removed)]);
    assert_eq!(place.text("a.md"), None);
}

#[tokio::test]
async fn nothing_is_put_back_through_a_link() {
    let place = Place::new();
    let (session, turn) = (session("a"), TurnId::fresh());
    place.put("victim.md", "two");
    fs::create_dir(place.path("folder")).unwrap();
    for name in ["a.md", "folder/a.md"] {
        place.put(name, "one");
        place.write(&session, &turn, name, "two").await;
    }
    fs::remove_file(place.path("a.md")).unwrap();
    symlink(place.path("victim.md"), place.path("a.md")).unwrap();
    fs::rename(place.path("folder"), place.path("elsewhere")).unwrap();
    symlink(place.path("elsewhere"), place.path("folder")).unwrap();
    let done = place.files.put_back(&session, Timestamp::MIN, &turn).await.unwrap();
    assert_eq!(done.len(), 2);
    for file in done {
        assert_eq!(file.outcome, Failed, "{file:?}");
        assert!(file.why.as_ref().unwrap().contains("through a link"), "{file:?}");
    }
    assert_eq!(place.text("victim.md").as_deref(), Some("two"));
    assert_eq!(place.text("elsewhere/a.md").as_deref(), Some("two"));
}

#[tokio::test]
async fn added_text_is_taken_off_again_without_a_copy_and_large_content_is_not_kept() {
    let place = Place::new();
    let (session, turn) = (session("a"), TurnId::fresh());
    let large = "x".repeat(17 << 20);
    place.put("log.txt", &large);
    place
        .call(&session, &turn, "file_write", json!({"path": "log.txt", "content": "more", "append": true}))
        .await;
    place.put("large.txt", &large);
    place.write(&session, &turn, "large.txt", "small").await;
    let kept: u64 = fs::read_dir(place.folder.path().join("changes"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(kept < 10_000, "{kept}");
    let done = place.undo(&session, &turn).await;
    assert_eq!(done, [told("log.txt", Restored), told("large.txt", NotKept)]);
    assert!(place.text("log.txt").unwrap() == large);
    assert_eq!(place.text("large.txt").as_deref(), Some("small"));
}

#[tokio::test]
async fn large_file_that_was_put_back_is_made_again_whole() {
    let place = Place::new();
    let (session, turn) = (session("a"), TurnId::fresh());
    let large = "x".repeat(17 << 20);
    place.put("log.txt", &large);
    let more = json!({"path": "log.txt", "content": "more", "append": true});
    place.call(&session, &turn, "file_write", more.clone()).await;
    // A file that tools have made so large in many steps.
    place.write(&session, &turn, "made.txt", "begin").await;
    place.put("made.txt", &format!("begin{large}"));
    place
        .call(&session, &turn, "file_write", json!({"path": "made.txt", "content": "end", "append": true}))
        .await;
    assert_eq!(place.undo(&session, &turn).await, [told("log.txt", Restored), told("made.txt", Partly)]);
    assert_eq!(place.text("log.txt").unwrap().len(), large.len());
    let again = place.files.redo(&session, Timestamp::MIN).await.unwrap();
    assert_eq!(again.iter().map(|file| file.outcome).collect::<Vec<_>>(), [Restored; 2]);
    assert!(place.text("log.txt").unwrap() == format!("{large}more"));
    assert!(place.text("made.txt").unwrap() == format!("begin{large}end"));
}

#[tokio::test]
async fn what_could_not_be_made_again_is_not_taken_back() {
    let place = Place::new();
    let (session, turn) = (session("a"), TurnId::fresh());
    // Together they are more than is kept of one act. Each is removed whole.
    let (large, names) = ("x".repeat(30 << 20), ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"]);
    for name in names {
        place.write(&session, &turn, name, &large).await;
    }
    let done = place.undo(&session, &turn).await;
    let outcomes: Vec<_> = done.iter().map(|(_, outcome)| *outcome).collect();
    assert_eq!(outcomes, [Removed, Removed, Removed, Removed, Failed]);
    assert!(place.text("e.txt").unwrap() == large);
    assert_eq!(place.undo(&session, &turn).await.last(), Some(&told("e.txt", Removed)), "by the next act");
    for expected in [vec![Restored], vec![Restored; 4]] {
        let again = place.files.redo(&session, Timestamp::MIN).await.unwrap();
        assert_eq!(again.iter().map(|file| file.outcome).collect::<Vec<_>>(), expected);
    }
    for name in names {
        assert!(place.text(name).unwrap() == large, "{name}");
    }
}

#[tokio::test]
async fn redo_is_about_the_last_act_and_names_what_it_leaves() {
    let place = Place::new();
    let (session, first, second) = (session("a"), TurnId::fresh(), TurnId::fresh());
    place.write(&session, &first, "one.md", "one").await;
    place.write(&session, &second, "two.md", "two").await;
    place.undo(&session, &second).await;
    place.undo(&session, &first).await;
    place.put("one.md", "by hand");
    assert_eq!(place.files.changes(&session, Timestamp::MIN).await.unwrap().redoable, [""; 0]);
    let redo = async || -> Vec<_> {
        let done = place.files.redo(&session, Timestamp::MIN).await.unwrap();
        done.into_iter().map(|file| (file.path, file.outcome)).collect()
    };
    assert_eq!(redo().await, [told("one.md", ChangedSince)]);
    assert_eq!(place.text("two.md"), None, "an older act is not undone in its place");
    assert_eq!(redo().await, [told("two.md", Restored)]);
    assert_eq!(redo().await, []);
}

#[tokio::test]
async fn same_content_of_another_conversation_is_its_own() {
    let place = Place::new();
    let (mine, other, turn) = (session("a"), session("b"), TurnId::fresh());
    place.write(&mine, &turn, "a.md", "same").await;
    fs::remove_file(place.path("a.md")).unwrap();
    place.write(&other, &turn, "a.md", "same").await;
    assert_eq!(place.undo(&mine, &turn).await, [told("a.md", ChangedSince)]);
    assert_eq!(place.undo(&other, &turn).await, [told("a.md", Removed)]);
}

#[tokio::test]
async fn file_of_an_unknown_length_is_not_read() {
    let place = Place::new();
    let (session, turn) = (session("a"), TurnId::fresh());
    place.write(&session, &turn, "a.md", "one").await;
    let file = fs::OpenOptions::new().write(true).open(place.path("a.md")).unwrap();
    file.set_len(1 << 40).unwrap();
    assert_eq!(place.states(&session).await, [ChangeState::ChangedSince]);
    assert_eq!(place.undo(&session, &turn).await, [told("a.md", ChangedSince)]);
}

#[tokio::test]
async fn changes_go_with_a_conversation_to_its_new_name_and_a_later_one_has_none_of_them() {
    let place = Place::new();
    let (old, new, turn) = (session("a"), session("a-2"), TurnId::fresh());
    place.write(&old, &turn, "a.md", "one").await;
    let end = place.journal.now() + jiff::SignedDuration::from_secs(1);
    assert_eq!(place.files.changes(&old, end).await.unwrap().changes, []);
    assert_eq!(place.files.put_back(&old, end, &turn).await.unwrap(), []);
    place.files.hand_over(&old, &new, Some(place.journal.now())).await.unwrap();
    assert_eq!(place.states(&old).await.len(), 1, "it is not from before");
    place.files.hand_over(&old, &new, Some(end)).await.unwrap();
    assert_eq!(place.states(&old).await, []);
    assert_eq!(place.undo(&new, &turn).await, [told("a.md", Removed)]);
}

#[test]
fn file_that_was_written_to_in_place_is_not_replaced() {
    let place = Place::new();
    place.put("a.md", "one");
    let path = place.path("a.md").canonicalize().unwrap();
    let opened = place.files.workspace.writable_at(&path).unwrap().unwrap();
    // More than a tick of the file system's clock.
    std::thread::sleep(std::time::Duration::from_millis(30));
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, b"two").unwrap();
    for outcome in [opened.replace(b"new"), opened.remove()] {
        assert!(outcome.unwrap_err().to_string().contains("another program changed it"));
    }
    assert_eq!(place.text("a.md").as_deref(), Some("two"));
}

#[tokio::test]
async fn damaged_record_never_ends_up_in_a_file() {
    let place = Place::new();
    let (session, turn) = (session("a"), TurnId::fresh());
    place.put("a.md", "one");
    place.write(&session, &turn, "a.md", "two").await;
    let record = fs::read_dir(place.folder.path().join("changes")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::metadata(&record).unwrap().permissions().mode() & 0o777, 0o600);
    let mut bytes = fs::read(&record).unwrap();
    assert!(bytes.ends_with(b"\none"));
    *bytes.last_mut().unwrap() = b'X';
    fs::write(&record, bytes).unwrap();
    assert_eq!(place.undo(&session, &turn).await, [told("a.md", NotKept)]);
    assert_eq!(place.text("a.md").as_deref(), Some("two"));
}

#[tokio::test]
async fn temporary_conversations_leave_nothing_and_specialists_work_for_their_caller() {
    let place = Place::new();
    let temporary = session(&format!("temporary-{}", unique()));
    place.write(&temporary, &TurnId::fresh(), "a.md", "one").await;
    assert_eq!(place.records(), 0);

    // The next message was accepted while the specialist of the first one was still to come.
    let (asking, next) = (TurnId::fresh(), TurnId::fresh());
    for (name, caller) in [("b.md", session("a")), ("c.md", SessionId::of("mcp", "client").unwrap())] {
        let inbound = Inbound::say(SessionId::of("agent", "scout:1").unwrap(), "x");
        let context = TurnContext::of(TurnId::fresh(), &inbound.from_sender(caller.as_str()));
        let input = json!({"path": name, "content": "one"});
        let call = ToolCall { id: "1".into(), name: "file_write".into(), input: input.clone(), opaque: None };
        let surface = Arc::new(Asked(Caller { session: caller, turn: asking.clone() }));
        let context = ToolContext::of(&context, surface, 12_000).for_call(&call);
        let write = FileWrite::new(Arc::new(Workspace::new(&place.options)), Some(place.journal.clone()));
        write.call(&context, input).await.unwrap();
    }
    assert_eq!(place.records(), 1, "a client of MCP has no conversation");
    assert_eq!(place.undo(&session("a"), &next).await, []);
    assert_eq!(place.undo(&session("a"), &asking).await, [told("b.md", Removed)]);
}

/// The surface of a specialist.
struct Asked(Caller);

impl Surface for Asked {
    fn emit(&self, _turn: &TurnId, _event: TurnEvent) {}

    fn is_attended(&self) -> bool {
        false
    }

    fn caller(&self) -> Option<Caller> {
        Some(self.0.clone())
    }
}

#[tokio::test]
async fn forgotten_session_has_no_changes_and_others_keep_theirs() {
    let place = Place::new();
    let (one, other, turn) = (session("a"), session("b"), TurnId::fresh());
    place.write(&one, &turn, "a.md", "one").await;
    place.write(&other, &turn, "b.md", "one").await;
    assert_eq!(place.files.sessions().await.unwrap().len(), 2);
    place.files.forget(&one).await.unwrap();
    assert_eq!(place.files.sessions().await.unwrap(), std::slice::from_ref(&other));
    assert_eq!(place.undo(&one, &turn).await, []);
    assert_eq!(place.text("a.md").as_deref(), Some("one"), "the file stays");
    assert_eq!(place.undo(&other, &turn).await, [told("b.md", Removed)]);
}

#[tokio::test]
async fn unchanged_file_and_moved_home_are_no_trouble() {
    let place = Place::new();
    let (session, turn) = (session("a"), TurnId::fresh());
    place.put("same.md", "one");
    place.write(&session, &turn, "same.md", "one").await;
    assert_eq!(place.records(), 0, "nothing was changed");
    place.write(&session, &turn, "a.md", "one").await;
    let moved = tempfile::tempdir().unwrap();
    let home = moved.path().join("home");
    fs::rename(place.folder.path(), &home).unwrap();
    let mut options = place.options.clone();
    options.workspace = home.join("workspace");
    options.home = Some(home.clone());
    let clock = Arc::new(ManualClock::at(place.journal.now()));
    let files = ChangedFiles::new(&options, ChangeJournal::new(home.join("changes"), clock));
    let done = files.put_back(&session, Timestamp::MIN, &turn).await.unwrap();
    assert_eq!((done[0].path.as_str(), done[0].outcome), ("a.md", Removed));
    assert!(!Path::new(&home.join("workspace/a.md")).exists());
}

#[tokio::test]
async fn news_are_files_that_are_as_they_were_put_back() {
    let place = Place::new();
    let session = session("a");
    let [first, second, specialist, last] = [(); 4].map(|()| TurnId::fresh());
    for (turn, name) in [(&first, "one.md"), (&second, "two.md"), (&specialist, "three.md")] {
        place.write(&session, turn, name, name).await;
    }
    let news = async |after: &TurnId, beyond: Option<&TurnId>| -> Vec<String> {
        let news = place.files.put_back_since(&session, after, beyond).await.unwrap();
        news.into_iter().map(|file| format!("{} {}", file.path, file.is_removed)).collect()
    };
    assert_eq!(news(&last, None).await, [""; 0]);
    place.undo(&session, &second).await;
    assert_eq!(news(&last, None).await, ["two.md true", "three.md true"]);
    // What the turn did that is replaced is not known to the one that takes its place.
    assert_eq!(news(&first, Some(&second)).await, [""; 0]);
    assert_eq!(news(&second, Some(&specialist)).await, ["two.md true"]);
    // Written by somebody else since, it is no news.
    place.put("two.md", "by hand");
    assert_eq!(news(&last, None).await, ["three.md true"]);
    place.files.redo(&session, Timestamp::MIN).await.unwrap();
    assert_eq!(news(&last, None).await, [""; 0]);
    place.undo(&session, &first).await;
    let told = TurnId::fresh();
    assert_eq!(news(&told, None).await, [""; 0], "it was told before this turn");
}
