//! Reserves the money for a call, or waits for it.

use std::sync::atomic::Ordering;

use aethon_core::ledger::{Claim, Price, WorkKind};
use aethon_core::message::Failure;
use aethon_core::model::Capabilities;
use tokio::sync::oneshot;

use super::ending::Ending;
use super::grant::{Grant, Plan};
use super::metering::{Meter, Work};
use super::refusal;
use super::tariff::Tariff;
use super::usual::WorkOf;
use aethon_core::patience::retry_until_stored;

/// A slot among the running calls, taken before the ledger is queried: a caller that gets no money must see that
/// others hold it, even before they know it themselves.
struct CallSlot(Option<Meter>);

impl CallSlot {
    fn take(meter: &Meter) -> Self {
        meter.0.running.fetch_add(1, Ordering::AcqRel);
        Self(Some(meter.clone()))
    }

    /// Keeps the slot for a call that is made; booking the call gives it back.
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        // The last one to leave wakes those who waited for it. While a call runs, its end does that.
        if let Some(meter) = self.0.take()
            && meter.0.running.fetch_sub(1, Ordering::AcqRel) == 1
        {
            meter.0.news.notify_waiters();
        }
    }
}

impl Meter {
    /// Permits one call to this model once its money is reserved, or returns why the call must not be made. If the
    /// missing money is merely reserved for running calls, it waits for one of them to end.
    pub async fn reserve(&self, work: Work, model: &Capabilities) -> Result<Grant, Failure> {
        let budget = self.budget();
        let price = self.price_of(model);
        if price.is_none() && budget.is_limited() && !budget.allows_unpriced {
            return Err(refusal::unpriced(&model.model));
        }
        let Some(price) = price.filter(|price| budget.is_limited() && !price.is_free()) else {
            return Ok(self.unlimited(work, model, price));
        };
        // Boxed: most calls need none of this, and the future of a turn contains this one.
        Box::pin(self.reserve_limited(work, model, price)).await
    }

    /// Permits a call whose cost nothing limits.
    fn unlimited(&self, work: Work, model: &Capabilities, price: Option<Price>) -> Grant {
        // The offline models do nothing that could get lost, and vectors are made by the thousand.
        let is_noted = model.tool_terms.are_read && work.kind != WorkKind::Embedding;
        let tariff = price.map(|price| self.tariff(&work, model, &price));
        let note = is_noted.then(|| self.open(model, tariff));
        let grant = Grant::unlimited(self.clone(), work, model, price);
        match note {
            Some(note) => grant.noted_by(note),
            None => grant,
        }
    }

    /// Returns the price of a call whose input is known.
    fn tariff(&self, work: &Work, model: &Capabilities, price: &Price) -> Tariff {
        let usual = self.0.usuals.get(WorkOf::by(model, work.kind));
        Tariff::of(price, work.input).expecting(price.of(&usual.input(work.expected_input)))
    }

    async fn reserve_limited(
        &self,
        work: Work,
        model: &Capabilities,
        price: Price,
    ) -> Result<Grant, Failure> {
        self.check_earlier_warning().await?;
        let usual = self.0.usuals.get(WorkOf::by(model, work.kind));
        let tariff = self.tariff(&work, model, &price);
        let ceiling_usd = self.ceiling(&work);
        // While other calls run, it waits for the money of a usual answer. With less, the service would get a limit
        // that cuts the answer although money is about to come back.
        let mut is_patient = work.is_awaited() && !model.hidden_output;
        loop {
            let news = self.0.news.notified();
            let returned = self.0.returned.load(Ordering::Acquire);
            let slot = CallSlot::take(self);
            let plan = match model.hidden_output {
                false if work.kind == WorkKind::Transcription => Plan::whole(usual, model.max_output),
                false => Plan::watched(usual, model.max_output),
                true => {
                    let today = self.today().await?;
                    let left = ceiling_usd - today.spent_usd - today.reserved_usd;
                    // One share for this call, one for each running call, and one for the next caller.
                    let share = left / (self.0.running.load(Ordering::Acquire) + 1) as f64;
                    Plan::hidden(&tariff, usual, model.max_output, share)
                }
            };
            let claim = plan.claim(&tariff, ceiling_usd);
            let least_usd = if is_patient { claim.most_usd } else { claim.least_usd };
            let claim = Claim { least_usd, ..claim };
            let blank = Grant::unlimited(self.clone(), work.clone(), model, Some(price));
            if let Some(grant) = self.try_reserve(blank, slot, plan, tariff, claim).await? {
                return Ok(grant);
            }
            let today = self.today().await?;
            let may_come = work.is_awaited() && today.spent_usd + claim.least_usd <= ceiling_usd;
            let nobody_runs = self.0.running.load(Ordering::Acquire) == 0
                && self.0.returned.load(Ordering::Acquire) == returned;
            if (!may_come || nobody_runs) && is_patient {
                is_patient = false;
                continue;
            }
            if !may_come || nobody_runs {
                return Err(refusal::exceeded(today, ceiling_usd, &self.budget(), self.0.clock.now()));
            }
            news.await;
        }
    }

    /// Reserves money for a grant that has none yet. In a task of its own, so that the money is returned if the caller
    /// is stopped meanwhile.
    async fn try_reserve(
        &self,
        blank: Grant,
        slot: CallSlot,
        plan: Plan,
        tariff: Tariff,
        claim: Claim,
    ) -> Result<Option<Grant>, Failure> {
        let meter = self.clone();
        let (sender, receiver) = oneshot::channel();
        self.0.tasks.spawn(async move {
            let (provider, model) = blank.model();
            let reserve = || meter.0.ledger.reserve(provider, model, claim);
            let reserved = retry_until_stored("money could not be reserved; trying again", reserve).await;
            let granted =
                reserved.map_err(|error| refusal::unreadable(&error)).map(|reserved| match reserved {
                    Some(reserved) => {
                        slot.keep();
                        Some(blank.paid_with(plan.granted(tariff, reserved, claim.ceiling_usd)))
                    }
                    None => {
                        drop(slot);
                        blank.discard();
                        None
                    }
                });
            if let Err(Ok(Some(grant))) = sender.send(granted) {
                grant.settle(Ending::Refused).await;
            }
        });
        receiver.await.unwrap_or_else(|_| Err(refusal::broken()))
    }
}
