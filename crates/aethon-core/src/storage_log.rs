//! Logs storage failures. The person gets a sentence; the log gets the cause.

use crate::error::Error;

/// Logs a storage failure with its cause. Something removed meanwhile is not a failure.
pub fn log_storage(what: &'static str, error: &Error) {
    if error.is_not_found() {
        return tracing::info!(%error, "{what}");
    }
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(%error, cause, "{what}");
}
