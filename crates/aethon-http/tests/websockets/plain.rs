//! `/ws/chat` without a subprotocol.

use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use crate::client::Client;
use crate::stage::Stage;

#[tokio::test]
async fn a_message_in_a_reply_out_in_order() {
    let stage = Stage::open().await;
    let mut client = stage.plain().await;
    assert!(client.answer.headers().get("sec-websocket-protocol").is_none());
    client.send("hello *you*").await;
    assert_eq!(client.text().await, "hello *you*");
    for number in 0..60 {
        client.send(&format!("message {number}")).await;
    }
    for number in 0..60 {
        assert_eq!(client.text().await, format!("message {number}"));
    }
}

#[tokio::test]
async fn a_client_that_waits_for_each_reply_is_never_slowed() {
    let stage = Stage::open().await;
    let mut client = stage.plain().await;
    let begun = std::time::Instant::now();
    for number in 0..1000 {
        client.send(&format!("message {number}")).await;
        assert_eq!(client.text().await, format!("message {number}"));
    }
    // At fifty a second behind the first hundred it would take eighteen seconds.
    assert!(begun.elapsed() < std::time::Duration::from_secs(15));
}

#[tokio::test]
async fn every_message_has_exactly_one_reply() {
    let stage = Stage::open().await;
    let mut client = stage.plain().await;
    for message in ["", "  \n ", "!silent", "!fail", "!full", "!think x", "!tool", "!model\n!notice", "last"]
    {
        client.send(message).await;
    }
    let mut replies = Vec::new();
    for _ in 0..9 {
        replies.push(client.text().await);
    }
    assert!(replies[0].contains("empty") && replies[0] == replies[1], "{replies:?}");
    assert!(replies[2].contains("empty reply"), "{replies:?}");
    assert_eq!(replies[3], "The key is wrong. Set model.api_key.");
    assert_eq!(replies[4], "Too many messages wait; try again in a moment.");
    assert_eq!(replies[8], "last");
}

#[tokio::test]
async fn the_address_picks_the_session() {
    let stage = Stage::open().await;
    for (path, session) in
        [("/ws/chat", "default"), ("/ws/chat?session=a%20b", "a b"), ("/ws/chat?x=1&session=c", "c")]
    {
        let mut client = Client::connect(stage.address, path, &[]).await;
        client.send("hi").await;
        client.text().await;
        let inbound = stage.assistant.inbound().pop().unwrap();
        assert_eq!((inbound.session.channel(), inbound.session.name()), ("webchat", session));
        assert_eq!((inbound.channel.as_str(), inbound.dedupe), ("webchat", None));
    }
    for path in
        ["/ws/chat?session=%20", "/ws/chat?session=a%00b", &format!("/ws/chat?session={}", "x".repeat(400))]
    {
        let mut client = Client::connect(stage.address, path, &[]).await;
        assert_eq!(client.code().await, Some(1008), "{path}");
    }
}

#[tokio::test]
async fn approvals_are_denied() {
    let stage = Stage::open().await;
    let mut client = stage.plain().await;
    client.send("!ask").await;
    assert_eq!(client.text().await, "denied");
}

#[tokio::test]
async fn a_reply_that_looks_like_a_frame_stays_text() {
    let stage = Stage::open().await;
    let mut client = stage.plain().await;
    let text = r#"{"type":"done","html":"<script>alert(1)</script>"}"#;
    client.send(text).await;
    assert_eq!(client.text().await, text);
}

#[tokio::test]
async fn a_fragmented_message_is_one_message() {
    let stage = Stage::open().await;
    let mut client = stage.plain().await;
    let part = |text: &'static str, opcode, is_final| Frame::message(text, OpCode::Data(opcode), is_final);
    client.send_frame(part("hel", Data::Text, false)).await;
    client.send_frame(Frame::ping("p")).await;
    client.send_frame(part("lo", Data::Continue, true)).await;
    assert_eq!(client.text().await, "hello");
}

#[tokio::test]
async fn invalid_frames_close_the_socket_with_their_code() {
    let stage = Stage::open().await;
    let mut client = stage.plain().await;
    client.send_frame(Frame::message("x", OpCode::Data(Data::Binary), true)).await;
    assert_eq!(client.code().await, Some(1003));

    let mut client = stage.plain().await;
    client.send_frame(Frame::message(&b"\xff\xfe"[..], OpCode::Data(Data::Text), true)).await;
    assert_eq!(client.code().await, Some(1007));

    let mut client = stage.plain().await;
    client.send(&"x".repeat((1 << 20) + 1)).await;
    assert_eq!(client.code().await, Some(1009));

    let mut client = stage.plain().await;
    let half = "x".repeat(600_000);
    client.send_frame(Frame::message(half.clone(), OpCode::Data(Data::Text), false)).await;
    client.send_frame(Frame::message(half, OpCode::Data(Data::Continue), true)).await;
    assert_eq!(client.code().await, Some(1009));

    let mut client = stage.plain().await;
    client.send_frame(Frame::message("x", OpCode::Data(Data::Continue), true)).await;
    assert_eq!(client.code().await, Some(1002));
}

#[tokio::test]
async fn a_message_of_exactly_the_limit_is_taken() {
    let stage = Stage::open().await;
    let mut client = stage.plain().await;
    let longest = "x".repeat(1 << 20);
    client.send(&longest).await;
    assert_eq!(client.text().await.len(), longest.len());
}

#[tokio::test]
async fn a_close_is_answered_with_a_close() {
    use futures_util::SinkExt;
    let stage = Stage::open().await;
    let mut client = stage.plain().await;
    client.stream.send(Message::Close(None)).await.unwrap();
    assert!(matches!(client.message().await, Some(Message::Close(None))));
    assert!(client.message().await.is_none());
}

#[tokio::test]
async fn a_panic_costs_its_own_socket() {
    let stage = Stage::open().await;
    let mut client = stage.plain().await;
    client.send("!panic").await;
    assert_eq!(client.code().await, Some(1011));
    let mut client = stage.plain().await;
    client.send("still here").await;
    assert_eq!(client.text().await, "still here");
}
