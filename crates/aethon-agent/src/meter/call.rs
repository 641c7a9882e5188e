//! A call to the first of several models that answers. Every model that is called is paid for separately.
//!
//! The caller keeps the call outside of any future that may be cancelled and settles it afterwards, so that it learns
//! the usage even if the call was stopped midway. A dropped call is booked all the same.

use aethon_core::message::Failure;
use aethon_core::model::{
    ModelError, ModelErrorKind, ModelEvent, ModelRequest, Readiness, StopReason, Usage, WindowSource,
};

use super::ending::Ending;
use super::error::CallError;
use super::grant::{Booked, Grant};
use super::metering::{Meter, Work};
use crate::models::{
    AnswerStream, Candidate, FailedAttempt, Models, Permit, Reason, combine, is_models_fault,
};

/// A fallback model that answers in place of the configured one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// The model's id.
    pub model: String,
    /// Why it stands in, as a sentence.
    pub reason: String,
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
    silences: u32,
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
            silences: 0,
        }
    }

    /// Asks one model after the other, each at most once, until one begins to answer. Returns which one it is and why,
    /// unless it is the configured one.
    pub async fn start(
        &mut self,
        models: &Models,
        request: ModelRequest,
    ) -> Result<Option<Fallback>, CallError> {
        let mut misses: Vec<FailedAttempt> = Vec::new();
        // A failure of the models before counts as a failed attempt for the next one.
        let mut attempt = request.attempt;
        let mut overflow: Option<Overflow> = None;
        for (place, candidate) in models.candidates().iter().enumerate() {
            if overflow.as_ref().is_some_and(|overflow| !overflow.may_fit(candidate)) {
                continue;
            }
            let request = request.clone().with_attempt(attempt);
            let (reason, is_resting) = match self.try_one(candidate, place, request).await {
                Ok(()) => return Ok(stand_in(candidate, place, &misses, overflow.as_ref())),
                Err(Missed::Asked(error)) if error.kind() == ModelErrorKind::ContextLength => {
                    overflow = Some(Overflow::of(candidate, error));
                    continue;
                }
                Err(Missed::Asked(error)) if !is_models_fault(error.kind()) => {
                    return Err(CallError::Model(error));
                }
                Err(Missed::Asked(error)) => {
                    attempt = attempt.saturating_add(1);
                    (Reason::Model(error), false)
                }
                Err(Missed::Unasked(reason)) => (reason, false),
                Err(Missed::Resting(error)) => (Reason::Model(error), true),
            };
            misses.push(FailedAttempt { place, reason, is_resting });
        }
        match overflow {
            // The conversation has to become shorter, whatever is wrong with the other models.
            Some(overflow) => Err(CallError::Model(overflow.error)),
            None => self.last_resort(models, request, misses).await,
        }
    }

    /// Returns the next event of the answer; its end is an event too.
    pub async fn next(&mut self) -> Result<ModelEvent, CallError> {
        if let Some(failure) = self.spent.take() {
            return Err(CallError::Money(failure));
        }
        let Some(Open { grant, answer: Some(answer) }) = &mut self.open else {
            return Err(CallError::Model(not_started()));
        };
        let event = match answer.next().await {
            Ok(event) => event,
            Err(error) => {
                self.silences += u32::from(error.kind() == ModelErrorKind::Timeout);
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
    pub(crate) fn silences(&self) -> u32 {
        self.silences
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

    async fn try_one(
        &mut self,
        candidate: &Candidate,
        place: usize,
        request: ModelRequest,
    ) -> Result<(), Missed> {
        fits(candidate, self.work.input, place).map_err(|error| Missed::Unasked(Reason::Model(error)))?;
        let permit = candidate.permit().map_err(Missed::Resting)?;
        // Boxed, because the futures of turns and summaries contain this one.
        Box::pin(self.ask(candidate, permit, request)).await
    }

    /// Asks a model once the call is paid for.
    async fn ask(
        &mut self,
        candidate: &Candidate,
        permit: Permit,
        mut request: ModelRequest,
    ) -> Result<(), Missed> {
        let mut capabilities = candidate.provider.capabilities();
        let is_unasked = capabilities.cuts_silently && capabilities.window.source == WindowSource::Assumed;
        if is_unasked || self.meter.misses_price(&capabilities) {
            // Only the service may know the price or the window. If the query fails, the model stays unpriced, which is
            // reported below.
            let _ = candidate.provider.learn().await;
            capabilities = candidate.provider.capabilities();
        }
        let grant = self.meter.reserve(self.work.clone(), &capabilities).await;
        let grant = grant.map_err(|failure| Missed::Unasked(Reason::Money(failure)))?;
        request.max_output = [request.max_output, grant.max_output()].into_iter().flatten().min();
        let open = self.open.insert(Open { grant, answer: None });
        match candidate.ask(request, permit).await {
            Ok(answer) => {
                open.answer = Some(answer);
                Ok(())
            }
            Err(error) => {
                self.silences += u32::from(error.kind() == ModelErrorKind::Timeout);
                if let Some(Open { grant, .. }) = self.open.take() {
                    let booked = grant.settle(ending_before_begin(&error)).await;
                    self.note_failed(booked);
                }
                Err(Missed::Asked(error))
            }
        }
    }

    /// Handles the case that every model failed or is resting. If only a person can fix the fault of the resting
    /// ones, a new attempt by a person is let through to one of them, because it may just have been fixed; an
    /// automatic retry is not.
    async fn last_resort(
        &mut self,
        models: &Models,
        request: ModelRequest,
        misses: Vec<FailedAttempt>,
    ) -> Result<Option<Fallback>, CallError> {
        let lasting = |miss: &&FailedAttempt| miss.is_resting && !miss.is_retryable();
        let may_try = request.attempt == 0 && !misses.iter().any(FailedAttempt::is_retryable);
        let wait = |miss: &&FailedAttempt| miss.error().and_then(ModelError::retry_after);
        let soonest = misses.iter().filter(lasting).min_by_key(wait).filter(|_| may_try);
        let candidate = soonest.and_then(|miss| Some((miss.place, models.candidates().get(miss.place)?)));
        if let Some((place, candidate)) = candidate
            && let Some(permit) = candidate.force()
        {
            return match Box::pin(self.ask(candidate, permit, request)).await {
                Ok(()) => Ok(stand_in(candidate, place, &misses, None)),
                Err(
                    Missed::Asked(error) | Missed::Resting(error) | Missed::Unasked(Reason::Model(error)),
                ) => Err(CallError::Model(error)),
                Err(Missed::Unasked(Reason::Money(failure))) => Err(CallError::Money(failure)),
            };
        }
        Err(combine(misses))
    }

    fn note_failed(&mut self, booked: Booked) {
        self.failed += booked.usage;
        self.warning = self.warning.take().or(booked.warning);
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

/// Checks that a model is set up and, for a fallback, that its window is large enough. For the first model, the engine
/// ensures that.
fn fits(candidate: &Candidate, tokens: u64, place: usize) -> Result<(), ModelError> {
    if let Readiness::NotConfigured(reason) = candidate.provider.readiness() {
        return Err(ModelError::new(ModelErrorKind::Auth, reason));
    }
    let capabilities = candidate.provider.capabilities();
    if place > 0 && tokens > capabilities.context_window {
        let sentence = format!("This conversation does not fit {}.", capabilities.model);
        return Err(ModelError::new(ModelErrorKind::ContextLength, sentence));
    }
    Ok(())
}

fn stand_in(
    candidate: &Candidate,
    place: usize,
    misses: &[FailedAttempt],
    overflow: Option<&Overflow>,
) -> Option<Fallback> {
    let reason = misses.first().map(|miss| miss.reason.sentence());
    let reason = reason.or_else(|| overflow.map(|overflow| overflow.error.to_string()));
    let model = candidate.provider.capabilities().model.clone();
    (place > 0).then(|| Fallback { model, reason: reason.unwrap_or_default() })
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

/// Estimates the number of tokens in an event. Services send one or more at a time, at four bytes each.
fn tokens(event: &ModelEvent) -> u64 {
    let about = |bytes: usize| (bytes as u64).div_ceil(4).max(1);
    match event {
        ModelEvent::Text(text) | ModelEvent::Reasoning(text) => about(text.len()),
        ModelEvent::ToolCall(call) => about(call.name.len() + call.input.to_string().len()) + 10,
        ModelEvent::ReasoningDone { .. } | ModelEvent::Finished { .. } => 0,
    }
}
