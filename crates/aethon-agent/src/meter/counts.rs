//! Which of the figures and names that a service reports for a call are believed.

use aethon_core::model::Usage;

/// No request takes more tokens than this, whatever a service says.
const MAX_TOKENS: u64 = 100_000_000;

/// No request costs more, in USD, whatever a service says.
const MAX_USD: f64 = 1_000.0;

/// The fewest digits of a date or version behind a model's name.
const DIGITS: usize = 3;

/// Returns the service's counts, with our own where it reports none; `None` if they are absurd.
pub(super) fn believed(reported: Usage, sent: u64, received: u64) -> Option<Usage> {
    let mut usage = reported;
    let counts = [usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cache_write_tokens];
    if counts.iter().any(|count| *count > MAX_TOKENS) {
        return None;
    }
    // Some services send zero merely because a number is required.
    if usage.input_tokens == 0 {
        usage.input_tokens = sent;
    }
    if usage.output_tokens == 0 {
        usage.output_tokens = received;
    }
    usage.cached_tokens = usage.cached_tokens.min(usage.input_tokens);
    usage.cache_write_tokens = usage.cache_write_tokens.min(usage.input_tokens - usage.cached_tokens);
    Some(usage)
}

/// Returns the cost that the service states for a call, in USD, if it states a credible one. A gateway knows what it
/// charges; the price is only what the table of models says.
pub(super) fn stated_usd(reported: &Usage) -> Option<f64> {
    Some(reported.cost_usd).filter(|usd| *usd > 0.0 && *usd <= MAX_USD)
}

/// Returns whether `named` is the requested model: the same name, apart from a date, a version or a router's prefix.
/// `gpt-5-mini` is not a variant of `gpt-5`.
pub(super) fn is_variant(asked: &str, named: &str) -> bool {
    let (asked, named) = (bare(asked), bare(named));
    let (short, long) = if asked.len() <= named.len() { (&asked, &named) } else { (&named, &asked) };
    let Some(rest) = long.strip_prefix(short.as_str()) else { return false };
    if rest.is_empty() {
        return true;
    }
    let Some(rest) = rest.strip_prefix(['-', '@', ':']) else { return false };
    rest.chars().take_while(char::is_ascii_digit).count() >= DIGITS
}

/// Returns the name without its prefix and without `latest`, which matches every date.
fn bare(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let stripped = name.strip_suffix("latest").and_then(|rest| rest.strip_suffix(['-', ':']));
    stripped.unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_versions_make_variants_and_other_words_do_not() {
        let check = |asked: &str, named: &str, expected| {
            assert_eq!(is_variant(asked, named), expected, "{asked} {named}");
        };
        check("gpt-5", "gpt-5", true);
        check("gpt-5", "gpt-5-2025-08-07", true);
        check("gpt-5-2025-08-07", "gpt-5", true);
        check("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", true);
        check("openrouter/anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", true);
        check("mistral-large-latest", "mistral-large-2411", true);
        check("llama3.2", "llama3.2:latest", true);
        check("gemini-2.0-flash", "models/gemini-2.0-flash-001", true);
        check("GPT-5", "gpt-5", true);
        check("gpt-5", "gpt-5-mini", false);
        check("gpt-5-mini", "gpt-5", false);
        check("gpt-5", "gpt-5.4", false);
        check("claude-sonnet-4", "claude-sonnet-4-5", false);
        check("my-proxy-alias", "gpt-5", false);
        check("gpt-5", "", false);
    }

    #[test]
    fn stated_cost_is_believed_if_it_is_an_amount() {
        let stated = |cost_usd| stated_usd(&Usage { cost_usd, ..Usage::default() });
        assert_eq!(stated(0.0042), Some(0.0042));
        for absurd in [0.0, -1.0, 1e9, f64::NAN, f64::INFINITY] {
            assert_eq!(stated(absurd), None);
        }
    }

    #[test]
    fn absurd_figures_are_not_believed_and_missing_ones_are_put_in() {
        let reported =
            |input_tokens, output_tokens| Usage { input_tokens, output_tokens, ..Usage::default() };
        assert_eq!(believed(reported(u64::MAX, 1), 10, 5), None);
        assert_eq!(believed(reported(1, u64::MAX), 10, 5), None);
        assert_eq!(believed(Usage { cached_tokens: u64::MAX, ..reported(9, 9) }, 10, 5), None);
        assert_eq!(believed(reported(0, 0), 10, 5), Some(reported(10, 5)));
        assert_eq!(believed(reported(7, 3), 10, 5), Some(reported(7, 3)));
        let cached = Usage { cached_tokens: 900, cache_write_tokens: 900, ..reported(100, 1) };
        let found = believed(cached, 0, 0).unwrap();
        assert_eq!((found.cached_tokens, found.cache_write_tokens), (100, 0));
    }
}
