//! The permission to make one call: the money reserved for it, the limit of its answer, and a guarantee that it is
//! booked once.
//!
//! An answer that can be watched starts with the money for a usual one and gets more in steps as it arrives; when no
//! more is left, it is stopped. One that cannot be watched is paid for in full beforehand, so its limit is a fair
//! share of the day's remaining budget. The notes in the ledger in between, which a crash would book, are close to
//! the cost of the call so far: its input as the service has counted and cached it in other calls, and hardly more,
//! never less, than the output that has arrived. The reservation covers the highest cost that may come, so that the
//! ceiling holds. A call whose cost nothing limits is recorded as well before it is made, without a wait, so that a
//! crash does not lose it.

use aethon_core::ledger::{Claim, LedgerEntry, Price, Reserved};
use aethon_core::message::Failure;
use aethon_core::model::{Capabilities, Usage};
use tokio::time::Instant;

use super::counts;
use super::ending::Ending;
use super::metering::{Meter, Work};
use super::note::{NOTES, OpenNote, next_note};
use super::tariff::Tariff;
use super::usual::{Usual, WorkOf};

/// The shortest answers worth asking for when little money is left, in tokens: one that is watched, and one with hidden
/// reasoning.
const MIN_ANSWER: u64 = 64;
const MIN_HIDDEN: u64 = 256;

/// The longest answer paid for in advance: this many usual ones, but at least this many tokens.
const USUALS_HIDDEN: u64 = 4;
const LONG_HIDDEN: u64 = 16_000;

/// The least and the most tokens by which a reservation grows; in between, it grows by half a usual answer.
const STEPS: (u64, u64) = (64, 1_000);

/// The least by which it grows when little is left.
const MIN_STEP: u64 = 16;

/// The outcome of a booked call.
#[derive(Debug, Clone, PartialEq)]
pub struct Booked {
    /// Its usage, with its cost.
    pub usage: Usage,
    /// The model that it is booked under.
    pub model: String,
    /// The budget warning for the owner.
    pub warning: Option<String>,
}

/// The reservation plan of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// How many tokens of the answer are wanted, and how many are the least of use.
    most: u64,
    least: u64,
    /// The model's longest answer.
    max_output: u64,
    /// Whether the cost is noted as the answer arrives.
    is_noted: bool,
    /// The tokens noted before the first one arrives.
    noted: u64,
    usual: Usual,
    is_hidden: bool,
}

impl Plan {
    /// Creates the plan for an answer that can be watched.
    pub(super) fn watched(usual: Usual, max_output: u64) -> Self {
        let most = usual.tokens().max(MIN_ANSWER).min(max_output);
        let noted = NOTES.0.min(most);
        Self {
            most,
            least: MIN_ANSWER.min(max_output),
            max_output,
            is_noted: true,
            noted,
            usual,
            is_hidden: false,
        }
    }

    /// Creates the plan for an answer whose length follows from the input. All of it is paid for beforehand, because
    /// nothing can cut it short.
    pub(super) fn whole(usual: Usual, max_output: u64) -> Self {
        let (most, least) = (max_output, max_output);
        Self { most, least, max_output, is_noted: false, noted: most, usual, is_hidden: false }
    }

    /// Creates the plan for an answer that cannot be watched, and that may cost this share of the day's money.
    pub(super) fn hidden(tariff: &Tariff, usual: Usual, max_output: u64, share_usd: f64) -> Self {
        let least = MIN_HIDDEN.min(max_output);
        let longest = usual.tokens().saturating_mul(USUALS_HIDDEN).max(LONG_HIDDEN);
        let most = tariff.tokens(share_usd - tariff.input_usd).min(longest).min(max_output).max(least);
        let noted = NOTES.0.min(most);
        Self { most, least, max_output, is_noted: true, noted, usual, is_hidden: true }
    }

    /// Returns the number of tokens to note when this many have arrived: those, and the ones that may come before the
    /// next note, which bounds the excess that a crash books.
    fn noted_at(&self, billed: u64) -> u64 {
        if self.is_noted { next_note(billed) } else { billed.saturating_add(STEPS.1) }
    }

    /// Returns the money to reserve.
    pub(super) fn claim(&self, tariff: &Tariff, ceiling_usd: f64) -> Claim {
        let usd = |tokens| tariff.input_usd + tariff.output_usd(tokens);
        Claim {
            most_usd: usd(self.most),
            least_usd: usd(self.least),
            ceiling_usd,
            estimate_usd: tariff.expected_input_usd + tariff.output_usd(self.noted),
        }
    }

    /// Returns how long the answer may be for the money that was granted.
    pub(super) fn granted(self, tariff: Tariff, reserved: Reserved, ceiling_usd: f64) -> Limited {
        let own_usd = reserved.amount_usd - tariff.input_usd;
        let paid = tariff.tokens(own_usd);
        let affordable = if self.is_hidden { paid } else { tariff.tokens(own_usd + reserved.left_usd) };
        Limited {
            reservation: reserved.id,
            tariff,
            plan: self,
            limit: affordable.min(self.max_output).max(1),
            paid,
            noted: self.noted,
            ceiling_usd,
        }
    }
}

/// A call paid from the day's money.
#[derive(Debug)]
pub(super) struct Limited {
    reservation: i64,
    tariff: Tariff,
    plan: Plan,
    /// The longest answer that may be requested, in tokens.
    limit: u64,
    /// The tokens paid for so far.
    paid: u64,
    /// The tokens that a crash would book.
    noted: u64,
    ceiling_usd: f64,
}

/// The permission to make one call. Dropping it without settling books the call as cut off.
pub struct Grant {
    meter: Meter,
    work: Work,
    provider: String,
    model: String,
    price: Option<Price>,
    usual: Usual,
    is_hidden: bool,
    max_output: u64,
    /// The tokens that arrived, by our own count.
    received: u64,
    limited: Option<Limited>,
    note: Option<OpenNote>,
    is_open: bool,
    /// When the call was permitted, which is just before it is made.
    started: Instant,
    /// When the first output arrived.
    first_at: Option<Instant>,
}

impl Grant {
    /// Creates a grant for a call that costs nothing, or whose cost is not limited.
    pub(super) fn unlimited(meter: Meter, work: Work, model: &Capabilities, price: Option<Price>) -> Self {
        let is_hidden = model.hidden_output;
        Self {
            usual: meter.usuals().get(WorkOf::by(model, work.kind)),
            meter,
            work,
            provider: model.provider.clone(),
            model: model.model.clone(),
            price,
            is_hidden,
            max_output: model.max_output,
            received: 0,
            limited: None,
            note: None,
            is_open: true,
            started: Instant::now(),
            first_at: None,
        }
    }

    /// Has the call recorded while it runs.
    pub(super) fn noted_by(mut self, note: OpenNote) -> Self {
        self.note = Some(note);
        self
    }

    /// Limits the call to the money reserved for it.
    pub(super) fn paid_with(mut self, limited: Limited) -> Self {
        self.limited = Some(limited);
        self.started = Instant::now();
        self
    }

    /// Discards a grant whose call is not made; nothing is booked.
    pub(super) fn discard(mut self) {
        self.is_open = false;
    }

    /// Returns the provider and the model that are called.
    pub(super) fn model(&self) -> (&str, &str) {
        (&self.provider, &self.model)
    }

    /// Returns the longest answer that the day pays for, in tokens; `None` if nothing limits it.
    pub fn max_output(&self) -> Option<u64> {
        self.limited.as_ref().map(|limited| limited.limit)
    }

    /// Returns why an answer that reached its limit ended there, if the limit was all that the day had left.
    pub(crate) async fn budget_cut_reason(&self) -> Option<Failure> {
        let limited = self.limited.as_ref()?;
        let is_last = !self.is_hidden && limited.limit < self.max_output;
        if is_last { Some(self.meter.used_up(limited.ceiling_usd).await) } else { None }
    }

    /// Counts tokens that arrived. `Err` if the day does not pay for more: then the call has to end.
    pub(crate) async fn count(&mut self, tokens: u64) -> Result<(), Failure> {
        self.received = self.received.saturating_add(tokens);
        self.first_at.get_or_insert_with(Instant::now);
        let billed = self.usual.billed(self.received);
        let hidden = self.hidden_so_far();
        if let Some(limited) = self.limited.as_mut().filter(|limited| billed >= limited.paid) {
            return limited.grow(&self.meter, billed, hidden).await;
        }
        self.note_progress().await;
        Ok(())
    }

    /// Returns whether output comes that nobody sees, so that the cost so far has to be noted now and then.
    pub(crate) fn thinks_unseen(&self) -> bool {
        self.is_hidden && self.first_at.is_none()
    }

    /// Notes the cost of the call so far, if it is more than was noted.
    pub(crate) async fn note_progress(&mut self) {
        let so_far = self.usual.billed(self.received).saturating_add(self.hidden_so_far());
        if let Some(limited) = &mut self.limited {
            if so_far >= limited.noted && limited.plan.is_noted {
                limited.noted = limited.plan.noted_at(so_far).min(limited.paid);
                self.meter.note(limited.reservation, limited.estimate_usd()).await;
            }
        } else if let Some((id, estimate_usd)) = self.note.as_mut().and_then(|note| note.progress(so_far)) {
            self.meter.note(id, estimate_usd).await;
        }
    }

    /// Returns how much hidden output the service has probably produced. It comes before the first output that is seen.
    fn hidden_so_far(&self) -> u64 {
        let until = self.first_at.unwrap_or_else(Instant::now);
        if self.is_hidden { self.usual.hidden_within(until - self.started) } else { 0 }
    }

    /// Books the call.
    pub async fn settle(mut self, ending: Ending) -> Booked {
        let entry = self.take_entry(&ending);
        let (usage, model) = (entry.usage, entry.model.clone());
        let warning = match &self.limited {
            None => self.meter.book_open(self.note.take(), entry).await,
            // In a task of its own, because the caller may be stopped meanwhile.
            Some(Limited { reservation, .. }) => {
                let (meter, reservation) = (self.meter.clone(), Some(*reservation));
                self.meter
                    .run_to_completion(async move { meter.book(reservation, entry).await })
                    .await
                    .flatten()
            }
        };
        Booked { usage, model, warning }
    }

    /// Closes the grant and returns the ledger entry to write. Nothing else is written from then on.
    fn take_entry(&mut self, ending: &Ending) -> LedgerEntry {
        self.is_open = false;
        let (usage, named) = match ending {
            Ending::Whole { usage, named } => (self.believed(*usage), named.as_deref()),
            Ending::Refused => (Usage::default(), None),
            Ending::Cut | Ending::Broken => (self.estimate(false), None),
            Ending::Silent => (self.estimate(self.received == 0), None),
        };
        let (model, price) = self.billed_model(named);
        let stated_usd = match ending {
            Ending::Whole { usage, .. } => counts::stated_usd(usage),
            _ => None,
        };
        let cost_usd = stated_usd.unwrap_or_else(|| price.map_or(0.0, |price| price.of(&usage)));
        let entry = LedgerEntry {
            at: self.meter.clock().now(),
            session: self.work.session.clone(),
            turn: self.work.turn.clone(),
            provider: self.provider.clone(),
            model,
            kind: self.work.kind,
            usage: Usage { cost_usd, ..usage },
            saved_usd: price.map_or(0.0, |price| price.saved(&usage)),
            is_ok: matches!(ending, Ending::Whole { .. }),
        };
        self.meter.measure(&entry, ending, self.started.elapsed());
        entry
    }

    /// Returns the service's count, or our own where the service's is not credible.
    fn believed(&self, reported: Usage) -> Usage {
        let billed = self.usual.billed(self.received).min(self.max_output);
        let sent = self.usual.input(self.work.expected_input).input_tokens;
        let Some(usage) = counts::believed(reported, sent, billed) else {
            let (provider, model) = (&self.provider, &self.model);
            self.meter.warn_once(format!("counts {provider} {model}"), || {
                let (input, output) = (reported.input_tokens, reported.output_tokens);
                tracing::warn!(
                    provider,
                    model,
                    input,
                    output,
                    "the service counts more tokens than there can be"
                );
            });
            return self.estimate(false);
        };
        let work = WorkOf {
            provider: &self.provider,
            model: &self.model,
            kind: self.work.kind,
            is_hidden: self.is_hidden,
        };
        self.meter.usuals().learn(work, usage.output_tokens, self.received);
        if self.is_hidden {
            let time = self.first_at.unwrap_or_else(Instant::now) - self.started;
            self.meter.usuals().learn_hidden(work, usage.output_tokens.saturating_sub(billed), time);
        }
        self.meter.usuals().learn_input(work, &reported, self.work.expected_input);
        usage
    }

    /// Estimates the usage of an unfinished call: the input as the service counted and cached it in other calls, the
    /// output that arrived, and the hidden output that has probably come by then. If the service was silent although its
    /// output can be seen, a usual answer is assumed.
    fn estimate(&self, was_silent: bool) -> Usage {
        let limit = self.max_output().unwrap_or(u64::MAX).min(self.max_output);
        let unseen = if was_silent && !self.is_hidden { self.usual.tokens() } else { self.hidden_so_far() };
        let received = self.usual.billed(self.received);
        let output_tokens = received.max(received.saturating_add(unseen).min(limit));
        Usage { output_tokens, ..self.usual.input(self.work.expected_input) }
    }

    /// Returns the model that the call is booked under, and its price. A service may name a variant of the model, such
    /// as one with a date; any other name is logged once and ignored. The price is the reserved one, because otherwise
    /// the ceiling would be checked against a different one; only a model without a price takes that of its variant.
    fn billed_model(&self, named: Option<&str>) -> (String, Option<Price>) {
        match named {
            Some(named) if counts::is_variant(&self.model, named) => {
                (named.to_owned(), self.price.or_else(|| self.meter.price(&self.provider, named, None)))
            }
            Some(named) => {
                let (provider, model) = (&self.provider, &self.model);
                self.meter.warn_once(format!("name {provider} {model} {named}"), || {
                    tracing::warn!(
                        provider,
                        model,
                        named,
                        "the service names a model that was not asked for"
                    );
                });
                (self.model.clone(), self.price)
            }
            None => (self.model.clone(), self.price),
        }
    }
}

impl Limited {
    /// Returns the probable cost of the call if a crash cuts it off before the next note.
    fn estimate_usd(&self) -> f64 {
        self.tariff.expected_input_usd + self.tariff.output_usd(self.noted)
    }

    async fn grow(&mut self, meter: &Meter, billed: u64, hidden: u64) -> Result<(), Failure> {
        let usual = self.plan.usual.tokens();
        let short = billed - self.paid;
        let step = (usual / 2).clamp(STEPS.0, STEPS.1).saturating_add(short);
        self.noted = self.plan.noted_at(billed.saturating_add(hidden));
        let claim = Claim {
            most_usd: self.tariff.output_usd(step),
            least_usd: self.tariff.output_usd(MIN_STEP.saturating_add(short)),
            ceiling_usd: self.ceiling_usd,
            estimate_usd: self.estimate_usd(),
        };
        let reserved = meter.grow(self.reservation, claim).await?;
        self.paid = self.paid.saturating_add(self.tariff.tokens(reserved.amount_usd));
        Ok(())
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        let entry = self.take_entry(&Ending::Cut);
        let (meter, note) = (self.meter.clone(), self.note.take());
        let reservation = self.limited.as_ref().map(|limited| limited.reservation);
        // Without a runtime the program is exiting, and the next start books the reservation.
        if tokio::runtime::Handle::try_current().is_ok() {
            self.meter.tasks().spawn(async move {
                match reservation {
                    Some(_) => drop(meter.book(reservation, entry).await),
                    None => drop(meter.book_open(note, entry).await),
                }
            });
        }
    }
}
