//! `/api/usage`: what model calls took, and how the day stands under its ceiling.

use std::sync::Arc;

use aethon_core::usage::UsageReport;

use crate::app::App;
use crate::request::Request;
use crate::response::{self, Answer};

/// How many days are told when nobody says.
const DAYS: usize = 30;

/// `GET /api/usage?days`: tokens and cost by day, model and kind of work, newest day first; today is one of the days.
pub(crate) async fn usage(app: Arc<App>, request: Request) -> Answer {
    let days = request.number("days", DAYS, 1..=366)?;
    let days = u32::try_from(days).unwrap_or(u32::MAX);
    let (ledger, now) = (&*app.deps.ledger, app.deps.clock.now());
    response::json(&UsageReport::read(ledger, &app.options.budget, now, days).await?)
}
