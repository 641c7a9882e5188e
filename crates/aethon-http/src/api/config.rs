//! `/api/config`: the configuration as it may be shown, and its schema.

use crate::app::App;
use crate::request::Request;
use crate::response::{self, Answer};

/// `GET /api/config`: nested objects with every secret replaced by `***`.
pub(crate) fn dump(app: &App, _request: &Request) -> Answer {
    response::json(&app.deps.config.dump())
}

/// `GET /api/config/schema`: the JSON Schema of the file.
pub(crate) fn schema(app: &App, _request: &Request) -> Answer {
    response::json(&app.deps.config.schema())
}
