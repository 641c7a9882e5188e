//! `/api/backups`: the backups of the home, and making one.

use std::sync::Arc;

use aethon_core::backup::Backups;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::deps::Setup;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// A backup is being made.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BackupStarted")]
pub(super) struct Started {
    status: &'static str,
}

/// `GET /api/backups`.
pub(super) async fn list(setup: Setup, _request: Request) -> HandlerResult {
    response::json(&backups(&setup)?.list().await?)
}

/// `POST /api/backups`: starts one; 202. It takes as long as the home is large.
pub(super) async fn start(setup: Setup, request: Request) -> HandlerResult {
    if !backups(&setup)?.start(&request.client.address.to_string()) {
        let sentence = "a backup is being made already; it is listed when it is done";
        return Err(Problem::new(StatusCode::CONFLICT, "backup_running", sentence));
    }
    let mut started = response::json(&Started { status: "started" })?;
    *started.status_mut() = StatusCode::ACCEPTED;
    Ok(started)
}

fn backups(setup: &Setup) -> Result<&Arc<dyn Backups>, Problem> {
    setup.backups.as_ref().ok_or_else(|| {
        Problem::not_found("this assistant keeps its data in a storage of its own, which is backed up there")
    })
}
