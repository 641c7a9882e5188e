//! What is known of one model: sizes, price, abilities, and when its vendor ends it.
//!
//! A dialect asks this and never looks at a model's name, so that a new model needs a new row of data and no new code.
//! What a vendor says is no promise: the owner's `model.context_window` and `budget.pricing`, and what the service itself
//! says, stand above it wherever it is used.

use aethon_core::ledger::Price;
use aethon_core::model::Effort;
use jiff::civil::Date;

/// What is known of one model, or assumed where it is in no table.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ModelFacts {
    /// Tokens that a request and its answer may take together.
    pub context_window: u64,
    /// Tokens that an answer may take.
    pub max_output: u64,
    /// The list price, where it holds for the service that is asked.
    pub price: Option<Price>,
    /// Whether it calls tools.
    pub tools: bool,
    /// Whether it sees pictures.
    pub images: bool,
    /// Whether it reads PDF documents.
    pub pdf: bool,
    /// Whether it thinks before it answers, always or when it is asked to.
    pub reasons: bool,
    /// The words that it takes for how much it is to think; none where it takes no such word.
    pub efforts: Efforts,
    /// Whether it decides itself how much to think (Anthropic's `thinking: {type: "adaptive"}`).
    pub adaptive_thinking: bool,
    /// Whether thinking cannot be turned off.
    pub thinking_always_on: bool,
    /// Whether it refuses `temperature` and `top_p`.
    pub refuses_sampling: bool,
    /// Whether OpenAI's own host takes function tools for it on the responses interface only.
    pub tools_need_responses: bool,
    /// How its service caches the beginning of a prompt; `None` where that is not known.
    pub prompt_caching: Option<PromptCaching>,
    /// The day from which its vendor no longer serves it.
    pub retires_on: Option<Date>,
    /// Whether the model is in a table; `false` means that everything here is assumed.
    pub is_known: bool,
}

/// How the beginning of a prompt is cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptCaching {
    /// A shorter beginning than this many tokens is not cached; 0 where the vendor names no number.
    pub least_tokens: u64,
    /// Whether Bedrock takes a cache point behind the tools, and not only behind the system prompt and messages.
    pub points_behind_tools: bool,
}

impl ModelFacts {
    /// What is assumed of a model that is in no table. That it sees pictures is found out when one is sent: a refusal is
    /// remembered, while a picture that is held back is lost on a model that would have seen it. A vendor's own models of
    /// today hold much (`is_hosted`); what runs on one's own machine often does not.
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
            prompt_caching: None,
            retires_on: None,
            is_known: false,
        }
    }
}

/// A word for how much a model is to think. Vendors know more of them than [`Effort`], from which the owner chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffortWord {
    /// Not at all.
    None,
    /// Hardly.
    Minimal,
    /// A little.
    Low,
    /// As is usual.
    Medium,
    /// Much.
    High,
    /// More than that.
    XHigh,
    /// As much as it can.
    Max,
}

impl EffortWord {
    /// All of them, the smallest first.
    pub const ALL: [Self; 7] =
        [Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::XHigh, Self::Max];

    /// The word on the wire.
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

    /// The effort that goes by this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effort| effort.as_str() == word)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The words for effort that a model takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Efforts(u8);

impl Efforts {
    /// A model that takes no such word.
    pub const NONE: Self = Self(0);

    /// Whether the model takes this word.
    pub const fn takes(self, word: EffortWord) -> bool {
        self.0 & word.bit() != 0
    }

    /// Whether it takes none at all.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// With this word.
    #[must_use]
    pub const fn with(self, word: EffortWord) -> Self {
        Self(self.0 | word.bit())
    }

    /// Without this word.
    #[must_use]
    pub const fn without(self, word: EffortWord) -> Self {
        Self(self.0 & !word.bit())
    }

    /// The words, the smallest first.
    pub fn words(self) -> impl Iterator<Item = EffortWord> {
        EffortWord::ALL.into_iter().filter(move |word| self.takes(*word))
    }

    /// The word that comes nearest to what the owner wants, the smaller of two that are as near; `None` where the model
    /// takes no word.
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
