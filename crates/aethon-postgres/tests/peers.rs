//! What daemons of one database tell each other arrives, in order and once, or is known to be lost.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::time::Duration;

use aethon_core::instance::Instances as _;
use aethon_core::peers::{Heard, Peers};
use aethon_postgres::{LeaseClock, OpenMode, Options, Store, testkit};
use tokio::sync::broadcast::Receiver;
use tokio::time::timeout;
use tokio_postgres::NoTls;

/// Opens a daemon's store and waits until it listens.
async fn daemon(url: &str, name: &str) -> (Store, Arc<dyn Peers>, Receiver<Heard>) {
    let options = Options::default().with(|options| {
        options.mode = OpenMode::Daemon;
        options.instance = name.to_owned();
        options.lease_clock = LeaseClock::Server;
    });
    let store = Store::open(url, options).await.unwrap();
    let peers = store.peers().unwrap();
    let mut ear = peers.listen();
    // The first thing that it hears, or the last before it hears everything: what was before is unknown to it.
    while !matches!(next(&mut ear).await, Heard::Lost(None)) {}
    (store, peers, ear)
}

async fn next(ear: &mut Receiver<Heard>) -> Heard {
    timeout(Duration::from_secs(30), ear.recv()).await.unwrap().unwrap()
}

/// Tells until the other hears it, so that both are known to listen.
async fn connect(one: &dyn Peers, ear: &mut Receiver<Heard>) {
    for number in 0.. {
        one.tell(None, "connect", number.to_string());
        let heard = timeout(Duration::from_millis(200), async {
            while !matches!(next(ear).await, Heard::Note(note) if note.body == number.to_string()) {}
        });
        if heard.await.is_ok() {
            return;
        }
        assert!(number < 150, "they never hear each other");
    }
}

#[tokio::test]
async fn notes_of_any_size_arrive_in_order_at_those_they_are_for() {
    let url = testkit::database().await;
    let (_one, first, _) = daemon(&url, "one").await;
    let (_two, second, mut here) = daemon(&url, "two").await;
    let (_three, third, mut there) = daemon(&url, "three").await;
    let bodies: Vec<String> =
        (0..100).map(|number| format!("{number} {}", "ü😀".repeat(number * 20))).collect();
    for body in &bodies {
        first.tell(None, "frames", body.clone());
        first.tell(Some(second.id()), "only", "for two".into());
    }
    let (mut heard, mut only) = (Vec::new(), 0);
    while heard.len() < bodies.len() || only < bodies.len() {
        let Heard::Note(note) = next(&mut here).await else { panic!("notes are lost") };
        assert_eq!(note.from, first.id());
        match note.topic.as_str() {
            "frames" => heard.push(note.body.clone()),
            other => {
                assert_eq!(other, "only");
                only += 1;
            }
        }
    }
    assert!(heard == bodies, "{} of {}", heard.len(), bodies.len());
    let mut heard = Vec::new();
    while heard.len() < bodies.len() {
        let Heard::Note(note) = next(&mut there).await else { panic!("notes are lost") };
        assert_eq!(note.topic, "frames");
        heard.push(note.body.clone());
    }
    assert!(heard == bodies);
    let mut others = first.others().await.unwrap();
    others.sort_unstable();
    let mut expected = [second.id(), third.id()];
    expected.sort_unstable();
    assert_eq!(others, expected);
}

#[tokio::test]
async fn cut_connections_are_made_anew_and_the_loss_is_known() {
    let url = testkit::database().await;
    let (_one, first, _) = daemon(&url, "one").await;
    let (two, _, mut ear) = daemon(&url, "two").await;
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    const CUT: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE query LIKE 'LISTEN %' AND query LIKE '%' || md5(current_schema()) || '%'";
    for _ in 0..3 {
        let cut: i64 = client.query_one(CUT, &[]).await.unwrap().get(0);
        assert!(cut >= 1, "there is a connection to cut");
        first.tell(None, "frames", "perhaps lost".into());
        while !matches!(next(&mut ear).await, Heard::Lost(_)) {}
        connect(&*first, &mut ear).await;
    }
    two.close().await;
    // Nobody hears it, and nothing waits for that.
    first.tell(None, "frames", "into the dark".into());
}

#[tokio::test]
async fn guest_has_no_peers() {
    let url = testkit::database().await;
    let options = Options::default().with(|options| options.mode = OpenMode::Guest);
    assert!(Store::open(&url, options).await.unwrap().peers().is_none());
}
