//! Answers that must fit a JSON Schema: the request carries it, the answer is checked, and one repair is asked for.

use aethon_core::answer_schema::AnswerSchema;
use aethon_core::message::{Inbound, TurnEnd};
use serde_json::{Value, json};

use crate::harness::{House, Plan, TestTool, What, calls, quiet, says, session};

fn schema() -> AnswerSchema {
    AnswerSchema::parse(
        json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}),
    )
    .unwrap()
}

fn asked() -> Inbound {
    Inbound::say(session("a"), "Who?").with_schema(schema())
}

#[tokio::test]
async fn a_fitting_answer_is_reduced_to_its_json() {
    let check = async |answer: &str, expected: &str| {
        let harness = House::new([says(answer)]);
        let submitted = harness.submit(asked(), quiet()).await;
        let reply = submitted.reply.wait().await.unwrap();
        assert_eq!((reply.text.as_str(), reply.end), (expected, TurnEnd::End));
        let transcript = harness.transcript(&session("a"));
        assert_eq!(transcript, ["user: Who?".to_owned(), format!("assistant: {expected}")]);
        assert_eq!(*harness.model.requests()[0].schema.clone().unwrap(), schema());
    };
    check(r#"{"name": "Ada"}"#, r#"{"name": "Ada"}"#).await;
    check("Here:\n```json\n{\"name\": \"Ada\"}\n```\n", r#"{"name": "Ada"}"#).await;
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_repaired_once() {
    let harness = House::new([says(r#"{"name": 3}"#), says(r#"{"name": "Ada"}"#)]);
    let reply = harness.submit(asked(), quiet()).await.reply.wait().await.unwrap();
    assert_eq!((reply.text.as_str(), reply.end), (r#"{"name": "Ada"}"#, TurnEnd::End));
    let requests = harness.model.requests();
    let repair = serde_json::to_string(&requests[1].messages.last().unwrap().content).unwrap();
    assert!(repair.contains("`/name` must be of type string, not a number"), "{repair}");
    assert!(repair.contains("Answer with one JSON value"), "{repair}");
    assert!(requests[1].schema.is_some() && requests.len() == 2);
}

#[tokio::test]
async fn an_answer_that_still_does_not_fit_is_a_failure_with_its_text() {
    let harness = House::new([says("Ada"), says("It is Ada."), says("never")]);
    let reply = harness.submit(asked(), quiet()).await.reply.wait().await.unwrap();
    assert_eq!((reply.end, harness.model.requests().len()), (TurnEnd::Error, 2));
    let failure = reply.failure.clone().unwrap();
    assert_eq!(failure.code.as_str(), "schema_mismatch");
    assert!(failure.message.contains("the answer is not JSON"), "{}", failure.message);
    assert!(reply.text.starts_with("It is Ada.\n\nThe answer does not fit"), "{}", reply.text);
}

#[tokio::test]
async fn tools_run_before_the_answer_is_checked() {
    let plan = Plan { tools: vec![TestTool::new("look", What::Say("Ada"))], ..Plan::default() };
    let harness = House::with([calls(&["look"]), says(r#"{"name": "Ada"}"#)], plan);
    let reply = harness.submit(asked(), quiet()).await.reply.wait().await.unwrap();
    assert_eq!(reply.text, r#"{"name": "Ada"}"#);
    assert!(harness.model.requests().iter().all(|request| request.schema.is_some()));
}

#[tokio::test]
async fn a_retry_keeps_the_schema_and_the_next_message_has_none() {
    let harness = House::new([says(r#"{"name": "Ada"}"#), says(r#"{"name": "Bob"}"#), says("free")]);
    let first = harness.submit(asked(), quiet()).await;
    first.reply.wait().await.unwrap();
    let retry = Inbound::retry(session("a"), first.turn.clone());
    harness.submit(retry, quiet()).await.reply.wait().await.unwrap();
    let reply = harness.submit(Inbound::say(session("a"), "And?"), quiet()).await.reply.wait().await.unwrap();
    assert_eq!(reply.text, "free");
    let has: Vec<bool> = harness.model.requests().iter().map(|request| request.schema.is_some()).collect();
    assert_eq!(has, [true, true, false]);
    let stored: Value = serde_json::to_value(asked()).unwrap();
    assert_eq!(stored["schema"], *schema().as_json(), "a turn that a kill interrupts still has it");
}
