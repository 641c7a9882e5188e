//! `/api/pairings`: people admitted to a messenger by a code, and admitting someone.

use aethon_core::pairing::PairedSender;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit_notes::AuditNotes;
use crate::deps::Setup;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// The people who were paired.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Pairings")]
pub(super) struct List {
    pairings: Vec<PairedSender>,
}

/// Where somebody is invited.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PairingWanted")]
pub(super) struct Invitation {
    /// The name of the messenger's channel.
    #[schemars(length(min = 1))]
    channel: String,
}

/// A code that somebody was given.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PairingGiven")]
pub(super) struct Given {
    #[schemars(length(min = 1))]
    code: String,
}

/// `GET /api/pairings`.
pub(super) async fn list(setup: Setup, _request: Request) -> HandlerResult {
    response::json(&List { pairings: setup.pairings.paired().await? })
}

/// `POST /api/pairings {channel}`: creates a code to hand out. It can be used once, within ten minutes.
pub(super) async fn invite((setup, notes): (Setup, AuditNotes), mut request: Request) -> HandlerResult {
    let Invitation { channel } = request.sent().await?;
    let code = setup.pairings.invite(&channel).await?;
    notes.paired(&channel, "code_made", request.client.address);
    response::json(&code)
}

/// `POST /api/pairings/approve {code}`: admits the person who was given this code.
pub(super) async fn approve((setup, notes): (Setup, AuditNotes), mut request: Request) -> HandlerResult {
    let Given { code } = request.sent().await?;
    let paired = setup.pairings.approve(&code).await?;
    let paired = paired.ok_or_else(|| {
        let sentence = "unknown code; a code works once, for ten minutes";
        Problem::not_found(sentence).with_code("unknown_code")
    })?;
    notes.paired(&format!("{}/{}", paired.channel, paired.sender), "paired", request.client.address);
    response::json(&paired)
}

/// `DELETE /api/pairings/{channel}/{sender}`: no longer admits this person, unless the configuration lists them.
pub(super) async fn revoke(setup: Setup, request: Request) -> HandlerResult {
    let channel: String = request.params.get("channel").unwrap_or_default();
    let sender: String = request.params.get("sender").unwrap_or_default();
    if !setup.pairings.revoke(&channel, &sender).await? {
        return Err(Problem::not_found("no one of this name was paired with that channel"));
    }
    tracing::info!(channel, sender, "a pairing was taken back");
    Ok(response::no_content())
}
