//! Errors of metered calls.

use aethon_core::message::Failure;
use aethon_core::model::ModelError;

/// Why a call brought no answer, or only part of one.
#[derive(Debug, Clone)]
pub enum CallError {
    /// The models or their services failed.
    Model(ModelError),
    /// The budget does not allow it.
    Money(Failure),
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Model(error) => error.fmt(f),
            Self::Money(failure) => f.write_str(&failure.message),
        }
    }
}
