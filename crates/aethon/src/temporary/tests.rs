//! What is temporary stays in memory, and everything else is where it was.

use std::sync::Arc;

use aethon_core::agents::AgentRun;
use aethon_core::audit::{AuditAction, AuditEntry};
use aethon_core::history::MessageQuery;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::import::NewSession;
use aethon_core::message::{Block, Message, Role};
use aethon_core::session::{BinQuery, Clear, SessionQuery, TurnPhase};
use aethon_core::sop::{SopName, SopRun, SopRunState};
use aethon_core::storage::Storage;
use aethon_core::telemetry::{TelemetryEvent, TelemetryKind, TelemetryQuery, TelemetryStatus};
use aethon_core::testkit::conformance::Stage;
use aethon_core::testkit::phrases::{begin, finish, replacing, say, start};
use aethon_core::testkit::{ManualClock, MemoryStore};
use aethon_core::version::Expected;
use jiff::SignedDuration;

use super::storage::{Temporary, with_temporary};

/// A lasting session keeps to the contract of storages in front of which the temporary ones stand.
mod contract {
    use super::*;

    async fn open(clock: Arc<ManualClock>) -> Stage {
        let store = MemoryStore::new(clock.clone());
        let beside = store.beside();
        let both = [store, beside].map(|store| with_temporary(store.into_storage(), clock.clone()).0);
        Stage::new(both, clock, ())
    }

    aethon_core::storage_conformance!(open);
}

struct Home {
    storage: Storage,
    temporary: Arc<Temporary>,
    clock: Arc<ManualClock>,
}

impl Home {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(start()));
        let (storage, temporary) = with_temporary(MemoryStore::storage(clock.clone()), clock.clone());
        Self { storage, temporary, clock }
    }

    fn lasting(&self) -> &Storage {
        &self.temporary.lasting
    }

    async fn turn(&self, session: &SessionId, text: &str, reply: &str) -> TurnId {
        let (turn, name) = (TurnId::fresh(), session.as_str());
        self.storage.turns.accept(&turn, &say(name, text), Some(begin(text))).await.unwrap();
        self.storage.turns.finish(finish(&turn, name, reply)).await.unwrap();
        turn
    }
}

fn temporary() -> SessionId {
    SessionId::temporary("webchat", None).unwrap()
}

#[tokio::test]
async fn a_temporary_session_is_found_by_its_id_only() {
    let home = Home::new();
    let (id, other) = (temporary(), SessionId::of("webchat", "lasting").unwrap());
    let turn = home.turn(&id, "zebra", "stripes").await;
    home.turn(&other, "horse", "mane").await;
    let Storage { turns, transcripts, history, .. } = &home.storage;
    assert_eq!(turns.window(&id, 10).await.unwrap().len(), 2);
    assert_eq!(transcripts.session(&id).await.unwrap().unwrap().message_count, 2);
    assert_eq!(turns.turn(&turn).await.unwrap().unwrap().phase, TurnPhase::Done);

    let listed = transcripts.sessions(SessionQuery::newest(9)).await.unwrap();
    assert_eq!((listed.count, &listed.sessions[0].session_id), (1, &other));
    let find = |words: &str, session: Option<SessionId>| {
        let query = MessageQuery { words: words.to_owned(), session, before: None, limit: 9 };
        async move { history.find(query).await.unwrap().hits.len() }
    };
    assert_eq!((find("zebra", None).await, find("horse", None).await), (0, 1));
    assert_eq!((find("zebra", Some(id.clone())).await, find("horse", Some(id.clone())).await), (1, 0));

    let lasting = home.lasting();
    assert!(lasting.transcripts.session(&id).await.unwrap().is_none());
    assert!(lasting.turns.turn(&turn).await.unwrap().is_none());
}

#[tokio::test]
async fn a_temporary_turn_can_be_retried() {
    let home = Home::new();
    let id = temporary();
    let first = home.turn(&id, "zebra", "stripes").await;
    let (again, name) = (TurnId::fresh(), id.as_str());
    home.storage.turns.accept(&again, &say(name, "x"), Some(replacing("x", &first))).await.unwrap();
    home.storage.turns.append(&again, vec![]).await.unwrap();
    assert_eq!(home.storage.turns.unfinished().await.unwrap().len(), 1);
    home.storage.turns.finish(finish(&again, name, "dots")).await.unwrap();
    assert_eq!(home.storage.history.versions(&id).await.unwrap()[0].turns, [first.clone(), again]);
    home.storage.history.switch(&id, &first).await.unwrap();
    let live = home.storage.transcripts.messages(&id, None, 9).await.unwrap();
    assert_eq!(live[1].text(), "stripes");
}

#[tokio::test]
async fn a_temporary_session_is_gone_at_once_with_its_specialists() {
    let home = Home::new();
    let (id, kept) = (temporary(), temporary());
    let own = SessionId::temporary("agent", Some("researcher")).unwrap();
    home.turn(&id, "zebra", "stripes").await;
    home.turn(&kept, "okapi", "stripes").await;
    let inbound = say(own.as_str(), "find stripes").from_sender(id.as_str());
    let turn = TurnId::fresh();
    home.storage.turns.accept(&turn, &inbound, Some(begin("find stripes"))).await.unwrap();
    home.storage.turns.finish(finish(&turn, own.as_str(), "found")).await.unwrap();

    let transcripts = &home.storage.transcripts;
    assert!(transcripts.clear(&id, Clear::Bin(Expected::Anything)).await.unwrap());
    for gone in [&id, &own] {
        assert!(transcripts.session(gone).await.unwrap().is_none(), "{gone}");
        assert!(home.storage.turns.window(gone, 9).await.unwrap().is_empty(), "{gone}");
    }
    assert!(transcripts.session(&kept).await.unwrap().is_some());
    assert_eq!(transcripts.binned(BinQuery { limit: 9, before: None }).await.unwrap().count, 0);
    assert!(!transcripts.clear(&id, Clear::Delete).await.unwrap());
    let late = Message::new(Role::Assistant, vec![Block::text("late")], start());
    assert!(transcripts.post(&id, "1", late).await.unwrap_err().is_invalid());
    assert!(transcripts.session(&id).await.unwrap().is_none());
}

#[tokio::test]
async fn a_procedure_in_a_temporary_session_ends_with_it() {
    let home = Home::new();
    let id = temporary();
    let turn = home.turn(&id, "/trip", "where to?").await;
    let run = SopRun {
        run_id: "r".into(),
        sop_name: SopName::parse("trip").unwrap(),
        session_id: id.clone(),
        turn: Some(turn.clone()),
        state: SopRunState::Asking,
        step: 0,
        steps_done: 0,
        steps: 1,
        parameters: [("to".to_owned(), "zebra".to_owned())].into(),
        started_at: start(),
        updated_at: start(),
        cost_usd: 0.0,
        error: None,
    };
    let runs = &home.storage.workflows.sop_runs;
    runs.open(&run).await.unwrap();
    assert_eq!(runs.of_turn(&turn).await.unwrap().unwrap().parameters["to"], "zebra");
    assert!(home.lasting().workflows.sop_runs.run("r").await.unwrap().is_none());
    home.storage.transcripts.clear(&id, Clear::Delete).await.unwrap();
    assert!(runs.run("r").await.unwrap().is_none());
}

#[tokio::test]
async fn records_of_temporary_turns_have_no_words() {
    let home = Home::new();
    let (id, turn) = (temporary(), TurnId::fresh());
    let entry = AuditEntry::new(start(), AuditAction::Approval, "shell", "approve");
    home.storage.audit.record(entry.within(&id, &turn).with_detail("echo zebra")).await.unwrap();
    let run: AgentRun = serde_json::from_value(serde_json::json!({
        "agent_id": turn, "name": "main", "role": "", "session_id": id, "kind": "turn", "task": "zebra",
        "outcome": "error", "error": "zebra", "started_at": start(), "ended_at": start(), "duration": 1.0, "tools": [],
        "model": "m", "input_tokens": 1, "output_tokens": 1, "cached_tokens": 0, "cost_usd": 0.5,
    }))
    .unwrap();
    home.storage.workflows.agent_runs.add(run).await.unwrap();
    let event = TelemetryEvent::new(TelemetryKind::ToolCall, "shell", TelemetryStatus::Error, start())
        .within(Some(&id), Some(&turn))
        .with_detail("zebra");
    home.storage.telemetry.keep_events(vec![event]).await.unwrap();

    let audit = home.lasting().audit.newest(9).await.unwrap();
    assert_eq!((audit[0].subject.as_str(), audit[0].detail.as_str()), ("shell", ""));
    let runs = home.lasting().workflows.agent_runs.newest(9).await.unwrap();
    assert_eq!((runs[0].task.as_str(), runs[0].error.as_deref()), ("", Some("")));
    let events =
        home.lasting().telemetry.events(TelemetryQuery { limit: 9, ..Default::default() }).await.unwrap();
    assert_eq!((events[0].event.name.as_str(), events[0].event.detail.as_str()), ("shell", ""));
}

#[tokio::test]
async fn idle_temporary_sessions_end_unless_somebody_watches() {
    let home = Home::new();
    let (left, watched, used, runs) = (temporary(), temporary(), temporary(), temporary());
    for session in [&left, &watched, &used] {
        home.turn(session, "a", "b").await;
    }
    let turn = TurnId::fresh();
    home.storage.turns.accept(&turn, &say(runs.as_str(), "a"), Some(begin("a"))).await.unwrap();
    let idle = async || home.temporary.idle(|id| *id == watched).await;
    home.clock.advance(SignedDuration::from_mins(59));
    assert!(idle().await.is_empty());
    home.turn(&used, "a", "b").await;
    home.clock.advance(SignedDuration::from_mins(2));
    assert_eq!(idle().await, [left]);
}

#[tokio::test]
async fn temporary_sessions_have_a_bounded_room() {
    let home = Home::new();
    let id = temporary();
    let huge = "x".repeat(130 << 20);
    home.turn(&id, &huge, "").await;
    let (turn, say_more) = (TurnId::fresh(), say(id.as_str(), "more"));
    let refused = home.storage.turns.accept(&turn, &say_more, None).await.unwrap_err();
    assert!(refused.is_crowded(), "{refused}");
    assert!(home.storage.transcripts.clear(&id, Clear::Delete).await.unwrap());
    assert!(home.storage.turns.accept(&turn, &say_more, None).await.is_ok());
}

#[tokio::test]
async fn a_fork_of_a_temporary_session_lasts() {
    let home = Home::new();
    let id = temporary();
    home.turn(&id, "zebra", "stripes").await;
    let messages = home.storage.transcripts.messages(&id, None, 9).await.unwrap();
    let fork = SessionId::of("webchat", "fork-1").unwrap();
    let new = NewSession { id: fork.clone(), title: "t".into(), sender: "webchat".into(), messages };
    assert!(home.storage.imports().import(new).await.unwrap());
    assert!(home.lasting().transcripts.session(&fork).await.unwrap().is_some());
}
