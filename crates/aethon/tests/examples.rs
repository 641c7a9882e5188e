//! The examples run as documented.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "in tests a failed expectation is the result; each example has a main"
)]

#[path = "../examples/ask_stream.rs"]
mod ask_stream;
#[path = "../examples/embedded.rs"]
mod embedded;
#[path = "../examples/own_channel.rs"]
mod own_channel;
#[path = "../examples/own_provider.rs"]
mod own_provider;
#[path = "../examples/own_storage.rs"]
mod own_storage;
#[path = "../examples/own_tool.rs"]
mod own_tool;

#[tokio::test]
async fn an_assistant_can_be_embedded() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(embedded::converse(home.path()).await.unwrap(), "Good morning");
}

#[tokio::test]
async fn a_tool_of_ones_own_is_called() {
    let home = tempfile::tempdir().unwrap();
    let reply = own_tool::roll(home.path()).await.unwrap();
    assert!(reply.contains("the die with 20 sides shows 10"), "{reply}");
}

#[tokio::test]
async fn a_model_of_ones_own_answers() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(own_provider::converse(home.path()).await.unwrap(), "desserts");
}

#[tokio::test]
async fn an_answer_is_printed_as_it_comes() {
    let home = tempfile::tempdir().unwrap();
    let mut printed = Vec::new();
    let reply = ask_stream::converse(home.path(), &mut printed).await.unwrap();
    assert_eq!(String::from_utf8(printed).unwrap().trim(), reply.trim());
    assert!(reply.contains("Done."), "{reply}");
}

#[tokio::test]
async fn a_channel_of_ones_own_brings_messages_and_delivers() {
    let home = tempfile::tempdir().unwrap();
    let shown = own_channel::converse(home.path()).await.unwrap();
    assert_eq!(shown, ["How are you?", "[delivered] The door is open."]);
}

#[tokio::test]
async fn a_storage_of_ones_own_keeps_everything() {
    let home = tempfile::tempdir().unwrap();
    let (answer, rows) = own_storage::converse(home.path()).await.unwrap();
    assert_eq!(answer, "Do you remember me?");
    assert!(rows.iter().any(|row| row.subject == "model.provider"), "{rows:?}");
    assert!(!home.path().join("aethon.db").exists(), "there is no database");
}
