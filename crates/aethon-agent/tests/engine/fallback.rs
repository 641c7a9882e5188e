//! A model beside a fallback with a much smaller window: every turn is answered while one of the two can.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_agent::{Models, Options};
use aethon_core::message::{Block, Inbound, TurnEnd};
use aethon_core::model::{
    Capabilities, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream,
    Readiness, StopReason, Usage,
};
use aethon_core::surface::TurnEvent;
use aethon_core::testkit::CollectingSurface;
use async_trait::async_trait;
use futures_util::stream;

use crate::harness::{House, Plan, is_for_summary, quiet, session};

/// What a service does with the requests of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Ok,
    Overloaded,
    LimitedBriefly,
    LimitedForLong,
    /// It finds fault with the request.
    Refusing,
    /// It says that the conversation is too long, whatever its length.
    TooLong,
}

use State::{LimitedBriefly, LimitedForLong, Ok as Works, Overloaded, Refusing, TooLong};

const STATES: [State; 4] = [Works, Overloaded, LimitedBriefly, LimitedForLong];

/// A service that counts strictly and refuses what is too long.
pub struct Service {
    name: &'static str,
    capabilities: Arc<Capabilities>,
    state: Mutex<State>,
    asked: AtomicUsize,
    summaries: AtomicUsize,
    largest: AtomicUsize,
}

impl Service {
    pub fn new(name: &'static str, context_window: u64) -> Arc<Self> {
        Self::of(name, Capabilities::new("scripted", name).with_sizes(context_window, 1_000))
    }

    /// Creates a service whose model sees pictures.
    pub fn seeing(name: &'static str, context_window: u64) -> Arc<Self> {
        let capabilities = Capabilities::new("scripted", name).with_sizes(context_window, 1_000);
        Self::of(name, capabilities.with_abilities(true, true))
    }

    fn of(name: &'static str, capabilities: Capabilities) -> Arc<Self> {
        Arc::new(Self {
            name,
            capabilities: Arc::new(capabilities),
            state: Mutex::new(Works),
            asked: AtomicUsize::new(0),
            summaries: AtomicUsize::new(0),
            largest: AtomicUsize::new(0),
        })
    }

    pub fn set(&self, state: State) {
        *self.state.lock().unwrap() = state;
        self.asked.store(0, Ordering::Relaxed);
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    pub fn largest(&self) -> usize {
        self.largest.load(Ordering::Relaxed)
    }

    fn summaries(&self) -> usize {
        self.summaries.load(Ordering::Relaxed)
    }
}

fn size(request: &ModelRequest) -> usize {
    let block = |block: &Block| match block {
        Block::Text { text, .. } | Block::Context { text, .. } => text.len(),
        Block::Folded { summary, .. } => summary.len(),
        _ => 0,
    };
    let messages = request.messages.iter().flat_map(|message| &message.content);
    (request.system.len() + messages.map(block).sum::<usize>()) / 4
}

#[async_trait]
impl ModelProvider for Service {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.capabilities.clone()
    }

    fn readiness(&self) -> Readiness {
        Readiness::Ready
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let error = |kind, wait: Option<u64>| {
            let error = ModelError::new(kind, format!("{} says no; try again in a moment.", self.name));
            Err(error.with_retry_after(wait.map(Duration::from_secs)))
        };
        match *self.state.lock().unwrap() {
            Works => {}
            Overloaded => return error(ModelErrorKind::Overloaded, None),
            LimitedBriefly => return error(ModelErrorKind::RateLimit, Some(1)),
            LimitedForLong => return error(ModelErrorKind::RateLimit, Some(3_000)),
            Refusing => return error(ModelErrorKind::InvalidRequest, None),
            TooLong => return error(ModelErrorKind::ContextLength, None),
        }
        let tokens = size(&request);
        self.largest.fetch_max(tokens, Ordering::Relaxed);
        if tokens as u64 > self.capabilities.context_window {
            return error(ModelErrorKind::ContextLength, None);
        }
        let text = if is_for_summary(&request) {
            self.summaries.fetch_add(1, Ordering::Relaxed);
            "## Names\n- message and answer words".to_owned()
        } else {
            format!("from {}", self.name)
        };
        let usage = Usage { input_tokens: tokens as u64, output_tokens: 4, ..Usage::default() };
        let finished = ModelEvent::Finished { stop: StopReason::End, usage, model: None };
        Ok(Box::pin(stream::iter([Ok(ModelEvent::Text(text)), Ok(finished)])))
    }

    async fn probe(&self) -> Result<String, ModelError> {
        Ok(String::new())
    }
}

fn pair() -> (Arc<Service>, Arc<Service>) {
    (Service::new("main", 128_000), Service::new("small", 8_000))
}

fn house(main: &Arc<Service>, small: &Arc<Service>) -> House {
    let main = main.clone() as Arc<dyn ModelProvider>;
    let models = Models::with_fallbacks(main, [small.clone() as Arc<dyn ModelProvider>]);
    let options = Options::default().with(|options| options.max_retries = 3);
    House::with([], Plan { models: Some(models), options, ..Plan::default() })
}

/// Talks until there are 30 turns of history, about 12,000 tokens.
async fn talk(house: &House) {
    for turn in 0..30 {
        let text = format!("message {turn} {}", "word ".repeat(300));
        assert_eq!(house.ask(&session("a"), &text).await.end, TurnEnd::End);
    }
}

fn fallback_named(surface: &CollectingSurface) -> Option<String> {
    surface.events().into_iter().find_map(|(_, event)| match event {
        TurnEvent::Model { model, .. } => Some(model),
        _ => None,
    })
}

#[tokio::test(start_paused = true)]
async fn each_turn_is_answered_while_one_of_two_models_can() {
    for pattern in 0..256 {
        let (main, small) = pair();
        let house = house(&main, &small);
        talk(&house).await;
        let state = |place: u32| STATES[pattern / 4_usize.pow(place) % 4];
        let turns = [(state(0), state(1)), (state(2), state(3)), (state(1), state(2))];
        for (turn, (of_main, of_small)) in turns.into_iter().enumerate() {
            main.set(of_main);
            small.set(of_small);
            let surface = quiet();
            let inbound = Inbound::say(session("a"), format!("question {turn}"));
            let reply = house.submit(inbound, surface.clone()).await.reply.wait().await.unwrap();
            let at = format!("{turns:?} turn {turn}: {reply:?}");
            if of_main != Works && of_small != Works {
                assert_eq!(reply.end, TurnEnd::Error, "{at}");
                continue;
            }
            assert_eq!(reply.end, TurnEnd::End, "{at}");
            let expected = match (of_main, of_small) {
                (Works, Works) => reply.model.clone(),
                (Works, _) => "main".to_owned(),
                _ => "small".to_owned(),
            };
            assert_eq!((&*reply.text, &*reply.model), (&*format!("from {expected}"), &*expected), "{at}");
            let named = fallback_named(&surface);
            assert_eq!(named.as_deref(), (expected == "small").then_some("small"), "{at}");
        }
        assert!(small.largest() <= 8_000);
        let transcript = house.store.transcript(&session("a"));
        let is_fold = |block: &Block| matches!(block, Block::Folded { .. });
        assert!(!transcript.iter().any(|message| message.content.iter().any(is_fold)), "its view is its own");
    }
}

#[tokio::test(start_paused = true)]
async fn summary_for_a_small_fallback_is_made_once() {
    let (main, small) = pair();
    let house = house(&main, &small);
    talk(&house).await;
    main.set(Overloaded);
    assert_eq!(house.ask(&session("a"), "one").await.text, "from small");
    let summaries = small.summaries();
    assert!((1..=6).contains(&summaries), "{summaries}");
    assert_eq!(house.ask(&session("a"), "two").await.text, "from small");
    assert_eq!(small.summaries(), summaries);
    main.set(Works);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(house.ask(&session("a"), "three").await.text, "from main");
    assert!(main.largest() > 10_000, "it sees the whole conversation");
}

#[tokio::test(start_paused = true)]
async fn failed_request_is_retried_before_the_fallback_is_asked() {
    let expected = |state, asked: usize| async move {
        let (main, small) = pair();
        let house = house(&main, &small);
        main.set(state);
        assert_eq!(house.ask(&session("a"), "hi").await.model, "small");
        assert_eq!((main.asked(), small.asked()), (asked, 1), "{state:?}");
    };
    expected(Overloaded, 3).await;
    expected(LimitedBriefly, 3).await;
    expected(LimitedForLong, 1).await;
}

#[tokio::test(start_paused = true)]
async fn message_says_which_models_were_asked() {
    let (main, small) = pair();
    let house = house(&main, &small);
    main.set(LimitedForLong);
    small.set(LimitedForLong);
    let reply = house.ask(&session("a"), "hi").await;
    assert!(
        reply.text.contains("The other model did not answer either (small: small says no)"),
        "{}",
        reply.text
    );
    assert!(reply.text.ends_with("minutes."), "{}", reply.text);
    // The wait that a service names does not keep a person from asking again.
    main.set(Works);
    assert_eq!(house.ask(&session("a"), "again").await.text, "from main");
}

#[tokio::test(start_paused = true)]
async fn model_that_is_left_alone_is_asked_if_the_fallback_refuses() {
    for refusal in [Refusing, TooLong, Overloaded] {
        let (main, small) = pair();
        let house = house(&main, &small);
        main.set(Overloaded);
        for turn in ["one", "two"] {
            assert_eq!(house.ask(&session("a"), turn).await.model, "small");
        }
        main.set(Works);
        small.set(refusal);
        assert_eq!(house.ask(&session("a"), "three").await.text, "from main", "{refusal:?}");
    }
}
