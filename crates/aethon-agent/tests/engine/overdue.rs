//! Summaries that take long or come to nothing, and what does not fit at all.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::{Models, Options};
use aethon_core::message::{Attachment, Block, Inbound, TurnEnd};
use aethon_core::model::{ModelProvider, ModelRequest};
use aethon_core::surface::TurnEvent;
use aethon_core::testkit::{Aside, CollectingSurface, ScriptedModel, Step};
use tokio::time::Instant;

use crate::fallback::Service;
use crate::harness::{House, Plan, is_for_summary, quiet, says, session};

fn message(turn: usize) -> String {
    format!("message {turn} {}", "word ".repeat(300))
}

fn picture() -> Attachment {
    Attachment::new("a.png", "image/png", "iVBORw0KGgo=")
}

fn notices(surface: &CollectingSurface) -> Vec<(String, String)> {
    let notice = |(_, event)| match event {
        TurnEvent::Notice { code, message } => Some((code, message)),
        _ => None,
    };
    surface.events().into_iter().filter_map(notice).collect()
}

fn summaries(house: &House) -> Vec<String> {
    let transcript = house.store.transcript(&session("a"));
    let blocks = transcript.iter().flat_map(|message| &message.content);
    let folded = blocks.filter_map(|block| match block {
        Block::Folded { summary, .. } => Some(summary.clone()),
        _ => None,
    });
    folded.collect()
}

/// A house whose conversation has to be compacted after a few turns, by this model first.
fn house(small: &Arc<ScriptedModel>) -> House {
    let options = Options::default().with(|options| options.keep_recent = 2);
    House::with(
        [],
        Plan { context_window: Some(4_000), small: Some(small.clone()), options, ..Plan::default() },
    )
}

/// Talks until there is one summary more. Returns the last turn's surface, and how long it took.
async fn until_compacted(house: &House) -> (Arc<CollectingSurface>, Duration) {
    let before = summaries(house).len();
    for turn in 0..30 {
        let (surface, begun) = (quiet(), Instant::now());
        let inbound = Inbound::say(session("a"), message(turn));
        house.submit(inbound, surface.clone()).await.reply.wait().await.unwrap();
        if summaries(house).len() > before {
            return (surface, begun.elapsed());
        }
    }
    panic!("nothing was compacted");
}

#[tokio::test(start_paused = true)]
async fn silent_summariser_is_given_up_and_not_asked_for_a_while() {
    let small = Arc::new(ScriptedModel::new(vec![vec![Step::Hang]; 2]).with_name("small"));
    let house = house(&small);
    let (surface, took) = until_compacted(&house).await;
    assert!(took >= Duration::from_secs(30) && took < Duration::from_secs(31), "{took:?}");
    assert!(notices(&surface).iter().any(|(code, _)| code == "summarising"), "{:?}", notices(&surface));
    let (surface, took) = until_compacted(&house).await;
    assert!(took < Duration::from_secs(1) && notices(&surface).is_empty(), "{took:?}");
    assert_eq!(small.requests().len(), 1);
    tokio::time::advance(Duration::from_secs(601)).await;
    until_compacted(&house).await;
    assert_eq!(small.requests().len(), 2, "it may be well again");
}

#[tokio::test(start_paused = true)]
async fn turn_waits_once_for_a_silent_summariser_in_the_background() {
    let small = Arc::new(ScriptedModel::new(vec![vec![Step::Hang]; 9]).with_name("small"));
    let options = Options::default().with(|options| options.keep_recent = 2);
    let plan = Plan {
        context_window: Some(4_000),
        small: Some(small.clone()),
        options,
        ahead: true,
        ..Plan::default()
    };
    let house = House::with([], plan);
    let (surface, took) = until_compacted(&house).await;
    assert!(took < Duration::from_secs(31), "{took:?}");
    assert!(notices(&surface).iter().any(|(code, _)| code == "summarising"), "{:?}", notices(&surface));
    assert_eq!(small.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn noise_is_refused_as_a_summary() {
    let unrelated =
        "Lorem ipsum dolor sit amet, consectetur adipiscing elit, eiusmod tempor incididunt labore magna.";
    for noise in ["\u{1}\u{2}\u{3} message words \u{7f}\u{0}", "\u{fffd}\u{fffd}\u{fffd} message", unrelated]
    {
        let small = Arc::new(ScriptedModel::new(vec![says(noise); 9]).with_name("small"));
        let options = Options::default().with(|options| options.keep_recent = 2);
        let aside: Option<Aside> = Some(|request| is_for_summary(request).then(|| vec![Step::Panic]));
        let plan =
            Plan { context_window: Some(4_000), small: Some(small), options, aside, ..Plan::default() };
        let house = House::with([], plan);
        until_compacted(&house).await;
        let summary = summaries(&house).remove(0);
        assert!(summary.contains("No model has summarised these"), "{noise:?}: {summary}");
    }
}

#[tokio::test(start_paused = true)]
async fn turn_does_not_wait_for_a_summary_while_the_model_takes_the_request() {
    let main = Service::new("main", 10_000);
    let models = Models::one(main.clone() as Arc<dyn ModelProvider>);
    let small = Arc::new(ScriptedModel::new(vec![vec![Step::Hang]; 9]).with_name("small"));
    let plan = Plan { models: Some(models), small: Some(small.clone()), ahead: true, ..Plan::default() };
    let house = House::with([], plan);
    // The share of the window is 8,000 tokens, and 9,000 fit beside an answer.
    for turn in 0..21 {
        let begun = Instant::now();
        assert_eq!(house.ask(&session("a"), &message(turn)).await.end, TurnEnd::End);
        assert!(begun.elapsed() < Duration::from_secs(1), "turn {turn}: {:?}", begun.elapsed());
    }
    assert!(main.largest() > 7_900, "{}", main.largest());
    assert!(summaries(&house).is_empty() && !small.requests().is_empty());
}

#[tokio::test]
async fn short_messages_are_not_summarised_for_their_number() {
    let house = House::with([], Plan { context_window: Some(1_000_000), ..Plan::default() });
    for turn in 0..1_100 {
        house.ask(&session("a"), &format!("message {turn}")).await;
    }
    assert!(summaries(&house).is_empty());
    assert_eq!(house.asked().last().unwrap().messages.len(), 2_199);
    let next = House::with(
        [],
        Plan { context_window: Some(1_000_000), store: Some(house.store.clone()), ..Plan::default() },
    );
    next.ask(&session("a"), "and now?").await;
    assert_eq!(next.asked()[0].messages.len(), 2_201, "a restart reads all of them");
}

#[tokio::test]
async fn pictures_that_do_not_fit_are_left_out() {
    let house = House::with([], Plan { context_window: Some(8_000), ..Plan::default() });
    let surface = quiet();
    let inbound = Inbound::say(session("a"), "What do they show?").with_attachments(vec![picture(); 8]);
    let reply = house.submit(inbound, surface.clone()).await.reply.wait().await.unwrap();
    assert_eq!(reply.end, TurnEnd::End);
    let asked = house.asked();
    let shown = |request: &ModelRequest| {
        let blocks = request.messages.iter().flat_map(|message| message.content.clone());
        blocks.filter(|block| matches!(block, Block::Image { .. })).count()
    };
    assert!((1..=3).contains(&shown(&asked[0])), "{}", shown(&asked[0]));
    let said = notices(&surface);
    assert!(
        said.iter().any(|(code, words)| code == "context_cut" && words.contains("pictures do not fit")),
        "{said:?}"
    );
    let stored = &house.store.transcript(&session("a"))[0];
    assert_eq!(stored.content.len(), 9, "the transcript has all of them");
}

#[tokio::test]
async fn a_huge_message_costs_few_summaries() {
    let options = Options::default().with(|options| options.keep_recent = 2);
    let house = House::with([], Plan { context_window: Some(8_000), options, ..Plan::default() });
    house.ask(&session("a"), &"paste ".repeat(80_000)).await;
    for turn in 1..10 {
        house.ask(&session("a"), &message(turn)).await;
    }
    let summaries = house.model.requests().iter().filter(|request| is_for_summary(request)).count();
    assert!((1..=8).contains(&summaries), "{summaries}");
}

#[tokio::test(start_paused = true)]
async fn person_is_notified_if_the_answering_fallback_sees_no_pictures() {
    let main = Service::seeing("main", 128_000);
    let blind = Service::new("blind", 128_000);
    main.set(crate::fallback::State::LimitedForLong);
    let models = Models::with_fallbacks(
        main.clone() as Arc<dyn ModelProvider>,
        [blind.clone() as Arc<dyn ModelProvider>],
    );
    let house = House::with([], Plan { models: Some(models), ..Plan::default() });
    let ask = async || {
        let surface = quiet();
        let inbound = Inbound::say(session("a"), "What does it show?").with_attachments(vec![picture()]);
        house.submit(inbound, surface.clone()).await.reply.wait().await.unwrap();
        notices(&surface)
    };
    let said = ask().await;
    assert!(
        said.iter().any(|(code, words)| code == "picture_not_seen" && words.starts_with("blind")),
        "{said:?}"
    );
    main.set(crate::fallback::State::Ok);
    tokio::time::advance(Duration::from_secs(3_600)).await;
    assert!(ask().await.is_empty());
}
