//! `/api/config`: the configuration as it may be shown, and its schema.

use crate::deps::Setup;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// `GET /api/config`: nested objects with every secret replaced by `***`.
pub(super) fn dump(setup: Setup, _request: &Request) -> HandlerResult {
    response::json(&setup.config.dump())
}

/// `GET /api/config/schema`: the JSON Schema of the file.
pub(super) fn schema(setup: Setup, _request: &Request) -> HandlerResult {
    response::json(&setup.config.schema())
}
