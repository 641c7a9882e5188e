//! `/api/outbox`: deliveries that wait or were given up.

use aethon_core::channel::DeliveryState;
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deps::{Activity, Runtime};
use crate::error::Problem;
use crate::json::Deliveries;
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// How long a manually retried delivery may take.
const LIFETIME: SignedDuration = SignedDuration::from_hours(24);

/// It was done.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DoneWithId")]
pub(super) struct Retried {
    status: &'static str,
    id: String,
}

/// Which deliveries are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Listing {
    limit: Limit<100, 1000>,
    /// Only those in this state.
    state: Option<DeliveryState>,
}

/// `GET /api/outbox?state&limit`: newest first; both states by default.
pub(super) async fn list(activity: Activity, request: Request) -> HandlerResult {
    let Listing { limit, state } = request.queried()?;
    let limit = limit.get();
    let states = state.map_or(vec![DeliveryState::Waiting, DeliveryState::Failed], |state| vec![state]);
    let mut pages = Vec::new();
    for state in states {
        pages.push(activity.outbox.undelivered(state, limit).await?);
    }
    response::json(&Deliveries::of(pages, limit))
}

/// `POST /api/outbox/{id}/retry`: makes it due now and keeps retrying for a day.
pub(super) async fn retry((activity, runtime): (Activity, Runtime), request: Request) -> HandlerResult {
    let until = runtime.clock.now() + LIFETIME;
    let is_known = match number(&request) {
        Some(id) => activity.outbox.retry_delivery(id, until).await?,
        None => false,
    };
    if !is_known {
        return Err(unknown());
    }
    tracing::info!(
        delivery = number(&request),
        address = request.client.shown(),
        "a delivery is tried again"
    );
    response::json(&Retried { status: "ok", id: request.params.get("id").unwrap_or_default() })
}

/// `DELETE /api/outbox/{id}`.
pub(super) async fn remove(activity: Activity, request: Request) -> HandlerResult {
    let is_known = match number(&request) {
        Some(id) => activity.outbox.remove_delivery(id).await?,
        None => false,
    };
    if !is_known {
        return Err(unknown());
    }
    tracing::info!(delivery = number(&request), address = request.client.shown(), "a delivery was removed");
    Ok(response::no_content())
}

fn number(request: &Request) -> Option<i64> {
    request.params.get("id")
}

fn unknown() -> Problem {
    let sentence = "no delivery of this id waits or was given up; it may have arrived meanwhile";
    Problem::not_found(sentence).with_code("unknown_delivery")
}
