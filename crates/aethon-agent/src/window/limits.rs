//! How large a request to a model may be.

use aethon_core::model::Capabilities;

use super::counter::scaled;
use super::view::Rule;

/// By how much a request may exceed its share of the window while its summary is made in the background.
const OVERDUE: f64 = 1.2;

/// The limits on requests to one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The tokens of a whole request: system prompt, tools and conversation.
    pub(crate) tokens: u64,
    /// The tokens that a request may have until an overdue summary is made in the background.
    pub(crate) most: u64,
    /// How many messages of a conversation are kept verbatim.
    pub(crate) messages: usize,
    /// How many of the newest messages should stay unshortened.
    pub(crate) keep: usize,
}

impl Limits {
    /// Derives the limits for a model: a share of its window, but always leaving room for its answer. For a model whose
    /// answer could fill the window, half of the window is set aside.
    pub(crate) fn of(model: &Capabilities, share: f64, messages: usize, keep: usize) -> Self {
        if model.context_window == 0 {
            return Self { tokens: u64::MAX, most: u64::MAX, messages, keep };
        }
        let window = model.context_window;
        let wanted = scaled(window, share.clamp(0.1, 1.0)).min(window);
        let beside_the_answer = window - model.max_output.min(window / 2);
        let tokens = wanted.min(beside_the_answer);
        // A service that cuts silently must not get more than was planned.
        let most =
            if model.window.cuts_silently { tokens } else { scaled(tokens, OVERDUE).min(beside_the_answer) };
        Self { tokens, most, messages, keep }
    }

    /// Returns when old tool output is shortened: a little before a window of ordinary text would be full.
    pub(crate) fn rule(&self) -> Rule {
        let mark = if self.tokens == u64::MAX { 0 } else { self.tokens / 10 * 6 };
        Rule { mark, keep: self.keep }
    }

    /// Returns how many characters one tool output may have: at most `allowed`, and at most a quarter of a request.
    pub(crate) fn output_chars(&self, allowed: usize) -> usize {
        allowed.min(usize::try_from(self.tokens).unwrap_or(usize::MAX))
    }

    /// Returns how many tokens must leave for a summary to be worthwhile.
    pub(crate) fn worth(&self) -> u64 {
        if self.tokens == u64::MAX { 0 } else { self.tokens / 32 }
    }

    /// Returns how many characters a summary may have.
    pub(crate) fn summary_chars(&self) -> usize {
        usize::try_from(self.tokens / 2).unwrap_or(usize::MAX).clamp(400, 8_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_leave_room_for_the_answer() {
        let check = |context_window, max_output, share, expected| {
            let model = Capabilities::new("p", "m")
                .with_sizes(context_window, max_output)
                .with_abilities(false, true);
            let limits = Limits::of(&model, share, 10, 5);
            assert_eq!(limits.tokens, expected, "{context_window} {max_output} {share}");
            assert!(limits.most >= limits.tokens && limits.most / 6 <= limits.tokens / 5, "{limits:?}");
        };
        check(200_000, 8_000, 0.8, 160_000);
        check(200_000, 64_000, 0.8, 136_000);
        check(8_000, 8_000, 0.8, 4_000);
        check(8_000, 1_000, 0.8, 6_400);
        check(8_000, 1_000, 7.0, 7_000);
        check(0, 1_000, 0.8, u64::MAX);
    }
}
