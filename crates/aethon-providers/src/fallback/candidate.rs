//! One model of the list, with its breaker, and an answer of it that is being heard.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::ids::unique;
use aethon_core::model::{ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream};
use futures_util::StreamExt;
use tokio::time::Instant;

use super::breaker::{Breaker, Leave};

/// A model of the list.
pub(super) struct Candidate {
    pub(super) provider: Arc<dyn ModelProvider>,
    breaker: Arc<Mutex<Breaker>>,
}

impl Candidate {
    pub(super) fn new(provider: Arc<dyn ModelProvider>) -> Self {
        Self { provider, breaker: Arc::default() }
    }

    /// The right to ask it now; else how it failed last, with the wait that is left.
    pub(super) fn permit(&self) -> Result<Permit, ModelError> {
        let mut breaker = lock(&self.breaker);
        match breaker.ask(Instant::now()) {
            Ok(leave) => Ok(Permit::of(self, leave)),
            Err(wait) => Err(resting(&breaker, wait)),
        }
    }

    /// The right to ask it before its time.
    pub(super) fn force(&self) -> Option<Permit> {
        lock(&self.breaker).force().then(|| Permit::of(self, Leave::Trial))
    }

    /// Asks it, and waits for its first event.
    pub(super) async fn ask(&self, request: ModelRequest, permit: Permit) -> Result<Answer, ModelError> {
        let begin = async {
            let mut stream = self.provider.stream(request).await?;
            let first = stream.next().await.unwrap_or_else(|| Err(silence()))?;
            Ok((first, stream))
        };
        match begin.await {
            Ok((first, stream)) => {
                permit.began();
                let model = self.provider.capabilities().model.clone();
                Ok(Answer { first: Some(first), stream, permit, model })
            }
            Err(error) => {
                permit.failed(&error);
                // The engine must not come back before the breaker lets it.
                let rest = lock(&self.breaker).rest(Instant::now()).filter(|_| error.is_retryable());
                Err(if rest.is_some() { error.with_retry_after(rest) } else { error })
            }
        }
    }
}

fn resting(breaker: &Breaker, wait: Duration) -> ModelError {
    let error = breaker.last().cloned();
    error
        .unwrap_or_else(|| {
            ModelError::new(ModelErrorKind::Overloaded, "The model is being tried; wait a moment.")
        })
        .with_retry_after(Some(wait))
}

fn silence() -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, "The model's answer ended before it began; ask again.")
}

fn lock(breaker: &Mutex<Breaker>) -> MutexGuard<'_, Breaker> {
    breaker.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether another model may do better.
pub(super) fn is_models_fault(kind: ModelErrorKind) -> bool {
    use ModelErrorKind::{ContextLength, InvalidRequest, Refused};
    !matches!(kind, ContextLength | InvalidRequest | Refused)
}

/// The right to ask a model once. A trial that is dropped without an outcome leaves its place to the next.
pub(super) struct Permit {
    breaker: Arc<Mutex<Breaker>>,
    is_open_trial: AtomicBool,
}

impl Permit {
    fn of(candidate: &Candidate, leave: Leave) -> Self {
        Self { breaker: candidate.breaker.clone(), is_open_trial: AtomicBool::new(leave == Leave::Trial) }
    }

    fn began(&self) {
        self.settle().began();
    }

    fn succeeded(&self) {
        self.settle().succeeded();
    }

    fn failed(&self, error: &ModelError) {
        if is_models_fault(error.kind()) {
            self.settle().failed(error, Instant::now(), random());
        } else {
            // It took the request and answered: the service is there.
            self.settle().succeeded();
        }
    }

    fn settle(&self) -> MutexGuard<'_, Breaker> {
        self.is_open_trial.store(false, Ordering::Relaxed);
        lock(&self.breaker)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.is_open_trial.load(Ordering::Relaxed) {
            lock(&self.breaker).trial_was_given_up(Instant::now());
        }
    }
}

/// Between 0 and 1.
fn random() -> f64 {
    // The last digits of a version 7 UUID are random.
    let number = u32::from_str_radix(&unique()[24..], 16).unwrap_or_default();
    f64::from(number) / f64::from(u32::MAX)
}

/// An answer that has begun.
pub(super) struct Answer {
    first: Option<ModelEvent>,
    stream: ModelStream,
    permit: Permit,
    model: String,
}

impl Answer {
    /// The next event; the breaker hears how it goes.
    pub(super) async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        let next = match self.first.take() {
            Some(event) => Ok(event),
            None => self.stream.next().await?,
        };
        match &next {
            Ok(ModelEvent::Finished { .. }) => self.permit.succeeded(),
            Ok(_) => {}
            Err(error) => self.permit.failed(error),
        }
        Some(next.map(|event| self.named(event)))
    }

    /// The end of an answer names the model that gave it, also where the service does not.
    fn named(&self, event: ModelEvent) -> ModelEvent {
        match event {
            ModelEvent::Finished { stop, usage, model } => {
                ModelEvent::Finished { stop, usage, model: model.or_else(|| Some(self.model.clone())) }
            }
            event => event,
        }
    }
}
