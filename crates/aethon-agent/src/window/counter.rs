//! How many tokens a request takes: the provider's own count where there is one, an estimate in between.
//!
//! Every response reports the tokens of its request. That count anchors the next estimate, which then guesses only
//! the tokens added since. The observed error calibrates the estimates, in this session and in later ones.

/// The factor applied to an estimate before anything is known of the provider.
const CAUTION: f64 = 1.2;

/// A count below this share of the estimate is not believed: some services count only uncached tokens, and some send
/// a number merely because one is expected.
const BELIEVABLE: f64 = 0.7;

/// The most real tokens that one estimated token may correspond to.
const MAX_COUNT: f64 = 5.0;

/// The token counter of one session.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TokenCounter {
    anchor: Option<Anchor>,
    ratio: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Anchor {
    counted: u64,
    estimated: u64,
}

impl TokenCounter {
    /// Creates a counter without an anchor, using the ratio that other sessions have learnt.
    pub(crate) fn calibrated(ratio: Option<f64>) -> Self {
        Self { anchor: None, ratio }
    }

    /// Returns the same counter for different content: the ratio stays, the anchor goes.
    pub(crate) fn emptied(self) -> Self {
        Self { anchor: None, ..self }
    }

    /// Records that the provider counted `counted` tokens where `estimated` were estimated. Returns how many real
    /// tokens one estimated token corresponds to, or `None` if the count is not credible.
    pub(crate) fn note(&mut self, counted: u64, estimated: u64) -> Option<f64> {
        if counted == 0 || estimated == 0 {
            return None;
        }
        let ratio = (float(counted) / float(estimated)).min(MAX_COUNT);
        if ratio < BELIEVABLE {
            return None;
        }
        self.anchor = Some(Anchor { counted: scaled(estimated, ratio), estimated });
        self.ratio = Some(ratio);
        Some(ratio)
    }

    /// Converts an estimate to real tokens.
    pub(crate) fn tokens(&self, estimated: u64) -> u64 {
        match self.anchor {
            Some(anchor) if estimated >= anchor.estimated => {
                let added = estimated - anchor.estimated;
                anchor.counted.saturating_add(scaled(added, self.ratio().max(1.0)))
            }
            _ => scaled(estimated, self.ratio()),
        }
    }

    /// Converts an estimate to the likely number of real tokens, without a margin.
    pub(crate) fn expected(&self, estimated: u64) -> u64 {
        if self.ratio.is_some() { self.tokens(estimated) } else { estimated }
    }

    /// Converts real tokens to an estimate.
    pub(crate) fn estimate_of(&self, tokens: u64) -> u64 {
        scaled(tokens, 1.0 / self.ratio())
    }

    fn ratio(&self) -> f64 {
        self.ratio.unwrap_or(CAUTION)
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
fn float(tokens: u64) -> f64 {
    tokens as f64
}

/// Multiplies a token count by a factor; an unlimited count stays unlimited.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded up from a positive number"
)]
pub(crate) fn scaled(tokens: u64, by: f64) -> u64 {
    if tokens == u64::MAX { tokens } else { (float(tokens) * by).ceil() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_providers_count_anchors_the_estimate() {
        let mut counter = TokenCounter::default();
        assert_eq!((counter.tokens(1000), counter.expected(1000)), (1200, 1000));
        assert_eq!(counter.note(1500, 1000), Some(1.5));
        assert_eq!((counter.tokens(1000), counter.tokens(1100), counter.tokens(500)), (1500, 1650, 750));
        assert_eq!(counter.emptied().tokens(100), 150);
        assert_eq!(counter.estimate_of(1500), 1000);
        // Added messages are never counted at less than their estimate.
        counter.note(800, 1000);
        assert_eq!(counter.tokens(1100), 900);
    }

    #[test]
    fn implausible_counts_are_not_believed() {
        let mut counter = TokenCounter::default();
        assert_eq!(counter.note(0, 1000), None);
        assert_eq!(counter.note(3, 1000), None);
        assert_eq!(counter.note(100_000, 1000), Some(5.0));
        assert_eq!(counter.tokens(u64::MAX), u64::MAX);
    }
}
