//! Calls on a day with little money: the reservations, the bookings, and the points where answers have to end.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::event::{Event, EventBus};
use aethon_core::ledger::{Claim, Ledger, Price, WorkKind};
use aethon_core::model::{Capabilities, Usage};
use aethon_core::testkit::{ManualClock, MemoryLedger};
use aethon_core::usage::Budget;
use tokio::time::timeout;

use super::{Ending, Grant, Meter, Work};

/// A meter over an in-memory ledger. An output token costs a dollar, and input is free.
struct Bench {
    ledger: Arc<MemoryLedger>,
    meter: Meter,
    bus: EventBus,
}

impl Bench {
    fn new(daily_usd: f64) -> Self {
        Self::with(Budget { daily_usd, ..Budget::default() }, Some(Price::new(0.0, 1e6)))
    }

    fn with(budget: Budget, price: Option<Price>) -> Self {
        Self::pricing(budget, move |_| price)
    }

    /// Creates a bench with the given price for each model.
    fn pricing(budget: Budget, price: impl Fn(&str) -> Option<Price> + Send + Sync + 'static) -> Self {
        let clock = Arc::new(ManualClock::at("2026-02-03T04:05:06Z".parse().unwrap()));
        let ledger = Arc::new(MemoryLedger::new(clock.clone()));
        let prices = Arc::new(move |_: &str, model: &str, _| price(model));
        let bus = EventBus::default();
        let meter = Meter::new(ledger.clone(), prices, budget, clock, bus.clone());
        Self { ledger, meter, bus }
    }

    async fn reserve(&self, model: &Capabilities) -> Result<Grant, String> {
        self.meter.reserve(turn(), model).await.map_err(|failure| failure.code.as_str().to_owned())
    }

    async fn day(&self) -> (f64, f64) {
        let today = self.ledger.today().await.unwrap();
        (today.spent_usd.round(), today.reserved_usd.round())
    }
}

fn turn() -> Work {
    Work::new(WorkKind::Turn, 10)
}

fn watched(max_output: u64) -> Capabilities {
    Capabilities::new("p", "m").with_sizes(1_000_000, max_output)
}

fn hidden(max_output: u64) -> Capabilities {
    let mut model = watched(max_output);
    model.hidden_output = true;
    model
}

fn whole(output_tokens: u64) -> Ending {
    let usage = Usage { input_tokens: 10, output_tokens, ..Usage::default() };
    Ending::Whole { usage, named: None }
}

#[tokio::test]
async fn usual_answer_is_reserved_and_the_rest_of_day_is_the_limit() {
    let bench = Bench::new(10_000.0);
    let grant = bench.reserve(&watched(50_000)).await.unwrap();
    assert_eq!(bench.day().await, (0.0, 1_000.0));
    assert_eq!(grant.max_output(), Some(10_000));
    let second = bench.reserve(&watched(50_000)).await.unwrap();
    assert_eq!(second.max_output(), Some(9_000), "what others have reserved is theirs");
    let third = bench.reserve(&watched(300)).await.unwrap();
    assert_eq!((third.max_output(), bench.day().await.1), (Some(300), 2_300.0), "no more than it can say");
    grant.settle(whole(10)).await;
    assert_eq!(bench.day().await, (10.0, 1_300.0));
}

#[tokio::test]
async fn a_reservation_grows_with_the_answer_until_the_day_is_spent() {
    let bench = Bench::new(2_000.0);
    let mut grant = bench.reserve(&watched(50_000)).await.unwrap();
    let mut said = 0;
    let refused = loop {
        match grant.count(10).await {
            Ok(()) => said += 10,
            Err(failure) => break failure,
        }
        let (_, reserved) = bench.day().await;
        assert!(reserved >= said as f64 && reserved <= said as f64 + 1_000.0, "{said} {reserved}");
    };
    assert_eq!((said, refused.code.as_str()), (1_990, "budget_exceeded"), "the last of it is of use");
    grant.settle(Ending::Cut).await;
    assert_eq!(bench.day().await, (2_000.0, 0.0));
}

#[tokio::test(start_paused = true)]
async fn usage_events_are_batched_and_do_not_delay_calls() {
    let bench = Bench::new(10_000.0);
    let mut events = bench.bus.subscribe();
    for round in 1..3 {
        for output in [10, 20] {
            bench.reserve(&watched(300)).await.unwrap().settle(whole(output)).await;
        }
        assert!(events.try_recv().is_err(), "nothing is announced while calls are settled");
        for (output, spent) in [(10, 10), (20, 30)] {
            let Event::Usage { today, entry } = events.recv().await.unwrap() else { panic!("another event") };
            assert_eq!(entry.usage.output_tokens, output);
            assert_eq!(today.spent_usd.round(), f64::from(30 * (round - 1) + spent), "after this call");
        }
    }
}

#[tokio::test]
async fn crash_estimate_stays_close_to_the_real_usage() {
    let bench = Bench::new(10_000.0);
    let mut grant = bench.reserve(&watched(50_000)).await.unwrap();
    for said in (7..3_000).step_by(7) {
        grant.count(7).await.unwrap();
        let (amount, estimate) = bench.ledger.reservations()[0];
        let said = said as f64;
        assert!(estimate >= said && estimate <= said + 256.0, "{said}: {estimate}");
        assert!(amount >= said, "{said}: {amount}");
    }
    drop(grant);
}

#[tokio::test(start_paused = true)]
async fn hidden_output_is_estimated_from_the_time_it_had() {
    let bench = Bench::new(100_000.0);
    let mut grant = bench.reserve(&hidden(50_000)).await.unwrap();
    assert_eq!(bench.ledger.reservations()[0].1, 32.0, "at first there is next to none");
    tokio::time::advance(Duration::from_secs(20)).await;
    grant.note_progress().await;
    let noted = bench.ledger.reservations()[0].1;
    assert!((1_200.0..1_500.0).contains(&noted), "{noted}");
    grant.count(100).await.unwrap();
    tokio::time::advance(Duration::from_secs(20)).await;
    assert_eq!(grant.settle(Ending::Cut).await.usage.output_tokens, 1_300, "it has thought before it spoke");
    // A model that hides nothing is soon known for that.
    for _ in 0..12 {
        let mut grant = bench.reserve(&hidden(50_000)).await.unwrap();
        grant.count(100).await.unwrap();
        grant.settle(whole(100)).await;
    }
    let mut grant = bench.reserve(&hidden(50_000)).await.unwrap();
    tokio::time::advance(Duration::from_secs(60)).await;
    grant.count(100).await.unwrap();
    let booked = grant.settle(Ending::Cut).await.usage.output_tokens;
    assert!((100..=101).contains(&booked), "{booked}");
}

#[tokio::test]
async fn call_without_a_ceiling_is_recorded_while_it_runs() {
    let bench = Bench::with(Budget::default(), Some(Price::new(0.0, 1e6)));
    let mut grant = bench.reserve(&watched(50_000)).await.unwrap();
    tokio::task::yield_now().await;
    assert_eq!(bench.ledger.reservations(), [(0.0, 32.0)], "a crash would book it");
    for _ in 0..100 {
        grant.count(10).await.unwrap();
    }
    let estimate = bench.ledger.reservations()[0].1;
    assert!((1_000.0..=1_256.0).contains(&estimate), "{estimate}");
    assert_eq!(bench.day().await, (0.0, 0.0), "it takes nothing from anyone");
    grant.settle(whole(1_000)).await;
    assert_eq!((bench.ledger.reservations(), bench.ledger.entries().len()), (Vec::new(), 1));
    drop(bench.reserve(&watched(50_000)).await.unwrap());
    bench.meter.ended().await;
    assert_eq!((bench.ledger.reservations(), bench.ledger.entries().len()), (Vec::new(), 2));
}

#[tokio::test]
async fn cost_that_a_gateway_states_is_booked() {
    let booked = async |price: Option<Price>, cost_usd: f64| {
        let bench = Bench::with(Budget::default(), price);
        let grant = bench.reserve(&watched(5_000)).await.unwrap();
        let usage = Usage { input_tokens: 10, output_tokens: 7, cost_usd, ..Usage::default() };
        grant.settle(Ending::Whole { usage, named: None }).await.usage.cost_usd
    };
    let price = Some(Price::new(0.0, 1e6));
    assert_eq!(booked(price, 0.25).await, 0.25);
    assert_eq!(booked(None, 0.25).await, 0.25);
    assert_eq!(booked(price, 0.0).await, 7.0);
    assert_eq!(booked(price, f64::NAN).await, 7.0);
}

#[tokio::test]
async fn missing_input_count_is_estimated_as_other_answers_were_counted() {
    let bench = Bench::with(Budget::default(), Some(Price::new(1e6, 0.0)));
    let work = || Work::new(WorkKind::Turn, 1_000);
    let counted = async |input_tokens| {
        let grant = bench.meter.reserve(work(), &watched(5_000)).await.unwrap();
        let usage = Usage { input_tokens, output_tokens: 7, ..Usage::default() };
        grant.settle(Ending::Whole { usage, named: None }).await.usage.input_tokens
    };
    assert_eq!(counted(0).await, 1_000);
    for _ in 0..20 {
        counted(1_400).await;
    }
    let estimated = counted(0).await;
    assert!((1_390..=1_410).contains(&estimated), "{estimated}");
}

#[tokio::test]
async fn cut_off_call_is_booked_near_the_cost_of_other_calls() {
    // A million tokens cost 3 USD to send, 0.3 from the cache, and 15 to receive.
    let price = Price::new(3.0, 15.0).with_cached_input(Some(0.3)).with_cache_write(Some(3.75));
    let bench = Bench::with(Budget { daily_usd: 100.0, ..Budget::default() }, Some(price));
    let work = || Work::new(WorkKind::Turn, 4_000);
    // The service counts less than was estimated, and has most of it in its cache.
    let usage = Usage { input_tokens: 3_000, cached_tokens: 2_400, output_tokens: 120, ..Usage::default() };
    let usual_usd = price.of(&usage);
    for _ in 0..20 {
        let mut grant = bench.meter.reserve(work(), &watched(50_000)).await.unwrap();
        grant.count(120).await.unwrap();
        grant.settle(Ending::Whole { usage, named: None }).await;
    }
    let mut grant = bench.meter.reserve(work(), &watched(50_000)).await.unwrap();
    for said in (0..120).step_by(6) {
        grant.count(6).await.unwrap();
        let usage = Usage { output_tokens: said + 6, ..usage };
        let (amount, estimate) = bench.ledger.reservations()[0];
        let ratio = estimate / price.of(&usage);
        assert!((1.0..1.3).contains(&ratio), "a crash after {said} tokens books {ratio} of the cost");
        assert!(amount >= price.of(&Usage { cached_tokens: 0, cache_write_tokens: 4_000, ..usage }));
    }
    let booked = grant.settle(Ending::Cut).await.usage.cost_usd;
    assert!((1.0..1.3).contains(&(booked / usual_usd)), "{booked} {usual_usd}");
}

#[tokio::test]
async fn twenty_concurrent_calls_all_proceed_even_with_hidden_output() {
    for model in [watched(50_000), hidden(50_000)] {
        let bench = Bench::new(200_000.0);
        let mut grants = Vec::new();
        for n in 0..20 {
            let grant = bench.reserve(&model).await.unwrap();
            assert!(grant.max_output() >= Some(256), "{n}: {:?}", grant.max_output());
            grants.push(grant);
        }
        assert!(bench.day().await.1 <= 200_000.0);
    }
}

#[tokio::test]
async fn calls_with_hidden_output_are_paid_in_full_beforehand() {
    let bench = Bench::new(12_000.0);
    let grant = bench.reserve(&hidden(50_000)).await.unwrap();
    assert_eq!((grant.max_output(), bench.day().await.1), (Some(6_000), 6_000.0), "half of the day");
    let next = bench.reserve(&hidden(50_000)).await.unwrap();
    assert_eq!((next.max_output(), bench.day().await.1), (Some(2_000), 8_000.0), "a third of the rest");
    assert_eq!(Bench::new(1e6).reserve(&hidden(50_000)).await.unwrap().max_output(), Some(16_000));
    grant.settle(whole(100)).await;
    drop(next);
    bench.meter.ended().await;
    assert_eq!(bench.day().await, (100.0, 0.0), "what was dropped at once has not thought yet");
}

#[tokio::test]
async fn reserve_waits_for_money_that_other_calls_hold() {
    let bench = Bench::new(1_000.0);
    let first = bench.reserve(&watched(5_000)).await.unwrap();
    let model = watched(5_000);
    let mut second = Box::pin(bench.reserve(&model));
    assert!(timeout(Duration::from_millis(5), &mut second).await.is_err(), "it waits");
    let background = bench.meter.reserve(Work::new(WorkKind::Background, 10), &watched(5_000)).await;
    assert_eq!(background.err().unwrap().code.as_str(), "budget_exceeded", "what nobody waits for does not");
    first.settle(whole(100)).await;
    let second = second.await.unwrap();
    assert_eq!(second.max_output(), Some(900));
    second.settle(whole(890)).await;
    assert_eq!(bench.reserve(&watched(5_000)).await.err().unwrap(), "budget_exceeded");
    // Another program's reservation in the same ledger may never come back.
    let bench = Bench::new(1_000.0);
    bench.ledger.reserve("p", "m", Claim::exactly(999.0, 1_000.0)).await.unwrap().unwrap();
    assert_eq!(bench.reserve(&watched(5_000)).await.err().unwrap(), "budget_exceeded");
}

#[tokio::test]
async fn cancelled_wait_leaves_nothing_reserved() {
    let bench = Bench::new(1_000.0);
    let first = bench.reserve(&watched(5_000)).await.unwrap();
    let model = watched(5_000);
    {
        let mut second = Box::pin(bench.reserve(&model));
        assert!(timeout(Duration::from_millis(5), &mut second).await.is_err());
    }
    first.settle(whole(100)).await;
    bench.meter.ended().await;
    assert_eq!(bench.day().await, (100.0, 0.0));
}

#[tokio::test]
async fn every_call_is_booked_once_however_it_ends() {
    let check = async |ending: Option<Ending>, received: u64, output: u64| {
        let bench = Bench::new(100_000.0);
        let mut grant = bench.reserve(&watched(5_000)).await.unwrap();
        grant.count(received).await.unwrap();
        match ending.clone() {
            Some(ending) => drop(grant.settle(ending).await),
            None => drop(grant),
        }
        bench.meter.ended().await;
        let entries = bench.ledger.entries();
        assert_eq!(entries.len(), 1, "{ending:?}");
        assert_eq!(entries[0].usage.output_tokens, output, "{ending:?}");
        assert_eq!(bench.day().await, (output as f64, 0.0), "{ending:?}");
    };
    check(Some(whole(70)), 50, 70).await;
    check(Some(whole(u64::MAX)), 50, 50).await;
    check(Some(Ending::Cut), 50, 50).await;
    check(Some(Ending::Silent), 50, 50).await;
    check(Some(Ending::Silent), 0, 1_000).await;
    check(Some(Ending::Refused), 0, 0).await;
    check(None, 50, 50).await;
}

#[tokio::test]
async fn calls_are_booked_under_the_requested_model() {
    let named = async |named: &str| {
        let bench = Bench::new(100_000.0);
        let grant = bench.reserve(&watched(5_000)).await.unwrap();
        let usage = Usage { input_tokens: 1, output_tokens: 1, ..Usage::default() };
        let booked = grant.settle(Ending::Whole { usage, named: Some(named.into()) }).await;
        assert_eq!(booked.usage.cost_usd, 1.0);
        booked.model
    };
    assert_eq!(named("m").await, "m");
    assert_eq!(named("m-2026-01-01").await, "m-2026-01-01");
    assert_eq!(named("something-cheaper").await, "m");
}

#[tokio::test]
async fn variant_is_billed_at_the_price_of_the_requested_model() {
    let booked = async |of_asked: Option<Price>| {
        let budget = Budget { daily_usd: 100_000.0, allows_unpriced: true, ..Budget::default() };
        let bench = Bench::pricing(budget, move |model| match model {
            "m" => of_asked,
            _ => Some(Price::new(0.0, 7e6)),
        });
        let grant = bench.reserve(&watched(5_000)).await.unwrap();
        let usage = Usage { input_tokens: 1, output_tokens: 1, ..Usage::default() };
        grant.settle(Ending::Whole { usage, named: Some("m-2026-01-01".into()) }).await.usage.cost_usd
    };
    assert_eq!(booked(Some(Price::new(0.0, 1e6))).await, 1.0);
    assert_eq!(booked(None).await, 7.0);
}

#[tokio::test]
async fn a_model_without_a_price_is_refused_under_a_ceiling() {
    let check =
        async |daily_usd: f64, allows_unpriced: bool, price: Option<Price>, expected: Option<&str>| {
            let budget = Budget { daily_usd, allows_unpriced, ..Budget::default() };
            let refused = Bench::with(budget, price).meter.reserve(turn(), &watched(10)).await.err();
            let words = refused.map(|failure| failure.message);
            match expected {
                Some(word) => assert!(words.as_ref().is_some_and(|said| said.contains(word)), "{words:?}"),
                None => assert_eq!(words, None),
            }
        };
    check(1.0, false, None, Some("budget.pricing.m")).await;
    check(1.0, true, None, None).await;
    check(0.0, false, None, None).await;
    check(1.0, false, Some(Price::FREE), None).await;
    check(1.0, false, Some(Price::new(f64::NAN, 1.0)), Some("budget.pricing.m")).await;
    check(1.0, false, Some(Price::new(-1.0, 1.0)), Some("budget.unpriced")).await;
}

#[tokio::test]
async fn background_work_stops_at_the_warning_level() {
    let bench = Bench::new(10_000.0);
    let grant = bench.reserve(&watched(50_000)).await.unwrap();
    grant.settle(whole(7_990)).await;
    let early = bench.meter.reserve(Work::new(WorkKind::Background, 10), &watched(500)).await;
    let refused = early.err().unwrap();
    assert!(refused.message.contains("budget.warn_ratio"), "{}", refused.message);
    assert!(bench.reserve(&watched(500)).await.is_ok());
}
