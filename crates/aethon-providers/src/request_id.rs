//! A service's own request id. It is logged with every request and shown with a failure, because the service's
//! support asks for it.

use aethon_core::model::ModelError;
use ureq::http::HeaderMap;

use crate::service::Service;

/// The headers in which services send it, most specific first.
const HEADERS: [&str; 7] = [
    "request-id",
    "x-request-id",
    "x-amzn-requestid",
    "x-litellm-call-id",
    "x-goog-request-id",
    "mistral-correlation-id",
    "x-correlation-id",
];
/// The longest id, in bytes.
const MAX_LEN: usize = 128;

/// Returns the id in a response. It is shown to people, so anything that does not look like an id is ignored.
pub(crate) fn of(headers: &HeaderMap) -> Option<String> {
    let is_plain =
        |id: &str| !id.is_empty() && id.len() <= MAX_LEN && id.bytes().all(|byte| byte.is_ascii_graphic());
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    HEADERS.into_iter().filter_map(header).find(|id| is_plain(id)).map(str::to_owned)
}

/// Appends the id to the sentence of a failure.
pub(crate) fn show(error: ModelError, request_id: Option<String>) -> ModelError {
    let Some(id) = request_id.filter(|_| error.request_id().is_none()) else { return error };
    let sentence = error.to_string();
    let shown =
        ModelError::new(error.kind(), format!("{} (request id {id}).", sentence.trim_end_matches('.')))
            .with_retry_after(error.retry_after())
            .with_detail(error.detail().unwrap_or_default())
            .with_request_id(Some(id));
    match error.status() {
        Some(status) => shown.with_status(status),
        None => shown,
    }
}

/// Logs a failure with its id.
pub(crate) fn log_failure(service: &Service, error: &ModelError) {
    let (provider, model) = (service.provider.name(), &service.model);
    let (status, request_id, detail) = (error.status(), error.request_id(), error.detail());
    tracing::warn!(provider, model, status, request_id, detail, "the model service reports a failure");
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aethon_core::model::ModelErrorKind;

    use super::*;

    #[test]
    fn the_id_is_found_and_nothing_else_is_taken_for_one() {
        let check = |lines: &[(&'static str, &str)], expected: Option<&str>| {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.insert(*name, value.parse().unwrap());
            }
            assert_eq!(of(&headers).as_deref(), expected, "{lines:?}");
        };
        check(&[("x-request-id", "req_1")], Some("req_1"));
        check(&[("request-id", " req_011 "), ("x-request-id", "proxy")], Some("req_011"));
        check(&[("x-amzn-requestid", "1b3f-77")], Some("1b3f-77"));
        check(&[("request-id", ""), ("x-request-id", "b")], Some("b"));
        check(&[("request-id", "call 555 now")], None);
        check(&[("request-id", &"x".repeat(129))], None);
        check(&[], None);
    }

    #[test]
    fn a_failure_keeps_all_that_it_had() {
        let error = ModelError::new(ModelErrorKind::RateLimit, "Too many; wait.")
            .with_status(429)
            .with_retry_after(Some(Duration::from_secs(7)))
            .with_detail("slow down");
        let shown = show(error, Some("req_1".into()));
        assert_eq!(shown.to_string(), "Too many; wait (request id req_1).");
        assert_eq!((shown.status(), shown.retry_after()), (Some(429), Some(Duration::from_secs(7))));
        assert_eq!((shown.detail(), shown.request_id()), (Some("slow down"), Some("req_1")));
        assert_eq!(show(shown, Some("other".into())).request_id(), Some("req_1"));
    }
}
