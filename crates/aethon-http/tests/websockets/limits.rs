//! Slow readers, floods, silence, and the end of the program.

use std::time::Duration;

use aethon_http::Options;
use aethon_http::options::Limits;
use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::Message;

use crate::client::Client;
use crate::stage::Stage;

#[tokio::test]
async fn a_slow_reader_is_closed_with_1013() {
    let stage = Stage::open().await;
    let mut slow = stage.v1("/ws/chat").await;
    slow.send_json(json!({"type": "resume", "session": "default", "after": 0})).await;
    let mut other = stage.v1("/ws/chat").await;
    // Each turn says more than a log holds, and far more than the network buffers.
    for number in 0..8 {
        other.send_json(json!({"type": "message", "id": number.to_string(), "text": "!big 900000"})).await;
        other.until("done").await;
    }
    assert_eq!(slow.code().await, Some(1013));
    // A reader is not affected by clients that do not read.
    other.send_json(json!({"type": "message", "id": "last", "text": "fine"})).await;
    assert_eq!(other.until("done").await.pop().unwrap()["text"], "fine");
}

#[tokio::test]
async fn a_flood_of_messages_is_answered_one_by_one() {
    let stage = Stage::open().await;
    let mut client = stage.plain().await;
    for number in 0..150 {
        client.stream.feed(Message::text(number.to_string())).await.unwrap();
    }
    client.stream.flush().await.unwrap();
    for number in 0..150 {
        assert_eq!(client.text().await, number.to_string());
    }
}

#[tokio::test]
async fn a_client_that_sends_too_fast_has_to_wait() {
    let stage = Stage::open().await;
    let mut client = stage.plain().await;
    let begun = Instant::now();
    for _ in 0..150 {
        client.stream.feed(Message::Ping(Vec::new().into())).await.unwrap();
    }
    client.send("hello").await;
    assert_eq!(client.text().await, "hello");
    assert!(begun.elapsed() > Duration::from_millis(700), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_round_trip_is_quick() {
    let stage = Stage::open().await;
    let mut client = stage.plain().await;
    let mut times = Vec::new();
    for _ in 0..90 {
        let begun = Instant::now();
        client.send("hi").await;
        client.text().await;
        times.push(begun.elapsed());
    }
    times.sort();
    // The goal for a release build is half a millisecond; this only notices a Nagle delay or a timer in the way.
    assert!(times[45] < Duration::from_millis(20), "{:?}", times[45]);
}

#[tokio::test]
async fn the_end_of_the_program_is_1001_after_the_running_turn() {
    let stage = Stage::open().await;
    let mut idle = stage.plain().await;
    let mut board = Client::connect(stage.address, "/ws/dashboard", &[]).await;
    let mut plain = Client::connect(stage.address, "/ws/chat?session=b", &[]).await;
    let mut v1 = stage.v1("/ws/chat").await;
    let mut quiet = stage.v1("/ws/chat?session=c").await;
    v1.send_json(json!({"type": "message", "id": "m1", "text": "!gate\nsaid"})).await;
    v1.until("ack").await;
    plain.send("!gate\nreply").await;
    while stage.assistant.inbound().len() < 2 {
        tokio::task::yield_now().await;
    }
    stage.shutdown.trigger();
    for client in [&mut idle, &mut board, &mut quiet] {
        assert_eq!(client.code().await, Some(1001));
    }
    stage.assistant.gate.notify_waiters();
    assert_eq!(v1.until("done").await.pop().unwrap()["text"], "said");
    assert_eq!(v1.code().await, Some(1001));
    assert_eq!(plain.text().await, "reply");
    assert_eq!(plain.code().await, Some(1001));
    timeout(Duration::from_secs(5), stage.served).await.expect("the server ends").unwrap();
}

#[tokio::test]
async fn idle_sockets_do_not_hold_up_the_end() {
    let stage = Stage::open().await;
    let mut sockets = Vec::new();
    for _ in 0..20 {
        sockets.push(stage.v1("/ws/chat").await);
    }
    let begun = Instant::now();
    stage.shutdown.trigger();
    // No client reads yet, so none sees the code; the server ends all the same.
    timeout(Duration::from_secs(5), stage.served).await.expect("the server ends").unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(sockets[0].code().await, Some(1001));
}

#[tokio::test]
async fn sockets_count_as_connections_until_they_end() {
    let limits = Limits { max_connections: 2, ..Limits::default() };
    let stage = Stage::with(Options { limits, ..Options::default() }).await;
    let first = stage.plain().await;
    let mut second = stage.plain().await;
    assert!(Client::try_connect(stage.address, "/ws/chat", &[]).await.is_err());
    drop(first);
    second.send("hi").await;
    second.text().await;
    let third = async {
        while Client::try_connect(stage.address, "/ws/chat", &[]).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), third).await.expect("room again");
}

/// Opens a socket, as bytes, whose peer sends nothing.
async fn silent(stage: &Stage) -> tokio::net::TcpStream {
    let mut client = Client::connect(stage.address, "/ws/chat", &[]).await;
    client.send("hi").await;
    client.text().await;
    client.stream.into_inner()
}

#[tokio::test]
async fn a_peer_that_answers_no_ping_is_given_up() {
    let stage = Stage::open().await;
    let mut peer = silent(&stage).await;
    tokio::time::pause();
    let begun = Instant::now();
    let mut received = Vec::new();
    peer.read_to_end(&mut received).await.unwrap();
    assert_eq!(received.chunks(2).filter(|frame| *frame == [0x89, 0]).count(), received.len() / 2);
    assert!(received.len() >= 4, "{received:?}");
    // From the beginning of the connection, which was a moment before.
    assert!((80..=90).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_peer_that_answers_pings_stays() {
    let stage = Stage::open().await;
    let mut client = stage.plain().await;
    client.send("hi").await;
    client.text().await;
    tokio::time::pause();
    let begun = Instant::now();
    for _ in 0..10 {
        let message = client.stream.next().await.unwrap().unwrap();
        assert!(matches!(message, Message::Ping(_)), "{message:?}");
    }
    assert_eq!(begun.elapsed().as_secs(), 300);
    tokio::time::resume();
    client.send("still here").await;
    assert_eq!(client.text().await, "still here");
}
