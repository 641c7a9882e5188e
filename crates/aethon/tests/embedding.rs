//! `memory.embedding` from the configuration to the ledger, across a restart.

#![allow(clippy::unwrap_used, reason = "in tests a failed expectation is the result")]

use std::path::Path;
use std::time::Duration;

use aethon::doctor::{Health, examine};
use aethon::{Aethon, Builder};

fn builder(home: &Path, provider: &str) -> Builder {
    let builder = Builder::new().home(home).set("model.provider=echo").set("channels.webchat.port=0");
    builder.set(format!("memory.embedding.provider={provider}")).set("memory.embedding.dimensions=8")
}

async fn open(home: &Path, provider: &str) -> Aethon {
    builder(home, provider).load().unwrap().open().await.unwrap()
}

#[tokio::test]
async fn a_text_is_paid_for_once_and_written_down() {
    let home = tempfile::tempdir().unwrap();
    let mut vectors = Vec::new();
    for _ in 0..2 {
        let assistant = open(home.path(), "fake").await;
        let embedder = assistant.embedder().unwrap();
        vectors.push(embedder.embed(&["a cat", "a dog"]).await.unwrap());
        let usage = assistant.usage_document(1).await.unwrap();
        let row = &usage["rows"][0];
        assert_eq!((&row["kind"], &row["provider"]), (&"embedding".into(), &"fake".into()), "{usage}");
        assert_eq!((&row["requests"], &row["input_tokens"]), (&1.into(), &4.into()), "{usage}");
        assistant.shutdown(Duration::from_secs(5)).await;
    }
    assert_eq!(vectors[0], vectors[1]);
    assert!(vectors[0].iter().all(|vector| vector.len() == 8));
}

#[tokio::test]
async fn there_is_no_embedder_unless_one_is_configured() {
    let home = tempfile::tempdir().unwrap();
    let assistant = open(home.path(), "none").await;
    assert!(assistant.embedder().is_none());
    assistant.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn doctor_reports_the_state_of_the_embedder() {
    let home = tempfile::tempdir().unwrap();
    let check = async |provider: &str, setting: &str, expected: Option<(Health, &str)>| {
        let findings = examine(builder(home.path(), provider).set(setting), None).await;
        let found = findings.iter().find(|finding| finding.area == "embedding");
        assert_eq!(found.map(|finding| finding.health), expected.map(|(health, _)| health), "{found:?}");
        if let (Some(found), Some((_, word))) = (found, expected) {
            assert!(format!("{} {:?}", found.message, found.fix).contains(word), "{found:?}");
        }
    };
    let timeout = "memory.embedding.timeout_seconds=5";
    check("none", timeout, None).await;
    check("fake", timeout, Some((Health::Ok, "length 8"))).await;
    let unsendable = "memory.embedding.api_key=\"a\\u0007b\"";
    check("mistral", unsendable, Some((Health::Broken, "memory.embedding.api_key"))).await;
    check("openai", "memory.embedding.api_key=sk-x", Some((Health::Ok, "not tested"))).await;
}
