//! `/openapi.json`: the document of the whole interface.

use crate::app::About;
use crate::openapi;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// `GET /openapi.json`.
pub(super) fn show(about: About, _request: &Request) -> HandlerResult {
    response::json(&openapi::document(about.version))
}
