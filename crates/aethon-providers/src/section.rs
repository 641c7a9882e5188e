//! Adapts sentences about a service that is not configured in `[model]`.

use aethon_core::model::ModelError;

/// The section of embedders.
pub(crate) const EMBEDDING: &str = "memory.embedding";
/// The section of transcribers.
pub(crate) const TRANSCRIPTION: &str = "transcription";

/// Replaces the keys in an error by those of the section in which the service is configured.
pub(crate) fn in_section(error: ModelError, section: &str) -> ModelError {
    let mut sentence = error.to_string().replace(" and model.extra", "");
    for key in ["api_key", "host", "model_id", "allow_http", "timeout_seconds"] {
        sentence = sentence.replace(&format!("model.{key}"), &format!("{section}.{key}"));
    }
    let mut adapted = ModelError::new(error.kind(), sentence)
        .with_retry_after(error.retry_after())
        .with_request_id(error.request_id().map(str::to_owned));
    if let Some(status) = error.status() {
        adapted = adapted.with_status(status);
    }
    match error.detail() {
        Some(detail) => adapted.with_detail(detail),
        None => adapted,
    }
}
