//! `aethon::model_test`: reports about working and faulty models.

#![allow(clippy::unwrap_used, clippy::panic, reason = "in tests a failed expectation is the result")]

use aethon::Builder;
use aethon::model_test::{ModelReport, Outcome, WindowSource, examine};
use aethon_core::model::{ModelError, ModelErrorKind, StopReason};
use aethon_core::testkit::{ScriptedModel, Step};
use serde_json::json;

async fn report_of(steps: Vec<Vec<Step>>) -> ModelReport {
    let home = tempfile::tempdir().unwrap();
    let model = ScriptedModel::new(steps);
    let prepared = Builder::new().home(home.path()).model(model).load().unwrap();
    let mut reports = examine(&prepared).await.unwrap();
    assert_eq!(reports.len(), 1, "the model that was brought along stands for all");
    reports.remove(0)
}

fn said(words: &[&str]) -> Vec<Step> {
    let end = Step::finish(StopReason::End);
    words.iter().map(|word| Step::say(word)).chain([end]).collect()
}

fn called() -> Vec<Step> {
    vec![Step::call("c1", "report_colour", json!({"colour": "blue"})), Step::finish(StopReason::ToolUse)]
}

fn outcome(report: &ModelReport, ability: &str) -> (Outcome, String) {
    let check = report.checks.iter().find(|check| check.ability == ability);
    let check = check.unwrap_or_else(|| panic!("{ability} is missing: {report:?}"));
    (check.outcome, check.message.clone())
}

fn outcomes(report: &ModelReport) -> Vec<(&'static str, Outcome)> {
    report.checks.iter().map(|check| (check.ability, check.outcome)).collect()
}

#[tokio::test]
async fn a_fully_working_model_passes_every_check() {
    let report = report_of(vec![said(&["one, ", "two"]), called(), said(&["Red."])]).await;
    let all = ["reachable", "chat", "streaming", "tools", "images"].map(|ability| (ability, Outcome::Ok));
    assert_eq!(outcomes(&report), all);
    assert!(report.chats() && !report.fallback);
    assert!(report.first_token_ms.is_some());
    assert_eq!(
        (report.context_window.tokens, report.context_window.source),
        (100_000, WindowSource::Program)
    );
    assert_eq!((report.spent.calls, report.spent.uncounted), (3, 0));
    assert_eq!((report.spent.usage.input_tokens, report.spent.usage.output_tokens), (30, 15));
    assert_eq!(report.spent.cost_usd, None, "nobody knows its price");
}

#[tokio::test]
async fn partly_working_abilities_are_reported_as_such() {
    let call = r#"{"name": "report_colour", "arguments": {"colour": "blue"}}"#;
    let report = report_of(vec![said(&["one, two"]), said(&[call]), said(&["A cat."])]).await;
    assert_eq!(outcome(&report, "chat").0, Outcome::Ok);
    assert_eq!(outcome(&report, "streaming").0, Outcome::Partly);
    let (tools, message) = outcome(&report, "tools");
    assert!(tools == Outcome::Partly && message.starts_with("as text"), "{message}");
    let (images, message) = outcome(&report, "images");
    assert!(images == Outcome::Partly && message.contains("A cat."), "{message}");
}

#[tokio::test]
async fn failing_abilities_are_reported_with_their_reason() {
    let refused = ModelError::new(ModelErrorKind::InvalidRequest, "no pictures here");
    let report = report_of(vec![said(&["one, ", "two"]), said(&["Blue!"]), vec![Step::Fail(refused)]]).await;
    assert_eq!(outcome(&report, "tools"), (Outcome::Failed, "no: it answered “Blue!”".to_owned()));
    assert_eq!(outcome(&report, "images"), (Outcome::Failed, "refused: no pictures here".to_owned()));
    assert!(report.chats());
    assert_eq!((report.spent.calls, report.spent.uncounted), (3, 1));
}

#[tokio::test]
async fn a_model_that_does_not_answer_is_asked_nothing_more() {
    for (steps, reason) in [
        (vec![Step::Fail(ModelError::new(ModelErrorKind::Auth, "the key is wrong"))], "the key is wrong"),
        (vec![Step::finish(StopReason::Length)], "output limit"),
        (vec![Step::finish(StopReason::End)], "empty"),
    ] {
        let report = report_of(vec![steps]).await;
        let (chat, message) = outcome(&report, "chat");
        assert!(chat == Outcome::Failed && message.contains(reason), "{message}");
        assert!(!report.chats());
        assert_eq!(outcome(&report, "images").0, Outcome::Skipped);
        assert_eq!(report.spent.calls, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_hangs_is_given_up() {
    let report = report_of(vec![said(&["one, ", "two"]), vec![Step::say("Well"), Step::Hang]]).await;
    let (tools, message) = outcome(&report, "tools");
    assert!(tools == Outcome::Failed && message.contains("within 30 s"), "{message}");
    assert_eq!(outcome(&report, "images").0, Outcome::Partly, "the next question is asked all the same");
    assert_eq!(report.spent.uncounted, 1);
}

#[tokio::test]
async fn every_fallback_is_tried_and_the_offline_models_too() {
    let home = tempfile::tempdir().unwrap();
    let builder = Builder::new()
        .home(home.path())
        .set("model.provider=fake")
        .set("model.context_window=5000")
        .set("model.fallbacks=[{provider=\"echo\"}, {provider=\"mistral\", model_id=\"unheard-of\"}]");
    let reports = examine(&builder.load().unwrap()).await.unwrap();
    let [fake, echo, mistral] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!((fake.fallback, echo.fallback, mistral.fallback), (false, true, true));
    assert_eq!(outcome(fake, "tools").0, Outcome::Ok);
    assert_eq!((fake.context_window.tokens, fake.context_window.source), (5000, WindowSource::Config));
    assert_eq!((fake.spent.cost_usd, fake.spent.calls), (Some(0.0), 3));
    assert!(echo.chats() && outcome(echo, "tools").0 != Outcome::Ok, "{echo:?}");
    assert_eq!(echo.context_window.source, WindowSource::Table);
    assert_eq!(outcome(mistral, "reachable").0, Outcome::Failed, "it has no key");
    assert_eq!((mistral.context_window.source, mistral.spent.calls), (WindowSource::Assumed, 0));
}
