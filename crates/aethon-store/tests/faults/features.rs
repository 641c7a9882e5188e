//! The part of the run that belongs to features rather than to conversations: the acknowledged writes of each, and where they are
//! looked for afterwards.

use std::collections::BTreeMap;
use std::time::Duration;

use aethon_core::agents::{AgentHistory, AgentRun, ToolCount};
use aethon_core::audit::{AuditAction, AuditEntry, AuditLog};
use aethon_core::channel::{ChannelRecords, DeliveryOutcome, DeliveryState, Outbox};
use aethon_core::embed::EmbeddingCache;
use aethon_core::ids::{AgentName, TurnId};
use aethon_core::import::{NewSession, SessionImport};
use aethon_core::learned::{ModelFact, ModelKey, ModelMemory};
use aethon_core::ledger::WorkKind;
use aethon_core::memory::{
    Memory, MemoryId, MemoryListing, MemoryQuery, MemoryStorage, MemoryVector, QueryVector,
};
use aethon_core::message::{Block, Message, Role, TurnEnd};
use aethon_core::model::Usage;
use aethon_core::person::Person;
use aethon_core::session::{Accepted, Transcripts, TurnLog, TurnPhase};
use aethon_core::sop::{SopName, SopRun, SopRunChange, SopRunState, SopRuns};
use aethon_core::telemetry::{
    ModelFacts, TelemetryEvent, TelemetryKind, TelemetryLog, TelemetryQuery, TelemetryStatus,
};
use aethon_core::testkit::phrases::*;
use aethon_core::usage::day_of;
use aethon_core::work::{
    NewTask, Plan, TaskState, Work, WorkCommand, WorkOrigin, WorkSpent, WorkState, WorkStore,
};
use aethon_store::Store;
use jiff::SignedDuration;

use crate::script::until;

/// The model of all vectors.
const MODEL: &str = "m";
const PLATFORM: &str = "telegram";

/// Acknowledged writes of each feature.
#[derive(Default)]
pub struct Known {
    /// Whether the run of the SOP was stored, its progress, and its cost.
    sop: Option<(u32, f64)>,
    /// The work as it was saved last, without the command beside it.
    work: Option<Work>,
    has_wish: bool,
    is_switched: bool,
    agent_runs: Vec<&'static str>,
    measured: Vec<&'static str>,
    audited: Vec<&'static str>,
    /// Records of channels, and those taken from them.
    records: BTreeMap<&'static str, &'static str>,
    taken: Vec<&'static str>,
    /// A message that waits for its turn, by the name that its sender gave it.
    waiting: Option<TurnId>,
    /// A delivery that is to be tried again.
    pub is_retried: bool,
    vectors: Vec<MemoryId>,
    cached: Vec<u8>,
    learned: Option<u64>,
    /// Sessions with a summary, and its text.
    summed: Option<Block>,
    imported: bool,
}

/// All of them, as far as the power lasts.
pub async fn run(store: &Store, known: &mut Known) -> Option<()> {
    sop(store, known).await?;
    work(store, known).await?;
    records(store, known).await?;
    inbox(store, known).await?;
    vectors(store, known).await?;
    watched(store, known).await?;
    learned(store, known).await?;
    summary(store, known).await?;
    import(store, known).await
}

/// Looks for all that was acknowledged.
pub async fn check(store: &Store, known: &Known, what: &str) {
    check_work(store, known, what).await;
    check_channels(store, known, what).await;
    check_vectors(store, known, what).await;
    check_watched(store, known, what).await;
    check_sessions(store, known, what).await;
}

async fn sop(store: &Store, known: &mut Known) -> Option<()> {
    let run = SopRun {
        run_id: "sop-1".into(),
        sop_name: SopName::parse("tidy-up").unwrap(),
        session_id: session("webchat:a"),
        turn: None,
        state: SopRunState::Running,
        step: 0,
        steps_done: 0,
        steps: 3,
        parameters: BTreeMap::from([("room".into(), "kitchen".into())]),
        started_at: start(),
        updated_at: start(),
        cost_usd: 0.0,
        error: None,
    };
    until(async || SopRuns::open(store, &run).await).await?;
    known.sop = Some((0, 0.0));
    for step in 1..=2 {
        let change = SopRunChange { step: Some(step), more_usd: 0.25, ..SopRunChange::default() };
        until(async || SopRuns::change(store, "sop-1", change.clone()).await).await?;
        known.sop = Some((step, 0.25 * f64::from(step)));
    }
    Some(())
}

fn new_work() -> Work {
    let task = |title: &str, depends_on: Vec<u32>| NewTask {
        title: title.into(),
        acceptance: vec!["it holds".into()],
        depends_on,
        ..NewTask::default()
    };
    let plan = Plan { goal: "a shop".into(), tasks: vec![task("one", vec![]), task("two", vec![1])] };
    Work {
        work_id: "work-1".into(),
        tasks: plan.tasks().unwrap(),
        goal: plan.goal,
        session_id: session("webchat:a"),
        person: Person::default(),
        untrusted: false,
        tell_to: None,
        origin: WorkOrigin::Person,
        state: WorkState::Queued,
        reason: None,
        spent: WorkSpent::default(),
        created_at: start(),
        updated_at: start(),
        receipt: None,
        command: None,
    }
}

async fn work(store: &Store, known: &mut Known) -> Option<()> {
    let mut work = new_work();
    until(async || WorkStore::add(store, &work).await).await?;
    known.work = Some(work.clone());
    until(async || store.set_command("work-1", Some(WorkCommand::Pause)).await).await?;
    known.has_wish = true;
    work.state = WorkState::Running;
    let task = work.task_mut(1)?;
    (task.state, task.evidence) = (TaskState::Done, Some("the tests pass".into()));
    // From here on it may be either, whether or not that is acknowledged.
    let before = known.work.take();
    let saved = until(async || store.save(&work).await).await;
    known.work = if saved.is_some() { Some(work) } else { None };
    assert!(before.is_some() && saved != Some(false), "the work was there");
    saved?;
    until(async || store.set_switch("paused", true).await).await?;
    known.is_switched = true;
    Some(())
}

async fn records(store: &Store, known: &mut Known) -> Option<()> {
    let soon = Some(start() + SignedDuration::from_secs(600));
    until(async || ChannelRecords::put(store, PLATFORM, "offset", "7", None).await).await?;
    known.records.insert("offset", "7");
    until(async || ChannelRecords::claim(store, PLATFORM, "seen:1", "", soon).await).await?;
    known.records.insert("seen:1", "");
    // A sender is paired: the code is used up, and its user may write from now on.
    until(async || ChannelRecords::put(store, PLATFORM, "code:AB", "waits", soon).await).await?;
    known.records.insert("code:AB", "waits");
    known.records.remove("code:AB");
    until(async || ChannelRecords::take(store, PLATFORM, "code:AB").await).await?;
    known.taken.push("code:AB");
    until(async || ChannelRecords::put(store, PLATFORM, "paired:42", "Ada", None).await).await?;
    known.records.insert("paired:42", "Ada");
    Some(())
}

/// A message with a name that waits behind a turn, and a delivery of that turn that failed once.
async fn inbox(store: &Store, known: &mut Known) -> Option<()> {
    let (first, turn) = (TurnId::fresh(), TurnId::fresh());
    let opening = say("telegram:42", "first");
    until(async || store.accept(&first, &opening, Some(begin("first"))).await).await?;
    let named = say_as("telegram:42", "second", "update-2", None);
    until(async || store.accept(&turn, &named, None).await).await?;
    known.waiting = Some(turn);
    let sent = delivery("a part of it", 600).with_recipient(Some("43".into()));
    let id = until(async || store.enqueue(&session("telegram:42"), &first, sent.clone()).await).await?;
    let retry = DeliveryOutcome::Retry { at: start() + SignedDuration::from_secs(30), error: "429".into() };
    until(async || Outbox::settle(store, id, retry.clone()).await).await?;
    known.is_retried = true;
    Some(())
}

async fn vectors(store: &Store, known: &mut Known) -> Option<()> {
    let page = until(async || Memory::list(store, MemoryListing::newest(10)).await).await?;
    for (number, entry) in page.entries.into_iter().enumerate() {
        let numbers = if number == 0 { vec![1.0, 0.0] } else { vec![0.0, 1.0] };
        let vector = MemoryVector { id: entry.id, content: entry.content, numbers };
        until(async || store.put_vectors(MODEL, vec![vector.clone()]).await).await?;
        known.vectors.push(entry.id);
    }
    for number in 0..2u8 {
        let vectors = vec![([number; 32], vec![f32::from(number); 16])];
        until(async || EmbeddingCache::put(store, MODEL, vectors.clone()).await).await?;
        known.cached.push(number);
    }
    Some(())
}

fn agent_run(id: &str) -> AgentRun {
    AgentRun {
        agent_id: id.into(),
        name: AgentName::parse("coder").unwrap(),
        role: "writes code".into(),
        session_id: session("agent:coder:1"),
        kind: WorkKind::Delegation,
        parent: None,
        task: "mend the build".into(),
        outcome: TurnEnd::End,
        error: None,
        started_at: start(),
        ended_at: start(),
        duration: 1.5,
        tools: vec![ToolCount { name: "shell".into(), calls: 2 }],
        model: MODEL.into(),
        usage: Usage::default(),
    }
}

/// Agents, measurements, and permissions.
async fn watched(store: &Store, known: &mut Known) -> Option<()> {
    for id in ["agent-1", "agent-2"] {
        until(async || AgentHistory::add(store, agent_run(id)).await).await?;
        // No caller waits for that; a reader waits for earlier writes, and read rows stay.
        let runs = until(async || AgentHistory::newest(store, 100).await).await?;
        known.agent_runs.extend(runs.iter().any(|run| run.agent_id == id).then_some(id));
    }
    for name in ["shell", "file_read"] {
        let call = ModelFacts::new("fake", "fake-1", WorkKind::Turn);
        let event = TelemetryEvent::new(TelemetryKind::ToolCall, name, TelemetryStatus::Ok, start());
        let event = event.took(Duration::from_millis(1500)).with_call(call);
        until(async || store.keep_events(vec![event.clone()]).await).await?;
        known.measured.push(name);
    }
    for subject in ["webchat:z", "tools.mode"] {
        let entry = AuditEntry::new(start(), AuditAction::Deletion, subject, "deleted").by("cli");
        until(async || store.record(entry.clone()).await).await?;
        known.audited.push(subject);
    }
    Some(())
}

async fn learned(store: &Store, known: &mut Known) -> Option<()> {
    let model = ModelKey { provider: "p".into(), host: "h".into(), model: MODEL.into() };
    let fact = ModelFact::ContextWindow(8_192);
    until(async || store.remember(&model, fact).await).await?;
    let facts = until(async || store.recall().await).await?;
    known.learned = facts.contains(&(model, fact)).then_some(8_192);
    Some(())
}

/// A summary takes the place of two messages in the window, and they stay in the transcript.
async fn summary(store: &Store, known: &mut Known) -> Option<()> {
    let there = until(async || store.messages(&session("webchat:a"), None, 100).await).await?;
    let (from, to) = (there[0].id.0.to_string(), there[1].id.0.to_string());
    let folded = Block::Folded { messages: 2, from, to, summary: "they counted".into() };
    let turn = TurnId::fresh();
    let opening = say("webchat:a", "go on");
    until(async || store.accept(&turn, &opening, Some(begin("go on"))).await).await?;
    let summary = Message::new(Role::System, vec![folded.clone()], start());
    until(async || store.append(&turn, vec![summary.clone()]).await).await?;
    known.summed = Some(folded);
    until(async || store.finish(finish(&turn, "webchat:a", "I go on")).await).await?;
    Some(())
}

/// A recording that is taken up again becomes a session of its own.
async fn import(store: &Store, known: &mut Known) -> Option<()> {
    let messages = until(async || store.messages(&session("webchat:a"), None, 100).await).await?;
    let new = NewSession {
        id: session("webchat:again"),
        title: "Again".into(),
        sender: "owner".into(),
        messages: messages.into_iter().take(3).collect(),
    };
    until(async || store.import(new.clone()).await).await?;
    known.imported = true;
    Some(())
}

async fn check_work(store: &Store, known: &Known, what: &str) {
    if let Some((step, usd)) = known.sop {
        let run = SopRuns::run(store, "sop-1").await.unwrap();
        let run = run.unwrap_or_else(|| panic!("{what}: the run of the SOP is gone"));
        assert!(run.step >= step && run.cost_usd >= usd - 1e-9, "{what}: step {step}, {usd}: {run:?}");
        assert_eq!(run.parameters["room"], "kitchen", "{what}");
        let running = SopRuns::runs(store, Some(SopRunState::Running), 9).await.unwrap();
        assert_eq!(running.len(), 1, "{what}: {running:?}");
    }
    let found = store.work("work-1").await.unwrap();
    if let Some(work) = &known.work {
        let found = found.clone().unwrap_or_else(|| panic!("{what}: the work is gone"));
        // Unacknowledged writes may be there; acknowledged ones must be.
        let is_later = found.state == WorkState::Running && work.state == WorkState::Queued;
        assert!(is_later || Work { command: None, ..found.clone() } == *work, "{what}: {found:?}");
    }
    if known.has_wish {
        assert_eq!(found.and_then(|work| work.command), Some(WorkCommand::Pause), "{what}");
        assert_eq!(store.works(true, 9).await.unwrap().len(), 1, "{what}: it is open");
    }
    assert!(!known.is_switched || store.switch("paused").await.unwrap(), "{what}: the switch is off");
}

async fn check_channels(store: &Store, known: &Known, what: &str) {
    for (name, value) in &known.records {
        let found = ChannelRecords::get(store, PLATFORM, name).await.unwrap();
        assert_eq!(found.as_deref(), Some(*value), "{what}: {name}");
    }
    for name in &known.taken {
        let found = ChannelRecords::get(store, PLATFORM, name).await.unwrap();
        assert_eq!(found, None, "{what}: {name} can be used twice");
    }
    if let Some(turn) = &known.waiting {
        let named = say_as("telegram:42", "second", "update-2", None);
        let again = store.accept(&TurnId::fresh(), &named, None).await.unwrap();
        let Accepted::Known(record) = again else { panic!("{what}: update-2 is taken in twice") };
        assert_eq!((&record.turn, record.phase), (turn, TurnPhase::Queued), "{what}");
    }
    if known.is_retried {
        let due = Outbox::undelivered(store, DeliveryState::Waiting, 100).await.unwrap();
        let retried = due.deliveries.iter().filter(|record| record.delivery.attempts > 0).count();
        assert_eq!(retried, 1, "{what}: {:?}", due.deliveries);
    }
}

async fn check_vectors(store: &Store, known: &Known, what: &str) {
    let without = store.without_vector(MODEL, 100).await.unwrap();
    for id in &known.vectors {
        assert!(without.iter().all(|(other, _)| other != id), "{what}: the vector of {id} is gone");
    }
    if known.vectors.len() > 1 {
        let near = QueryVector { model: MODEL.into(), numbers: vec![0.99, 0.1] };
        let query = MemoryQuery::new("pet", 1).with_vector(Some(near));
        let hits = Memory::search(store, query).await.unwrap();
        let ids: Vec<_> = hits.iter().map(|hit| hit.entry.id).collect();
        assert_eq!(ids, known.vectors[..1], "{what}: it is not found by its meaning");
    }
    for &number in &known.cached {
        let found = EmbeddingCache::get(store, MODEL, &[[number; 32]]).await.unwrap();
        assert_eq!(found, [Some(vec![f32::from(number); 16])], "{what}");
    }
    if let Some(tokens) = known.learned {
        let facts = store.recall().await.unwrap();
        let is_known = facts.iter().any(|(_, fact)| *fact == ModelFact::ContextWindow(tokens));
        assert!(is_known, "{what}: {facts:?}");
    }
}

async fn check_watched(store: &Store, known: &Known, what: &str) {
    let runs = AgentHistory::newest(store, 100).await.unwrap();
    for id in &known.agent_runs {
        assert!(runs.contains(&agent_run(id)), "{what}: the run of {id} is gone: {runs:?}");
    }
    let events = store.events(TelemetryQuery { limit: 100, ..TelemetryQuery::default() }).await.unwrap();
    let sums = store.event_sums(day_of(start())..=jiff::civil::Date::MAX).await.unwrap();
    for name in &known.measured {
        let stored = events.iter().filter(|stored| stored.event.name == *name).count() as u64;
        let counted: u64 = sums.iter().filter(|sum| sum.name == *name).map(|sum| sum.count).sum();
        assert!(stored > 0, "{what}: the measurement of {name} is gone");
        assert_eq!(counted, stored, "{what}: events and sums of {name} are of one transaction");
    }
    let rows = AuditLog::newest(store, 100).await.unwrap();
    for subject in &known.audited {
        assert!(rows.iter().any(|row| row.subject == *subject), "{what}: the row of {subject} is gone");
    }
}

async fn check_sessions(store: &Store, known: &Known, what: &str) {
    if let Some(folded) = &known.summed {
        let there = store.messages(&session("webchat:a"), None, 100).await.unwrap();
        let times = there.iter().filter(|message| message.content.first() == Some(folded)).count();
        assert_eq!(times, 1, "{what}: the summary is there {times} times");
        let window = store.window(&session("webchat:a"), 100).await.unwrap();
        let has_old = window.iter().any(|message| message.id == there[0].id);
        assert!(!has_old && window.iter().any(|message| message.content.first() == Some(folded)), "{what}");
    }
    let again = store.messages(&session("webchat:again"), None, 100).await.unwrap_or_default();
    if known.imported {
        let there = store.messages(&session("webchat:a"), None, 100).await.unwrap();
        assert_eq!(texts(&again), texts(&there)[..3], "{what}: what was imported");
    }
    // Made at once, or not at all.
    assert!(again.is_empty() || again.len() == 3, "{what}: a part was imported: {:?}", texts(&again));
}
