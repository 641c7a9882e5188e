//! Why a turn ended as it did, if that is worth mentioning.
//!
//! [`EndReason`] is the value that the program compares: the engine derives from it how a turn ends, and HTTP its status. Its
//! word is what clients and the database see, and never changes. [`Failure`] is a reason with a sentence for the
//! person.

use serde::{Deserialize, Serialize};

use crate::model_error::ModelErrorKind;

/// Why a turn ended as it did.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum EndReason {
    /// The model failed, or refused.
    Model(ModelErrorKind),
    /// The answer reached the model's output limit.
    Length,
    /// The model gave no answer.
    EmptyAnswer,
    /// The answer does not fit the schema that was asked for.
    SchemaMismatch,
    /// The day's budget does not allow another call.
    BudgetExceeded,
    /// The budget cannot be enforced for a model whose price is unknown.
    BudgetUnpriced,
    /// The turn repeated itself.
    Loop,
    /// The turn took the maximum number of steps.
    Iterations,
    /// The turn reached its time limit.
    TurnTimeout,
    /// The message was refused before any model call, because it is too long.
    InputTooLong,
    /// The message was refused before any model call, because it is not text.
    InputNotText,
    /// A person stopped the turn.
    Stopped,
    /// A person stopped the turn before it began.
    Withdrawn,
    /// The turn was stopped because the program shut down.
    Shutdown,
    /// A crash interrupted the turn, and it is not resumed.
    Interrupted,
    /// The turn's session was removed while it waited. For historical reasons its word is that of a model that is
    /// not found, so a stored one reads as [`ModelErrorKind::NotFound`].
    Gone,
    /// The storage failed.
    Storage,
    /// A bug in the program.
    Internal,
    /// A word from an embedder's hook, or from another version of the program.
    Other(String),
}

impl EndReason {
    /// The reasons that have a word of their own.
    const OWN: [Self; 16] = [
        Self::Length,
        Self::EmptyAnswer,
        Self::SchemaMismatch,
        Self::BudgetExceeded,
        Self::BudgetUnpriced,
        Self::Loop,
        Self::Iterations,
        Self::TurnTimeout,
        Self::InputTooLong,
        Self::InputNotText,
        Self::Stopped,
        Self::Withdrawn,
        Self::Shutdown,
        Self::Interrupted,
        Self::Storage,
        Self::Internal,
    ];

    /// Returns the stable word on the wire and in the database.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Model(kind) => kind.code(),
            Self::Length => "length",
            Self::EmptyAnswer => "empty_answer",
            Self::SchemaMismatch => "schema_mismatch",
            Self::BudgetExceeded => "budget_exceeded",
            Self::BudgetUnpriced => "budget_unpriced",
            Self::Loop => "loop",
            Self::Iterations => "iterations",
            Self::TurnTimeout => "turn_timeout",
            Self::InputTooLong => "input_too_long",
            Self::InputNotText => "input_not_text",
            Self::Stopped => "stopped",
            Self::Withdrawn => "withdrawn",
            Self::Shutdown => "shutdown",
            Self::Interrupted => "interrupted",
            Self::Gone => ModelErrorKind::NotFound.code(),
            Self::Storage => "storage",
            Self::Internal => "internal",
            Self::Other(word) => word,
        }
    }

    /// Returns the reason with this word. An unknown word is kept as it is.
    pub fn parse(word: &str) -> Self {
        let own = Self::OWN.into_iter().find(|reason| reason.as_str() == word);
        own.or_else(|| ModelErrorKind::parse(word).map(Self::Model))
            .unwrap_or_else(|| Self::Other(word.to_owned()))
    }

    /// Returns whether the day's budget ended the turn.
    pub fn is_budget(&self) -> bool {
        matches!(self, Self::BudgetExceeded | Self::BudgetUnpriced)
    }
}

impl From<ModelErrorKind> for EndReason {
    fn from(kind: ModelErrorKind) -> Self {
        Self::Model(kind)
    }
}

impl From<String> for EndReason {
    fn from(word: String) -> Self {
        Self::parse(&word)
    }
}

impl From<EndReason> for String {
    fn from(reason: EndReason) -> Self {
        match reason {
            EndReason::Other(word) => word,
            known => known.as_str().to_owned(),
        }
    }
}

impl std::fmt::Display for EndReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What went wrong in a turn, in a form that can be stored and shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// The reason, for programs.
    pub code: EndReason,
    /// One sentence for a person, with the remedy.
    pub message: String,
    /// Seconds after which a retry makes sense.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
}

impl Failure {
    /// A failure without a known end.
    pub fn new(code: impl Into<EndReason>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), retry_after: None }
    }

    /// Sets the seconds after which a retry makes sense.
    #[must_use]
    pub fn with_retry_after(self, seconds: Option<u64>) -> Self {
        Self { retry_after: seconds, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_found_again_by_its_word() {
        let check = |reason: EndReason| assert_eq!(EndReason::parse(reason.as_str()), reason);
        EndReason::OWN.into_iter().for_each(check);
        ModelErrorKind::ALL.into_iter().map(EndReason::Model).for_each(check);
        check(EndReason::Other("a_word_of_tomorrow".into()));
    }

    #[test]
    fn a_failure_is_stored_and_read_as_before_there_was_an_enum() {
        let check = |stored: &str, expected: Failure| {
            assert_eq!(serde_json::from_str::<Failure>(stored).unwrap(), expected);
            assert_eq!(serde_json::to_string(&expected).unwrap(), stored);
        };
        check(
            r#"{"code":"rate_limit","message":"Wait.","retry_after":3}"#,
            Failure::new(ModelErrorKind::RateLimit, "Wait.").with_retry_after(Some(3)),
        );
        check(r#"{"code":"turn_timeout","message":"Long."}"#, Failure::new(EndReason::TurnTimeout, "Long."));
        check(
            r#"{"code":"house_rule","message":"No."}"#,
            Failure::new(EndReason::Other("house_rule".into()), "No."),
        );
    }
}
