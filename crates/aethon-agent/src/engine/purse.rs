//! The money: no call to a model goes without being written down, and none passes the ceiling.
//!
//! Before a call with a price, what it may cost at most is set aside; when less than that is left of the day, what is left,
//! and the answer ends where that is used up. After the call the truth is written down, also of one that failed or was
//! stopped. Without a ceiling or a price nobody waits for any of it.

use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::clock::Clock;
use aethon_core::error::Error;
use aethon_core::event::{Event, EventBus};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::ledger::{DaySpend, Ledger, LedgerEntry, Price, WorkKind};
use aethon_core::message::Failure;
use aethon_core::model::{Capabilities, Usage};
use aethon_core::usage::{Budget, day_of};
use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tokio::sync::OnceCell;

use crate::parts::{Parts, Prices};

/// The shortest answer that is worth asking for when little money is left, in tokens.
const LEAST_ANSWER: u64 = 64;

/// What is left of a day's money when it is not looked at closely, for sums of decimals are not exact.
const CRUMB: f64 = 1e-9;

/// What all turns of an engine spend from.
pub(super) struct Purse {
    ledger: Arc<dyn Ledger>,
    prices: Prices,
    budget: Budget,
    clock: Arc<dyn Clock>,
    bus: EventBus,
    /// The day on which the owner was warned last.
    warned: Mutex<Option<Date>>,
    looked: OnceCell<()>,
}

/// A call to a model.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) session: SessionId,
    pub(super) turn: TurnId,
    pub(super) kind: WorkKind,
    /// Tokens that are sent, as far as is known.
    pub(super) input: u64,
}

/// The leave to make a call.
#[derive(Debug, Default)]
pub(super) struct Leave {
    reservation: Option<i64>,
    price: Option<Price>,
    /// Tokens after which the answer has used up what was set aside.
    pub(super) output: Option<u64>,
}

impl Purse {
    pub(super) fn new(parts: &Parts, budget: Budget) -> Self {
        Self {
            ledger: parts.ledger.clone(),
            prices: parts.prices.clone(),
            budget,
            clock: parts.clock.clone(),
            bus: parts.bus.clone(),
            warned: Mutex::default(),
            looked: OnceCell::new(),
        }
    }

    /// Sets the money for a call aside, or says why it must not be made.
    pub(super) async fn ask(&self, call: &Call, model: &Capabilities) -> Result<Leave, Failure> {
        let price = (self.prices)(&model.provider, &model.model).map(sound);
        let most_of = |price: &Price| tokens_cost(price, call.input, model.max_output);
        let limited = price.filter(|price| self.budget.daily_usd > 0.0 && most_of(price) > 0.0);
        let Some(price_now) = limited else { return Ok(Leave { price, ..Leave::default() }) };
        self.look().await?;
        let most = most_of(&price_now);
        let least = tokens_cost(&price_now, call.input, LEAST_ANSWER.min(model.max_output));
        let ceiling = self.ceiling(call.kind);
        if let Some(id) = self.ledger.reserve(most, ceiling).await.map_err(unreadable)? {
            return Ok(Leave { reservation: Some(id), price, output: None });
        }
        // Somebody else may take of what is left between the look and the grasp; then look once more.
        for _ in 0..2 {
            let today = self.ledger.today().await.map_err(unreadable)?;
            let left = ceiling - today.spent_usd - today.reserved_usd - CRUMB;
            if left < least {
                return Err(self.refusal(today, ceiling));
            }
            if let Some(id) = self.ledger.reserve(left, ceiling).await.map_err(unreadable)? {
                let output = affordable(&price_now, left - tokens_cost(&price_now, call.input, 0));
                return Ok(Leave { reservation: Some(id), price, output: Some(output) });
            }
        }
        Err(self.refusal(self.ledger.today().await.map_err(unreadable)?, ceiling))
    }

    /// Writes a call down. Returns what it took, with its cost, and a warning when the owner is due one.
    pub(super) async fn settle(
        &self,
        call: Call,
        leave: Leave,
        model: (&Capabilities, Option<&str>),
        outcome: (Usage, bool),
    ) -> (Usage, Option<String>) {
        let ((configured, named), (mut usage, is_ok)) = (model, outcome);
        let priced =
            named.and_then(|named| (self.prices)(&configured.provider, named)).map(sound).or(leave.price);
        if let Some(price) = priced.filter(|_| usage.cost_usd <= 0.0) {
            usage.cost_usd = price.of(&usage);
        }
        let entry = LedgerEntry {
            at: self.clock.now(),
            session: Some(call.session),
            turn: Some(call.turn),
            provider: configured.provider.clone(),
            model: named.unwrap_or(&configured.model).to_owned(),
            kind: call.kind,
            usage,
            saved_usd: priced.map_or(0.0, |price| price.saved(&usage)),
            is_ok,
        };
        let shown = self.bus.has_listeners().then(|| Arc::new(entry.clone()));
        if let Err(error) = self.ledger.settle(leave.reservation, entry).await {
            super::shared::log_storage("a model call could not be written down", &error);
            return (usage, None);
        }
        let is_limited = self.budget.daily_usd > 0.0 && usage.cost_usd > 0.0;
        if shown.is_none() && !is_limited {
            return (usage, None);
        }
        let Ok(today) = self.ledger.today().await else { return (usage, None) };
        if let Some(entry) = shown {
            self.bus.publish(|| Event::Usage { today, entry });
        }
        (usage, is_limited.then(|| self.warning(today)).flatten())
    }

    /// That a call went out of money while it was under way.
    pub(super) async fn used_up(&self) -> Failure {
        let today = self.ledger.today().await.unwrap_or_default();
        self.refusal(today, self.budget.daily_usd)
    }

    /// What this kind of work may spend up to: what nobody waits for stops when the owner is warned.
    fn ceiling(&self, kind: WorkKind) -> f64 {
        match kind {
            WorkKind::Background => self.budget.daily_usd * self.budget.warn_ratio.clamp(0.0, 1.0),
            _ => self.budget.daily_usd,
        }
    }

    /// Looks once whether a process before this one has warned today.
    async fn look(&self) -> Result<(), Failure> {
        let look = || async {
            let today = self.ledger.today().await.map_err(unreadable)?;
            // Whatever it says: who is above the mark now was there before.
            self.warning(today);
            Ok(())
        };
        self.looked.get_or_try_init(look).await.copied()
    }

    fn warning(&self, today: DaySpend) -> Option<String> {
        let Budget { daily_usd, warn_ratio } = self.budget;
        if today.spent_usd < daily_usd * warn_ratio {
            return None;
        }
        let day = day_of(self.clock.now());
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.replace(day) == Some(day) {
            return None;
        }
        let spent = money(today.spent_usd);
        tracing::warn!(spent, ceiling = daily_usd, "the day's budget is nearly used up");
        Some(format!(
            "{spent} of today's {} are spent (`budget.daily_usd`). At the ceiling I stop until 00:00 UTC.",
            money(daily_usd)
        ))
    }

    fn refusal(&self, today: DaySpend, ceiling: f64) -> Failure {
        let now = self.clock.now().to_zoned(TimeZone::UTC);
        let midnight = now.start_of_day().and_then(|day| day.checked_add(1.day()));
        let seconds = midnight.map_or(86_400, |midnight| {
            u64::try_from(midnight.timestamp().duration_since(now.timestamp()).as_secs()).unwrap_or(0) + 1
        });
        let set_aside = match today.reserved_usd {
            reserved if reserved > CRUMB => format!(", {} are set aside for calls that run", money(reserved)),
            _ => String::new(),
        };
        Failure {
            code: "budget_exceeded".into(),
            message: format!(
                "Today's budget does not allow another answer: {} of {} are spent{set_aside} (`budget.daily_usd`). It \
                 starts anew at 00:00 UTC, in {}; or raise the ceiling.",
                money(today.spent_usd),
                money(ceiling),
                super::request::in_words(seconds)
            ),
            retry_after: Some(seconds),
        }
    }
}

/// A price that cannot make a call earn money, whatever the configuration says.
fn sound(price: Price) -> Price {
    let sound = |usd: f64| if usd.is_finite() { usd.max(0.0) } else { 0.0 };
    Price {
        input: sound(price.input),
        output: sound(price.output),
        cached_input: price.cached_input.map(sound),
    }
}

fn tokens_cost(price: &Price, input: u64, output: u64) -> f64 {
    price.of(&Usage { input_tokens: input, output_tokens: output, ..Usage::default() })
}

/// The tokens of an answer that this much money pays for.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive number, and saturating"
)]
fn affordable(price: &Price, usd: f64) -> u64 {
    if price.output <= 0.0 { u64::MAX } else { (usd.max(0.0) / price.output * 1e6) as u64 }
}

fn money(usd: f64) -> String {
    if usd > 0.0 && usd < 0.01 { format!("${usd:.4}") } else { format!("${usd:.2}") }
}

/// A ledger that cannot be asked allows nothing while there is a ceiling.
fn unreadable(error: Error) -> Failure {
    super::shared::log_storage("the ledger failed", &error);
    Failure {
        code: "storage".into(),
        message: "The budget could not be looked up, because the storage failed; the log has more.".into(),
        retry_after: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aethon_core::testkit::{ManualClock, MemoryLedger};

    fn purse(daily_usd: f64) -> Purse {
        let clock = Arc::new(ManualClock::at("2026-02-03T04:05:06Z".parse().unwrap()));
        let price = Price { input: 1.0, output: 1_000_000.0, cached_input: None };
        Purse {
            ledger: Arc::new(MemoryLedger::new(clock.clone())),
            prices: Arc::new(move |_, _| Some(price)),
            budget: Budget { daily_usd, warn_ratio: 0.8 },
            clock,
            bus: EventBus::default(),
            warned: Mutex::default(),
            looked: OnceCell::new(),
        }
    }

    fn call(kind: WorkKind) -> Call {
        let session = SessionId::parse("webchat:a").unwrap();
        Call { session, turn: TurnId::fresh(), kind, input: 10 }
    }

    fn model(max_output: u64) -> Capabilities {
        Capabilities {
            provider: "p".into(),
            model: "m".into(),
            context_window: 1_000,
            max_output,
            images: false,
            tools: false,
        }
    }

    #[tokio::test]
    async fn what_nobody_waits_for_stops_first() {
        let purse = purse(100.0);
        // Eighty-five of a hundred are taken.
        let leave = purse.ask(&call(WorkKind::Turn), &model(85)).await.unwrap();
        assert!(leave.reservation.is_some() && leave.output.is_none());
        let refused = purse.ask(&call(WorkKind::Background), &model(10)).await.unwrap_err();
        assert_eq!(refused.code, "budget_exceeded");
        assert!(purse.ask(&call(WorkKind::Turn), &model(10)).await.is_ok());
    }

    #[tokio::test]
    async fn what_is_left_is_all_that_a_call_gets() {
        let purse = purse(100.0);
        let leave = purse.ask(&call(WorkKind::Turn), &model(500)).await.unwrap();
        assert_eq!(leave.output, Some(99));
        assert!(purse.ask(&call(WorkKind::Turn), &model(500)).await.is_err());
        let usage = Usage { input_tokens: 10, output_tokens: 20, ..Usage::default() };
        let capabilities = model(500);
        purse.settle(call(WorkKind::Turn), leave, (&capabilities, None), (usage, true)).await;
        assert_eq!(purse.ask(&call(WorkKind::Turn), &model(500)).await.unwrap().output, Some(79));
    }
}
