//! The meter's messages: why a call is not made, and that the day's money is nearly gone.

use aethon_core::error::Error;
use aethon_core::ledger::DaySpend;
use aethon_core::message::{EndReason, Failure};
use aethon_core::usage::Budget;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// Differences up to this do not count when amounts are compared, because sums of decimals are not exact.
pub(super) const EPSILON_USD: f64 = 1e-9;

/// Returns the failure of a call for which the day has not enough left under this ceiling, which is the budget's or,
/// for background work, a lower one.
pub(super) fn exceeded(today: DaySpend, ceiling_usd: f64, budget: &Budget, now: Timestamp) -> Failure {
    let key = match ceiling_usd < budget.daily_usd {
        true => "`budget.warn_ratio` of `budget.daily_usd`, at which work stops that nobody waits for",
        false => "`budget.daily_usd`",
    };
    let now = now.to_zoned(TimeZone::UTC);
    let midnight = now.start_of_day().and_then(|day| day.checked_add(1.day()));
    let seconds = midnight.map_or(86_400, |midnight| {
        u64::try_from(midnight.timestamp().duration_since(now.timestamp()).as_secs()).unwrap_or(0) + 1
    });
    let set_aside = match today.reserved_usd {
        reserved if reserved > EPSILON_USD => {
            format!(", {} are set aside for calls that run", money(reserved))
        }
        _ => String::new(),
    };
    let message = format!(
        "Today's budget does not allow another answer: {} of {} are spent{set_aside} ({key}). It starts anew at 00:00 \
         UTC, in {}; or raise the ceiling.",
        money(today.spent_usd),
        money(ceiling_usd),
        in_words(seconds)
    );
    Failure::new(EndReason::BudgetExceeded, message).with_retry_after(Some(seconds))
}

/// Returns the failure of a call to a model whose price is unknown.
pub(super) fn unpriced(model: &str) -> Failure {
    let message = format!(
        "The price of {model} is not known, so `budget.daily_usd` cannot hold for it. Set `{}`, or `budget.unpriced = \
         \"allow\"` to ask it all the same.",
        pricing_key(model)
    );
    Failure::new(EndReason::BudgetUnpriced, message)
}

/// Returns the configuration key that sets a model's price. A name that is not a bare TOML key is quoted.
pub fn pricing_key(model: &str) -> String {
    let is_bare = model.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if is_bare { format!("budget.pricing.{model}") } else { format!("budget.pricing.\"{model}\"") }
}

/// Returns the warning that spending has reached the share of the ceiling at which the owner wants to know.
pub(super) fn warning(today: DaySpend, ceiling_usd: f64) -> String {
    format!(
        "{} of today's {} are spent (`budget.daily_usd`). At the ceiling I stop until 00:00 UTC.",
        money(today.spent_usd),
        money(ceiling_usd)
    )
}

/// Returns the failure of a call while the ledger is unreadable: with a ceiling, nothing is allowed then.
pub(super) fn unreadable(error: &Error) -> Failure {
    log_failure("the ledger failed", error);
    Failure::new(
        EndReason::Storage,
        "The budget could not be looked up, because the storage failed; the log has more.",
    )
}

/// Returns the failure of a call whose reservation task died.
pub(super) fn broken() -> Failure {
    Failure::new(
        EndReason::Internal,
        "The answer failed because of a fault in the program; the log has more.",
    )
}

/// Logs that the ledger failed, with the cause.
pub(super) fn log_failure(what: &'static str, error: &Error) {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(%error, cause, "{what}");
}

fn money(usd: f64) -> String {
    if usd > 0.0 && usd < 0.01 { format!("${usd:.4}") } else { format!("${usd:.2}") }
}

/// Returns a duration in everyday words.
pub(crate) fn in_words(seconds: u64) -> String {
    match seconds {
        1 => "1 second".into(),
        0..=119 => format!("{seconds} seconds"),
        120..=7199 => format!("{} minutes", seconds.div_ceil(60)),
        _ => format!("{} hours", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_price_can_be_pasted_into_the_configuration() {
        let check = |model: &str, key: &str| assert_eq!(pricing_key(model), key);
        check("gpt-5", "budget.pricing.gpt-5");
        check("gpt-5.4", "budget.pricing.\"gpt-5.4\"");
        check("openai/gpt-5", "budget.pricing.\"openai/gpt-5\"");
    }
}
