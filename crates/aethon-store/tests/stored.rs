//! What stands in the file: all of it after a restart, each text once, and still readable when a newer version wrote it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use aethon_core::channel::Outbox;
use aethon_core::embed::EmbeddingCache;
use aethon_core::ids::{MessageId, TurnId};
use aethon_core::message::Block;
use aethon_core::session::{Finish, TurnLog, TurnLookup};
use common::*;

const S: &str = "webchat:default";

#[tokio::test]
async fn acknowledged_writes_survive_a_restart() {
    let mut home = Home::new();
    let (done, running, queued) = (TurnId::fresh(), TurnId::fresh(), TurnId::fresh());
    home.store.accept(&done, &say(S, "hello"), Some(begin("hello"))).await.unwrap();
    home.store.accept(&running, &say(S, "two"), None).await.unwrap();
    home.store.accept(&queued, &say(S, "three"), None).await.unwrap();
    let deliveries = vec![delivery("news", 600)];
    let next = Some((running.clone(), begin("two")));
    home.store.finish(Finish { deliveries, next, ..finish(&done, S, "hi there") }).await.unwrap();
    home.store.put("m", vec![([7; 32], vec![0.5])]).await.unwrap();
    let before = home.store.window(&session(S), 10).await.unwrap();
    home.reopen().await;

    assert_eq!(texts(&before), ["hello", "hi there", "two"]);
    assert_eq!(home.store.window(&session(S), 10).await.unwrap(), before);
    let record = home.store.turn(&done).await.unwrap().unwrap();
    assert_eq!(record.reply.unwrap(), *finish(&done, S, "hi there").reply);
    let left: Vec<_> = home.store.unfinished().await.unwrap().into_iter().map(|record| record.turn).collect();
    assert_eq!(left, [running, queued]);
    assert_eq!(home.store.due(start(), 10, &[]).await.unwrap()[0].content, delivery("news", 600));
    assert_eq!(home.store.get("m", &[[7; 32]]).await.unwrap(), [Some(vec![0.5])]);
}

#[tokio::test]
async fn a_text_is_stored_once() {
    let home = Home::new();
    home.turn(S, "x", "a rather long reply").await;
    assert_eq!(home.count("SELECT count(*) FROM turns WHERE outcome LIKE '%rather%'"), 0);
}

#[tokio::test]
async fn a_block_of_a_newer_version_does_not_hide_the_conversation() {
    let home = Home::new();
    home.turn(S, "hello", "hi").await;
    let connection = rusqlite::Connection::open(home.path()).unwrap();
    let edit = |id: i64, content: &str| {
        connection
            .execute("UPDATE messages SET content = ?2 WHERE id = ?1", rusqlite::params![id, content])
            .unwrap()
    };
    edit(1, r#"[{"type":"hologram","x":1},{"type":"text","text":"still here"}]"#);
    edit(2, "broken");
    let messages = home.store.window(&session(S), 10).await.unwrap();
    assert!(matches!(&messages[0].content[0], Block::Notice { code, .. } if code == "unknown_block"));
    assert_eq!(messages[0].text(), "still here");
    assert!(matches!(&messages[1].content[0], Block::Notice { .. }));
    assert_eq!((messages[0].id, messages[1].id), (MessageId(1), MessageId(2)));
}
