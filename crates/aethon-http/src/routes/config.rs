//! `/api/config`: the configuration with secrets masked, and its schema.

use aethon_core::service::{ConfigEdit, ConfigKey, ConfigRefusal};
use serde::Serialize;
use serde_json::Value;

use crate::deps::Setup;
use crate::error::Problem;
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

#[derive(Serialize)]
struct Keys {
    keys: Vec<ConfigKey>,
}

/// `GET /api/config/origins`: each key with its value and where the value came from.
pub(super) async fn origins(setup: Setup, _request: Request) -> HandlerResult {
    response::json(&Keys { keys: setup.config.keys().await? })
}

/// `PATCH /api/config {KEY: VALUE, ...}`: changes keys in the file and applies what can change at run time. Null
/// removes a key. With `?dry_run=true` it only reports what would change. Secrets are refused.
pub(super) async fn edit(setup: Setup, mut request: Request) -> HandlerResult {
    let is_dry_run = request.flag("dry_run")?;
    let Value::Object(changes) = crate::request::parse(&request.read().await?)? else {
        return Err(Problem::invalid("body", "must be a JSON object of keys and values"));
    };
    if changes.is_empty() {
        return Err(Problem::invalid("body", "must name at least one key"));
    }
    let by = format!("the dashboard or the API, from {}", request.client.address);
    let edited = setup.config.edit(ConfigEdit { changes, is_dry_run, by }).await.map_err(refused)?;
    response::json(&edited)
}

fn refused(refusal: ConfigRefusal) -> Problem {
    match refusal {
        ConfigRefusal::Keys(faults) => Problem::invalid_fields(faults),
        ConfigRefusal::Failed(error) => Problem::from(error),
    }
}
