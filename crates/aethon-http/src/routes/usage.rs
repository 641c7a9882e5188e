//! `/api/usage`: the use and cost of model calls, and today's spending against the limit.

use aethon_core::usage::{Budget, UsageReport};

use crate::deps::{Activity, Runtime};
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// How many days are listed by default.
const DAYS: usize = 30;

/// `GET /api/usage?days`: tokens and cost by day, model and kind of work, newest day first, today included.
pub(super) async fn usage(
    (activity, runtime, budget): (Activity, Runtime, Budget),
    request: Request,
) -> HandlerResult {
    let days = request.number("days", DAYS, 1..=366)?;
    let days = u32::try_from(days).unwrap_or(u32::MAX);
    let (ledger, now) = (&*activity.ledger, runtime.clock.now());
    response::json(&UsageReport::read(ledger, &budget, now, days).await?)
}
