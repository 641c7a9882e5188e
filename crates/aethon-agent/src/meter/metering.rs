//! The meter itself: it grants calls and books them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aethon_core::clock::Clock;
use aethon_core::event::EventBus;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::ledger::{Claim, DaySpend, Ledger, LedgerEntry, Price, Reserved, WorkKind};
use aethon_core::live::Live;
use aethon_core::message::Failure;
use aethon_core::model::Capabilities;
use aethon_core::telemetry::{ModelFacts, TelemetryEvent, TelemetryKind, TelemetryStatus};
use aethon_core::usage::{Budget, day_of};
use jiff::civil::Date;
use tokio::sync::{Notify, OnceCell, oneshot, watch};
use tokio::time::timeout;

use super::announcer::Announcer;
use super::ending::Ending;
use super::note::OpenNote;
use super::refusal;
use super::tariff::{Tariff, is_price};
use super::usual::OutputLengthStats;
use crate::tasks::Tasks;
use aethon_core::patience::retry_until_stored;

/// Looks up the price of a provider's model, if known. The third argument is the price that the service reports,
/// which the owner's own setting may override.
pub type Prices = Arc<dyn Fn(&str, &str, Option<Price>) -> Option<Price> + Send + Sync>;

/// How long a call that has ended waits for the record of its beginning.
const SLOW_STORAGE: Duration = Duration::from_secs(1);

const UNWRITTEN: &str = "a model call could not be written down; trying again";

/// How many different warnings about services and prices are remembered, so that each is logged only once.
const MAX_LOGGED_WARNINGS: usize = 1_000;

/// The purpose of a call.
#[derive(Debug, Clone)]
pub struct Work {
    /// The kind of work.
    pub kind: WorkKind,
    /// The session that it is for.
    pub session: Option<SessionId>,
    /// The turn that it is for.
    pub turn: Option<TurnId>,
    /// The most tokens that are probably sent, which money is reserved for.
    pub input: u64,
    /// The likely number, without a margin, which is booked where nothing is counted.
    pub expected_input: u64,
}

impl Work {
    /// Describes work that belongs to no turn and sends this many tokens.
    pub fn new(kind: WorkKind, input: u64) -> Self {
        Self { kind, session: None, turn: None, input, expected_input: input }
    }

    /// Sets the likely number of tokens, where the other one has a margin.
    #[must_use]
    pub fn expecting(self, expected_input: u64) -> Self {
        Self { expected_input: expected_input.min(self.input), ..self }
    }

    /// Assigns the work to a turn.
    #[must_use]
    pub fn of_turn(self, session: SessionId, turn: TurnId) -> Self {
        Self { session: Some(session), turn: Some(turn), ..self }
    }

    /// Returns whether a person waits for the work. Background work stops at the level at which the owner is warned.
    pub(super) fn is_awaited(&self) -> bool {
        !matches!(self.kind, WorkKind::Background | WorkKind::Embedding)
    }
}

/// Pays for every call. Cheap to clone; clones share one meter.
#[derive(Clone)]
pub struct Meter(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) rates: Live<Rates>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) bus: EventBus,
    pub(super) announcer: Announcer,
    /// The day on which the owner was last warned.
    pub(super) warned: Mutex<Option<Date>>,
    pub(super) earlier_warning_checked: OnceCell<()>,
    /// Calls that hold a reservation or are asking for one.
    pub(super) running: AtomicUsize,
    /// How many calls have returned their reservation, and the signal that one has.
    pub(super) returned: AtomicU64,
    pub(super) news: Notify,
    pub(super) usuals: OutputLengthStats,
    pub(super) logged_warnings: Mutex<HashSet<String>>,
    /// The tasks that book dropped calls.
    pub(super) tasks: Tasks,
}

/// The prices, and the budget.
pub(super) struct Rates {
    prices: Prices,
    budget: Budget,
}

impl Meter {
    /// Creates a meter over this ledger.
    pub fn new(
        ledger: Arc<dyn Ledger>,
        prices: Prices,
        budget: Budget,
        clock: Arc<dyn Clock>,
        bus: EventBus,
    ) -> Self {
        let announcer = Announcer::new(ledger.clone(), bus.clone());
        Self(Arc::new(Inner {
            ledger,
            rates: Live::new(Rates { prices, budget }),
            clock,
            bus,
            announcer,
            warned: Mutex::default(),
            earlier_warning_checked: OnceCell::new(),
            running: AtomicUsize::new(0),
            returned: AtomicU64::new(0),
            news: Notify::new(),
            usuals: OutputLengthStats::default(),
            logged_warnings: Mutex::default(),
            tasks: Tasks::default(),
        }))
    }

    /// Switches to these prices and this budget. A call that already holds a reservation keeps its price.
    pub fn reload(&self, prices: Prices, budget: Budget) {
        self.0.rates.set(Rates { prices, budget });
    }

    pub(super) fn budget(&self) -> Budget {
        self.0.rates.get().budget
    }

    /// Runs a future to completion even if the caller stops waiting for it. `None` if it panicked.
    pub(super) async fn run_to_completion<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = oneshot::channel();
        self.0.tasks.spawn(async move {
            // An error means that the caller has stopped waiting; the work is done all the same.
            let _ = sender.send(work.await);
        });
        receiver.await.ok()
    }

    /// Waits until every dropped call is booked.
    pub async fn ended(&self) {
        self.0.tasks.ended().await;
    }

    /// Returns the price of a model. An invalid price is logged once and treated as none.
    pub(super) fn price(&self, provider: &str, model: &str, reported: Option<Price>) -> Option<Price> {
        let price = (self.0.rates.get().prices)(provider, model, reported)?;
        if is_price(&price) {
            return Some(price);
        }
        self.warn_once(format!("price {provider} {model}"), || {
            tracing::warn!(provider, model, ?price, "this is not a valid price, so it is ignored");
        });
        None
    }

    /// Returns what a call to a model costs: its price, and nothing for one that runs on this machine unless someone has
    /// stated a price.
    pub(super) fn price_of(&self, model: &Capabilities) -> Option<Price> {
        let price = self.price(&model.provider, &model.model, model.price);
        price.or(model.is_local.then_some(Price::FREE))
    }

    /// Returns whether money is limited and this model's price is unknown.
    pub(super) fn misses_price(&self, model: &Capabilities) -> bool {
        self.budget().is_limited() && self.price(&model.provider, &model.model, model.price).is_none()
    }

    /// Reserves more for a running call. `Err` if the day's money is spent.
    pub(super) async fn grow(&self, reservation: i64, claim: Claim) -> Result<Reserved, Failure> {
        let grow = || self.0.ledger.grow(reservation, claim);
        let grown = retry_until_stored("more money could not be reserved; trying again", grow).await;
        match grown.map_err(|error| refusal::unreadable(&error))? {
            Some(reserved) => Ok(reserved),
            None => Err(self.used_up(claim.ceiling_usd).await),
        }
    }

    /// Records the cost of a running call so far.
    pub(super) async fn note(&self, reservation: i64, estimate_usd: f64) {
        if let Err(error) = self.0.ledger.note(reservation, estimate_usd).await {
            refusal::log_failure("what a call has cost so far could not be noted", &error);
        }
    }

    /// Returns the failure of an answer that used up the day's money.
    pub(super) async fn used_up(&self, ceiling_usd: f64) -> Failure {
        let today = self.0.ledger.today().await.unwrap_or_default();
        refusal::exceeded(today, ceiling_usd, &self.budget(), self.0.clock.now())
    }

    /// Records that a call whose cost nothing limits begins. The caller does not wait for it.
    pub(super) fn open(&self, model: &Capabilities, tariff: Option<Tariff>) -> OpenNote {
        let (sender, id) = watch::channel(None);
        let (meter, provider, model) = (self.clone(), model.provider.clone(), model.model.clone());
        let estimate_usd = OpenNote::first_estimate_usd(tariff.as_ref());
        self.0.tasks.spawn(async move {
            match meter.0.ledger.reserve(&provider, &model, Claim::unlimited(estimate_usd)).await {
                Ok(noted) => drop(sender.send_replace(noted.map(|noted| noted.id))),
                Err(error) => refusal::log_failure("a call that begins could not be noted", &error),
            }
        });
        OpenNote::new(id, tariff)
    }

    /// Writes a call down and returns its reservation. Returns a warning if the owner is due one.
    pub(super) async fn book(&self, reservation: Option<i64>, entry: LedgerEntry) -> Option<String> {
        let settle = || self.0.ledger.settle(reservation, entry.clone());
        let booked = retry_until_stored(UNWRITTEN, settle).await;
        if reservation.is_some() {
            // In this order: a caller that sees that no call is running must also see that money has come back.
            self.0.returned.fetch_add(1, Ordering::AcqRel);
            self.0.running.fetch_sub(1, Ordering::AcqRel);
            self.0.news.notify_waiters();
        }
        self.announce_booked(booked, entry).await
    }

    /// Writes a call down whose cost nothing limited. If the record of its beginning is not written yet because the
    /// storage is slow, that happens in the background.
    pub(super) async fn book_open(&self, note: Option<OpenNote>, entry: LedgerEntry) -> Option<String> {
        let Some(mut note) = note else { return self.book(None, entry).await };
        if let Ok(id) = timeout(SLOW_STORAGE, note.id()).await {
            return self.close(id, entry).await;
        }
        let meter = self.clone();
        self.0.tasks.spawn(async move {
            let id = note.id().await;
            meter.close(id, entry).await;
        });
        None
    }

    async fn close(&self, open: Option<i64>, entry: LedgerEntry) -> Option<String> {
        let Some(open) = open else { return self.book(None, entry).await };
        let close = || self.0.ledger.close(open, entry.clone());
        let booked = retry_until_stored(UNWRITTEN, close).await;
        self.announce_booked(booked, entry).await
    }

    /// Announces a call that was written down. Returns a warning if the owner is due one.
    async fn announce_booked(
        &self,
        booked: aethon_core::error::Result<()>,
        entry: LedgerEntry,
    ) -> Option<String> {
        let cost_usd = entry.usage.cost_usd;
        if let Err(error) = booked {
            refusal::log_failure("a model call could not be written down", &error);
            return None;
        }
        if self.0.bus.has_listeners() {
            self.0.announcer.announce(entry);
        }
        let is_limited = self.budget().is_limited() && cost_usd > 0.0;
        if !is_limited {
            return None;
        }
        self.warning(self.0.ledger.today().await.ok()?)
    }

    /// Measures a finished call.
    pub(super) fn measure(&self, entry: &LedgerEntry, ending: &Ending, took: Duration) {
        let (status, why) = match ending {
            Ending::Whole { .. } => (TelemetryStatus::Ok, ""),
            Ending::Cut => (TelemetryStatus::Stopped, "the answer was stopped"),
            Ending::Broken => (TelemetryStatus::Error, "the answer broke off or could not be read"),
            Ending::Silent => (TelemetryStatus::Error, "nothing came for too long"),
            Ending::Refused => (TelemetryStatus::Error, "the service refused the request or was not reached"),
        };
        let event = TelemetryEvent::new(TelemetryKind::ModelCall, &entry.model, status, entry.at)
            .took(took)
            .within(entry.session.as_ref(), entry.turn.as_ref())
            .with_detail(why);
        self.0.bus.record(event.with_call(ModelFacts::of(entry)));
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.0.clock
    }

    pub(super) fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    pub(super) fn usuals(&self) -> &OutputLengthStats {
        &self.0.usuals
    }

    /// Logs a warning once; `key` identifies it.
    pub(super) fn warn_once(&self, key: String, log: impl FnOnce()) {
        let mut logged = self.0.logged_warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.len() < MAX_LOGGED_WARNINGS && logged.insert(key) {
            log();
        }
    }

    pub(super) async fn today(&self) -> Result<DaySpend, Failure> {
        let today = || self.0.ledger.today();
        let read = retry_until_stored("the day's money could not be read; trying again", today).await;
        read.map_err(|error| refusal::unreadable(&error))
    }

    /// Returns the ceiling up to which this work may spend.
    pub(super) fn ceiling(&self, work: &Work) -> f64 {
        let Budget { daily_usd, warn_ratio, .. } = self.budget();
        if work.is_awaited() { daily_usd } else { daily_usd * warn_ratio.clamp(0.0, 1.0) }
    }

    /// Checks once whether an earlier process has already warned today.
    pub(super) async fn check_earlier_warning(&self) -> Result<(), Failure> {
        let check = || async {
            // The result does not matter: if spending is above the mark now, it already was.
            self.warning(self.today().await?);
            Ok(())
        };
        self.0.earlier_warning_checked.get_or_try_init(check).await.copied()
    }

    fn warning(&self, today: DaySpend) -> Option<String> {
        let Budget { daily_usd, warn_ratio, .. } = self.budget();
        if today.spent_usd < daily_usd * warn_ratio {
            return None;
        }
        let day = day_of(self.0.clock.now());
        let mut warned = self.0.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.replace(day) == Some(day) {
            return None;
        }
        tracing::warn!(spent = today.spent_usd, ceiling = daily_usd, "the day's budget is nearly used up");
        Some(refusal::warning(today, daily_usd))
    }
}
