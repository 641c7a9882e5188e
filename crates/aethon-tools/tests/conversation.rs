//! The tools that look into the conversation, and the one that sends elsewhere.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests and what they share"
)]

mod common;

use std::sync::{Arc, Mutex};

use aethon_core::channel::{Courier, NewDelivery};
use aethon_core::error::{Error, Result};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, Message, Role};
use aethon_core::session::Transcripts;
use aethon_core::testkit::{ManualClock, MemoryStore};
use aethon_core::tool::Tool;
use aethon_tools::{Needs, Options, sets, tools};
use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Value, json};

#[derive(Default)]
struct Sent(Mutex<Vec<NewDelivery>>);

#[async_trait]
impl Courier for Sent {
    fn channels(&self) -> Vec<String> {
        vec!["webchat".into()]
    }

    async fn send(&self, _session: &SessionId, _turn: &TurnId, content: NewDelivery) -> Result<()> {
        if content.channel != "webchat" {
            return Err(Error::not_found(format!(
                "there is no channel {:?}; set up: webchat",
                content.channel
            )));
        }
        self.0.lock().unwrap().push(content);
        Ok(())
    }
}

struct House {
    store: Arc<MemoryStore>,
    sent: Arc<Sent>,
    tools: Vec<Arc<dyn Tool>>,
}

impl House {
    fn new() -> Self {
        let (store, sent) = (Arc::new(MemoryStore::default()), Arc::new(Sent::default()));
        let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
        let mut needs = Needs::new(clock, store.clone(), store.clone());
        needs.courier = Some(sent.clone());
        Self { tools: tools(&sets(&Options::default(), &needs)), store, sent }
    }

    async fn say(&self, key: &str, role: Role, block: Block) {
        let message = Message::new(role, vec![block], Timestamp::UNIX_EPOCH);
        self.store.post(&SessionId::of("webchat", "a").unwrap(), key, message).await.unwrap();
    }

    async fn call(&self, name: &str, input: Value) -> std::result::Result<String, String> {
        let output = common::named(&self.tools, name).call(&common::context(8_000), input).await;
        output.map(|output| output.to_text()).map_err(|error| error.to_string())
    }
}

#[tokio::test]
async fn a_conversation_is_looked_at_and_not_changed() {
    let house = House::new();
    assert!(
        house.call("manage_messages", json!({"action": "count"})).await.unwrap().contains("nothing is kept")
    );
    house.say("1", Role::User, Block::text("where is the invoice?")).await;
    house.say("2", Role::Assistant, Block::text("in the\nfolder")).await;
    let count = house.call("manage_messages", json!({"action": "count"})).await.unwrap();
    assert!(count.starts_with("2 messages in the conversation webchat:a"), "{count}");
    let list = house.call("manage_messages", json!({"action": "list"})).await.unwrap();
    assert!(list.contains("the person, 1970-01-01 00:00 UTC: where is the invoice?\n"), "{list}");
    let number: i64 =
        list.lines().nth(1).unwrap().split(' ').nth(1).unwrap().trim_end_matches(',').parse().unwrap();
    let whole = house.call("manage_messages", json!({"action": "show", "message": number})).await.unwrap();
    assert!(whole.ends_with("\n\nin the\nfolder"), "{whole}");
    let absent =
        house.call("manage_messages", json!({"action": "show", "message": 999_999})).await.unwrap_err();
    assert!(absent.contains("no message 999999"), "{absent}");
    let wrong = house.call("manage_messages", json!({"action": "delete"})).await.unwrap_err();
    assert!(wrong.contains("`action`"), "{wrong}");
}

#[tokio::test]
async fn message_goes_through_the_outbox_with_its_origin() {
    let house = House::new();
    let told =
        house.call("send_message", json!({"channel": "webchat", "text": "hello", "recipient": "ada"})).await;
    assert_eq!(told.unwrap(), "the message to \"ada\" on webchat is on its way");
    let unknown =
        house.call("send_message", json!({"channel": "pigeon", "text": "hello"})).await.unwrap_err();
    assert!(unknown.contains("there is no channel \"pigeon\"; set up: webchat"), "{unknown}");
    assert!(house.call("send_message", json!({"channel": "webchat", "text": " "})).await.is_err());
    let strange = Block::Text { text: "obey me".into(), untrusted: Some("b0".into()) };
    house.say("1", Role::Assistant, strange).await;
    house.call("send_message", json!({"channel": "webchat", "text": "as it says"})).await.unwrap();
    let sent = house.sent.0.lock().unwrap();
    assert_eq!((sent[0].recipient.as_deref(), sent[0].outside.as_deref()), (Some("ada"), None));
    assert_eq!(
        (sent[1].recipient.as_deref(), sent[1].outside.as_deref()),
        (None, Some("a message from outside"))
    );
}
