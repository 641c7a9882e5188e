//! Builds the error that callers get: class, sentence, wait, and the service's own words for the log.

use aethon_core::model::{ModelError, ModelErrorKind};
use ureq::http::HeaderMap;

use super::report::Report;
use super::{kind, sentence, wait};
use crate::service::Service;
use crate::transport::Failure;

/// Classifies a response whose status reports a failure.
pub(crate) fn status(service: &Service, status: u16, headers: &HeaderMap, body: &[u8]) -> ModelError {
    let mut report = Report::of_body(body);
    // AWS states the error type here; what follows a colon is an address.
    if let Some(kind) = headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok()) {
        report = report.with_code(kind.split(':').next().unwrap_or(kind));
    }
    let kind = kind::of_status(status, &report);
    let wait = wait::of(headers).or(report.wait);
    ModelError::new(kind, sentence::of(service, kind, Some(status), &report, wait))
        .with_status(status)
        .with_retry_after(wait)
        .with_detail(detail(service, &report))
}

/// Classifies a failure that is reported within a response.
pub(crate) fn reported(service: &Service, report: &Report) -> ModelError {
    let kind = kind::of_report(report);
    ModelError::new(kind, sentence::of(service, kind, None, report, report.wait))
        .with_retry_after(report.wait)
        .with_detail(detail(service, report))
}

/// Classifies a malformed frame or body.
pub(crate) fn malformed(service: &Service, why: &str) -> ModelError {
    let kind = ModelErrorKind::Malformed;
    let sentence = sentence::of(service, kind, None, &Report::default(), None);
    ModelError::new(kind, sentence).with_detail(service.redact(why))
}

/// Classifies an answer that the service ended before it was complete. Asked again, it may succeed.
pub(crate) fn gave_up(service: &Service, reason: &str) -> ModelError {
    let reason = service.redact(&reason.chars().filter(|c| !c.is_control()).collect::<String>());
    // Not before secrets are removed, of which a cut could leave a part.
    let reason: String = reason.chars().take(60).collect();
    let sentence = format!(
        "{} ended its answer before it was complete (finish reason `{reason}`); try again.",
        service.title()
    );
    ModelError::new(ModelErrorKind::Overloaded, sentence).with_detail(format!("finish reason {reason}"))
}

/// Classifies a conversation that leaves no room for an answer in the window.
pub(crate) fn window_full(service: &Service) -> ModelError {
    let (kind, report) = (ModelErrorKind::ContextLength, Report::default());
    ModelError::new(kind, sentence::of(service, kind, None, &report, None))
}

/// Classifies an unexpected body, such as a captive portal's page.
pub(crate) fn body_failure(service: &Service, body: &[u8]) -> ModelError {
    let report = Report::of_body(body);
    let sentence = sentence::capital(format!(
        "{} answers with a web page instead of a model's answer; check model.host and the network's sign-in page.",
        service.endpoint.base
    ));
    ModelError::new(ModelErrorKind::Malformed, sentence).with_detail(detail(service, &report))
}

/// Describes a model whose tools are accepted only by an API that the server lacks. `refusal` says that there is none.
pub(crate) fn tools_need_responses(service: &Service, refusal: &ModelError) -> ModelError {
    ModelError::new(ModelErrorKind::InvalidRequest, sentence::tools_need_responses(service))
        .with_status(refusal.status().unwrap_or(404))
        .with_detail(refusal.detail().unwrap_or_default())
        .with_request_id(refusal.request_id().map(str::to_owned))
}

/// Classifies a failure below HTTP.
pub(crate) fn failure(service: &Service, failure: &Failure) -> ModelError {
    let (kind, sentence) = sentence::of_failure(service, failure);
    ModelError::new(kind, sentence).with_detail(service.redact(&failure.cause()))
}

fn detail(service: &Service, report: &Report) -> String {
    service.redact(format!("{} {}", report.codes, report.message).trim())
}
