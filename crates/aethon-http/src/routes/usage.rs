//! `/api/usage`: the use and cost of model calls, and today's spending against the limit.

use aethon_core::usage::{Budget, UsageReport};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::deps::{Activity, Runtime};
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// How many days are listed by default.
const DAYS: u32 = 30;

/// Which days are listed.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Listing {
    /// How many days, ending with today.
    #[serde(default = "usual_days")]
    #[schemars(range(min = 1, max = 366))]
    days: u32,
}

fn usual_days() -> u32 {
    DAYS
}

/// `GET /api/usage?days`: tokens and cost by day, model and kind of work, newest day first, today included.
pub(super) async fn usage(
    (activity, runtime, budget): (Activity, Runtime, Budget),
    request: Request,
) -> HandlerResult {
    let Listing { days } = request.queried()?;
    let (ledger, now) = (&*activity.ledger, runtime.clock.now());
    response::json(&UsageReport::read(ledger, &budget, now, days).await?)
}
