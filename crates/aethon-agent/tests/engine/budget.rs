//! The cost of calls, and the ceiling of a day.

use std::sync::Arc;

use aethon_agent::Prices;
use aethon_core::ledger::{Claim, Ledger, LedgerEntry, Price, WorkKind};
use aethon_core::message::{EndReason, Inbound, TurnEnd};
use aethon_core::model::{ModelError, ModelErrorKind, ModelEvent, StopReason, Usage};
use aethon_core::testkit::{MemoryLedger, ScriptedModel, Step};
use aethon_core::usage::Budget;
use jiff::SignedDuration;

use crate::harness::{House, Plan, quiet, says, session, shown};

/// A dollar for a thousand tokens either way.
const PRICE: Price = Price::new(1_000.0, 1_000.0).with_cached_input(Some(100.0));

fn answers(input: u64, output: u64) -> Vec<Step> {
    let usage = Usage { input_tokens: input, output_tokens: output, ..Usage::default() };
    vec![Step::say("ok"), Step::Event(ModelEvent::Finished { stop: StopReason::End, usage, model: None })]
}

fn plan(daily_usd: f64, ledger: Option<Arc<MemoryLedger>>) -> Plan {
    let budget = Budget { daily_usd, ..Budget::default() };
    Plan { budget, ledger, price: Some(PRICE), ..Plan::default() }
}

async fn spent(ledger: &MemoryLedger) -> (f64, f64) {
    let today = ledger.today().await.unwrap();
    (today.spent_usd, today.reserved_usd)
}

#[tokio::test]
async fn every_call_is_written_down_with_its_cost() {
    let error = ModelError::new(ModelErrorKind::Overloaded, "busy");
    let usage = Usage { input_tokens: 1_000, output_tokens: 500, cached_tokens: 400, ..Usage::default() };
    let cached = vec![
        Step::say("ok"),
        Step::Event(ModelEvent::Finished {
            stop: StopReason::End,
            usage,
            model: Some("scripted-1-2026-01-01".into()),
        }),
    ];
    let harness = House::with([vec![Step::Fail(error)], cached], plan(0.0, None));
    let reply = harness.ask(&session("a"), "hi").await;
    assert!((reply.usage.cost_usd - 1.14).abs() < 1e-9, "{}", reply.usage.cost_usd);
    let entries = harness.ledger.entries();
    let booked: Vec<_> =
        entries.iter().map(|entry| (entry.is_ok, entry.model.as_str(), entry.kind)).collect();
    assert_eq!(
        booked,
        [(false, "scripted-1", WorkKind::Turn), (true, "scripted-1-2026-01-01", WorkKind::Turn)]
    );
    assert_eq!(entries[0].usage, Usage::default(), "a refusal costs nothing");
    assert_eq!(entries[1].session, Some(session("a")));
    let stored = harness.store.transcript(&session("a")).pop().unwrap().usage.unwrap();
    assert!((stored.cost_usd - 1.14).abs() < 1e-9);
}

#[tokio::test]
async fn stopped_or_broken_calls_are_booked_up_to_their_end() {
    let broken = vec![Step::say(&"word ".repeat(40))];
    let harness = House::with([broken, vec![Step::say("so"), Step::Hang]], plan(0.0, None));
    harness.ask(&session("a"), "hi").await;
    let submitted = harness.submit(Inbound::say(session("a"), "hi"), quiet()).await;
    while harness.model.requests().len() < 2 {
        tokio::task::yield_now().await;
    }
    aethon_core::assistant::Assistant::stop(&harness.engine, &session("a"), None).await;
    submitted.reply.wait().await.unwrap();
    let entries = harness.ledger.entries();
    assert_eq!(entries.len(), 2);
    for entry in &entries {
        assert!(!entry.is_ok && entry.usage.input_tokens > 50 && entry.usage.cost_usd > 0.0, "{entry:?}");
    }
    assert_eq!(entries[0].usage.output_tokens, 50);
}

#[tokio::test]
async fn ceiling_holds_and_is_explained_even_after_a_restart() {
    // A call costs 0.30 and could cost 1.30 at most, for the longest answer.
    let harness = House::with((0..20).map(|_| answers(250, 50)), plan(2.0, None));
    let session = session("a");
    let mut answered = 0;
    let refused = loop {
        let reply = harness.ask(&session, "hi").await;
        if reply.end != TurnEnd::End {
            break reply;
        }
        answered += 1;
    };
    let (spent_usd, reserved_usd) = spent(&harness.ledger).await;
    assert!(spent_usd <= 2.0 && spent_usd > 1.0 && reserved_usd < 1e-9, "{spent_usd} {reserved_usd}");
    assert_eq!(harness.model.requests().len(), answered);
    assert_eq!(refused.end, TurnEnd::Budget);
    let failure = refused.failure.as_ref().unwrap();
    assert_eq!(failure.code, EndReason::BudgetExceeded);
    for word in ["budget.daily_usd", "$2.00", "00:00 UTC"] {
        assert!(failure.message.contains(word), "{}", failure.message);
    }
    // It is five past four in the morning.
    assert_eq!(failure.retry_after.map(|seconds| seconds / 3600), Some(19));

    let next = House::with([answers(250, 50)], plan(2.0, Some(harness.ledger.clone())));
    assert_eq!(next.ask(&session, "hi").await.end, TurnEnd::Budget);
    assert_eq!(next.model.requests().len(), 0);
}

#[tokio::test]
async fn next_day_begins_with_the_full_budget() {
    let harness = House::with([answers(900, 50)], plan(1.2, None));
    assert_eq!(harness.ask(&session("a"), "hi").await.end, TurnEnd::End);
    assert_eq!(harness.ask(&session("a"), "hi").await.end, TurnEnd::Budget);
    harness.clock.advance(SignedDuration::from_hours(20));
    assert_eq!(harness.ask(&session("a"), "hi").await.end, TurnEnd::End);
}

#[tokio::test]
async fn long_answer_ends_when_the_budget_is_spent() {
    let endless = (0..5_000).map(|_| Step::say("word ")).collect();
    let harness = House::with([endless], plan(1.0, None));
    let reply = harness.ask(&session("a"), "hi").await;
    assert_eq!(reply.end, TurnEnd::Budget);
    assert!(reply.text.starts_with("word word") && reply.text.contains("budget.daily_usd"), "{}", reply.text);
    let (spent_usd, _) = spent(&harness.ledger).await;
    assert!(spent_usd > 0.9 && spent_usd <= 1.01, "{spent_usd}");
    assert!(harness.transcript(&session("a"))[1].starts_with("assistant: word "));
}

#[tokio::test]
async fn concurrent_sessions_do_not_exceed_the_ceiling_together() {
    let harness = House::with((0..40).map(|_| answers(200, 50)), plan(2.0, None));
    let mut replies = Vec::new();
    for n in 0..20 {
        replies.push(harness.say(&session(&format!("s{n}")), "hi").await.reply);
    }
    for reply in replies {
        let reply = reply.wait().await.unwrap();
        assert!(matches!(reply.end, TurnEnd::End | TurnEnd::Budget));
    }
    let (spent_usd, reserved_usd) = spent(&harness.ledger).await;
    assert!(spent_usd <= 2.0 && spent_usd > 0.2 && reserved_usd < 1e-9, "{spent_usd}");
}

#[tokio::test]
async fn the_owner_is_warned_once_a_day() {
    let warnings = |words: Vec<String>| words.iter().filter(|word| *word == "notice budget_warning").count();
    let harness = House::with((0..20).map(|_| answers(300, 50)), plan(4.0, None));
    let surface = quiet();
    for _ in 0..10 {
        let inbound = Inbound::say(session("a"), "hi");
        harness.submit(inbound, surface.clone()).await.reply.wait().await.unwrap();
    }
    assert_eq!(warnings(shown(&surface)), 1);
    let next = House::with((0..9).map(|_| answers(10, 5)), plan(4.3, Some(harness.ledger.clone())));
    let surface = quiet();
    for _ in 0..2 {
        let inbound = Inbound::say(session("a"), "hi");
        next.submit(inbound, surface.clone()).await.reply.wait().await.unwrap();
    }
    assert_eq!(next.model.requests().len(), 2);
    assert_eq!(warnings(shown(&surface)), 0, "the process before has said it");
}

#[tokio::test]
async fn nothing_is_reserved_without_a_ceiling_or_a_price() {
    let allowing = Budget { daily_usd: 0.000_001, allows_unpriced: true, ..Budget::default() };
    let free = Plan { price: Some(Price::FREE), ..plan(0.000_001, None) };
    for plan in [plan(0.0, None), Plan { price: None, budget: allowing, ..plan(0.0, None) }, free] {
        let harness = House::with([says("ok")], plan);
        assert_eq!(harness.ask(&session("a"), "hi").await.end, TurnEnd::End);
        assert_eq!(harness.ledger.entries().len(), 1);
    }
}

#[tokio::test]
async fn reservation_of_a_crashed_call_remains() {
    let harness = House::with([answers(100, 50)], plan(1.0, None));
    let claim = Claim::exactly(0.95, 1.0);
    harness.ledger.reserve("p", "m", claim).await.unwrap().unwrap();
    let reply = harness.ask(&session("a"), "hi").await;
    assert_eq!(reply.end, TurnEnd::Budget);
    assert!(reply.text.contains("set aside"), "{}", reply.text);
    let entry = |entry: &LedgerEntry| entry.usage.cost_usd;
    assert!(harness.ledger.entries().iter().map(entry).sum::<f64>() < 1e-9);
}

/// Prices answers at a dollar a token for one model, and at half of that for the other.
fn by_model() -> Prices {
    Arc::new(|_, model, _| Some(Price::new(0.0, if model == "dear" { 1e6 } else { 5e5 })))
}

#[tokio::test(start_paused = true)]
async fn a_fallback_is_paid_for_and_booked_by_itself() {
    let refused = || vec![Step::Fail(ModelError::new(ModelErrorKind::Auth, "no such key"))];
    let cheap = Arc::new(ScriptedModel::new([answers(10, 100)]).with_name("cheap").with_provider("other"));
    let plan = Plan {
        budget: Budget { daily_usd: 10_000.0, ..Budget::default() },
        prices: Some(by_model()),
        fallbacks: vec![cheap.clone()],
        model_name: Some("dear"),
        ..Plan::default()
    };
    let harness = House::with([refused()], plan);
    let reply = harness.ask(&session("a"), "hi").await;
    assert_eq!((reply.end, reply.model.as_str(), reply.usage.cost_usd), (TurnEnd::End, "cheap", 50.0));
    let booked: Vec<_> = harness.ledger.entries().into_iter().collect();
    let by_model: Vec<_> =
        booked.iter().map(|entry| (entry.provider.as_str(), entry.model.as_str(), entry.is_ok)).collect();
    assert_eq!(by_model, [("scripted", "dear", false), ("other", "cheap", true)]);
    assert!((booked[1].usage.cost_usd - 50.0).abs() < 1e-9 && booked[0].usage.cost_usd < 1e-9);
    assert_eq!(cheap.requests()[0].max_output, Some(1_000), "a limit goes with every request");
}

#[tokio::test(start_paused = true)]
async fn fallback_without_a_price_is_not_called() {
    let cheap = Arc::new(ScriptedModel::new([]).with_name("unpriced"));
    let plan = Plan {
        budget: Budget { daily_usd: 10.0, ..Budget::default() },
        prices: Some(Arc::new(|_, model, _| (model == "dear").then_some(PRICE))),
        fallbacks: vec![cheap.clone()],
        model_name: Some("dear"),
        ..Plan::default()
    };
    let auth = vec![Step::Fail(ModelError::new(ModelErrorKind::Auth, "The key is wrong."))];
    let harness = House::with([auth], plan);
    let reply = harness.ask(&session("a"), "hi").await;
    assert!(cheap.requests().is_empty());
    assert!(
        reply.text.contains("The key is wrong.") && reply.text.contains("budget.pricing.unpriced"),
        "{}",
        reply.text
    );
}

#[tokio::test]
async fn answer_at_the_days_limit_ends_with_the_budget_reason() {
    let cut = vec![
        Step::say("as much as there is"),
        Step::Event(ModelEvent::Finished {
            stop: StopReason::Length,
            usage: Usage { input_tokens: 10, output_tokens: 100, ..Usage::default() },
            model: None,
        }),
    ];
    let budget = Budget { daily_usd: 100.0, ..Budget::default() };
    let plan = Plan { budget, price: Some(Price::new(0.0, 1e6)), ..Plan::default() };
    let harness = House::with([cut], plan);
    let reply = harness.ask(&session("a"), "hi").await;
    assert_eq!(harness.model.requests()[0].max_output, Some(100));
    assert_eq!((reply.end, reply.usage.output_tokens), (TurnEnd::Budget, 100));
    assert!(reply.text.starts_with("as much as there is"), "{}", reply.text);
    let (spent_usd, reserved_usd) = spent(&harness.ledger).await;
    assert!((spent_usd - 100.0).abs() < 1e-6 && reserved_usd < 1e-6, "the last cent is used: {spent_usd}");
}
