//! Lists of scripted models that fail in every way: which are called, how often, and the caller's result.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::event::EventBus;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::ledger::WorkKind;
use aethon_core::model::{
    Capabilities, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream,
    Readiness, StopReason,
};
use aethon_core::testkit::{ManualClock, MemoryLedger, ScriptedModel, Step};
use aethon_core::usage::Budget;
use async_trait::async_trait;

use super::Models;
use crate::meter::{CallError, Meter, ModelCall, Work};

use ModelErrorKind::{Auth, ContextLength, InvalidRequest, Network, Overloaded, RateLimit, Refused};

fn model(name: &str, responses: Vec<Vec<Step>>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(responses).with_name(name))
}

fn list(models: &[&Arc<ScriptedModel>]) -> Models {
    let mut models = models.iter().map(|&model| model.clone() as Arc<dyn ModelProvider>);
    Models::with_fallbacks(models.next().unwrap(), models)
}

/// A model that is not set up.
struct Unset(Arc<Capabilities>);

impl Unset {
    fn named(name: &str) -> Arc<dyn ModelProvider> {
        Arc::new(Self(Arc::new(Capabilities::new("p", name).with_sizes(400_000, 100))))
    }
}

#[async_trait]
impl ModelProvider for Unset {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.0.clone()
    }

    fn readiness(&self) -> Readiness {
        Readiness::NotConfigured("set model.api_key".into())
    }

    async fn stream(&self, _: ModelRequest) -> Result<ModelStream, ModelError> {
        Err(ModelError::new(InvalidRequest, "it was asked"))
    }

    async fn probe(&self) -> Result<String, ModelError> {
        Err(ModelError::new(Auth, "set model.api_key"))
    }
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
    let session = SessionId::parse("webchat:default").unwrap();
    ModelRequest::new(session, TurnId::fresh(), "You help.", Vec::new()).with_attempt(attempt)
}

/// The caller's result: the text, the model that was announced, the model that was booked, the error.
#[derive(Debug, Default)]
struct Answer {
    text: String,
    fallback: Option<(String, String)>,
    named: Option<String>,
    error: Option<ModelError>,
}

impl Answer {
    fn fail(&mut self, error: CallError) {
        match error {
            CallError::Model(error) => self.error = Some(error),
            CallError::Money(failure) => panic!("there is no ceiling: {failure:?}"),
        }
    }
}

async fn ask(models: &Models, attempt: u32) -> Answer {
    let clock = Arc::new(ManualClock::at("2026-02-03T04:05:06Z".parse().unwrap()));
    let ledger = Arc::new(MemoryLedger::new(clock.clone()));
    let meter = Meter::new(ledger, Arc::new(|_, _, _| None), Budget::default(), clock, EventBus::default());
    let mut answer = Answer::default();
    let mut call = ModelCall::new(meter.clone(), Work::new(WorkKind::Turn, 10));
    match call.start(models, question(attempt)).await {
        Ok(stand_in) => answer.fallback = stand_in.map(|stand_in| (stand_in.model, stand_in.reason)),
        Err(error) => {
            answer.fail(error);
            return answer;
        }
    }
    loop {
        match call.next().await {
            Ok(ModelEvent::Text(text)) => answer.text.push_str(&text),
            Ok(ModelEvent::Finished { .. }) => break,
            Ok(_) => {}
            Err(error) => {
                answer.fail(error);
                break;
            }
        }
    }
    answer.named = call.settle().await.model;
    answer
}

#[tokio::test(start_paused = true)]
async fn first_answering_model_is_used_and_named() {
    let (a, b) = (model("a", vec![says("from a"), fails(Overloaded)]), model("b", vec![says("from b")]));
    let both = list(&[&a, &b]);
    let answer = ask(&both, 0).await;
    assert_eq!((answer.text.as_str(), answer.fallback, answer.named.as_deref()), ("from a", None, Some("a")));
    assert!(b.requests().is_empty());
    let answer = ask(&both, 0).await;
    assert_eq!((answer.text.as_str(), answer.named.as_deref()), ("from b", Some("b")));
    assert_eq!(answer.fallback, Some(("b".into(), "overloaded says no.".into())));
}

#[tokio::test(start_paused = true)]
async fn faulty_requests_are_not_sent_to_the_next_model() {
    for kind in [ContextLength, InvalidRequest, Refused] {
        let (a, b) = (model("a", vec![fails(kind)]), model("b", vec![]));
        let both = list(&[&a, &b]);
        assert_eq!(ask(&both, 0).await.error.unwrap().kind(), kind);
        assert!(b.requests().is_empty(), "{kind:?}");
        assert_eq!(ask(&both, 1).await.text, "ok", "the model is not to blame");
    }
}

#[tokio::test(start_paused = true)]
async fn broken_off_answer_is_not_repeated_by_another_model() {
    let broken = vec![Step::say("Part of "), Step::Fail(ModelError::new(Network, "It broke."))];
    let (a, b) = (model("a", vec![broken.clone(), broken.clone(), broken]), model("b", vec![]));
    let both = list(&[&a, &b]);
    for _ in 0..3 {
        let answer = ask(&both, 0).await;
        assert_eq!(answer.text, "Part of ");
        assert_eq!(answer.error.unwrap().kind(), Network);
        assert!(b.requests().is_empty());
    }
    // A model whose answers always break off is eventually left alone.
    assert_eq!(ask(&both, 0).await.named.as_deref(), Some("b"));
    assert_eq!(a.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn failing_service_is_not_flooded_with_requests() {
    let failures = || std::iter::repeat_with(|| fails(Overloaded)).take(10_000).collect();
    let (a, b) = (model("a", failures()), model("b", failures()));
    let both = list(&[&a, &b]);
    // Fifty turns, each retrying four times as the engine does, in the time that their waits take.
    for _ in 0..50 {
        for attempt in 0..5 {
            let error = ask(&both, attempt).await.error.unwrap();
            assert_eq!(error.kind(), Overloaded);
        }
    }
    // Three in the first turn; then every new turn asks each of them once, and its repetitions do not.
    assert_eq!((a.requests().len(), b.requests().len()), (52, 52), "no time has passed");
    let before = a.requests().len();
    for _ in 0..360 {
        tokio::time::advance(Duration::from_secs(10)).await;
        ask(&both, 1).await;
    }
    let asked = a.requests().len() - before;
    assert!((9..=22).contains(&asked), "an hour of asking every ten seconds came to {asked} requests");
}

#[tokio::test(start_paused = true)]
async fn requested_wait_is_kept_and_the_shortest_is_reported() {
    let (a, b) = (model("a", vec![fails_for(RateLimit, 30)]), model("b", vec![fails_for(RateLimit, 90)]));
    let both = list(&[&a, &b]);
    let wait = ask(&both, 0).await.error.unwrap().retry_after().unwrap();
    assert!(wait >= Duration::from_secs(30) && wait <= Duration::from_secs(32), "the shortest: {wait:?}");
    let error = ask(&both, 1).await.error.unwrap();
    assert_eq!(error.retry_after(), Some(wait));
    assert_eq!((a.requests().len(), b.requests().len()), (1, 1));
    tokio::time::advance(wait).await;
    assert_eq!(ask(&both, 2).await.named.as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn single_request_tries_the_model_after_the_wait() {
    let hang = vec![Step::Hang];
    let a = model("a", vec![fails(RateLimit), hang, says("well again")]);
    let b = model("b", vec![]);
    let both = list(&[&a, &b]);
    assert_eq!(ask(&both, 0).await.named.as_deref(), Some("b"));
    tokio::time::advance(Duration::from_secs(60)).await;
    let mut trial = Box::pin(ask(&both, 0));
    assert!(tokio::time::timeout(Duration::from_millis(1), &mut trial).await.is_err());
    assert_eq!(ask(&both, 0).await.named.as_deref(), Some("b"), "one at a time");
    drop(trial);
    assert_eq!(ask(&both, 0).await.text, "well again", "whoever gave up left the place to the next");
    assert_eq!(a.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn new_turn_of_a_person_asks_models_that_are_left_alone() {
    let (a, b) = (model("a", vec![fails(Auth), fails(Auth)]), model("b", vec![fails(Auth), fails(Auth)]));
    let both = list(&[&a, &b]);
    assert_eq!(ask(&both, 0).await.error.unwrap().kind(), Auth);
    let asked = |a: &ScriptedModel, b: &ScriptedModel| a.requests().len() + b.requests().len();
    assert_eq!(asked(&a, &b), 2);
    let error = ask(&both, 1).await.error.unwrap();
    assert!(!error.is_retryable() && error.to_string().contains("Not asked"), "{error:?}");
    assert_eq!(asked(&a, &b), 2, "a repetition asks none of them");
    let error = ask(&both, 0).await.error.unwrap();
    assert!(error.to_string().contains("The other model did not answer either (b: auth says no)"), "{error}");
    assert_eq!(asked(&a, &b), 4, "a new turn asks both");
    assert_eq!(ask(&both, 0).await.text, "ok");
}

#[tokio::test(start_paused = true)]
async fn long_wait_of_one_model_does_not_make_the_other_unreachable() {
    let (a, b) = (model("a", vec![fails_for(RateLimit, 3_000)]), model("b", vec![]));
    let both = list(&[&a, &b]);
    assert_eq!(ask(&both, 0).await.named.as_deref(), Some("b"));
    b.then(fails(Auth));
    let answer = ask(&both, 0).await;
    assert_eq!((answer.text.as_str(), answer.named.as_deref()), ("ok", Some("a")), "it is well again by now");
    let (a, b) = (model("a", vec![fails(Auth)]), model("b", vec![fails_for(RateLimit, 3_000)]));
    let both = list(&[&a, &b]);
    assert!(ask(&both, 0).await.error.is_some());
    assert_eq!(ask(&both, 0).await.named.as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn models_that_cannot_handle_the_request_are_skipped() {
    let unset = Unset::named("unset");
    let small = Arc::new(ScriptedModel::new(vec![]).with_name("small").with_context_window(1));
    let large = model("large", vec![]);
    let all = Models::with_fallbacks(unset.clone(), [small.clone() as Arc<dyn ModelProvider>, large.clone()]);
    assert_eq!(all.readiness(), Readiness::Ready);
    assert_eq!((all.capabilities().model.as_str(), all.capabilities().context_window), ("unset", 1));
    let answer = ask(&all, 0).await;
    assert_eq!(answer.named.as_deref(), Some("large"));
    assert!(answer.fallback.unwrap().1.contains("model.api_key"));
    assert!(small.requests().is_empty());
    let none = Models::with_fallbacks(unset.clone(), [unset]);
    assert!(matches!(none.readiness(), Readiness::NotConfigured(_)));
    assert_eq!(ask(&none, 0).await.error.unwrap().kind(), Auth);
}

#[tokio::test(start_paused = true)]
async fn context_overflow_falls_back_to_a_larger_model() {
    let sized = |name: &str, window: u64, responses: Vec<Vec<Step>>| {
        Arc::new(ScriptedModel::new(responses).with_name(name).with_context_window(window))
    };
    let first = sized("first", 1_000, vec![fails(ContextLength)]);
    let (same, larger) = (sized("same", 1_000, vec![]), sized("larger", 2_000, vec![says("it fits")]));
    let answer = ask(&list(&[&first, &same, &larger]), 0).await;
    assert_eq!((answer.text.as_str(), answer.named.as_deref()), ("it fits", Some("larger")));
    assert_eq!(answer.fallback, Some(("larger".into(), "context_length says no.".into())));
    assert!(same.requests().is_empty(), "it is no larger");
    // If no larger model answers, the conversation has to become shorter.
    first.then(fails(ContextLength));
    larger.then(fails(Network));
    assert_eq!(ask(&list(&[&first, &larger]), 0).await.error.unwrap().kind(), ContextLength);
}

#[tokio::test]
async fn a_list_of_one_is_that_model() {
    let one = model("one", vec![fails(RateLimit)]);
    let alone = list(&[&one]);
    assert_eq!(ask(&alone, 0).await.error.unwrap().kind(), RateLimit);
    assert_eq!(ask(&alone, 0).await.text, "ok", "no breaker stands before it");
}
