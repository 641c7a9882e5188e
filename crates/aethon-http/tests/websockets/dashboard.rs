//! `/ws/dashboard`: what happens, live.

use std::sync::Arc;

use aethon_core::approval::{Decision, Resolution, ResolutionReason};
use aethon_core::clock::{Clock, SystemClock};
use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::SessionId;
use aethon_core::ledger::{DaySpend, LedgerEntry, WorkKind};
use aethon_core::log::{Level, LogRecord};
use aethon_core::message::{Block, Message, Role};
use aethon_core::model::Usage;
use serde_json::{Map, json};

use crate::client::Client;
use crate::stage::Stage;

fn session() -> SessionId {
    SessionId::parse("webchat:a").unwrap()
}

fn message(text: &str) -> Event {
    let message = Message::new(Role::User, vec![Block::text(text)], SystemClock.now());
    Event::Message { session: session(), message: Arc::new(message) }
}

fn log(text: &str) -> Event {
    let record = LogRecord {
        ts: SystemClock.now(),
        level: Level::Warn,
        target: "test".into(),
        message: text.into(),
        fields: Map::new(),
    };
    Event::Log(Arc::new(record))
}

/// Opens a socket that surely listens: it has answered a ping.
async fn listening(stage: &Stage) -> Client {
    let mut client = Client::connect(stage.address, "/ws/dashboard", &[]).await;
    client.settle().await.unwrap();
    client
}

#[tokio::test]
async fn without_a_subscription_everything_comes() {
    let stage = Stage::open().await;
    let mut client = listening(&stage).await;
    stage.bus.publish(|| message("hi"));
    stage.bus.publish(|| Event::Session { session: session(), change: SessionChange::Created });
    let resolution = Resolution { decision: Decision::Deny, reason: ResolutionReason::Timeout };
    stage.bus.publish(|| Event::ApprovalDone { id: "q".into(), resolution, edited: None });
    stage.bus.publish(|| log("careful"));
    let frame = client.json().await;
    assert_eq!((&frame["channel"], &frame["seq"]), (&"messages".into(), &1.into()));
    assert_eq!(frame["data"]["session_id"], "webchat:a");
    assert_eq!(frame["data"]["message"]["content"][0]["text"], "hi");
    let frame = client.json().await;
    assert_eq!(
        frame,
        json!({"channel": "sessions", "data": {"session_id": "webchat:a", "change": "created"}, "seq": 2})
    );
    let frame = client.json().await;
    let data = json!({"state": "done", "id": "q", "decision": "deny", "reason": "timeout"});
    assert_eq!(frame, json!({"channel": "approvals", "data": data, "seq": 3}));
    let frame = client.json().await;
    assert_eq!(
        (&frame["channel"], &frame["data"]["level"], &frame["data"]["message"]),
        (&"logs".into(), &"warn".into(), &"careful".into())
    );
}

#[tokio::test]
async fn a_subscription_narrows() {
    let stage = Stage::open().await;
    let mut client = listening(&stage).await;
    client.send_json(json!({"channel": "subscribe", "topics": ["logs", "usage", "recordings"]})).await;
    client.settle().await.unwrap();
    stage.bus.publish(|| message("unseen"));
    stage.bus.publish(|| log("seen"));
    let frame = client.json().await;
    assert_eq!((&frame["channel"], &frame["seq"]), (&"logs".into(), &1.into()));
}

#[tokio::test]
async fn a_settled_call_comes_with_the_money_of_the_day() {
    let stage = Stage::open().await;
    let mut client = listening(&stage).await;
    let entry = LedgerEntry {
        at: "2026-11-20T10:00:00Z".parse().unwrap(),
        session: Some(session()),
        turn: None,
        provider: "openai".into(),
        model: "gpt-5.1".into(),
        kind: WorkKind::Compaction,
        usage: Usage {
            input_tokens: 9,
            output_tokens: 4,
            cached_tokens: 3,
            cost_usd: 0.25,
            ..Usage::default()
        },
        saved_usd: 0.125,
        is_ok: true,
    };
    let today = DaySpend { spent_usd: 0.75, reserved_usd: 0.5, refused_usd: 0.0 };
    stage.bus.publish(|| Event::Usage { today, entry: Arc::new(entry) });
    let frame = client.json().await;
    let call = json!({
        "at": "2026-11-20T10:00:00.000Z", "session_id": "webchat:a", "turn": null, "provider": "openai",
        "model": "gpt-5.1", "kind": "compaction", "ok": true,
        "input_tokens": 9, "output_tokens": 4, "cached_tokens": 3, "cost_usd": 0.25, "saved_usd": 0.125
    });
    let data = json!({"today": {"spent_usd": 0.75, "reserved_usd": 0.5}, "call": call});
    assert_eq!(frame, json!({"channel": "usage", "data": data, "seq": 1}));
}

#[tokio::test]
async fn frames_that_are_not_understood_are_ignored() {
    let stage = Stage::open().await;
    let mut client = listening(&stage).await;
    for text in [
        "hello",
        "[]",
        "{}",
        r#"{"channel":"subscribe","topics":"logs"}"#,
        r#"{"channel":"publish","topics":[]}"#,
    ] {
        client.send(text).await;
    }
    client.settle().await.unwrap();
    stage.bus.publish(|| log("still all"));
    assert_eq!(client.json().await["channel"], "logs");
}

#[tokio::test]
async fn a_lagging_reader_learns_how_much_it_missed() {
    let stage = Stage::open().await;
    let mut client = listening(&stage).await;
    // Published without a pause, so that the socket's task cannot keep up with the bus.
    for number in 0..3000 {
        stage.bus.publish(|| log(&number.to_string()));
    }
    let mut missed = 0;
    let mut received = 0;
    loop {
        let frame = client.json().await;
        if frame["channel"] == "lagged" {
            missed += frame["data"]["missed"].as_u64().unwrap();
            continue;
        }
        received += 1;
        if frame["data"]["message"] == "2999" {
            break;
        }
    }
    assert!(missed > 0);
    assert_eq!(missed + received, 3000);
}
