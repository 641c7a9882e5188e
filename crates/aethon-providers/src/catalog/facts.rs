//! The facts about one model: sizes, price, abilities, and its retirement date.
//!
//! Dialects consult these facts and never a model's name, so that a new model needs a new row of data but no new
//! code. Vendors' statements are no guarantee: the owner's `model.context_window` and `budget.pricing`, and facts that the
//! service itself reports, override them wherever they are used.

use aethon_core::ledger::Price;
use aethon_core::model::Effort;
use jiff::civil::Date;

/// Facts about one model, assumed if it is in no table.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ModelFacts {
    /// Maximum tokens of a request and its response together.
    pub context_window: u64,
    /// Maximum tokens of a response.
    pub max_output: u64,
    /// The list price, if it applies to the service in use.
    pub price: Option<Price>,
    /// Whether it can call tools.
    pub tools: bool,
    /// Whether it accepts pictures.
    pub images: bool,
    /// Whether it accepts PDF documents.
    pub pdf: bool,
    /// Whether it can think before answering, always or on request.
    pub reasons: bool,
    /// The effort words it accepts; empty if none.
    pub efforts: Efforts,
    /// Whether it decides itself how much to think (Anthropic's `thinking: {type: "adaptive"}`).
    pub adaptive_thinking: bool,
    /// Whether thinking cannot be disabled.
    pub thinking_always_on: bool,
    /// Whether it refuses `temperature` and `top_p`.
    pub refuses_sampling: bool,
    /// Whether OpenAI's own host supports its tools only in the responses API.
    pub tools_need_responses: bool,
    /// What its service does for it.
    pub service: ServiceFacts,
    /// The day from which its vendor no longer serves it.
    pub retires_on: Option<Date>,
    /// Whether the model is in a table. If not, all of these facts are assumed.
    pub is_known: bool,
}

/// What the service of a model does for it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ServiceFacts {
    /// Whether it searches the web.
    pub searches_web: bool,
    /// By how much tokens cost more or less than usual at the tiers `flex` and `priority`.
    pub tiers: TierFactors,
    /// How it caches prompt prefixes; `None` if unknown.
    pub prompt_caching: Option<PromptCaching>,
}

/// The prices of service tiers, as multiples of the usual price; `None` where no other price is known.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TierFactors {
    /// Of `flex`: slower, and usually half the price.
    pub flex: Option<f64>,
    /// Of `priority`: faster, and dearer.
    pub priority: Option<f64>,
}

impl TierFactors {
    /// Returns the factor of a tier; 1 if it costs the usual price, or none is known.
    pub fn of(self, tier: &str) -> f64 {
        let factor = match tier {
            "flex" => self.flex,
            "priority" => self.priority,
            _ => None,
        };
        factor.unwrap_or(1.0)
    }
}

/// How prompt prefixes are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptCaching {
    /// Minimum tokens of a prefix to be cached; 0 if the vendor states no number.
    pub least_tokens: u64,
    /// Whether Bedrock accepts a cache point after the tools, and not only after the system prompt and messages.
    pub points_behind_tools: bool,
}

impl ModelFacts {
    /// Assumptions about a model that is in no table. It is assumed to accept pictures, which is tested when one is
    /// sent: a refusal is remembered, whereas a withheld picture would be lost on a model that accepts them. Vendors'
    /// current models are large (`is_hosted`); self-hosted ones often are not.
    pub const fn assumed(is_hosted: bool) -> Self {
        let (context_window, max_output) = if is_hosted { (128_000, 8_192) } else { (32_768, 4_096) };
        Self {
            context_window,
            max_output,
            price: None,
            tools: true,
            images: true,
            pdf: false,
            reasons: false,
            efforts: Efforts::NONE,
            adaptive_thinking: false,
            thinking_always_on: false,
            refuses_sampling: false,
            tools_need_responses: false,
            service: ServiceFacts {
                searches_web: false,
                tiers: TierFactors { flex: None, priority: None },
                prompt_caching: None,
            },
            retires_on: None,
            is_known: false,
        }
    }
}

/// A word for how much a model should think. Vendors have more of them than [`Effort`], from which the owner chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffortWord {
    /// Not at all.
    None,
    /// Hardly at all.
    Minimal,
    /// A little.
    Low,
    /// The usual amount.
    Medium,
    /// Much.
    High,
    /// More than high.
    XHigh,
    /// As much as possible.
    Max,
}

impl EffortWord {
    /// All words, in ascending order.
    pub const ALL: [Self; 7] =
        [Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::XHigh, Self::Max];

    /// Returns the word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// Parses a word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effort| effort.as_str() == word)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The set of effort words that a model accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Efforts(u8);

impl Efforts {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Returns whether the model accepts this word.
    pub const fn takes(self, word: EffortWord) -> bool {
        self.0 & word.bit() != 0
    }

    /// Returns whether it accepts none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds this word.
    #[must_use]
    pub const fn with(self, word: EffortWord) -> Self {
        Self(self.0 | word.bit())
    }

    /// Removes this word.
    #[must_use]
    pub const fn without(self, word: EffortWord) -> Self {
        Self(self.0 & !word.bit())
    }

    /// Returns the words in ascending order.
    pub fn words(self) -> impl Iterator<Item = EffortWord> {
        EffortWord::ALL.into_iter().filter(move |word| self.takes(*word))
    }

    /// Returns the word nearest to the owner's choice, the smaller of two that are equally near, or `None` if the
    /// model accepts none.
    pub fn nearest(self, wanted: Effort) -> Option<EffortWord> {
        let wanted = match wanted {
            Effort::None => EffortWord::None,
            Effort::Low => EffortWord::Low,
            Effort::Medium => EffortWord::Medium,
            Effort::High => EffortWord::High,
        };
        self.words().min_by_key(|word| (*word as u8).abs_diff(wanted as u8))
    }
}

impl FromIterator<EffortWord> for Efforts {
    fn from_iter<T: IntoIterator<Item = EffortWord>>(words: T) -> Self {
        words.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_taken() {
        let check = |words: &str, wanted, expected: Option<&str>| {
            let efforts: Efforts = words.split_whitespace().filter_map(EffortWord::parse).collect();
            assert_eq!(efforts.nearest(wanted).map(EffortWord::as_str), expected, "{words} {wanted:?}");
        };
        check("none low medium high xhigh", Effort::None, Some("none"));
        check("minimal low medium high", Effort::None, Some("minimal"));
        check("low medium high", Effort::None, Some("low"));
        check("medium high xhigh", Effort::Low, Some("medium"));
        check("none high", Effort::Low, Some("none"));
        check("none high", Effort::Medium, Some("high"));
        check("xhigh max", Effort::High, Some("xhigh"));
        check("low medium high max", Effort::High, Some("high"));
        check("", Effort::High, None);
    }
}
