//! Lists of scripted models that fail in every way: who is asked, how often, and what is heard.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::message::{Block, Role};
use aethon_core::model::{
    ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, Readiness, StopReason,
};
use aethon_core::testkit::{ScriptedModel, Step};
use futures_util::StreamExt;

use super::fallback;
use crate::options::{Options, Provider};
use crate::testing::{message, request};

use ModelErrorKind::{Auth, ContextLength, InvalidRequest, Network, Overloaded, RateLimit, Refused};

fn model(name: &str, responses: Vec<Vec<Step>>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(responses).with_name(name))
}

fn list(models: &[&Arc<ScriptedModel>]) -> Arc<dyn ModelProvider> {
    fallback(models.iter().map(|&model| model.clone() as Arc<dyn ModelProvider>).collect()).unwrap()
}

fn fails(kind: ModelErrorKind) -> Vec<Step> {
    vec![Step::Fail(ModelError::new(kind, format!("{} says no.", kind.code())))]
}

fn fails_for(kind: ModelErrorKind, seconds: u64) -> Vec<Step> {
    vec![Step::Fail(ModelError::new(kind, "Wait.").with_retry_after(Some(Duration::from_secs(seconds))))]
}

fn says(text: &str) -> Vec<Step> {
    vec![Step::say(text), Step::finish(StopReason::End)]
}

fn question(attempt: u32) -> ModelRequest {
    ModelRequest { attempt, ..request(vec![message(Role::User, vec![Block::text("hi")])]) }
}

/// What was heard: text, the model that was told, the model named at the end, the error.
#[derive(Debug, Default)]
struct Heard {
    text: String,
    told: Option<(String, String)>,
    named: Option<String>,
    error: Option<ModelError>,
}

async fn ask(model: &dyn ModelProvider, attempt: u32) -> Heard {
    let mut heard = Heard::default();
    let mut stream = match model.stream(question(attempt)).await {
        Ok(stream) => stream,
        Err(error) => return Heard { error: Some(error), ..heard },
    };
    while let Some(event) = stream.next().await {
        match event {
            Ok(ModelEvent::Text(text)) => heard.text.push_str(&text),
            Ok(ModelEvent::Model { model, reason }) => {
                assert!(heard.text.is_empty() && heard.told.is_none());
                heard.told = Some((model, reason));
            }
            Ok(ModelEvent::Finished { model, .. }) => heard.named = model,
            Ok(_) => {}
            Err(error) => heard.error = Some(error),
        }
    }
    heard
}

#[tokio::test(start_paused = true)]
async fn the_first_that_answers_is_heard_and_named() {
    let (a, b) = (model("a", vec![says("from a"), fails(Overloaded)]), model("b", vec![says("from b")]));
    let both = list(&[&a, &b]);
    let heard = ask(&*both, 0).await;
    assert_eq!((heard.text.as_str(), heard.told, heard.named.as_deref()), ("from a", None, Some("a")));
    assert!(b.requests().is_empty());
    let heard = ask(&*both, 0).await;
    assert_eq!((heard.text.as_str(), heard.named.as_deref()), ("from b", Some("b")));
    assert_eq!(heard.told, Some(("b".into(), "overloaded says no.".into())));
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_request_itself_are_not_passed_on() {
    for kind in [ContextLength, InvalidRequest, Refused] {
        let (a, b) = (model("a", vec![fails(kind)]), model("b", vec![]));
        let both = list(&[&a, &b]);
        assert_eq!(ask(&*both, 0).await.error.unwrap().kind(), kind);
        assert!(b.requests().is_empty(), "{kind:?}");
        assert_eq!(ask(&*both, 1).await.text, "ok", "the model is not to blame");
    }
}

#[tokio::test(start_paused = true)]
async fn no_text_is_heard_twice() {
    let broken = vec![Step::say("Part of "), Step::Fail(ModelError::new(Network, "It broke."))];
    let (a, b) = (model("a", vec![broken.clone(), broken.clone(), broken]), model("b", vec![]));
    let both = list(&[&a, &b]);
    for _ in 0..3 {
        let heard = ask(&*both, 0).await;
        assert_eq!(heard.text, "Part of ");
        assert_eq!(heard.error.unwrap().kind(), Network);
        assert!(b.requests().is_empty());
    }
    // One whose answers always break off is left alone in the end.
    assert_eq!(ask(&*both, 0).await.named.as_deref(), Some("b"));
    assert_eq!(a.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_failing_service_is_not_stormed() {
    let failures = || std::iter::repeat_with(|| fails(Overloaded)).take(10_000).collect();
    let (a, b) = (model("a", failures()), model("b", failures()));
    let both = list(&[&a, &b]);
    // Fifty turns, each asking again four times as the engine does, in the time that their waits take.
    for _ in 0..50 {
        for attempt in 0..5 {
            let error = ask(&*both, attempt).await.error.unwrap();
            assert_eq!(error.kind(), Overloaded);
            assert!(error.to_string().contains("other model did not answer"), "{error}");
        }
    }
    assert_eq!((a.requests().len(), b.requests().len()), (3, 3), "no time has passed");
    let mut tries = 0;
    for _ in 0..360 {
        tokio::time::advance(Duration::from_secs(10)).await;
        tries += 1;
        ask(&*both, 0).await;
    }
    assert_eq!(tries, 360);
    let asked = a.requests().len();
    assert!((14..=22).contains(&asked), "an hour of asking every ten seconds came to {asked} requests");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_asked_for_is_kept_and_told() {
    let (a, b) = (model("a", vec![fails_for(RateLimit, 30)]), model("b", vec![fails_for(RateLimit, 90)]));
    let both = list(&[&a, &b]);
    let wait = ask(&*both, 0).await.error.unwrap().retry_after().unwrap();
    assert!(wait >= Duration::from_secs(30) && wait <= Duration::from_secs(32), "the shortest: {wait:?}");
    let error = ask(&*both, 1).await.error.unwrap();
    assert_eq!(error.retry_after(), Some(wait));
    assert_eq!((a.requests().len(), b.requests().len()), (1, 1));
    tokio::time::advance(wait).await;
    assert_eq!(ask(&*both, 2).await.named.as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn after_the_wait_one_request_finds_out() {
    let hang = vec![Step::Hang];
    let a = model("a", vec![fails(RateLimit), hang, says("well again")]);
    let b = model("b", vec![]);
    let both = list(&[&a, &b]);
    assert_eq!(ask(&*both, 0).await.named.as_deref(), Some("b"));
    tokio::time::advance(Duration::from_secs(60)).await;
    let mut trial = Box::pin(both.stream(question(0)));
    assert!(tokio::time::timeout(Duration::from_millis(1), &mut trial).await.is_err());
    assert_eq!(ask(&*both, 0).await.named.as_deref(), Some("b"), "one at a time");
    drop(trial);
    assert_eq!(ask(&*both, 0).await.text, "well again", "whoever gave up left the place to the next");
    assert_eq!(a.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_a_person_may_have_mended_is_tried_for_a_person() {
    let (a, b) = (model("a", vec![fails(Auth), fails(Auth)]), model("b", vec![fails(Auth), fails(Auth)]));
    let both = list(&[&a, &b]);
    assert_eq!(ask(&*both, 0).await.error.unwrap().kind(), Auth);
    let asked = |a: &ScriptedModel, b: &ScriptedModel| a.requests().len() + b.requests().len();
    assert_eq!(asked(&a, &b), 2);
    let error = ask(&*both, 1).await.error.unwrap();
    assert!(!error.is_retryable() && error.retry_after().is_none(), "{error:?}");
    assert_eq!(asked(&a, &b), 2, "a repetition asks nobody");
    ask(&*both, 0).await;
    assert_eq!(asked(&a, &b), 3, "a new turn asks one");
    ask(&*both, 0).await;
    ask(&*both, 0).await;
    assert_eq!(ask(&*both, 0).await.text, "ok");
}

#[tokio::test(start_paused = true)]
async fn models_that_cannot_take_it_are_passed_over() {
    let unset = crate::build(Options::new(Provider::OpenAi, "gpt-5"));
    let small = Arc::new(ScriptedModel::new(vec![]).with_name("small").with_context_window(1));
    let large = model("large", vec![]);
    let all = fallback(vec![unset.clone(), small.clone(), large.clone()]).unwrap();
    assert_eq!(all.readiness(), Readiness::Ready);
    assert_eq!((all.capabilities().model.as_str(), all.capabilities().context_window), ("gpt-5", 1));
    let heard = ask(&*all, 0).await;
    assert_eq!(heard.named.as_deref(), Some("large"));
    assert!(heard.told.unwrap().1.contains("model.api_key"));
    assert!(small.requests().is_empty());
    let none = fallback(vec![unset.clone(), unset]).unwrap();
    assert!(matches!(none.readiness(), Readiness::NotConfigured(_)));
    assert_eq!(ask(&*none, 0).await.error.unwrap().kind(), Auth);
}

#[tokio::test]
async fn a_list_of_one_is_that_model() {
    assert!(fallback(Vec::new()).is_none());
    let one = model("one", vec![fails(RateLimit)]);
    let alone = list(&[&one]);
    assert_eq!(ask(&*alone, 0).await.error.unwrap().kind(), RateLimit);
    assert_eq!(ask(&*alone, 0).await.text, "ok", "no breaker stands before it");
}
