//! The format of the built-in catalogue: a JSON object with one model per line, so that a row is found by the
//! beginnings of lines and only that row is parsed.

use aethon_core::ledger::{LongPrice, Price};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::facts::{EffortWord, Efforts, ModelFacts, PromptCaching, TierFactors};

/// USD per million tokens: input, output, cache read, cache write.
type Rates = (f64, f64, Option<f64>, Option<f64>);

/// The same rates, after the number of tokens above which they apply.
type LongRates = (u64, f64, f64, Option<f64>, Option<f64>);

/// Accesses the fact for an ability.
type AbilityField = fn(&mut ModelFacts) -> &mut bool;

/// One model as stored in the file. Names are short because the file is part of the program.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Row {
    /// Whether it transcribes speech; then only its price and retirement date are known.
    #[serde(skip_serializing_if = "is_default")]
    speech: bool,
    #[serde(skip_serializing_if = "is_default")]
    window: u64,
    #[serde(skip_serializing_if = "is_default")]
    output: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    usd: Option<Rates>,
    #[serde(skip_serializing_if = "Option::is_none")]
    long: Option<LongRates>,
    /// A web search by the provider, in USD.
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<f64>,
    /// The prices at the tiers `flex` and `priority`, as multiples of the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    flex: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<f64>,
    /// One letter for each ability, as in [`ABILITIES`].
    #[serde(skip_serializing_if = "is_default")]
    can: String,
    /// The effort words, separated by spaces.
    #[serde(skip_serializing_if = "is_default")]
    effort: String,
    /// The shortest prefix that is cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ends: Option<Date>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The letters of abilities, and their facts.
const ABILITIES: [(char, AbilityField); 9] = [
    ('t', |facts| &mut facts.tools),
    ('i', |facts| &mut facts.images),
    ('p', |facts| &mut facts.pdf),
    ('r', |facts| &mut facts.reasons),
    ('a', |facts| &mut facts.adaptive_thinking),
    ('o', |facts| &mut facts.thinking_always_on),
    ('s', |facts| &mut facts.refuses_sampling),
    ('n', |facts| &mut facts.tools_need_responses),
    ('w', |facts| &mut facts.service.searches_web),
];
/// Bedrock accepts cache points after the tools.
const TOOL_POINTS: char = 'c';

/// How the row of a transcription model begins, so that it is recognised without parsing.
pub(super) const SPEECH: &str = "{\"speech\":true";

/// The empty facts that a row builds on.
pub(super) const BLANK: ModelFacts =
    ModelFacts { tools: false, images: false, is_known: true, ..ModelFacts::assumed(false) };

impl Row {
    pub(super) fn of(facts: &ModelFacts) -> Self {
        let mut copy = *facts;
        let mut can: String =
            ABILITIES.iter().filter(|(_, field)| *field(&mut copy)).map(|(letter, _)| *letter).collect();
        can.extend(
            facts.service.prompt_caching.filter(|caching| caching.points_behind_tools).map(|_| TOOL_POINTS),
        );
        let words: Vec<&str> = facts.efforts.words().map(EffortWord::as_str).collect();
        Self {
            speech: false,
            window: facts.context_window,
            output: facts.max_output,
            usd: facts.price.map(|price| (price.input, price.output, price.cached_input, price.cache_write)),
            long: facts
                .price
                .and_then(|price| price.long)
                .map(|long| (long.above, long.input, long.output, long.cached_input, long.cache_write)),
            search: facts.price.and_then(|price| price.search),
            flex: facts.service.tiers.flex,
            priority: facts.service.tiers.priority,
            can,
            effort: words.join(" "),
            cache: facts.service.prompt_caching.map(|caching| caching.least_tokens),
            ends: facts.retires_on,
        }
    }

    /// Returns the row of a transcription model, reduced to the needs of the meter and the owner.
    pub(super) fn of_speech(facts: &ModelFacts) -> Self {
        Self { speech: true, window: 0, output: 0, ..Self::of(facts) }
    }

    pub(super) fn facts(&self) -> ModelFacts {
        let mut facts = BLANK;
        facts.context_window = self.window;
        facts.max_output = self.output;
        facts.price = self.price();
        for (letter, field) in ABILITIES {
            *field(&mut facts) = self.can.contains(letter);
        }
        facts.efforts = self.effort.split_whitespace().filter_map(EffortWord::parse).collect::<Efforts>();
        let points_behind_tools = self.can.contains(TOOL_POINTS);
        facts.service.prompt_caching =
            self.cache.map(|least_tokens| PromptCaching { least_tokens, points_behind_tools });
        facts.service.tiers = TierFactors { flex: self.flex, priority: self.priority };
        facts.retires_on = self.ends;
        facts
    }

    fn price(&self) -> Option<Price> {
        let (input, output, cached_input, cache_write) = self.usd?;
        let mut price = Price::new(input, output).with_cached_input(cached_input);
        price.cache_write = cache_write;
        price.search = self.search;
        price.long = self.long.map(|(above, input, output, cached_input, cache_write)| LongPrice {
            above,
            input,
            output,
            cached_input,
            cache_write,
        });
        Some(price)
    }
}
