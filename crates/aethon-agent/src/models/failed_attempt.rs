//! Why models did not answer, one by one and all together.

use std::time::Duration;

use aethon_core::message::Failure;
use aethon_core::model::{ModelError, ModelErrorKind};

use crate::meter::CallError;

/// Why one model did not answer.
#[derive(Debug)]
pub(crate) struct FailedAttempt {
    /// Its index in the list.
    pub(crate) place: usize,
    pub(crate) reason: Reason,
    /// Whether it was left alone because of earlier failures.
    pub(crate) is_resting: bool,
}

/// The reason why a model gave no answer.
#[derive(Debug)]
pub(crate) enum Reason {
    /// The model or its service failed.
    Model(ModelError),
    /// The budget does not pay for it.
    Money(Failure),
}

impl Reason {
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Model(error) => error.to_string(),
            Self::Money(failure) => failure.message.clone(),
        }
    }
}

impl FailedAttempt {
    pub(crate) fn error(&self) -> Option<&ModelError> {
        match &self.reason {
            Reason::Model(error) => Some(error),
            Reason::Money(_) => None,
        }
    }

    pub(crate) fn is_retryable(&self) -> bool {
        self.error().is_some_and(ModelError::is_retryable)
    }

    fn detail(&self) -> String {
        let place = self.place + 1;
        let Some(error) = self.error() else { return format!("model {place} is not paid for") };
        let how = if self.is_resting { "left alone after" } else { "failed with" };
        let (kind, detail) = (error.kind().code(), error.detail().unwrap_or_default());
        format!("model {place} {how} {kind} {detail}").trim_end().to_owned()
    }
}

/// Combines all misses into one error: the first one that may pass, otherwise the first; the budget is named only if
/// nothing else is wrong. The error carries the shortest wait after which a model may answer, and none if one may be
/// asked right away.
pub(crate) fn combine(mut misses: Vec<FailedAttempt>) -> CallError {
    if misses.len() == 1
        && let Some(FailedAttempt { reason: Reason::Model(error), .. }) =
            misses.pop_if(|miss| miss.error().is_some())
    {
        return CallError::Model(error);
    }
    let money = misses.iter().find_map(|miss| match &miss.reason {
        Reason::Money(failure) => Some(failure),
        Reason::Model(_) => None,
    });
    let errors = || misses.iter().filter_map(FailedAttempt::error);
    let Some(reported) = errors().find(|error| error.is_retryable()).or_else(|| errors().next()) else {
        return money.map_or_else(nobody, |failure| CallError::Money(failure.clone()));
    };
    let waits = errors().filter(|error| error.is_retryable()).map(ModelError::retry_after);
    let wait: Option<Duration> = waits.min_by_key(|wait| wait.unwrap_or_default()).flatten();
    let others = match (misses.len(), money) {
        (_, Some(failure)) => format!(" {}", failure.message),
        (0 | 1, None) => String::new(),
        (2, None) => " The other model did not answer either.".to_owned(),
        (more, None) => format!(" The {} other models did not answer either.", more - 1),
    };
    let mut all = ModelError::new(reported.kind(), format!("{reported}{others}"))
        .with_retry_after(wait)
        .with_request_id(reported.request_id().map(str::to_owned))
        .with_detail(misses.iter().map(FailedAttempt::detail).collect::<Vec<_>>().join("; "));
    if let Some(status) = reported.status() {
        all = all.with_status(status);
    }
    CallError::Model(all)
}

fn nobody() -> CallError {
    CallError::Model(ModelError::new(ModelErrorKind::NotFound, "No model is configured; set model.model_id."))
}
