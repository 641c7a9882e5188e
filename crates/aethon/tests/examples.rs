//! The examples run as documented.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "in tests a failed expectation is the result; each example has a main"
)]

#[path = "../examples/custom_model.rs"]
mod custom_model;
#[path = "../examples/custom_tool.rs"]
mod custom_tool;
#[path = "../examples/embedded.rs"]
mod embedded;

#[tokio::test]
async fn an_assistant_can_be_embedded() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(embedded::converse(home.path()).await.unwrap(), "Good morning");
}

#[tokio::test]
async fn a_tool_of_ones_own_is_called() {
    let home = tempfile::tempdir().unwrap();
    let reply = custom_tool::roll(home.path()).await.unwrap();
    assert!(reply.contains("the die with 20 sides shows 10"), "{reply}");
}

#[tokio::test]
async fn a_model_of_ones_own_answers() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(custom_model::converse(home.path()).await.unwrap(), "desserts");
}
