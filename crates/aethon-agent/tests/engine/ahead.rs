//! Summaries that are made in the background, before they are needed.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::{Learned, Options};
use aethon_core::assistant::Assistant;
use aethon_core::ids::TurnId;
use aethon_core::learned::{ModelFact, ModelMemory};
use aethon_core::ledger::WorkKind;
use aethon_core::message::{Block, Inbound, Message};
use aethon_core::model::{ModelError, ModelErrorKind, ModelEvent, StopReason, Usage};
use aethon_core::session::Clear;
use aethon_core::surface::TurnEvent;
use aethon_core::testkit::{Gate, MemoryStore, ScriptedModel, Step};

use crate::harness::{House, Plan, is_for_summary, now, quiet, says, says_behind, session};

const WORDS: &str = "word word word word word word word word word word ";

/// Creates a harness whose summaries are made by this model, in the background too.
fn house(small: &Arc<ScriptedModel>, plan: Plan) -> House {
    let options = Options::default().with(|options| options.keep_recent = 2);
    House::with(
        [],
        Plan { context_window: Some(8_000), small: Some(small.clone()), ahead: true, options, ..plan },
    )
}

fn message(turn: usize) -> String {
    format!("message {turn} {}", WORDS.repeat(50))
}

/// Talks until a summary is requested in the background. Returns the turns so far, and the first of them.
async fn talk(house: &House, small: &ScriptedModel) -> (usize, TurnId) {
    let mut first = None;
    for turn in 0..30 {
        let submitted = house.say(&session("a"), &message(turn)).await;
        submitted.reply.wait().await.unwrap();
        first.get_or_insert(submitted.turn);
        settle().await;
        if !small.requests().is_empty() {
            return (turn + 1, first.unwrap());
        }
    }
    panic!("nothing was prepared");
}

/// Lets everything run that can run.
async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

fn summaries(house: &House) -> Vec<String> {
    let folded = |message: &Message| {
        message.content.iter().find_map(|block| match block {
            Block::Folded { summary, .. } => Some(summary.clone()),
            _ => None,
        })
    };
    house.store.transcript(&session("a")).iter().filter_map(folded).collect()
}

/// Talks on until a summary is in use.
async fn until_compacted(house: &House, from: usize) -> usize {
    for turn in from..from + 30 {
        house.ask(&session("a"), &message(turn)).await;
        if !summaries(house).is_empty() {
            return turn + 1;
        }
    }
    panic!("nothing was compacted");
}

#[tokio::test(start_paused = true)]
async fn a_turn_does_not_wait_for_a_summary_that_was_made_before() {
    let gate = Gate::default();
    let small = Arc::new(ScriptedModel::new([says_behind(&gate, "## Decisions\n- to talk")]));
    // A second summary would never end.
    small.then(vec![Step::Hang]);
    let house = house(&small, Plan::default());
    let (turns, _) = talk(&house, &small).await;
    gate.reached().await;
    assert!(summaries(&house).is_empty(), "nothing that fits is compacted");
    // While it is being made, the session continues, and no second summary begins.
    house.ask(&session("a"), "and this?").await;
    settle().await;
    assert_eq!(small.requests().len(), 1);
    gate.open();
    settle().await;
    assert!(summaries(&house).is_empty(), "nothing is stored before it is needed");

    let begun = tokio::time::Instant::now();
    until_compacted(&house, turns).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(summaries(&house), ["## Decisions\n- to talk"]);
    let last = house.asked().pop().unwrap();
    assert!(matches!(&last.messages[0].content[0], Block::Folded { .. }));
    assert!(last.messages.iter().any(|message| message.text() == "and this?"), "what came since stays");
    assert!(house.asked().iter().all(|request| !is_for_summary(request)));
    let entries = house.ledger.entries();
    let compaction: Vec<_> = entries.iter().filter(|entry| entry.kind == WorkKind::Compaction).collect();
    assert_eq!((compaction.len(), compaction[0].turn.is_some()), (1, true));
}

#[tokio::test]
async fn turn_waits_for_the_summary_in_progress_and_requests_no_other() {
    let gate = Gate::default();
    let small = Arc::new(ScriptedModel::new([says_behind(&gate, "They talked.")]));
    let house = house(&small, Plan::default());
    talk(&house, &small).await;
    gate.reached().await;
    let surface = quiet();
    let text = WORDS.repeat(250);
    let submitted = house.submit(Inbound::say(session("a"), text), surface.clone()).await;
    settle().await;
    assert_eq!(small.requests().len(), 1);
    gate.open();
    submitted.reply.wait().await.unwrap();
    assert_eq!(summaries(&house)[0], "They talked.");
    let is_folded = |(_, event): &(TurnId, TurnEvent)| matches!(event, TurnEvent::Folded { .. });
    assert!(surface.events().iter().any(is_folded));
    house.assert_well_formed(&session("a"));
}

#[tokio::test]
async fn prepared_summary_is_cancelled_by_edit_clear_and_shutdown() {
    let edit = |turn: &TurnId| Inbound::edit(session("a"), turn.clone(), "let us begin anew");
    for what in ["edit", "clear", "shutdown"] {
        let gate = Gate::default();
        let small = Arc::new(ScriptedModel::new([says_behind(&gate, "They talked.")]));
        let house = house(&small, Plan::default());
        let (_, first) = talk(&house, &small).await;
        gate.reached().await;
        match what {
            "edit" => drop(house.submit(edit(&first), quiet()).await.reply.wait().await.unwrap()),
            "clear" => drop(house.engine.clear(&session("a"), Clear::Reset).await.unwrap()),
            _ => house.engine.shutdown(Duration::from_secs(60)).await,
        }
        settle().await;
        assert_eq!(small.cancelled(), 1, "{what}");
        gate.open();
        settle().await;
        assert!(summaries(&house).is_empty(), "{what}");
        let spent = house.ledger.entries().into_iter().filter(|entry| entry.kind == WorkKind::Compaction);
        assert_eq!(spent.count(), 1, "{what}: what was begun is written down");
    }
}

#[tokio::test]
async fn ready_summary_is_dropped_when_an_edit_removes_its_messages() {
    let small = Arc::new(ScriptedModel::new([says("They talked of old things.")]));
    let house = house(&small, Plan::default());
    let (_, first) = talk(&house, &small).await;
    let edit = Inbound::edit(session("a"), first, message(0));
    house.submit(edit, quiet()).await.reply.wait().await.unwrap();
    small.then(says("They talked of new things."));
    until_compacted(&house, 1).await;
    assert_eq!(summaries(&house), ["They talked of new things."]);
}

#[tokio::test]
async fn a_process_that_dies_in_between_loses_nothing() {
    let gate = Gate::default();
    let small = Arc::new(ScriptedModel::new([says_behind(&gate, "They talked.")]));
    let before = house(&small, Plan::default());
    let (turns, _) = talk(&before, &small).await;
    gate.reached().await;
    let next = Arc::new(ScriptedModel::new(vec![says("They talked, says the next."); 4]));
    let after = house(&next, Plan { store: Some(before.store.clone()), ..Plan::default() });
    after.ask(&session("a"), &message(turns)).await;
    assert_eq!(after.asked()[0].messages.len(), turns * 2 + 1);
    until_compacted(&after, turns + 1).await;
    assert_eq!(summaries(&after)[0], "They talked, says the next.");
}

#[tokio::test]
async fn the_main_model_stands_in_for_a_smaller_one_that_fails() {
    let error = ModelError::new(ModelErrorKind::NotFound, "no such model");
    let small = Arc::new(ScriptedModel::new(vec![vec![Step::Fail(error)]; 40]).with_name("small"));
    let aside = |request: &_| is_for_summary(request).then(|| says("They went on."));
    let house = house(&small, Plan { aside: Some(aside), ..Plan::default() });
    until_compacted(&house, 0).await;
    assert_eq!(summaries(&house), ["They went on."]);
    assert!(!small.requests().is_empty());
    assert!(small.requests().iter().all(|request| request.tools.is_empty()));
    let models: Vec<_> = house
        .ledger
        .entries()
        .into_iter()
        .filter(|entry| entry.kind == WorkKind::Compaction)
        .map(|entry| (entry.model, entry.is_ok))
        .collect();
    assert_eq!(models[..2], [("small".into(), false), ("scripted-1".into(), true)]);
}

#[tokio::test]
async fn learnt_model_facts_survive_a_restart() {
    // A language in which a token is a byte: the provider counts four times the estimate.
    let count = |tokens| {
        let usage = Usage { input_tokens: tokens, output_tokens: 10, ..Usage::default() };
        vec![Step::say("ok"), Step::Event(ModelEvent::Finished { stop: StopReason::End, usage, model: None })]
    };
    let store = Arc::new(MemoryStore::at(now()));
    let learned = Learned::new(Vec::new(), store.clone());
    let first = House::with([count(2_400)], Plan { context_window: Some(8_000), learned, ..Plan::default() });
    first.ask(&session("a"), &WORDS.repeat(20)).await;
    settle().await;
    let facts = store.recall().await.unwrap();
    let [(key, ModelFact::TokenRatio(ratio))] = &facts[..] else { panic!("{facts:?}") };
    assert_eq!((key.model.as_str(), key.host.as_str()), ("scripted-1", ""));
    assert!(*ratio > 3.0, "{ratio}");

    let long = WORDS.repeat(200);
    for (facts, is_cut) in [(Vec::new(), false), (facts, true)] {
        let learned = Learned::new(facts, store.clone());
        let next = House::with([], Plan { context_window: Some(8_000), learned, ..Plan::default() });
        next.ask(&session("b"), &long).await;
        assert_eq!(next.asked()[0].messages[0].text().len() < long.len(), is_cut);
    }
}
