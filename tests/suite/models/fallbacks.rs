//! A model beside a fallback with a much smaller window, through the whole program (docs/context-and-budget.md).

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use aethon_tests::socket::{Socket, of_type};
use aethon_tests::stub::{Seen, failure, ok};
use aethon_tests::{Server, Stub};
use serde_json::{Value, json};

/// What a service does with the requests of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Works,
    Overloaded,
    LimitedBriefly,
    LimitedForLong,
}

use State::{LimitedBriefly, LimitedForLong, Overloaded, Works};

const STATES: [State; 4] = [Works, Overloaded, LimitedBriefly, LimitedForLong];

/// A service of OpenAI's dialect that counts strictly, refuses what exceeds its window, and can be told to fail.
struct Service {
    stub: Stub,
    state: Arc<AtomicU8>,
}

impl Service {
    fn start(name: &'static str, window: usize) -> Self {
        let state = Arc::new(AtomicU8::new(0));
        let now = state.clone();
        let stub = Stub::answering(move |seen| {
            let refused = |status, extra| failure(status, extra, r#"{"error": {"message": "not now"}}"#);
            match STATES[usize::from(now.load(Ordering::Relaxed))] {
                Works if seen.body.len() / 4 > window => failure(
                    "400 Bad Request",
                    "",
                    r#"{"error": {"message": "too long", "code": "context_length_exceeded"}}"#,
                ),
                Works => answer(name, seen),
                Overloaded => refused("503 Service Unavailable", ""),
                LimitedBriefly => refused("429 Too Many Requests", "Retry-After: 1\r\n"),
                LimitedForLong => refused("429 Too Many Requests", "Retry-After: 3000\r\n"),
            }
        });
        Self { stub, state }
    }

    fn set(&self, state: State) {
        self.state.store(state as u8, Ordering::Relaxed);
    }

    fn asked(&self) -> usize {
        self.stub.requests().len()
    }
}

fn answer(name: &str, seen: &Seen) -> Vec<u8> {
    let chunk = |delta: Value, finish: Value| json!({"model": name, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let text = format!("from {name}");
    let chunks = [
        chunk(json!({"role": "assistant", "content": text}), Value::Null),
        chunk(json!({}), json!("stop")),
        json!({"choices": [], "usage": {"prompt_tokens": seen.body.len() / 4, "completion_tokens": 3}}),
    ];
    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    ok("text/event-stream", &format!("{events}data: [DONE]\n\n"))
}

fn served(main: &Service, small: &Service) -> Server {
    let host = format!("model.host=\"http://{}/v1\"", main.stub.address);
    let fallback = format!(
        "model.fallbacks=[{{provider = \"openai\", model_id = \"small\", api_key = \"sk-other\", context_window = 8000, \
         max_tokens = 1000, host = \"http://{}/v1\"}}]",
        small.stub.address
    );
    let settings = [
        "model.provider=openai",
        "model.model_id=main",
        "model.api_key=sk-test",
        "model.context_window=128000",
        "model.max_retries=2",
        &host,
        &fallback,
    ];
    Server::start(&settings)
}

/// Talks until there are 30 turns of history, about 12,000 tokens.
fn talk(chat: &mut Socket) {
    for turn in 0..30 {
        let done =
            chat.say(&format!("h{turn}"), &format!("message {turn} {}", "word ".repeat(300))).pop().unwrap();
        assert_eq!(done["text"], "from main");
    }
}

#[test]
fn each_turn_is_answered_while_a_model_or_its_small_fallback_can() {
    let (main, small) = (Service::start("main", 128_000), Service::start("small", 8_000));
    let server = served(&main, &small);
    let mut chat = server.chat("default");
    talk(&mut chat);
    let turns = [
        (Overloaded, Works),
        (LimitedForLong, Works),
        (Works, LimitedForLong),
        (Works, Overloaded),
        (LimitedBriefly, Works),
        (LimitedForLong, Works),
        (Works, LimitedForLong),
        (Overloaded, Works),
    ];
    for (number, (of_main, of_small)) in turns.into_iter().enumerate() {
        main.set(of_main);
        small.set(of_small);
        let frames = chat.say(&format!("q{number}"), &format!("question {number}"));
        let done = frames.last().unwrap();
        let at = format!("{number} {of_main:?} {of_small:?}: {done}");
        let named: Vec<&Value> = of_type(&frames, "model").iter().map(|frame| &frame["model"]).collect();
        let name = if of_main == Works { "main" } else { "small" };
        assert_eq!((&done["text"], &done["model"]), (&json!(format!("from {name}")), &json!(name)), "{at}");
        assert_eq!(named, if of_main == Works { vec![] } else { vec!["small"] }, "{at}");
    }
    // Its view is its own: the conversation of the main model was never folded.
    let folded = |message: &Value| message["content"].to_string().contains("\"folded\"");
    assert!(!server.messages("webchat:default").iter().any(folded));
    let longest = main.stub.requests().iter().map(|seen| seen.body.len() / 4).max().unwrap();
    assert!(longest > 12_000, "{longest}");
}

#[test]
fn a_model_is_retried_before_its_fallback_is_asked() {
    let (main, small) = (Service::start("main", 128_000), Service::start("small", 8_000));
    let server = served(&main, &small);
    main.set(Overloaded);
    assert_eq!(server.chat("a").say("m1", "hello").last().unwrap()["model"], "small");
    assert_eq!((main.asked(), small.asked()), (3, 1));
    main.set(Works);
    let (main, small) = (Service::start("main", 128_000), Service::start("small", 8_000));
    let server = served(&main, &small);
    main.set(LimitedForLong);
    assert_eq!(server.chat("a").say("m1", "hello").last().unwrap()["model"], "small");
    assert_eq!((main.asked(), small.asked()), (1, 1), "a long wait is not waited for");
}
