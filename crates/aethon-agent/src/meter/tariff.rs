//! The cost of one call, given its model's price and the number of input tokens.

use aethon_core::ledger::Price;
use aethon_core::model::Usage;

/// The price of one call whose input is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tariff {
    /// The most that the input can cost, in USD: nothing read from the cache, or all of it written to the cache where
    /// that costs more.
    pub(super) input_usd: f64,
    /// The probable cost of the input, as far as the service's bills for other calls tell.
    pub(super) expected_input_usd: f64,
    /// The cost of each output token, in USD.
    token_usd: f64,
}

impl Tariff {
    /// Creates the tariff of a request with this many input tokens. A long request may have different prices for all
    /// of its tokens.
    pub(super) fn of(price: &Price, input: u64) -> Self {
        const MANY: u64 = 1_000_000;
        let cost = |output_tokens, cache_write_tokens| {
            let usage = Usage { input_tokens: input, output_tokens, cache_write_tokens, ..Usage::default() };
            price.of(&usage)
        };
        let plain_usd = cost(0, 0);
        let input_usd = plain_usd.max(cost(0, input));
        Self {
            input_usd,
            expected_input_usd: input_usd,
            token_usd: ((cost(MANY, 0) - plain_usd) / MANY as f64).max(0.0),
        }
    }

    /// Sets the probable cost of the input; never more than its highest cost.
    #[must_use]
    pub(super) fn expecting(self, usd: f64) -> Self {
        Self { expected_input_usd: usd.clamp(0.0, self.input_usd), ..self }
    }

    /// Returns the cost of an answer of this many tokens.
    pub(super) fn output_usd(&self, tokens: u64) -> f64 {
        tokens as f64 * self.token_usd
    }

    /// Returns how many whole output tokens this much money pays for. A billionth of a dollar is ignored, because sums
    /// of decimals are not exact.
    pub(super) fn tokens(&self, usd: f64) -> u64 {
        if self.token_usd <= 0.0 {
            u64::MAX
        } else {
            ((usd + super::refusal::EPSILON_USD).max(0.0) / self.token_usd) as u64
        }
    }
}

/// Returns whether a price is valid: no part of it is negative, infinite or NaN.
pub(super) fn is_price(price: &Price) -> bool {
    let is_amount = |usd: f64| usd.is_finite() && usd >= 0.0;
    let parts = |input, output, cached: Option<f64>, written: Option<f64>| {
        is_amount(input) && is_amount(output) && cached.is_none_or(is_amount) && written.is_none_or(is_amount)
    };
    let long = price.long.map(|long| (long.input, long.output, long.cached_input, long.cache_write));
    parts(price.input, price.output, price.cached_input, price.cache_write)
        && long.is_none_or(|(input, output, cached, written)| parts(input, output, cached, written))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aethon_core::ledger::LongPrice;

    #[test]
    fn input_is_priced_at_the_dearest_rate() {
        let check = |price: Price, input: u64, input_usd: f64, thousand_out: f64| {
            let tariff = Tariff::of(&price, input);
            assert!((tariff.input_usd - input_usd).abs() < 1e-9, "{tariff:?}");
            assert!((tariff.output_usd(1_000) - thousand_out).abs() < 1e-9, "{tariff:?}");
        };
        let price = Price::new(2.0, 10.0).with_cached_input(Some(0.2));
        check(price, 100_000, 0.2, 0.01);
        let writing = price.with_cache_write(Some(2.5));
        check(writing, 100_000, 0.25, 0.01);
        check(price.with_cache_write(Some(1.0)), 100_000, 0.2, 0.01);
        let long = LongPrice {
            above: 200_000,
            input: 4.0,
            output: 15.0,
            cached_input: None,
            cache_write: Some(5.0),
        };
        let tiered = writing.with_long(Some(long));
        check(tiered, 200_000, 0.5, 0.01);
        check(tiered, 200_001, 1.000_005, 0.015);
    }

    #[test]
    fn money_is_turned_into_whole_tokens() {
        let tariff = Tariff::of(&Price::new(1.0, 1_000.0), 0);
        let check = |usd: f64, tokens: u64| assert_eq!(tariff.tokens(usd), tokens, "{usd}");
        check(0.01, 10);
        check(0.010_9, 10);
        check(0.1 + 0.2, 300);
        check(-1.0, 0);
        assert_eq!(Tariff::of(&Price::new(1.0, 0.0), 9).tokens(0.0), u64::MAX);
    }

    #[test]
    fn invalid_amounts_are_rejected_as_prices() {
        let check = |price: Price, expected| assert_eq!(is_price(&price), expected, "{price:?}");
        check(Price::new(1.0, 0.0), true);
        check(Price::new(f64::NAN, 1.0), false);
        check(Price::new(1.0, -0.1), false);
        check(Price::new(f64::INFINITY, 1.0), false);
        check(Price::new(1.0, 1.0).with_cached_input(Some(-1.0)), false);
        let long =
            LongPrice { above: 1, input: 1.0, output: f64::NAN, cached_input: None, cache_write: None };
        check(Price::FREE.with_long(Some(long)), false);
    }
}
