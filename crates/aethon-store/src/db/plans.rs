//! Tests only: how SQLite goes about every statement that this crate prepares.
//!
//! Each statement is explained when it is first prepared; the test then uses the whole store and looks for tables that
//! are read from end to end.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

static SEEN: Mutex<BTreeMap<&'static str, Vec<String>>> = Mutex::new(BTreeMap::new());

pub(super) fn note(connection: &Connection, sql: &'static str) {
    let explain = |sql: &str| -> rusqlite::Result<Vec<String>> {
        connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?
            .raw_query()
            .mapped(|row| row.get(3))
            .collect()
    };
    // PRAGMA and COMMIT have no plan.
    let plan = explain(sql).unwrap_or_default();
    SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(sql, plan);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aethon_core::agents::{AgentHistory, AgentRun};
    use aethon_core::channel::{DeliveryOutcome, NewDelivery, Outbox, WaitingDeliveries};
    use aethon_core::embed::EmbeddingCache;
    use aethon_core::history::{History, HistoryQuery};
    use aethon_core::ids::{AgentName, MessageId, SessionId, TurnId};
    use aethon_core::learned::{ModelFact, ModelKey, ModelMemory};
    use aethon_core::ledger::{Claim, Ledger, LedgerEntry, WorkKind};
    use aethon_core::memory::{
        Correction, Memory, MemoryListing, MemoryQuery, MemoryStorage, MemoryVector, NewMemory, Purpose,
        QueryVector, Reach, Scope,
    };
    use aethon_core::message::{Block, Dedupe, Inbound, Message, Reply, Role, TurnEnd};
    use aethon_core::model::Usage;
    use aethon_core::order::{MemoryField, Order, SessionField};
    use aethon_core::owner::Owners;
    use aethon_core::person::Person;
    use aethon_core::schedule::{
        BeginRun, Due, EndRun, Job, JobId, JobStore, Missed, Origin, RunLog, RunRecord, RunStatus, Task,
        Timing,
    };
    use aethon_core::session::{Begin, Clear, Finish, SessionQuery, Transcripts, TurnLog, TurnLookup};
    use aethon_core::sop::{SopName, SopRun, SopRunChange, SopRunState, SopRuns};
    use aethon_core::work::{Work, WorkOrigin, WorkSpent, WorkState, WorkStore};
    use jiff::Timestamp;

    use super::{BTreeMap, SEEN};
    use crate::{OpenMode, Options, Store};
    use aethon_core::storage::{Retention, Upkeep};
    use aethon_core::version::Expected;

    /// Statements that may read a whole table, by their beginnings: no caller waits for them, or the table is tiny.
    const MAY_SCAN: &[&str] = &[
        "SELECT count(*) FROM sessions",               // the total that the list shows
        "SELECT session_key, updated_at, id, channel", // a search, or the list itself in the order of its index
        "SELECT DISTINCT messages.session_key",        // the words of the index
        "DELETE FROM outbox WHERE settled_at IS NOT NULL AND session", // a week of deliveries, when a session goes
        "SELECT id, session, turn, channel, recipient, text, expires_at, attempts, attachments, outside, is_reply\n    FROM outbox\n    WHERE id IN", // due deliveries, by recipient
        "SELECT due_at FROM outbox INDEXED BY outbox_due", // in the order of its index, up to the first that is not held
        "SELECT id FROM outbox WHERE turn = ?1", // a week of deliveries, when a call runs again after a crash
        "DELETE FROM posted",                    // once a day
        "SELECT session_key FROM purges",
        "SELECT id,\n        (SELECT coalesce(sum(octet_length(content)), 0)", // all one-shot sessions, four times an hour
        "SELECT id FROM sessions WHERE is_oneshot AND NOT EXISTS",             // when the database is full
        "SELECT indexed_through FROM search_mark",
        "SELECT erasing FROM search_mark",
        "UPDATE search_mark",
        "INSERT INTO message_words",
        "SELECT EXISTS (SELECT 1 FROM reservations)", // the calls that run, when a daemon starts
        "SELECT day, provider, model, count(*),\n        sum(CASE",
        "DELETE FROM reservations WHERE day",
        "SELECT used_on, id FROM vectors",         // an index, once a day
        "DELETE FROM learned WHERE learned_at <=", // a few hundred rows
        "DELETE FROM owners WHERE",                // the programs of the last hours
        "SELECT owner, lease_until FROM owners WHERE lease_until >",
        "SELECT EXISTS (SELECT 1 FROM owners",
        "INSERT INTO memory_words",
        "DELETE FROM memory_words",
        "SELECT memories.id, content", // the index of words, and a sorter for the candidates
        "SELECT category, count(*) FROM memories", // how much is remembered, for a person who asks
        "SELECT count(*) FROM memory_v",
        "SELECT id, content FROM memories WHERE NOT EXISTS", // in the background
        "SELECT job, next_run, retry_at, attempt, last_run, last_status, last_error FROM jobs ORDER BY id", // the list
        "DELETE FROM sop_runs WHERE run_key <=", // two thousand rows, when one is added
        "WITH page AS (SELECT place, value FROM (SELECT", // a list in another order than the usual one
        "SELECT count(*) FROM jobs",             // before one is added
        "SELECT run_id, jobs.id, due, started_at", // the open runs: an index, at the start and once a minute
        "SELECT run_id, sop_name, session, turn, state, step, steps_done, steps, parameters,\n            started_at, updated_at, cost, error FROM sop_runs ORDER", // the newest
        "SELECT run FROM agent_runs ORDER",                   // the newest
        "SELECT work, wish FROM works ORDER",                 // the newest
        "SELECT work, wish FROM works INDEXED BY works_open", // open works: an index of its own
    ];

    #[tokio::test]
    async fn every_statement_of_a_turn_uses_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::default().with(|options| options.mode = OpenMode::Daemon);
        let store = Store::open(&folder.path().join("aethon.db"), options.clone()).unwrap();
        use_everything(&store).await;
        spend(&store).await;
        schedule(&store).await;
        store.close().await;
        Store::open(&folder.path().join("aethon.db"), options).unwrap().close().await;
        let seen = SEEN.lock().unwrap();
        for wanted in
            ["INSERT INTO messages", "UPDATE messages SET superseded_by", "UPDATE turns", "UPDATE outbox"]
        {
            assert!(seen.keys().any(|sql| sql.starts_with(wanted)), "{wanted} was not used");
        }
        for (sql, plan) in seen.iter() {
            let is_small = |step: &str| {
                // The index of words finds by words, whatever the plan calls it.
                let is_index = step.starts_with("SCAN memory_words VIRTUAL TABLE");
                is_index || step.contains("turns_open") || step == "SCAN CONSTANT ROW"
            };
            let scans = plan.iter().any(|step| step.starts_with("SCAN") && !is_small(step));
            let sorts = plan.iter().any(|step| step.contains("TEMP B-TREE"));
            let may = MAY_SCAN.iter().any(|begin| sql.starts_with(begin));
            assert!(may || !scans, "{sql}\nreads a whole table: {plan:#?}");
            assert!(may || !sorts || sql.contains("+id"), "{sql}\nsorts: {plan:#?}");
        }
        // The first page of the list must not sort all sessions.
        let list = seen
            .iter()
            .find(|(sql, _)| sql.starts_with("SELECT session_key, updated_at") && sql.contains("?4"));
        assert!(list.unwrap().1.iter().any(|step| step.contains("sessions_by_use")), "{list:#?}");
    }

    async fn remember(store: &Store) {
        let reach = Reach::Of(vec![Scope::default(), Scope::shared()]);
        for text in ["the plan of Ada", "the plan of Bob"] {
            let memory = NewMemory::new(text, "", "api").unwrap();
            let entry = Memory::store(store, memory).await.unwrap().entry;
            let correction = Correction::new(Some(&format!("{text}!")), None, "").unwrap();
            let entry = store.correct(&reach, entry.id, correction).await.unwrap();
            let vector = MemoryVector { id: entry.id, content: entry.content, numbers: vec![1.0, 0.5] };
            store.put_vectors("m", vec![vector]).await.unwrap();
        }
        store.without_vector("m", 5).await.unwrap();
        let vector = QueryVector { model: "m".into(), numbers: vec![1.0, 0.5] };
        let query = MemoryQuery::new("plan ad", 5).with_vector(Some(vector)).for_purpose(Purpose::Ask);
        let hits = Memory::search(store, query).await.unwrap();
        store.list(MemoryListing::newest(5)).await.unwrap();
        for field in MemoryField::ALL {
            store.list(MemoryListing::newest(5).in_order(Some(Order::ascending(field)))).await.unwrap();
        }
        store.list(MemoryListing::newest(5).of(Reach::All)).await.unwrap();
        store.list(MemoryListing::newest(5).with_words("plan")).await.unwrap();
        store.stats(&reach).await.unwrap();
        store.show(&reach, hits[0].entry.id).await.unwrap();
        store.forget(&reach, hits[0].entry.id, Expected::Anything).await.unwrap();
    }

    async fn schedule(store: &Store) {
        let (id, now) = (JobId::fresh(), Timestamp::UNIX_EPOCH);
        let job = Job {
            job_id: id.clone(),
            timing: Timing::Once { run_at: now },
            task: Task { sop_name: None, prompt: Some("plan".into()) },
            channel: "x".into(),
            recipient: None,
            missed: Missed::Skip,
            retries: 0,
            model: None,
            enabled: true,
            paused: false,
            origin: Origin::Owner,
            person: Person::default(),
            untrusted: false,
        };
        JobStore::add(store, &job, Some(now), 9).await.unwrap();
        store.replace(&job, Some(now), Expected::Anything).await.unwrap();
        store.jobs().await.unwrap();
        store.job(&id).await.unwrap();
        RunLog::due(store, now, 9).await.unwrap();
        RunLog::next_due(store).await.unwrap();
        let run = RunRecord {
            run_id: "r".into(),
            job_id: id.clone(),
            due: Some(now),
            started_at: now,
            ended_at: None,
            status: RunStatus::Running,
            error: None,
            attempt: 0,
        };
        let seen = Some(Due { next_run: Some(now), retry_at: None });
        RunLog::begin(store, BeginRun { job: id.clone(), seen, next_run: None, run }).await.unwrap();
        RunLog::open(store).await.unwrap();
        let end = EndRun { at: now, status: RunStatus::Ok, error: None, retry_at: None };
        store.end("r", end).await.unwrap();
        RunLog::runs(store, &id, 9).await.unwrap();
        store.remove(&id, Expected::Anything).await.unwrap();
        let turn = TurnId::fresh();
        let run = SopRun {
            run_id: "s".into(),
            sop_name: SopName::parse("plan").unwrap(),
            session_id: SessionId::parse("webchat:plan").unwrap(),
            turn: Some(turn.clone()),
            state: SopRunState::Running,
            step: 0,
            steps_done: 0,
            steps: 1,
            parameters: BTreeMap::new(),
            started_at: now,
            updated_at: now,
            cost_usd: 0.0,
            error: None,
        };
        SopRuns::open(store, &run).await.unwrap();
        store.change("s", SopRunChange::default()).await.unwrap();
        store.of_turn(&turn).await.unwrap();
        store.run("s").await.unwrap();
        for state in [None, Some(SopRunState::Running)] {
            SopRuns::runs(store, state, 9).await.unwrap();
        }
        store.discard("s").await.unwrap();
        keep_work(store).await;
    }

    async fn keep_work(store: &Store) {
        let session = SessionId::parse("webchat:plan").unwrap();
        let run = AgentRun {
            agent_id: "t".into(),
            name: AgentName::default(),
            role: "plans".into(),
            session_id: session.clone(),
            kind: WorkKind::Turn,
            parent: None,
            task: "plan".into(),
            outcome: TurnEnd::End,
            error: None,
            started_at: Timestamp::UNIX_EPOCH,
            ended_at: Timestamp::UNIX_EPOCH,
            duration: 0.0,
            tools: Vec::new(),
            model: "m".into(),
            usage: Usage::default(),
        };
        AgentHistory::add(store, run).await.unwrap();
        AgentHistory::newest(store, 9).await.unwrap();
        let work = Work {
            work_id: "w".into(),
            goal: "plan".into(),
            session_id: session,
            person: Person::default(),
            untrusted: false,
            tell_to: None,
            origin: WorkOrigin::Person,
            state: WorkState::Running,
            reason: None,
            tasks: Vec::new(),
            spent: WorkSpent::default(),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            receipt: None,
            command: None,
        };
        WorkStore::add(store, &work).await.unwrap();
        store.save(&work).await.unwrap();
        store.work("w").await.unwrap();
        for open in [true, false] {
            store.works(open, 9).await.unwrap();
        }
        store.set_command("w", None).await.unwrap();
        for on in [true, false] {
            store.set_switch("s", on).await.unwrap();
            WorkStore::switch(store, "s").await.unwrap();
        }
    }

    async fn spend(store: &Store) {
        let entry = LedgerEntry {
            at: Timestamp::UNIX_EPOCH,
            session: Some(SessionId::parse("webchat:plan").unwrap()),
            turn: None,
            provider: "p".into(),
            model: "m".into(),
            kind: WorkKind::Turn,
            usage: Usage::default(),
            saved_usd: 0.0,
            is_ok: true,
        };
        let claim = Claim::exactly(1.0, 5.0);
        let id = store.reserve("p", "m", claim).await.unwrap().unwrap().id;
        store.grow(id, claim).await.unwrap();
        store.note(id, 0.5).await.unwrap();
        Ledger::settle(store, Some(id), entry.clone()).await.unwrap();
        Ledger::settle(store, None, entry).await.unwrap();
        store.reserve("p", "m", claim).await.unwrap();
        store.today().await.unwrap();
        store.report(3).await.unwrap();
        for _ in 0..2 {
            store.put("m", vec![([0; 32], vec![1.0])]).await.unwrap();
        }
        store.get("m", &[[0; 32]]).await.unwrap();
        store.maintain(Retention::of_oneshots(0).with_calls(0).with_vectors(0)).await.unwrap();
    }

    async fn use_everything(store: &Store) {
        let session = SessionId::parse("webchat:plan").unwrap();
        let message = |role| Message::new(role, vec![Block::text("plan")], Timestamp::UNIX_EPOCH);
        let mut replaces = None;
        for round in 0..2 {
            let turn = TurnId::fresh();
            let mut inbound = Inbound::say(session.clone(), "plan");
            inbound.dedupe = Some(Dedupe { id: round.to_string(), fingerprint: None, valid_for: Some(0) });
            let begin = Begin { message: message(Role::User), replaces: replaces.replace(turn.clone()) };
            store.accept(&turn, &inbound, None).await.unwrap();
            TurnLog::begin(store, &turn, begin.clone()).await.unwrap();
            TurnLog::begin(store, &turn, begin).await.unwrap();
            store.append(&turn, vec![message(Role::Assistant)]).await.unwrap();
            store.unfinished().await.unwrap();
            store.renew().await.unwrap();
            store.orphaned().await.unwrap();
            store.take_over(&session).await.unwrap();
            store.ended_elsewhere(Some(MessageId(0))).await.unwrap();
            store.pending(&session).await.unwrap();
            store.window(&session, 5).await.unwrap();
            let delivery = NewDelivery::new("x", "plan", Timestamp::UNIX_EPOCH);
            let reply = Reply {
                turn: turn.clone(),
                session: session.clone(),
                text: "plan".into(),
                end: TurnEnd::End,
                model: "m".into(),
                usage: Usage::default(),
                failure: None,
            };
            let messages = Arc::new(vec![message(Role::Assistant)]);
            let (reply, deliveries) = (Arc::new(reply), vec![delivery]);
            store.finish(Finish { messages, reply, deliveries, next: None }).await.unwrap();
            store.turn(&turn).await.unwrap();
            store.accept(&TurnId::fresh(), &inbound, None).await.unwrap();
        }
        for delivery in Outbox::due(store, Timestamp::MAX, 5, &[]).await.unwrap() {
            Outbox::settle(store, delivery.id, DeliveryOutcome::Delivered).await.unwrap();
        }
        Outbox::next_due(store, &[]).await.unwrap();
        WaitingDeliveries::has_waiting(store, "telegram", "1").await.unwrap();
        WaitingDeliveries::make_due(store, "telegram").await.unwrap();
        store.post(&session, "k", message(Role::Assistant)).await.unwrap();
        store
            .patch(&session, &aethon_core::session::SessionPatch::title("t"), Expected::Anything)
            .await
            .unwrap();
        store.messages(&session, None, 5).await.unwrap();
        store.session(&session).await.unwrap();
        let words = HistoryQuery { words: "plan".into(), except: None, limit: 3, chars: 80 };
        History::search(store, &session, words).await.unwrap();
        let model = ModelKey { provider: "p".into(), host: String::new(), model: "m".into() };
        remember(store).await;
        store.remember(&model, ModelFact::TokenRatio(1.0)).await.unwrap();
        store.recall().await.unwrap();
        for search in [None, Some("plan".to_owned())] {
            for field in SessionField::ALL {
                let order = Some(Order::ascending(field));
                store
                    .sessions(SessionQuery::newest(5).with_search(search.clone()).in_order(order))
                    .await
                    .unwrap();
            }
            let query = SessionQuery::newest(5).with_search(search);
            store.sessions(query).await.unwrap();
        }
        store.clear(&session, Clear::Reset).await.unwrap();
        store.clear(&session, Clear::Delete).await.unwrap();
        store.release().await.unwrap();
        store.maintain(Retention::of_oneshots(0).with_calls(0).with_vectors(0)).await.unwrap();
    }
}
