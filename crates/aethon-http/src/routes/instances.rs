//! `GET /api/instances`: the daemons that serve the same storage.

use aethon_core::instance::Instance;
use schemars::JsonSchema;
use serde::Serialize;

use crate::deps::Runtime;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// The daemons that serve the same storage, the oldest first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InstanceList")]
pub(super) struct Instances {
    instances: Vec<Instance>,
}

/// Lists those that are alive, the oldest first.
pub(super) async fn list(runtime: Runtime, _request: Request) -> HandlerResult {
    let instances = runtime.instances.list(runtime.clock.now()).await?;
    response::json(&Instances { instances })
}
