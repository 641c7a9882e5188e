//! Going on after a lost connection: nothing is lost and nothing comes twice.

use aethon_core::ids::SessionId;
use serde_json::{Value, json};

use crate::stage::Stage;

fn seqs(frames: &[Value]) -> Vec<u64> {
    frames.iter().map(|frame| frame["seq"].as_u64().expect("a frame of a turn")).collect()
}

#[tokio::test]
async fn a_replay_continues_live_from_any_point() {
    let stage = Stage::open().await;
    let mut first = stage.v1("/ws/chat").await;
    first.send_json(json!({"type": "message", "id": "m1", "text": "a b c d\n!gate\ne f g"})).await;
    let mut before = first.until("ack").await;
    while before.iter().filter(|frame| frame["type"] == "delta").count() < 4 {
        before.push(first.json().await);
    }
    let mut second = stage.v1("/ws/chat").await;
    let after = before[2]["seq"].as_u64().unwrap();
    second.send_json(json!({"type": "resume", "session": "default", "after": after})).await;
    let mut replayed = vec![second.json().await];
    stage.assistant.gate.notify_one();
    replayed.extend(second.until("done").await);
    before.extend(first.until("done").await);
    assert_eq!(replayed, before[3..], "the same frames, without gap or doubling");
}

#[tokio::test]
async fn a_replay_ends_with_resumed_before_live_frames() {
    let stage = Stage::open().await;
    let mut first = stage.v1("/ws/chat").await;
    first.send_json(json!({"type": "message", "id": "m1", "text": "a b\n!gate\nc"})).await;
    let mut told = first.until("ack").await;
    while told.iter().filter(|frame| frame["type"] == "delta").count() < 2 {
        told.push(first.json().await);
    }
    let mut second = stage.v1("/ws/chat").await;
    second.send_json(json!({"type": "resume", "session": "default", "after": told[0]["seq"]})).await;
    let (replayed, end) = second.resumed().await;
    assert_eq!(replayed[..told.len() - 1], told[1..]);
    assert_eq!(end, json!({"type": "resumed", "session": "default", "seq": replayed.last().unwrap()["seq"]}));
    // A second one on the same connection starts over.
    second.send_json(json!({"type": "resume", "session": "default", "after": told[0]["seq"]})).await;
    assert_eq!(second.resumed().await, (replayed, end));
    stage.assistant.gate.notify_one();
    assert_eq!(second.until("done").await.last().unwrap()["text"], "a bc");
}

#[tokio::test]
async fn resuming_while_frames_pour_in_loses_and_doubles_nothing() {
    let stage = Stage::open().await;
    let mut first = stage.v1("/ws/chat").await;
    first.send_json(json!({"type": "message", "id": "m1", "text": "!many 1500"})).await;
    let mut seen = first.until("delta").await;
    // Comes back again and again, each time after the last frame that it has seen.
    while seen.last().unwrap()["type"] != "done" {
        let mut client = stage.v1("/ws/chat").await;
        let after = seen.last().unwrap()["seq"].as_u64().unwrap();
        client.send_json(json!({"type": "resume", "session": "default", "after": after})).await;
        for _ in 0..97 {
            seen.push(client.json().await);
            if seen.last().unwrap()["type"] == "done" {
                break;
            }
        }
    }
    assert!(seqs(&seen).windows(2).all(|pair| pair[0] + 1 == pair[1]));
    let said: String = seen
        .iter()
        .filter(|frame| frame["type"] == "delta")
        .map(|frame| frame["text"].as_str().unwrap())
        .collect();
    assert_eq!(said, (0..1500).map(|number| format!("{number} ")).collect::<String>());
}

#[tokio::test]
async fn an_unwatched_turn_is_replayed_afterwards() {
    let stage = Stage::open().await;
    let mut first = stage.v1("/ws/chat").await;
    first.send_json(json!({"type": "message", "id": "m1", "text": "a\n!gate\nb"})).await;
    let ack = first.until("ack").await.pop().unwrap();
    drop(first);
    let mut second = stage.v1("/ws/chat").await;
    stage.assistant.gate.notify_one();
    second.send_json(json!({"type": "resume", "session": "default", "after": ack["seq"]})).await;
    let frames = second.until("done").await;
    assert_eq!(frames.last().unwrap()["text"], "ab");
    assert_eq!(seqs(&frames)[0], ack["seq"].as_u64().unwrap() + 1);
}

#[tokio::test]
async fn a_resume_that_cannot_be_replayed_is_a_gap() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat").await;
    client.send_json(json!({"type": "message", "id": "m1", "text": "hi"})).await;
    let last = client.until("done").await.pop().unwrap()["seq"].as_u64().unwrap();
    client.send_json(json!({"type": "resume", "session": "default", "after": 12})).await;
    assert_eq!(client.json().await["code"], "resume_gap");
    client
        .send_json(json!({"type": "resume", "session": "default", "after": 9_007_199_254_740_991_u64}))
        .await;
    assert_eq!(client.json().await["code"], "resume_gap", "nobody was given that number");
    client.send_json(json!({"type": "message", "id": "m2", "text": "live"})).await;
    let frames = client.until("done").await;
    assert_eq!(seqs(&frames)[0], last + 1, "nothing old comes again");
    client.send_json(json!({"type": "resume", "session": "default", "after": 0})).await;
    assert_eq!(client.until("done").await[0]["id"], "m1", "0 is the beginning of what is kept");
}

#[tokio::test]
async fn the_stored_sequence_is_where_a_transcript_ends() {
    let stage = Stage::open().await;
    let session = SessionId::parse("webchat:default").unwrap();
    assert_eq!(stage.hub.stored_seq(&session), 0);
    let mut client = stage.v1("/ws/chat").await;
    client.send_json(json!({"type": "message", "id": "m1", "text": "hi"})).await;
    let done = client.until("done").await.pop().unwrap()["seq"].as_u64().unwrap();
    assert_eq!(stage.hub.stored_seq(&session), done);
    client.send_json(json!({"type": "message", "id": "m2", "text": "ho\n!gate"})).await;
    client.until("delta").await;
    assert_eq!(stage.hub.stored_seq(&session), done, "what runs is not stored yet");
    stage.assistant.gate.notify_one();
    let done = client.until("done").await.pop().unwrap()["seq"].as_u64().unwrap();
    assert_eq!(stage.hub.stored_seq(&session), done);
}

#[tokio::test]
async fn a_number_not_assigned_yet_is_a_gap() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat").await;
    client.send_json(json!({"type": "message", "id": "m1", "text": "a"})).await;
    let last = client.until("done").await.pop().unwrap();
    // As after a clock that was ahead when the client saw its last frame.
    let after = last["seq"].as_u64().unwrap() + 1_000_000;
    client.send_json(json!({"type": "resume", "session": "default", "after": after})).await;
    let gap = client.json().await;
    assert_eq!((&gap["type"], &gap["code"]), (&json!("error"), &json!("resume_gap")));
    client.send_json(json!({"type": "message", "id": "m2", "text": "b"})).await;
    assert_eq!(client.until("done").await.pop().unwrap()["text"], "b", "it goes on live");
}

#[tokio::test]
async fn sockets_are_notified_of_storage_failure_and_recovery() {
    let stage = Stage::open().await;
    let mut early = stage.v1("/ws/chat").await;
    stage.health.failed("the disk is full: free some space");
    let mut late = stage.v1("/ws/chat").await;
    for client in [&mut early, &mut late] {
        let told = client.json().await;
        assert_eq!((&told["type"], &told["code"]), (&json!("notice"), &json!("storage_unavailable")));
        let words = told["message"].as_str().unwrap();
        assert!(words.contains("are refused") && words.ends_with("free some space."), "{words}");
    }
    stage.health.recovered();
    for client in [&mut early, &mut late] {
        assert_eq!(client.json().await["code"], "storage_restored");
    }
}
