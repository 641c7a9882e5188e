//! The record of a call while it runs: when it is brought up to date, and the one of a call whose cost nothing limits.

use tokio::sync::watch;

use super::tariff::Tariff;

/// The fewest and the most tokens between two notes of the cost so far; in between, a quarter of the tokens that have
/// arrived.
pub(super) const NOTES: (u64, u64) = (32, 256);

/// Returns the number of tokens to note when this many have come.
pub(super) fn next_note(billed: u64) -> u64 {
    billed.saturating_add((billed / 4).clamp(NOTES.0, NOTES.1))
}

/// The record of a call whose cost nothing limits.
#[derive(Debug)]
pub(super) struct OpenNote {
    /// Its id, once it is written; `None` if it cannot be.
    id: watch::Receiver<Option<i64>>,
    tariff: Option<Tariff>,
    /// The tokens that a crash would book.
    noted: u64,
}

impl OpenNote {
    /// Creates the record that gets its id through this channel.
    pub(super) fn new(id: watch::Receiver<Option<i64>>, tariff: Option<Tariff>) -> Self {
        Self { id, tariff, noted: NOTES.0 }
    }

    /// Returns the cost to book before anything has come.
    pub(super) fn first_estimate_usd(tariff: Option<&Tariff>) -> f64 {
        tariff.map_or(0.0, |tariff| tariff.expected_input_usd + tariff.output_usd(NOTES.0))
    }

    /// Returns the id and the new estimate if this many tokens are more than was noted.
    pub(super) fn progress(&mut self, so_far: u64) -> Option<(i64, f64)> {
        let tariff = self.tariff.filter(|_| so_far >= self.noted)?;
        let id = (*self.id.borrow())?;
        self.noted = next_note(so_far);
        Some((id, tariff.expected_input_usd + tariff.output_usd(self.noted)))
    }

    /// Returns its id, waiting until it is written.
    pub(super) async fn id(&mut self) -> Option<i64> {
        self.id.wait_for(Option::is_some).await.ok().and_then(|id| *id)
    }
}
