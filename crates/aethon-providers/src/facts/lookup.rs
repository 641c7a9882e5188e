//! Finding the row of a model, and what is assumed where there is none.

use aethon_core::ledger::Price;

use super::table::{MODELS, Row};
use crate::capabilities::bare_name;
use crate::options::Provider;

/// Sees pictures.
pub(super) const IMAGES: u8 = 1;
/// Calls tools.
pub(super) const TOOLS: u8 = 2;
/// Tells what it thinks when it is asked to.
pub(super) const THOUGHTS: u8 = 4;
/// Takes cache points on Bedrock behind the system prompt and messages.
pub(super) const MARKS: u8 = 8;
/// Takes them behind the tools too.
pub(super) const TOOL_MARKS: u8 = 16;

/// The facts of one model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    /// Tokens that a request and its answer may take together.
    pub(crate) context_window: u64,
    /// Tokens that an answer may take.
    pub(crate) max_output: u64,
    pub(super) abilities: u8,
    pub(super) price: Option<Price>,
}

impl Facts {
    pub(crate) fn sees_images(&self) -> bool {
        self.has(IMAGES)
    }

    pub(crate) fn calls_tools(&self) -> bool {
        self.has(TOOLS)
    }

    pub(crate) fn takes_cache_points(&self) -> bool {
        self.has(MARKS)
    }

    pub(crate) fn takes_tool_cache_points(&self) -> bool {
        self.has(TOOL_MARKS)
    }

    fn has(&self, ability: u8) -> bool {
        self.abilities & ability != 0
    }
}

/// What is assumed of a model that is not in the table. That it sees pictures is found out when one is sent: a refusal is
/// remembered, while a picture that is held back is lost on a model that would have seen it.
const UNKNOWN: Facts =
    Facts { context_window: 32_768, max_output: 4_096, abilities: TOOLS | IMAGES, price: None };
/// What is assumed of one that its vendor serves itself: current ones see pictures and hold much.
const UNKNOWN_HOSTED: Facts =
    Facts { context_window: 128_000, max_output: 8_192, abilities: TOOLS | IMAGES, price: None };

/// The facts of a model, or the assumptions where there are none. `is_hosted`: its vendor serves it itself.
pub(crate) fn of(provider: Provider, model: &str, is_hosted: bool) -> Facts {
    match find(provider, model) {
        Some(row) => row.facts,
        None if is_hosted => UNKNOWN_HOSTED,
        None => UNKNOWN,
    }
}

/// Whether the sizes and abilities of a model are known, and not only assumed.
pub fn is_known(provider: Provider, model: &str) -> bool {
    find(provider, model).is_some()
}

/// Whether a model of Gemini's tells its thoughts when it is asked to; others refuse the question.
pub(crate) fn tells_thoughts(model: &str) -> bool {
    find(Provider::Gemini, model).is_some_and(|row| row.facts.has(THOUGHTS))
}

/// The list price of a model in USD per million tokens, where it is known. What runs on one's own machine costs
/// nothing. What the owner says in `budget.pricing` comes before this.
pub fn prices(provider: Provider, model: &str) -> Option<Price> {
    match provider {
        Provider::Ollama | Provider::Fake | Provider::Echo => {
            Some(Price { input: 0.0, output: 0.0, cached_input: None })
        }
        _ => find(provider, model).and_then(|row| row.facts.price),
    }
}

/// The row with the longest matching prefix; of two, the one that names the provider.
fn find(provider: Provider, model: &str) -> Option<&'static Row> {
    let name = match provider {
        Provider::Fake => "fake".to_owned(),
        Provider::Echo => "echo".to_owned(),
        _ => bare_name(model).to_ascii_lowercase(),
    };
    MODELS
        .iter()
        .filter(|row| row.provider.is_none_or(|only| only == provider) && name.starts_with(row.prefix))
        .max_by_key(|row| (row.prefix.len(), row.provider.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_found_by_the_longest_prefix() {
        let check = |provider, model: &str, expected: Option<(f64, f64, Option<f64>)>| {
            let found = prices(provider, model).map(|price| (price.input, price.output, price.cached_input));
            assert_eq!(found, expected, "{model}");
        };
        check(Provider::OpenAi, "gpt-5-2025-08-07", Some((1.25, 10.0, Some(0.125))));
        check(Provider::OpenAi, "gpt-5-mini", Some((0.25, 2.0, Some(0.025))));
        check(Provider::Anthropic, "claude-sonnet-4-5", Some((3.0, 15.0, Some(0.3))));
        check(
            Provider::Bedrock,
            "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
            Some((3.0, 15.0, Some(0.3))),
        );
        check(
            Provider::Bedrock,
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0",
            Some((0.06, 0.24, Some(0.015))),
        );
        check(Provider::LiteLlm, "openrouter/google/gemini-2.5-flash", Some((0.3, 2.5, Some(0.03))));
        check(Provider::Ollama, "whatever", Some((0.0, 0.0, None)));
        check(Provider::Ollama, "gpt-oss:20b", Some((0.0, 0.0, None)));
        check(Provider::OpenAi, "unheard-of", None);
    }

    #[test]
    fn every_row_can_be_found_and_makes_sense() {
        for row in MODELS {
            let provider = row.provider.unwrap_or(match row.prefix {
                "fake" => Provider::Fake,
                "echo" => Provider::Echo,
                _ => Provider::OpenAi,
            });
            let found = find(provider, row.prefix).map(|found| found.prefix);
            assert_eq!(found, Some(row.prefix));
            let facts = row.facts;
            assert!(facts.max_output <= facts.context_window, "{}", row.prefix);
            assert!(row.prefix == row.prefix.to_ascii_lowercase());
            let doubles =
                MODELS.iter().filter(|other| (other.prefix, other.provider) == (row.prefix, row.provider));
            assert_eq!(doubles.count(), 1, "{}", row.prefix);
            if let Some(price) = facts.price {
                let cached = price.cached_input.unwrap_or(price.input);
                assert!(price.input >= 0.0 && price.output >= 0.0 && cached <= price.input, "{}", row.prefix);
            }
        }
    }

    #[test]
    fn abilities_are_told_apart() {
        let bedrock = |model: &str| of(Provider::Bedrock, model, true);
        assert!(bedrock("us.anthropic.claude-sonnet-4-20250514-v1:0").takes_tool_cache_points());
        let nova = bedrock("amazon.nova-pro-v1:0");
        assert!(nova.takes_cache_points() && !nova.takes_tool_cache_points());
        assert!(!bedrock("meta.llama3-3-70b-instruct-v1:0").takes_cache_points());
        assert!(tells_thoughts("gemini-2.5-flash") && tells_thoughts("models/gemini-3-pro-preview"));
        assert!(!tells_thoughts("gemini-2.0-flash") && !tells_thoughts("gemini-2.5-flash-image"));
    }
}
