//! What was allowed and refused: kept across restarts, newest first, and never too much.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use aethon_core::audit::{AuditAction, AuditEntry, AuditLog, LONGEST_DETAIL, MOST_ROWS};
use aethon_core::ids::TurnId;
use common::*;

#[tokio::test]
async fn rows_come_back_newest_first_after_a_restart_and_the_oldest_go() {
    let mut home = Home::new();
    let first = AuditEntry::new(start(), AuditAction::Approval, "shell", "approve")
        .by("the chat page")
        .within(&session("webchat:default"), &TurnId::existing("t1"))
        .with_detail(&"x".repeat(LONGEST_DETAIL + 50));
    assert_eq!(first.detail.chars().count(), LONGEST_DETAIL + 1);
    let second = AuditEntry::new(start(), AuditAction::Refusal, "shell", "refused").by("security");
    home.store.record(first.clone()).await.unwrap();
    home.store.record(second.clone()).await.unwrap();
    home.reopen().await;
    assert_eq!(home.store.newest(10).await.unwrap(), [second.clone(), first]);
    assert_eq!(home.store.newest(1).await.unwrap(), std::slice::from_ref(&second));
    let connection = rusqlite::Connection::open(home.path()).unwrap();
    connection.execute("UPDATE audit SET id = id + ?1 WHERE id = 2", [MOST_ROWS]).unwrap();
    home.store.record(second.clone()).await.unwrap();
    assert_eq!(home.store.newest(10).await.unwrap(), [second.clone(), second]);
}
