//! Permissions and refusals: kept across restarts, newest first, and never too much.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use aethon_core::audit::{AuditAction, AuditEntry, AuditLog, MAX_ROWS};
use aethon_core::ids::TurnId;
use common::*;

#[tokio::test]
async fn rows_come_back_newest_first_after_a_restart_and_the_oldest_go() {
    let mut home = Home::new();
    let first = AuditEntry::new(start(), AuditAction::Approval, "shell", "approve")
        .by("the chat page")
        .within(&session("webchat:default"), &TurnId::existing("t1"))
        .with_detail("ls -l");
    let second = AuditEntry::new(start(), AuditAction::Refusal, "shell", "refused").by("security");
    home.store.record(first.clone()).await.unwrap();
    home.store.record(second.clone()).await.unwrap();
    home.reopen().await;
    assert_eq!(home.store.newest(10).await.unwrap(), [second.clone(), first]);
    assert_eq!(home.store.newest(1).await.unwrap(), std::slice::from_ref(&second));
}

/// Adds so many rows of a kind, and then one by the store itself, until it has counted.
async fn add(home: &Home, action: AuditAction, count: u32) {
    let connection = rusqlite::Connection::open(home.path()).unwrap();
    const MANY: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO audit (at, action, subject, outcome, by, detail) SELECT 0, ?2, 'x', 'y', '', '' FROM n";
    connection.execute(MANY, rusqlite::params![count, action.as_str()]).unwrap();
    for _ in 0..64 {
        home.store.record(AuditEntry::new(start(), action, "x", "y")).await.unwrap();
    }
}

#[tokio::test]
async fn a_flood_of_refusals_displaces_no_decision_of_the_owner() {
    let home = Home::new();
    home.store.record(AuditEntry::new(start(), AuditAction::Config, "budget", "changed")).await.unwrap();
    for _ in 0..3 {
        add(&home, AuditAction::Refusal, 9_000).await;
    }
    add(&home, AuditAction::Access, 9_000).await;
    assert_eq!(home.store.newest_of(AuditAction::Config, 10).await.unwrap().len(), 1);
    let count = home.store.newest(usize::MAX).await.unwrap().len();
    assert!(count < MAX_ROWS as usize + 64, "{count} rows");
    assert!(
        home.store.newest_of(AuditAction::Access, usize::MAX).await.unwrap().len() > 9_000,
        "the oldest go"
    );

    add(&home, AuditAction::Grant, 30_000).await;
    let rows = home.store.newest(usize::MAX).await.unwrap();
    assert!(rows.len() < MAX_ROWS as usize + 64 && rows.iter().all(|row| row.action == AuditAction::Grant));
}
