//! Tests of the cost of a turn, in steps of SQLite's virtual machine, which are the same on every computer.

use std::time::Duration;

use aethon_core::message::{Block, Role};
use aethon_core::storage::{StorageHealth, Synchronous};
use jiff::Timestamp;

use super::*;
use crate::db::{self, Settings};

#[test]
fn a_turn_costs_the_same_however_long_its_session_is() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        path: folder.path().join("aethon.db"),
        synchronous: Synchronous::Normal,
        busy_timeout: Duration::ZERO,
        health: StorageHealth::default(),
        max_bytes: None,
        is_limited: |_| Ok(true),
        upgrade: db::Upgrade::Refuse,
        reading: std::sync::Arc::default(),
    };
    let connection = db::open_or_read(&settings).unwrap().connection;
    let sql = Sql::new(&connection);
    let cost = || {
        let before = sql.steps.get();
        turn(&sql);
        sql.steps.get() - before
    };
    sql.execute("BEGIN IMMEDIATE", []).unwrap();
    (0..20).for_each(|_| turn(&sql));
    let early = cost();
    (0..3000).for_each(|_| turn(&sql));
    let late = cost();
    sql.execute("COMMIT", []).unwrap();
    // Inserting into a larger tree may take a few more comparisons, but nothing else may grow.
    assert!(late <= early + early / 10, "{early} steps became {late}");
    assert!(early < 1500, "{early} steps for a turn");
}

/// The steps of the engine for one message: accept and begin, read, finish.
fn turn(sql: &Sql<'_>) {
    let session = SessionId::parse("webchat:long").unwrap();
    let message = |role| Message::new(role, vec![Block::text("text")], Timestamp::UNIX_EPOCH);
    let id = TurnId::fresh();
    let owner = Owner { id: 1, is_daemon: true, lease: 10_000 };
    let inbound = Inbound::say(session.clone(), "text");
    let opening = SessionOpening {
        id: session.clone(),
        sender: Some("owner".into()),
        agent_name: "aethon".into(),
        is_oneshot: false,
        now: 1,
    };
    let new = NewTurn {
        id: id.clone(),
        channel: "webchat".into(),
        dedupe: Some((id.as_str().to_owned(), Some(5))),
        inbound: to_json(&inbound).unwrap(),
        owner,
        now: 1,
    };
    let start = PreparedBegin::from(&Begin { message: message(Role::User), replaces: None }).unwrap();
    accept(sql, &opening, &new, Some(&start)).unwrap();
    let key = sessions::key(sql, session.as_str()).unwrap().unwrap();
    assert!(!messages::window(sql, key, 10).unwrap().is_empty());
    let finish = PreparedFinish {
        turn: id,
        session,
        messages: prepare(&[message(Role::Assistant)]).unwrap(),
        holder: Some(0),
        outcome: r#"{"end":"end","model":"m"}"#.into(),
        held: None,
        deliveries: Vec::new(),
        next: None,
        owner,
        now: 2,
    };
    finish.store(sql).unwrap();
}
