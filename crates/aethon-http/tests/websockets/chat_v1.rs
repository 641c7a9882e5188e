//! `/ws/chat` with `aethon.chat.v1`: the frames of both directions.

use aethon_core::channel::{Channel, Delivery, NewDelivery};
use aethon_core::clock::{Clock, SystemClock};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::Intent;
use aethon_core::model::Effort;
use aethon_http::ws::WebChat;
use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::Stage;

/// Rebuilds the content of a page from its frames.
fn shown(frames: &[Value]) -> (String, Vec<String>) {
    let (mut source, mut blocks) = (String::new(), Vec::new());
    for frame in frames {
        match frame["type"].as_str().unwrap() {
            "delta" => source.push_str(frame["text"].as_str().unwrap()),
            "blocks" => {
                let html =
                    frame["html"].as_array().unwrap().iter().map(|html| html.as_str().unwrap().to_owned());
                blocks.splice(frame["from"].as_u64().unwrap() as usize.., html);
            }
            _ => {}
        }
    }
    (source, blocks)
}

#[tokio::test]
async fn the_protocol_is_echoed_and_opens_with_ready() {
    let stage = Stage::open().await;
    let offers = [("sec-websocket-protocol", "other, aethon.chat.v1")];
    let mut client = Client::connect(stage.address, "/ws/chat?session=work", &offers).await;
    assert_eq!(client.answer.headers()["sec-websocket-protocol"], "aethon.chat.v1");
    assert_eq!(client.json().await, json!({"type": "ready", "session": "work", "version": "0.3.0"}));
}

#[tokio::test]
async fn a_message_may_bring_an_effort_of_its_own() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat").await;
    for (id, effort) in [("1", json!("none")), ("2", json!("high")), ("3", Value::Null)] {
        client.send_json(json!({"type": "message", "id": id, "text": "hi", "effort": effort})).await;
        client.until("done").await;
    }
    client.send_json(json!({"type": "message", "id": "4", "text": "hi", "effort": "extreme"})).await;
    let error = client.until("error").await.pop().unwrap();
    assert_eq!((&error["code"], &error["id"]), (&"bad_frame".into(), &"4".into()));
    assert!(error["message"].as_str().unwrap().contains("medium"), "it says what is allowed: {error}");
    let efforts: Vec<_> = stage.assistant.inbound().iter().map(|inbound| inbound.wishes.effort).collect();
    assert_eq!(efforts, [Some(Effort::None), Some(Effort::High), None]);
}

#[tokio::test]
async fn a_message_may_bring_the_schema_of_its_answer() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat").await;
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    for (id, schema) in [("1", schema.clone()), ("2", Value::Null)] {
        client.send_json(json!({"type": "message", "id": id, "text": "hi", "schema": schema})).await;
        client.until("done").await;
    }
    client.send_json(json!({"type": "message", "id": "3", "text": "hi", "schema": {"type": "objekt"}})).await;
    let error = client.until("error").await.pop().unwrap();
    assert_eq!((&error["code"], &error["id"]), (&"bad_schema".into(), &"3".into()));
    assert!(error["message"].as_str().unwrap().contains("`/type` must be one of object"), "{error}");
    let schemas = stage.assistant.inbound().into_iter().map(|inbound| inbound.wishes.schema);
    let schemas: Vec<_> = schemas.map(|schema| schema.map(|schema| schema.as_json().clone())).collect();
    assert_eq!(schemas, [Some(schema), None]);
}

#[tokio::test]
async fn a_message_is_acknowledged_streamed_and_done() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat").await;
    client.send_json(json!({"type": "message", "id": "m1", "text": "hello **you** there"})).await;
    let frames = client.until("done").await;
    assert_eq!(
        (&frames[0]["type"], &frames[0]["id"], &frames[0]["queued"]),
        (&"ack".into(), &"m1".into(), &0.into())
    );
    let turn = frames[0]["turn"].as_str().unwrap();
    assert!(frames.iter().all(|frame| frame["turn"] == turn));
    let seqs: Vec<_> = frames.iter().map(|frame| frame["seq"].as_u64().unwrap()).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]) && seqs[0] > 1 << 40 && seqs[0] < 1 << 53);
    let (source, blocks) = shown(&frames);
    let done = frames.last().unwrap();
    assert_eq!((source.as_str(), &done["text"]), ("hello **you** there", &"hello **you** there".into()));
    assert_eq!(done["html"], blocks.concat());
    assert_eq!(done["html"], "<p>hello <strong>you</strong> there</p>");
    assert_eq!((&done["stop_reason"], &done["model"]), (&"end".into(), &"script".into()));
    let usage = frames.iter().find(|frame| frame["type"] == "usage").unwrap();
    assert_eq!(
        (&usage["input_tokens"], &usage["cached_tokens"], &usage["cost_usd"]),
        (&5.into(), &2.into(), &0.25.into())
    );
    let inbound = stage.assistant.inbound().pop().unwrap();
    assert_eq!(inbound.dedupe.unwrap().id, "default/m1");
}

#[tokio::test]
async fn the_same_id_twice_is_one_message() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat").await;
    let message = json!({"type": "message", "id": "m1", "text": "hi"});
    client.send_json(message.clone()).await;
    let first = client.until("done").await;
    client.send_json(message.clone()).await;
    let second = client.json().await;
    assert_eq!(
        (&second["type"], &second["turn"], &second["id"]),
        (&"ack".into(), &first[0]["turn"], &"m1".into())
    );
    client.expect_nothing_before_error().await;
    assert_eq!(stage.assistant.inbound().len(), 1);
    // The id counts within its session.
    client.send_json(json!({"type": "message", "id": "m1", "text": "hi", "session": "other"})).await;
    assert_ne!(client.until("done").await[0]["turn"], first[0]["turn"]);
}

#[tokio::test]
async fn everything_that_happens_in_a_turn_has_its_frame() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat").await;
    let text = "!model\n!think hm\n!thought 1200\nLet me see\n!tool\n!notice\nThe answer";
    client.send_json(json!({"type": "message", "id": "m1", "text": text})).await;
    let frames = client.until("done").await;
    let of =
        |kind: &str| frames.iter().find(|frame| frame["type"] == kind).unwrap_or_else(|| panic!("no {kind}"));
    assert_eq!((&of("model")["model"], &of("model")["reason"]), (&"other".into(), &"busy".into()));
    let thoughts: Vec<_> = frames.iter().filter(|frame| frame["type"] == "reasoning").collect();
    assert_eq!((&thoughts[0]["text"], thoughts[0].get("ms")), (&"hm".into(), None));
    assert_eq!((&thoughts[1]["text"], &thoughts[1]["ms"]), (&"".into(), &1200.into()));
    assert_eq!((&of("notice")["code"], &of("notice")["message"]), (&"budget_warning".into(), &"much".into()));
    let tools: Vec<_> = frames.iter().filter(|frame| frame["type"] == "tool").collect();
    assert_eq!(
        (&tools[0]["call"], &tools[0]["name"], &tools[0]["state"]),
        (&"c1".into(), &"file_read".into(), &"running".into())
    );
    assert_eq!(
        (&tools[0]["input"]["path"], tools[0].get("output"), tools[0].get("ms")),
        (&"a.txt".into(), None, None)
    );
    assert_eq!(
        (&tools[1]["state"], &tools[1]["output"], &tools[1]["ms"]),
        (&"ok".into(), &"contents".into(), &3.into())
    );
    // The reply is the last text; the page also shows the text before the tool.
    assert_eq!(of("done")["text"], "The answer");
    assert_eq!(of("done")["html"], "<p>Let me see</p><p>The answer</p>");
    assert_eq!(shown(&frames).1, ["<p>Let me see</p>", "<p>The answer</p>"]);
    let position = |kind: &str| frames.iter().position(|frame| frame["type"] == kind).unwrap();
    assert!(position("blocks") < position("tool"), "what was said before the tool is rendered before it");
}

#[tokio::test]
async fn a_failed_turn_says_error_and_then_done() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat").await;
    client.send_json(json!({"type": "message", "id": "m1", "text": "!fail"})).await;
    let frames = client.until("done").await;
    let error = &frames[frames.len() - 2];
    assert_eq!((&error["type"], &error["code"]), (&"error".into(), &"auth".into()));
    assert!(error["turn"].is_string() && error["seq"].is_u64());
    assert_eq!(frames.last().unwrap()["stop_reason"], "error");
}

#[tokio::test]
async fn a_turn_can_be_stopped() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat").await;
    for stop in [
        json!({"type": "stop"}),
        json!({"type": "stop", "turn": null}),
        json!({"type": "stop", "session": "default"}),
    ] {
        let id = format!("m{stop}");
        client.send_json(json!({"type": "message", "id": id, "text": "begun\n!gate\nnever"})).await;
        client.until("delta").await;
        client.send_json(stop).await;
        let done = client.until("done").await.pop().unwrap();
        assert_eq!((&done["stop_reason"], &done["text"]), (&"stopped".into(), &"begun".into()));
    }
    client.send_json(json!({"type": "message", "id": "named", "text": "!gate"})).await;
    let turn = client.until("ack").await.pop().unwrap()["turn"].clone();
    client.send_json(json!({"type": "stop", "turn": turn})).await;
    assert_eq!(client.until("done").await.pop().unwrap()["stop_reason"], "stopped");
    client.send_json(json!({"type": "stop", "turn": "no such turn"})).await;
    client.expect_nothing_before_error().await;
}

#[tokio::test]
async fn a_question_is_shown_and_answered() {
    let stage = Stage::open().await;
    for (decision, said) in [("approve", "approved"), ("deny", "denied")] {
        let mut client = stage.v1("/ws/chat").await;
        client.send_json(json!({"type": "message", "id": decision, "text": "!ask"})).await;
        let ask = client.until("approval").await.pop().unwrap();
        assert_eq!(
            (&ask["tool"], &ask["input"]["command"], &ask["summary"]),
            (&"shell".into(), &"ls".into(), &"run ls".into())
        );
        assert!(ask["expires_at"].as_str().unwrap().ends_with('Z'));
        client.send_json(json!({"type": "approval", "id": ask["id"], "decision": decision})).await;
        let frames = client.until("done").await;
        let done = frames.iter().find(|frame| frame["type"] == "approval_done").unwrap();
        assert_eq!(
            (&done["id"], &done["decision"], &done["reason"]),
            (&ask["id"], &decision.into(), &"user".into())
        );
        assert_eq!(frames.last().unwrap()["text"], said);
        client.send_json(json!({"type": "approval", "id": ask["id"], "decision": decision})).await;
        assert_eq!(client.json().await["code"], "unknown_approval");
    }
}

#[tokio::test]
async fn wrong_frames_are_errors_and_never_close() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat").await;
    let long = "x".repeat(300);
    let rows = [
        ("hello".to_owned(), "bad_json", None),
        ("[]".to_owned(), "bad_json", None),
        (r#"{"type":"dance"}"#.to_owned(), "unknown_type", None),
        (r#"{"type":"message","id":"a"}"#.to_owned(), "bad_frame", Some("a")),
        (r#"{"type":"message","id":"a","text":5}"#.to_owned(), "bad_frame", Some("a")),
        (r#"{"type":"message","id":"","text":"x"}"#.to_owned(), "bad_frame", Some("")),
        (r#"{"type":"message","id":"a","text":"  "}"#.to_owned(), "empty_message", Some("a")),
        (r#"{"type":"message","id":"a","text":"x","session":" "}"#.to_owned(), "bad_session", Some("a")),
        (format!(r#"{{"type":"message","id":"a","text":"x","session":"{long}"}}"#), "bad_session", Some("a")),
        (r#"{"type":"message","id":"a","text":"!full"}"#.to_owned(), "busy", Some("a")),
        (r#"{"type":"resume","session":"","after":0}"#.to_owned(), "bad_session", None),
        (r#"{"type":"resume","session":"a","after":"b"}"#.to_owned(), "bad_frame", None),
        (r#"{"type":"edit","turn":"t"}"#.to_owned(), "bad_frame", None),
        (
            r#"{"type":"approval","id":"nothing","decision":"approve"}"#.to_owned(),
            "unknown_approval",
            Some("nothing"),
        ),
        (r#"{"type":"stop","session":"\n"}"#.to_owned(), "bad_session", None),
    ];
    for (text, code, id) in rows {
        client.send(&text).await;
        let frame = client.json().await;
        assert_eq!((&frame["type"], &frame["code"]), (&"error".into(), &code.into()), "{text}: {frame}");
        assert!(frame.get("seq").is_none() && frame.get("turn").is_none());
        assert!(frame["message"].as_str().unwrap().ends_with(['.', '?']), "{frame}");
        if let Some(id) = id {
            assert_eq!(frame["id"], id, "{text}");
        }
    }
    client.send_json(json!({"type": "message", "id": "m", "text": "still here"})).await;
    assert_eq!(client.until("done").await.pop().unwrap()["text"], "still here");
}

#[tokio::test]
async fn files_come_along() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat").await;
    let good = json!([{"name": "a.png", "mime": "image/png", "data": "iVBORw0KGgo="}, {"name": "b.md", "mime": "text/markdown", "data": "aGk="}]);
    client.send_json(json!({"type": "message", "id": "m1", "text": "", "attachments": good})).await;
    client.until("done").await;
    let files = stage.assistant.inbound().pop().unwrap().attachments;
    assert_eq!((files.len(), files[0].mime.as_str(), files[1].name.as_str()), (2, "image/png", "b.md"));
    let bad = json!([{"name": "a.pdf", "mime": "application/pdf", "data": "aGk="}]);
    client.send_json(json!({"type": "message", "id": "m2", "text": "look", "attachments": bad})).await;
    let frame = client.json().await;
    assert_eq!((&frame["code"], &frame["id"]), (&"bad_attachment".into(), &"m2".into()));
    assert_eq!(stage.assistant.inbound().len(), 1);
}

#[tokio::test]
async fn a_turn_is_answered_again_or_branched_from() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat?session=a").await;
    client.send_json(json!({"type": "message", "id": "m1", "text": "hi"})).await;
    let turn = client.until("done").await[0]["turn"].clone();
    client.send_json(json!({"type": "retry", "turn": turn, "id": "r1"})).await;
    let frames = client.until("done").await;
    assert_eq!((&frames[0]["type"], &frames[0]["id"]), (&"ack".into(), &"r1".into()));
    assert_ne!(frames[0]["turn"], turn);
    client.send_json(json!({"type": "edit", "turn": turn, "text": "ho"})).await;
    let frames = client.until("done").await;
    assert!(frames[0]["type"] == "ack" && frames[0]["id"].is_string());
    assert_eq!(frames.last().unwrap()["text"], "ho");
    let inbound = stage.assistant.inbound();
    let named = TurnId::existing(turn.as_str().unwrap());
    assert_eq!(inbound[1].intent, Intent::Retry { turn: named.clone() });
    let kept = Intent::Edit { turn: named.clone(), keeps_attachments: true };
    assert_eq!(inbound[2].intent, kept, "an edit that names no files keeps those there are");
    let files = json!([{"name": "a.txt", "mime": "text/plain", "data": "YQ=="}]);
    client.send_json(json!({"type": "edit", "turn": turn, "text": "", "attachments": files})).await;
    client.until("done").await;
    let given = stage.assistant.inbound().pop().unwrap();
    let replaced = Intent::Edit { turn: named, keeps_attachments: false };
    assert_eq!((given.intent, given.attachments[0].name.as_str()), (replaced, "a.txt"));
    assert!(inbound.iter().all(|inbound| inbound.session.name() == "a" && inbound.dedupe.is_some()));
}

#[tokio::test]
async fn a_socket_talks_to_several_sessions() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat?session=a").await;
    client.send_json(json!({"type": "message", "id": "1", "text": "to b", "session": "b"})).await;
    assert_eq!(client.until("done").await.pop().unwrap()["text"], "to b");
    client.send_json(json!({"type": "message", "id": "2", "text": "to a"})).await;
    assert_eq!(client.until("done").await.pop().unwrap()["text"], "to a");
    let sessions: Vec<_> =
        stage.assistant.inbound().iter().map(|inbound| inbound.session.name().to_owned()).collect();
    assert_eq!(sessions, ["b", "a"]);
    for number in 0..70 {
        client.send_json(json!({"type": "resume", "session": format!("s{number}"), "after": 0})).await;
    }
    assert_eq!(client.json().await["code"], "too_many_sessions");
}

#[tokio::test]
async fn turns_of_other_tabs_are_seen_and_outlive_their_sockets() {
    let stage = Stage::open().await;
    let mut watching = stage.v1("/ws/chat").await;
    let mut asking = stage.v1("/ws/chat").await;
    asking.send_json(json!({"type": "message", "id": "m1", "text": "first\n!gate\n second"})).await;
    asking.until("delta").await;
    drop(asking);
    watching.until("delta").await;
    stage.assistant.gate.notify_one();
    assert_eq!(watching.until("done").await.pop().unwrap()["text"], "first second");
}

#[tokio::test]
async fn queued_messages_are_acknowledged_at_once() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat").await;
    for (id, text) in [("1", "!gate\na"), ("2", "b"), ("3", "c")] {
        client.send_json(json!({"type": "message", "id": id, "text": text})).await;
    }
    let mut acks = Vec::new();
    while acks.len() < 3 {
        acks.push(client.until("ack").await.pop().unwrap());
    }
    let queued: Vec<_> = acks.iter().map(|ack| ack["queued"].as_u64().unwrap()).collect();
    assert_eq!(queued, [0, 1, 2]);
    stage.assistant.gate.notify_one();
    for text in ["a", "b", "c"] {
        assert_eq!(client.until("done").await.pop().unwrap()["text"], text);
    }
}

#[tokio::test]
async fn a_delivery_is_a_message_of_its_own() {
    let stage = Stage::open().await;
    let mut client = stage.v1("/ws/chat?session=home").await;
    let channel = WebChat::new(stage.assistant.clone(), stage.hub.clone());
    let delivery = |id, recipient: &str| {
        Delivery::new(
            id,
            SessionId::parse("webhook:trigger:1").unwrap(),
            TurnId::fresh(),
            NewDelivery::new("webchat", "*done*", SystemClock.now()).with_recipient(Some(recipient.into())),
        )
    };
    assert_eq!(channel.name(), "webchat");
    channel.send(&delivery(7, "home")).await.unwrap();
    channel.send(&delivery(7, "home")).await.unwrap();
    let frame = client.json().await;
    assert_eq!(
        (&frame["type"], &frame["text"], &frame["stop_reason"]),
        (&"done".into(), &"*done*".into(), &"end".into())
    );
    assert!(frame["turn"].is_string() && frame["seq"].is_u64());
    assert_eq!(frame["html"], "<p><em>done</em></p>");
    client.expect_nothing_before_error().await;
    assert_eq!(stage.assistant.posted("outbox:7").as_deref(), Some("*done*"));
    assert!(!channel.send(&delivery(8, " ")).await.unwrap_err().retryable);
}
