//! A model in the list with its breaker, and an answer that it is giving.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::model::{
    ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream, Readiness,
};
use futures_util::StreamExt;
use tokio::time::Instant;

use super::breaker::{Admission, Breaker};
use crate::random::fraction;

/// A model in the list. Clones share the breaker.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub(crate) provider: Arc<dyn ModelProvider>,
    /// Its breaker. A model that stands alone has none, because there is no other to ask instead.
    breaker: Option<Arc<Mutex<Breaker>>>,
}

impl Candidate {
    /// Creates the candidate for the only model.
    pub(super) fn alone(provider: Arc<dyn ModelProvider>) -> Self {
        Self { provider, breaker: None }
    }

    /// Creates the candidate for one of several models.
    pub(super) fn among_others(provider: Arc<dyn ModelProvider>) -> Self {
        Self { provider, breaker: Some(Arc::default()) }
    }

    /// Returns the permission to ask it now; otherwise its last failure, with the remaining wait.
    pub(crate) fn permit(&self) -> Result<Permit, ModelError> {
        let Some(breaker) = &self.breaker else { return Ok(Permit::of(None, Admission::Regular)) };
        let mut locked = lock(breaker);
        match locked.admit(Instant::now()) {
            Ok(admission) => Ok(Permit::of(Some(breaker.clone()), admission)),
            Err(wait) => Err(resting(&locked, wait)),
        }
    }

    /// Returns whether it is set up and may be asked now.
    pub(crate) fn stands_by(&self) -> bool {
        self.provider.readiness() == Readiness::Ready && self.rest().is_none()
    }

    /// Returns its last failure with the remaining wait, if it is left alone now.
    pub(crate) fn rest(&self) -> Option<ModelError> {
        let breaker = lock(self.breaker.as_ref()?);
        let wait = breaker.rest(Instant::now())?;
        Some(resting(&breaker, wait))
    }

    /// Returns the permission to ask it early.
    pub(crate) fn force(&self) -> Option<Permit> {
        let breaker = self.breaker.as_ref()?;
        lock(breaker).force().then(|| Permit::of(Some(breaker.clone()), Admission::Trial))
    }

    /// Asks it, and waits for its first event.
    pub(crate) async fn ask(
        &self,
        request: ModelRequest,
        permit: Permit,
    ) -> Result<AnswerStream, ModelError> {
        let begin = async {
            let mut stream = self.provider.stream(request).await?;
            let first = stream.next().await.unwrap_or_else(|| Err(silence()))?;
            Ok((first, stream))
        };
        match begin.await {
            Ok((first, stream)) => {
                permit.began();
                Ok(AnswerStream { first: Some(first), stream, permit })
            }
            Err(error) => {
                permit.failed(&error);
                // The engine must not retry before the breaker allows it.
                let rest = self.breaker.as_ref().and_then(|breaker| lock(breaker).rest(Instant::now()));
                let rest = rest.filter(|_| error.is_retryable());
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

/// Returns whether another model may do better.
pub(crate) fn is_models_fault(kind: ModelErrorKind) -> bool {
    use ModelErrorKind::{ContextLength, InvalidRequest, Refused};
    !matches!(kind, ContextLength | InvalidRequest | Refused)
}

/// The permission to ask a model once. If a trial is dropped without an outcome, the next request may try.
pub(crate) struct Permit {
    breaker: Option<Arc<Mutex<Breaker>>>,
    is_open_trial: AtomicBool,
}

impl Permit {
    fn of(breaker: Option<Arc<Mutex<Breaker>>>, admission: Admission) -> Self {
        Self { breaker, is_open_trial: AtomicBool::new(admission == Admission::Trial) }
    }

    fn began(&self) {
        self.record(Breaker::began);
    }

    fn succeeded(&self) {
        self.record(Breaker::succeeded);
    }

    fn failed(&self, error: &ModelError) {
        if is_models_fault(error.kind()) {
            self.record(|breaker| breaker.failed(error, Instant::now(), fraction()));
        } else {
            // It accepted the request and answered, so the service is up.
            self.record(Breaker::succeeded);
        }
    }

    fn record(&self, outcome: impl FnOnce(&mut Breaker)) {
        self.is_open_trial.store(false, Ordering::Relaxed);
        if let Some(breaker) = &self.breaker {
            outcome(&mut lock(breaker));
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.is_open_trial.load(Ordering::Relaxed)
            && let Some(breaker) = &self.breaker
        {
            lock(breaker).trial_abandoned(Instant::now());
        }
    }
}

/// An answer in progress.
pub(crate) struct AnswerStream {
    first: Option<ModelEvent>,
    stream: ModelStream,
    permit: Permit,
}

impl AnswerStream {
    /// Returns the next event, and tells the breaker how it went.
    pub(crate) async fn next(&mut self) -> Result<ModelEvent, ModelError> {
        let next = match self.first.take() {
            Some(event) => Ok(event),
            None => self.stream.next().await.unwrap_or_else(|| Err(broken_off())),
        };
        match &next {
            Ok(ModelEvent::Finished { .. }) => self.permit.succeeded(),
            Ok(_) => {}
            Err(error) => self.permit.failed(error),
        }
        next
    }
}

fn broken_off() -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, "The model's answer broke off before its end; ask again.")
}
