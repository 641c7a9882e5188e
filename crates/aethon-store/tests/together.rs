//! Many at once: groups of jobs, readers beside the writer, a full disk, other programs at the same file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::sync::Arc;

use aethon_core::ids::TurnId;
use aethon_core::message::Role;
use aethon_core::session::{Accepted, Clear, Transcripts, TurnLog, TurnLookup};
use aethon_core::version::Expected;
use aethon_store::{Options, Store};
use common::*;
use rusqlite::Connection;

const S: &str = "webchat:default";

/// Holds the database, as another program that writes would: requests to the store pile up meanwhile.
struct Held(Connection);

impl Held {
    fn new(home: &Home) -> Self {
        let connection = Connection::open(home.path()).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self(connection)
    }

    fn release(self) {
        self.0.execute_batch("COMMIT").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_job_does_not_affect_its_group() {
    let home = Home::new();
    let held = Held::new(&home);
    let tasks: Vec<_> = (0..60)
        .map(|n| {
            let store = home.store.clone();
            tokio::spawn(async move {
                let id = format!("webchat:s{n}");
                let turn = TurnId::fresh();
                // It fails after it has created its session.
                let begin = if n % 7 == 3 { replacing("x", &TurnId::existing("no")) } else { begin("x") };
                store.accept(&turn, &say(&id, "x"), Some(begin)).await.map(|_| turn)
            })
        })
        .collect();
    tokio::task::yield_now().await;
    held.release();
    for (n, task) in tasks.into_iter().enumerate() {
        let result = task.await.unwrap();
        let id = session(&format!("webchat:s{n}"));
        assert_eq!(result.is_ok(), n % 7 != 3);
        assert_eq!(home.store.session(&id).await.unwrap().is_some(), n % 7 != 3);
        assert_eq!(home.store.window(&id, 9).await.unwrap().len(), usize::from(n % 7 != 3));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_does_not_wait_for_a_writer() {
    let home = Home::new();
    home.turn(S, "x", "y").await;
    let held = Held::new(&home);
    let store = home.store.clone();
    let waiting = tokio::spawn(async move {
        store
            .patch(&session(S), &aethon_core::session::SessionPatch::title("later"), Expected::Anything)
            .await
    });
    for _ in 0..50 {
        assert_eq!(home.store.session(&session(S)).await.unwrap().unwrap().title, "x");
    }
    held.release();
    assert!(waiting.await.unwrap().unwrap());
    assert_eq!(home.store.session(&session(S)).await.unwrap().unwrap().title, "later");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_read_sees_one_state() {
    let home = Home::new();
    let store = home.store.clone();
    let writing = tokio::spawn(async move {
        for n in 0..300 {
            let turn = TurnId::fresh();
            let text = n.to_string();
            store.accept(&turn, &say(S, &text), Some(begin(&text))).await.unwrap();
            // Two messages in one transaction: no reader may see one of them alone.
            let mut end = finish(&turn, S, &text);
            Arc::make_mut(&mut end.messages).insert(0, message(Role::Assistant, &text));
            store.finish(end).await.unwrap();
        }
    });
    while !writing.is_finished() {
        let messages = home.store.messages(&session(S), None, 30).await.unwrap();
        let newest = messages.last().map_or(Role::User, |message| message.role);
        let answers = messages.iter().rev().take_while(|message| message.role == Role::Assistant).count();
        assert!(newest == Role::User || answers == 2, "half a transaction was seen");
    }
    writing.await.unwrap();
}

#[tokio::test]
async fn a_lasting_lock_of_another_program_is_reported_as_busy() {
    let home = Home::with(
        Options::default().with(|options| options.busy_timeout = std::time::Duration::from_millis(30)),
    );
    let held = Held::new(&home);
    assert!(
        home.store
            .patch(&session(S), &aethon_core::session::SessionPatch::title("x"), Expected::Anything)
            .await
            .unwrap_err()
            .is_busy()
    );
    held.release();
    assert!(
        !home
            .store
            .patch(&session(S), &aethon_core::session::SessionPatch::title("x"), Expected::Anything)
            .await
            .unwrap()
    );
}

#[tokio::test]
async fn two_stores_on_the_same_file_see_each_other() {
    let home = Home::new();
    let other = Store::open(&home.path(), Options::default()).unwrap();
    let turn = TurnId::fresh();
    home.store.accept(&turn, &say_as(S, "x", "k", None), Some(begin("x"))).await.unwrap();
    let again = other.accept(&TurnId::fresh(), &say_as(S, "x", "k", None), None).await.unwrap();
    assert!(matches!(again, Accepted::Known(record) if record.turn.as_str() == turn.as_str()));
    home.store.finish(finish(&turn, S, "y")).await.unwrap();
    assert_eq!(texts(&other.window(&session(S), 9).await.unwrap()), ["x", "y"]);
    other.close().await;
    home.turn(S, "z", "!").await;
    assert_eq!(home.store.session(&session(S)).await.unwrap().unwrap().message_count, 4);
}

#[tokio::test]
async fn a_full_database_fails_only_oversized_writes() {
    let home = Home::with(Options::default().with(|options| options.max_bytes = Some(600_000)));
    let text = "x".repeat(10_000);
    let mut stored = Vec::new();
    let error = loop {
        let turn = TurnId::fresh();
        match home.store.accept(&turn, &say(S, &text), Some(begin(&text))).await {
            Ok(_) => stored.push(turn),
            Err(error) => break error,
        }
        assert!(stored.len() < 1000, "the limit does not hold");
    };
    assert!(error.to_string().contains("`storage.max_mb`"), "{error}");
    assert_eq!(home.store.window(&session(S), 9999).await.unwrap().len(), stored.len());
    assert_eq!(home.store.unfinished().await.unwrap().len(), stored.len());
    // The writer continues, and removing something makes room.
    assert!(home.store.clear(&session(S), Clear::Delete).await.unwrap());
    home.turn(S, &text, "fits again").await;
}

#[tokio::test]
async fn message_counts_are_right_after_every_operation() {
    let mut home = Home::new();
    // A linear congruential generator: always the same steps.
    let mut state = 20_261_120_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut replaced = 0;
    let mut turns: Vec<(String, TurnId)> = Vec::new();
    for step in 0..600 {
        let id = format!("webchat:s{}", random(4));
        match random(20) {
            0..=8 => turns.push((id.clone(), home.turn(&id, "q", "a").await)),
            9..=11 => {
                let turn = home.open_turn(&id, "q").await;
                let messages = (0..random(4)).map(|_| message(Role::Tool, "t")).collect();
                home.store.append(&turn, messages).await.unwrap();
                turns.push((id, turn));
            }
            12..=14 if !turns.is_empty() => {
                // Of this session or another one, live or not: refused or done, but counted right.
                let (of, target) = turns[random(turns.len() as u64) as usize].clone();
                let id = if random(5) == 0 { id } else { of };
                let turn = TurnId::fresh();
                let done = home.store.accept(&turn, &say(&id, ""), Some(replacing("again", &target))).await;
                replaced += usize::from(done.is_ok());
                turns.push((id, turn));
            }
            15 => {
                home.store
                    .post(&session(&id), &step.to_string(), message(Role::Assistant, "p"))
                    .await
                    .unwrap();
            }
            16 => {
                let how = if random(2) == 0 { Clear::Reset } else { Clear::Delete };
                home.store.clear(&session(&id), how).await.unwrap();
            }
            17 => home.reopen().await,
            _ => drop(home.store.accept(&TurnId::fresh(), &say(&id, "waits"), None).await.unwrap()),
        }
    }
    home.store.close().await;
    let wrong = home.count(
        "SELECT count(*) FROM sessions WHERE message_count <> (SELECT count(*) FROM messages
         WHERE messages.session_key = sessions.session_key AND superseded_by IS NULL)",
    );
    assert_eq!(wrong, 0);
    assert_eq!(
        home.count(
            "SELECT count(*) FROM messages WHERE session_key NOT IN (SELECT session_key FROM sessions)"
        ),
        0
    );
    assert_eq!(home.count("SELECT count(*) FROM purges"), 0);
    assert!(replaced > 10, "only {replaced} turns were replaced");
}
