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
    /// Its id.
    pub(crate) model: String,
    pub(crate) reason: Reason,
    pub(crate) contact: Contact,
}

/// Whether a model that did not answer was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contact {
    /// It was asked, and failed.
    Asked,
    /// It was left alone because of earlier failures.
    Resting,
    /// It was not asked for another reason.
    NotAsked,
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

    pub(crate) fn is_resting(&self) -> bool {
        self.contact == Contact::Resting
    }

    pub(crate) fn is_retryable(&self) -> bool {
        self.error().is_some_and(ModelError::is_retryable)
    }

    fn detail(&self) -> String {
        let place = self.place + 1;
        let Some(error) = self.error() else { return format!("model {place} is not paid for") };
        let how = match self.contact {
            Contact::Asked => "failed with",
            Contact::Resting => "left alone after",
            Contact::NotAsked => "not asked:",
        };
        let (kind, detail) = (error.kind().code(), error.detail().unwrap_or_default());
        format!("model {place} {how} {kind} {detail}").trim_end().to_owned()
    }

    /// Returns the reason, to stand in parentheses.
    fn because(&self) -> String {
        let sentence = self.reason.sentence();
        let sentence = without_wait(&sentence);
        match self.contact {
            Contact::Resting => format!("{}, left alone after: {sentence}", self.model),
            Contact::Asked | Contact::NotAsked => format!("{}: {sentence}", self.model),
        }
    }
}

/// Returns a sentence without its advice on when to try again, which is given once for all models, and without its
/// full stop.
fn without_wait(sentence: &str) -> &str {
    let until = sentence.find("; try again").unwrap_or(sentence.len());
    sentence[..until].trim_end().trim_end_matches('.')
}

/// Combines all misses into one error: the first one that may pass, otherwise the first; the budget is named only if
/// nothing else is wrong. The sentence says which other models were asked and which were not, and why. The error
/// carries the shortest wait after which a model may answer, and none if one may be asked right away.
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
    // What was asked comes before what is merely remembered.
    let rank = |miss: &&FailedAttempt| (!miss.is_retryable(), miss.contact != Contact::Asked);
    let first = misses.iter().filter(|miss| miss.error().is_some()).min_by_key(rank);
    let Some((reported, error)) = first.and_then(|miss| Some((miss, miss.error()?))) else {
        return money.map_or_else(nobody, |failure| CallError::Money(failure.clone()));
    };
    let waits = misses
        .iter()
        .filter_map(FailedAttempt::error)
        .filter(|error| error.is_retryable())
        .map(ModelError::retry_after);
    let wait: Option<Duration> = waits.min_by_key(|wait| wait.unwrap_or_default()).flatten();
    let others: Vec<&FailedAttempt> = misses.iter().filter(|miss| miss.place != reported.place).collect();
    let sentence = format!("{error}{}", of_others(&others, misses.len()));
    let mut all = ModelError::new(error.kind(), sentence)
        .with_retry_after(wait)
        .with_request_id(error.request_id().map(str::to_owned))
        .with_detail(misses.iter().map(FailedAttempt::detail).collect::<Vec<_>>().join("; "));
    if let Some(status) = error.status() {
        all = all.with_status(status);
    }
    CallError::Model(all)
}

/// Returns the sentences about the models that the error is not about.
fn of_others(others: &[&FailedAttempt], all: usize) -> String {
    let part = |contacts: &[Contact]| -> Vec<String> {
        let of_kind = others.iter().filter(|miss| contacts.contains(&miss.contact));
        of_kind.map(|miss| miss.because()).collect()
    };
    let mut text = String::new();
    let asked = part(&[Contact::Asked]);
    let which = match (asked.len(), all) {
        (1, 2) => "The other model".to_owned(),
        (1, _) => "Another model".to_owned(),
        (number, _) => format!("{number} other models"),
    };
    if !asked.is_empty() {
        text.push_str(&format!(" {which} did not answer either ({}).", asked.join("; ")));
    }
    let unasked = part(&[Contact::Resting, Contact::NotAsked]);
    if !unasked.is_empty() {
        let which = if unasked.len() == 1 { "Not asked was" } else { "Not asked were" };
        text.push_str(&format!(" {which} {}.", unasked.join("; ")));
    }
    text
}

fn nobody() -> CallError {
    CallError::Model(ModelError::new(ModelErrorKind::NotFound, "No model is configured; set model.model_id."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ModelErrorKind::{Auth, Overloaded, RateLimit};

    fn miss(place: usize, model: &str, contact: Contact, error: ModelError) -> FailedAttempt {
        FailedAttempt { place, model: model.into(), reason: Reason::Model(error), contact }
    }

    fn sentence(misses: Vec<FailedAttempt>) -> String {
        match combine(misses) {
            CallError::Model(error) => error.to_string(),
            CallError::Money(failure) => failure.message,
        }
    }

    #[test]
    fn sentence_says_which_models_were_asked_and_which_were_not() {
        let busy = || ModelError::new(Overloaded, "A is overloaded; try again in a moment.");
        let limit = || ModelError::new(RateLimit, "B is limiting requests; try again in 50 minutes.");
        assert_eq!(
            sentence(vec![miss(0, "a", Contact::Asked, busy()), miss(1, "b", Contact::Asked, limit())]),
            "A is overloaded; try again in a moment. The other model did not answer either (b: B is limiting requests)."
        );
        assert_eq!(
            sentence(vec![miss(0, "a", Contact::Resting, busy()), miss(1, "b", Contact::Asked, limit())]),
            "B is limiting requests; try again in 50 minutes. Not asked was a, left alone after: A is overloaded."
        );
        let unset = ModelError::new(Auth, "set model.api_key");
        assert_eq!(
            sentence(vec![
                miss(0, "a", Contact::Asked, busy()),
                miss(1, "b", Contact::Asked, limit()),
                miss(2, "c", Contact::NotAsked, unset)
            ]),
            "A is overloaded; try again in a moment. Another model did not answer either (b: B is limiting requests). Not \
             asked was c: set model.api_key."
        );
    }
}
