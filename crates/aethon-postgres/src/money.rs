//! Amounts of money as the database stores them: whole billionths of a dollar.

/// Billionths per dollar.
pub(crate) const BILLIONTHS_PER_USD: f64 = 1e9;

/// Reads a stored amount.
pub(crate) fn dollars(billionths: i64) -> f64 {
    billionths as f64 / BILLIONTHS_PER_USD
}
