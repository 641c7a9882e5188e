//! A call to the first of several models that answers. Every model that is called is paid for separately.
//!
//! The caller keeps the call outside of any future that may be cancelled and settles it afterwards, so that it learns
//! the usage even if the call was stopped midway. A dropped call is booked all the same.

use std::time::Duration;

use aethon_core::message::Failure;
use aethon_core::model::{
    ModelError, ModelErrorKind, ModelEvent, ModelRequest, Readiness, StopReason, Usage, WindowSource,
};
use tokio::time::sleep;

use super::adapt::{Adapt, Adapted, AsItIs, Shortening, fits};
use super::ending::Ending;
use super::error::CallError;
use super::grant::{Booked, Grant};
use super::metering::{Meter, Work};
use crate::models::{
    AnswerStream, Candidate, Contact, FailedAttempt, Models, Permit, Reason, combine, is_models_fault,
    pause_before_retry,
};

/// How often the cost of hidden output is noted.
const NOTE_EVERY: Duration = Duration::from_secs(1);

/// A fallback model that answers in place of the configured one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// The model's id.
    pub model: String,
    /// Why it stands in, as a sentence.
    pub reason: String,
    /// Whether it sees pictures.
    pub sees_pictures: bool,
}

/// A call in progress.
pub struct ModelCall {
    meter: Meter,
    work: Work,
    open: Option<Open>,
    /// How the answer ended, if it has.
    ending: Option<Ending>,
    stop: Option<StopReason>,
    /// The day's money is spent. Reported instead of the next event, because the one before has already arrived.
    spent: Option<Failure>,
    /// The usage of models that failed before one answered.
    failed: Usage,
    warning: Option<String>,
    timeouts: u32,
    /// How many times the same model may be asked again while another one stands by.
    retries: u32,
}

/// The model being asked.
struct Open {
    grant: Grant,
    answer: Option<AnswerStream>,
}

/// The outcome of a call.
#[derive(Debug, Default)]
pub struct Settled {
    /// The usage of the answer.
    pub usage: Usage,
    /// The usage of other models that failed before.
    pub failed: Usage,
    /// The model that answered.
    pub model: Option<String>,
    /// The budget warning for the owner.
    pub warning: Option<String>,
}

impl ModelCall {
    /// Prepares a call, which nothing is reserved for yet.
    pub fn new(meter: Meter, work: Work) -> Self {
        Self {
            meter,
            work,
            open: None,
            ending: None,
            stop: None,
            spent: None,
            failed: Usage::default(),
            warning: None,
            timeouts: 0,
            retries: 0,
        }
    }

    /// Allows the same model to be asked again, at most this many times, while another one stands by.
    #[must_use]
    pub fn with_retries(self, retries: u32) -> Self {
        Self { retries, ..self }
    }

    /// Asks one model after the other until one begins to answer. Returns which one it is and why, unless it is the
    /// configured one.
    pub async fn start(
        &mut self,
        models: &Models,
        request: ModelRequest,
    ) -> Result<Option<Fallback>, CallError> {
        self.start_adapting(models, request, &mut AsItIs).await
    }

    /// Does the same as [`Self::start`], and has the request shortened for fallbacks that it does not fit.
    pub(crate) async fn start_adapting(
        &mut self,
        models: &Models,
        request: ModelRequest,
        adapt: &mut dyn Adapt,
    ) -> Result<Option<Fallback>, CallError> {
        let mut round =
            Round { models, attempt: request.attempt, request, misses: Vec::new(), overflow: None };
        let mut small = Vec::new();
        for (place, candidate) in models.candidates().iter().enumerate() {
            if place > 0 && !fits(&candidate.provider.capabilities(), self.work.input) {
                small.push(place);
                continue;
            }
            if round.overflow.as_ref().is_some_and(|overflow| !overflow.may_fit(candidate)) {
                continue;
            }
            let whole = self.whole(&round.request);
            match self.try_in_round(&mut round, place, whole).await {
                Ok(true) => return Ok(round.stand_in(place)),
                Ok(false) => {}
                // What this one does not accept, one that is left alone may.
                Err(CallError::Model(error)) if round.leaves_alone_before(place) => {
                    round.miss(place, Reason::Model(error), Contact::Asked);
                    return self.last_resort(round, adapt).await;
                }
                Err(error) => return Err(error),
            }
        }
        if round.overflow.is_some() && round.leaves_alone_before(usize::MAX) {
            return self.last_resort(round, adapt).await;
        }
        if let Some(overflow) = round.overflow {
            // The conversation has to become shorter, whatever is wrong with the other models.
            return Err(CallError::Model(overflow.error));
        }
        for place in small {
            match self.try_small(&mut round, place, adapt).await {
                Ok(true) => return Ok(round.stand_in(place)),
                Ok(false) => {}
                Err(CallError::Model(error)) if round.leaves_alone_before(place) => {
                    round.miss(place, Reason::Model(error), Contact::Asked);
                }
                Err(error) => return Err(error),
            }
        }
        self.last_resort(round, adapt).await
    }

    /// Returns the next event of the answer; its end is an event too.
    pub async fn next(&mut self) -> Result<ModelEvent, CallError> {
        if let Some(failure) = self.spent.take() {
            return Err(CallError::Money(failure));
        }
        let Some(Open { grant, answer: Some(answer) }) = &mut self.open else {
            return Err(CallError::Model(not_started()));
        };
        let event = match noting(grant, answer.next()).await {
            Ok(event) => event,
            Err(error) => {
                self.timeouts += u32::from(error.kind() == ModelErrorKind::Timeout);
                self.ending = Some(ending_after_begin(&error));
                return Err(CallError::Model(error));
            }
        };
        if let ModelEvent::Finished { stop, usage, model } = &event {
            self.ending = Some(Ending::Whole { usage: *usage, named: model.clone() });
            self.stop = Some(*stop);
        } else if let Err(failure) = grant.count(tokens(&event)).await {
            self.spent = Some(failure);
        }
        Ok(event)
    }

    /// Returns why the answer had to end, if it reached the rest of the day's budget.
    pub async fn budget_cut_reason(&mut self) -> Option<Failure> {
        let open = self.open.as_mut().filter(|_| self.stop == Some(StopReason::Length))?;
        open.grant.budget_cut_reason().await
    }

    /// Records that the caller stopped waiting. The work that the service has done by then is unknown, as after a
    /// time-out.
    pub fn give_up(&mut self) {
        self.ending = Some(Ending::Silent);
    }

    /// Returns the number of models that were called and never responded.
    pub(crate) fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Books the call, whatever state it is in.
    pub async fn settle(mut self) -> Settled {
        let ending = self.ending.take().unwrap_or(Ending::Cut);
        let mut settled = Settled { failed: self.failed, warning: self.warning.take(), ..Settled::default() };
        if let Some(Open { grant, .. }) = self.open.take() {
            let booked = grant.settle(ending).await;
            settled.usage = booked.usage;
            settled.model = Some(booked.model);
            settled.warning = settled.warning.or(booked.warning);
        }
        settled
    }

    /// Asks the model at a place, again if that is worth it. `true` if it answers; otherwise the miss is noted.
    async fn try_in_round(
        &mut self,
        round: &mut Round<'_>,
        place: usize,
        adapted: Adapted,
    ) -> Result<bool, CallError> {
        let Some(candidate) = round.models.candidates().get(place) else { return Ok(false) };
        // Without another model that could take over, the engine waits and asks again.
        let another = round.models.candidates().iter().skip(place + 1).any(Candidate::stands_by);
        let retries = if another { self.retries } else { 0 };
        let (mut done, mut failed) = (0, None);
        let missed = loop {
            let request = adapted.request.clone().with_attempt(round.attempt);
            let missed = match self.try_one(candidate, Adapted { request, ..adapted }).await {
                Ok(()) => return Ok(true),
                Err(Missed::Asked(error)) => error,
                // Another request tries it meanwhile; its own failure says more.
                Err(missed) => break failed.map_or(missed, Missed::Asked),
            };
            let Some(pause) = pause_before_retry(&missed, done, retries) else { break Missed::Asked(missed) };
            tracing::warn!(
                model = candidate.provider.capabilities().model,
                kind = missed.kind().code(),
                status = missed.status(),
                detail = missed.detail(),
                "the model failed and is retried: {missed}"
            );
            sleep(pause).await;
            done += 1;
            round.attempt = round.attempt.saturating_add(1);
            failed = Some(missed);
        };
        round.note(place, missed).map(|()| false)
    }

    /// Asks a model that the request does not fit, with a shortened request.
    async fn try_small(
        &mut self,
        round: &mut Round<'_>,
        place: usize,
        adapt: &mut dyn Adapt,
    ) -> Result<bool, CallError> {
        let Some(candidate) = round.models.candidates().get(place) else { return Ok(false) };
        // Shortening costs something, so it is not done for a model that is not asked.
        if let Err(missed) = check(candidate) {
            return round.note(place, missed).map(|()| false);
        }
        for shortening in [Shortening::ToLimit, Shortening::ToHalf] {
            let Some(adapted) = adapt.adapted(candidate, &round.request, shortening).await else { break };
            if self.try_in_round(round, place, adapted).await? {
                return Ok(true);
            }
            if round.overflow.take().is_none() {
                return Ok(false);
            }
        }
        round.note(place, Missed::Unasked(Reason::Model(too_small(candidate)))).map(|()| false)
    }

    async fn try_one(&mut self, candidate: &Candidate, adapted: Adapted) -> Result<(), Missed> {
        is_set_up(candidate)?;
        let permit = candidate.permit().map_err(Missed::Resting)?;
        // Boxed, because the futures of turns and summaries contain this one.
        Box::pin(self.ask(candidate, permit, adapted)).await
    }

    /// Returns the request as it is.
    fn whole(&self, request: &ModelRequest) -> Adapted {
        let Work { input, expected_input, .. } = self.work;
        Adapted { request: request.clone(), input, expected_input }
    }

    /// Asks a model once the call is paid for.
    async fn ask(&mut self, candidate: &Candidate, permit: Permit, adapted: Adapted) -> Result<(), Missed> {
        let Adapted { mut request, input, expected_input } = adapted;
        let mut capabilities = candidate.provider.capabilities();
        let is_unasked =
            capabilities.window.cuts_silently && capabilities.window.source == WindowSource::Assumed;
        if is_unasked || self.meter.misses_price(&capabilities) {
            // Only the service may know the price or the window. If the query fails, the model stays unpriced, which is
            // reported below.
            let _ = candidate.provider.learn().await;
            capabilities = candidate.provider.capabilities();
        }
        let work = Work { input, expected_input, ..self.work.clone() };
        let grant = self.meter.reserve(work, &capabilities).await;
        let grant = grant.map_err(|failure| Missed::Unasked(Reason::Money(failure)))?;
        request.max_output = [request.max_output, grant.max_output()].into_iter().flatten().min();
        let open = self.open.insert(Open { grant, answer: None });
        match noting(&mut open.grant, candidate.ask(request, permit)).await {
            Ok(answer) => {
                open.answer = Some(answer);
                Ok(())
            }
            Err(error) => {
                self.timeouts += u32::from(error.kind() == ModelErrorKind::Timeout);
                if let Some(Open { grant, .. }) = self.open.take() {
                    let booked = grant.settle(ending_before_begin(&error)).await;
                    self.note_failed(booked);
                }
                Err(Missed::Asked(error))
            }
        }
    }

    /// Handles the case that every model failed or is resting. A new attempt by a person is let through to those that
    /// rest, one after the other, because any of them may be well again by now; an automatic retry is not.
    async fn last_resort(
        &mut self,
        mut round: Round<'_>,
        adapt: &mut dyn Adapt,
    ) -> Result<Option<Fallback>, CallError> {
        let may_try = round.request.attempt == 0;
        let wait = |miss: &&FailedAttempt| miss.error().and_then(ModelError::retry_after);
        let mut resting: Vec<_> = round.misses.iter().filter(|miss| may_try && miss.is_resting()).collect();
        resting.sort_by_key(wait);
        let places: Vec<usize> = resting.into_iter().map(|miss| miss.place).collect();
        for place in places {
            let Some(candidate) = round.models.candidates().get(place) else { continue };
            let Some(permit) = candidate.force() else { continue };
            let adapted = if place == 0 || fits(&candidate.provider.capabilities(), self.work.input) {
                Some(self.whole(&round.request))
            } else {
                adapt.adapted(candidate, &round.request, Shortening::ToLimit).await
            };
            let Some(adapted) = adapted else { continue };
            match Box::pin(self.ask(candidate, permit, adapted)).await {
                Ok(()) => return Ok(round.stand_in(place)),
                Err(missed) => {
                    round.misses.retain(|miss| miss.place != place);
                    round.note(place, missed)?;
                }
            }
        }
        round.misses.sort_by_key(|miss| miss.place);
        match round.overflow {
            Some(overflow) => Err(CallError::Model(overflow.error)),
            None => Err(combine(round.misses)),
        }
    }

    fn note_failed(&mut self, booked: Booked) {
        self.failed += booked.usage;
        self.warning = self.warning.take().or(booked.warning);
    }
}

/// Waits for a service and notes the cost so far now and then, while output comes that nobody sees.
async fn noting<T>(grant: &mut Grant, waiting: impl Future<Output = T>) -> T {
    tokio::pin!(waiting);
    loop {
        tokio::select! {
            biased;
            done = &mut waiting => return done,
            () = sleep(NOTE_EVERY), if grant.thinks_unseen() => grant.note_progress().await,
        }
    }
}

/// Why a model did not begin to answer.
enum Missed {
    /// The model was called and failed.
    Asked(ModelError),
    /// It was not asked.
    Unasked(Reason),
    /// Its breaker is open.
    Resting(ModelError),
}

/// A model found the conversation too long.
struct Overflow {
    error: ModelError,
    context_window: u64,
}

impl Overflow {
    /// Takes the window as it is known now: that may have been learnt from this very refusal, and have been larger
    /// before.
    fn of(candidate: &Candidate, error: ModelError) -> Self {
        Self { error, context_window: candidate.provider.capabilities().context_window }
    }

    fn may_fit(&self, candidate: &Candidate) -> bool {
        candidate.provider.capabilities().context_window > self.context_window
    }
}

/// One pass over the list of models.
struct Round<'m> {
    models: &'m Models,
    request: ModelRequest,
    /// A failure of the models before counts as a failed attempt for the next one.
    attempt: u32,
    misses: Vec<FailedAttempt>,
    overflow: Option<Overflow>,
}

impl Round<'_> {
    /// Notes why a model did not answer. `Err` if no other model may be asked.
    fn note(&mut self, place: usize, missed: Missed) -> Result<(), CallError> {
        let Some(candidate) = self.models.candidates().get(place) else { return Ok(()) };
        let (reason, contact) = match missed {
            Missed::Asked(error) if error.kind() == ModelErrorKind::ContextLength => {
                self.overflow = Some(Overflow::of(candidate, error));
                return Ok(());
            }
            Missed::Asked(error) if !is_models_fault(error.kind()) => return Err(CallError::Model(error)),
            Missed::Asked(error) => {
                self.attempt = self.attempt.saturating_add(1);
                (Reason::Model(error), Contact::Asked)
            }
            Missed::Unasked(reason) => (reason, Contact::NotAsked),
            Missed::Resting(error) => (Reason::Model(error), Contact::Resting),
        };
        self.miss(place, reason, contact);
        Ok(())
    }

    fn miss(&mut self, place: usize, reason: Reason, contact: Contact) {
        if let Some(candidate) = self.models.candidates().get(place) {
            let model = candidate.provider.capabilities().model.clone();
            self.misses.push(FailedAttempt { place, model, reason, contact });
        }
    }

    /// Returns whether a model before this place is left alone, and a new turn may ask it all the same.
    fn leaves_alone_before(&self, place: usize) -> bool {
        self.request.attempt == 0 && self.misses.iter().any(|miss| miss.place < place && miss.is_resting())
    }

    /// Describes the model that answers, unless it is the configured one.
    fn stand_in(&self, place: usize) -> Option<Fallback> {
        let candidate = self.models.candidates().get(place).filter(|_| place > 0)?;
        let reason = self.misses.first().map(|miss| miss.reason.sentence());
        let reason = reason.or_else(|| self.overflow.as_ref().map(|overflow| overflow.error.to_string()));
        let capabilities = candidate.provider.capabilities();
        Some(Fallback {
            model: capabilities.model.clone(),
            reason: reason.unwrap_or_default(),
            sees_pictures: capabilities.images,
        })
    }
}

/// Checks whether a model is set up and may be asked now, without asking it.
fn check(candidate: &Candidate) -> Result<(), Missed> {
    is_set_up(candidate)?;
    candidate.rest().map_or(Ok(()), |error| Err(Missed::Resting(error)))
}

fn is_set_up(candidate: &Candidate) -> Result<(), Missed> {
    match candidate.provider.readiness() {
        Readiness::Ready => Ok(()),
        Readiness::NotConfigured(reason) => {
            Err(Missed::Unasked(Reason::Model(ModelError::new(ModelErrorKind::Auth, reason))))
        }
    }
}

fn too_small(candidate: &Candidate) -> ModelError {
    let sentence = format!("This conversation does not fit {}.", candidate.provider.capabilities().model);
    ModelError::new(ModelErrorKind::ContextLength, sentence)
}

/// Returns how to book a call that failed before its first event.
fn ending_before_begin(error: &ModelError) -> Ending {
    match error.kind() {
        ModelErrorKind::Timeout => Ending::Silent,
        // The service accepted the request, but its answer was unusable.
        ModelErrorKind::Malformed => Ending::Broken,
        _ => Ending::Refused,
    }
}

fn ending_after_begin(error: &ModelError) -> Ending {
    if error.kind() == ModelErrorKind::Timeout { Ending::Silent } else { Ending::Broken }
}

fn not_started() -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, "The model's answer ended before it began; ask again.")
}

/// What services count for a picture that a model makes, which is billed as output tokens.
const PER_MADE_IMAGE: u64 = 1_300;

/// Estimates the number of tokens in an event. Services send one or more at a time, at four bytes each.
fn tokens(event: &ModelEvent) -> u64 {
    let about = |bytes: usize| (bytes as u64).div_ceil(4).max(1);
    match event {
        ModelEvent::Text(text) | ModelEvent::Reasoning(text) => about(text.len()),
        ModelEvent::ToolCall(call) => about(call.name.len() + call.input.to_string().len()) + 10,
        ModelEvent::Image { .. } => PER_MADE_IMAGE,
        ModelEvent::Search(_)
        | ModelEvent::Sources(_)
        | ModelEvent::ReasoningDone { .. }
        | ModelEvent::TextWasReasoning
        | ModelEvent::Finished { .. } => 0,
    }
}
