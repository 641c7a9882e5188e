//! One model in the words of LiteLLM's table: what the built-in catalogue is made from, and what `HOME/models.json` holds.
//!
//! An entry says as much as it wants; what it leaves out stays as it was. Numbers that no model has (negative, not finite,
//! absurd) are refused with the field's name, because a price that is wrong would be believed by the budget. A few things
//! the table does not say outright are derived here, each with the reason.

use aethon_core::ledger::{LongPrice, Price};
use aethon_core::model::SelfReport;
use aethon_core::transcribe::TOKENS_A_SECOND;
use serde_json::{Map, Value};

use super::facts::{EffortWord, Efforts, ModelFacts, PromptCaching};

/// No model takes more tokens.
const MOST_TOKENS: f64 = 100_000_000.0;
/// No model costs more, in USD for one token.
const MOST_USD: f64 = 0.01;

/// What OpenAI's models take beside the answer, where they take 400,000 or 1,050,000 tokens in all.
const OPENAI_INPUT_LIMITS: [u64; 2] = [272_000, 922_000];

/// The fields that are read; everything else in an entry is of no use here.
const FIELDS: [&str; 32] = [
    "litellm_provider",
    "mode",
    "max_input_tokens",
    "max_output_tokens",
    "max_tokens",
    "deprecation_date",
    "supported_endpoints",
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
    "input_cost_per_audio_token",
    "input_cost_per_second",
    "output_cost_per_second",
    "supports_function_calling",
    "supports_vision",
    "supports_pdf_input",
    "supports_reasoning",
    "supports_adaptive_thinking",
    "thinking_always_on",
    "supports_sampling_params",
    "supports_prompt_caching",
    "prompt_cache_min_tokens",
    "supports_output_config",
    "bedrock_output_config_effort_ceiling",
    "reasoning_effort_levels",
    "supports_none_reasoning_effort",
    "supports_minimal_reasoning_effort",
    "supports_low_reasoning_effort",
    "supports_xhigh_reasoning_effort",
    "supports_max_reasoning_effort",
    "supports_medium_reasoning_effort",
];

/// The kinds of work that Aethon asks a model for, but for writing down speech.
const MODES: [&str; 3] = ["chat", "responses", "embedding"];
/// Writing down speech. A model that does it is a row of its own kind, and no model for answers.
const SPEECH: &str = "audio_transcription";

/// The abilities that a whole table leaves out where a model does not have them.
const ABILITIES: [&str; 4] =
    ["supports_function_calling", "supports_vision", "supports_pdf_input", "supports_reasoning"];

/// One model's entry.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Entry(Map<String, Value>);

impl Entry {
    /// The fields that are read, and no others.
    pub(crate) fn of(fields: &Map<String, Value>) -> Self {
        let is_read = |name: &str| FIELDS.contains(&name) || tier(name).is_some();
        let read = fields.iter().filter(|(name, value)| is_read(name) && !value.is_null());
        Self(read.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// With an ability that is not mentioned said to be missing, as a whole table means it.
    pub(super) fn complete(mut self) -> Self {
        for ability in ABILITIES {
            self.0.entry(ability).or_insert(false.into());
        }
        self
    }

    pub(super) fn into_fields(self) -> Map<String, Value> {
        self.0
    }

    /// LiteLLM's word for who serves it.
    pub(super) fn provider(&self) -> Option<&str> {
        self.0.get("litellm_provider").and_then(Value::as_str)
    }

    /// Whether it answers or turns text into vectors; an entry that does not say is taken to answer.
    pub(super) fn is_wanted(&self) -> bool {
        self.mode().is_none_or(|mode| MODES.contains(&mode))
    }

    pub(super) fn is_embedder(&self) -> bool {
        self.mode() == Some("embedding")
    }

    /// Whether it writes down speech.
    pub(super) fn is_speech(&self) -> bool {
        self.mode() == Some(SPEECH)
    }

    /// Whether it says how much the model takes.
    pub(super) fn has_window(&self) -> bool {
        self.0.contains_key("max_input_tokens") || self.0.contains_key("max_tokens")
    }

    /// Puts what the entry says over what is known of the model called `name`. An error names the field.
    pub(super) fn apply(&self, name: &str, facts: &mut ModelFacts) -> Result<(), String> {
        self.apply_sizes(name, facts)?;
        facts.price = self.price(facts.price)?;
        self.apply_abilities(name, facts)?;
        if let Some(efforts) = self.efforts(name, facts)? {
            facts.efforts = efforts;
        }
        self.apply_caching(name, facts)?;
        if let Some(date) = self.0.get("deprecation_date") {
            let date = date.as_str().and_then(|date| date.parse().ok());
            facts.retires_on =
                Some(date.ok_or("deprecation_date is not a date; write it as 2026-11-30".to_owned())?);
        }
        Ok(())
    }

    /// What the entry itself says of the model called `name`, with nothing assumed. An error names the field.
    pub(crate) fn report(&self, name: &str) -> Result<SelfReport, String> {
        let mut facts = ModelFacts::assumed(true);
        self.apply_sizes(name, &mut facts)?;
        Ok(SelfReport {
            context_window: self.tokens("max_input_tokens")?.map(|_| facts.context_window),
            max_output: self.tokens("max_output_tokens")?.map(|_| facts.max_output),
            images: self.flag("supports_vision")?,
            tools: self.flag("supports_function_calling")?,
            // A proxy writes zeros where it knows no price.
            price: self.price(None)?.filter(|price| !price.is_free()),
        })
    }

    fn apply_sizes(&self, name: &str, facts: &mut ModelFacts) -> Result<(), String> {
        let both = self.tokens("max_tokens")?;
        if let Some(window) = self.tokens("max_input_tokens")?.or(both) {
            facts.context_window = window;
        }
        if let Some(output) = self.tokens("max_output_tokens")?.or(both) {
            facts.max_output = output;
        }
        // For some of OpenAI's models the table has what a request may take without its answer.
        if is_openai_name(name) && OPENAI_INPUT_LIMITS.contains(&facts.context_window) {
            facts.context_window += facts.max_output;
        }
        facts.max_output = facts.max_output.min(facts.context_window);
        Ok(())
    }

    fn apply_abilities(&self, name: &str, facts: &mut ModelFacts) -> Result<(), String> {
        let set = |place: &mut bool, field: &str| -> Result<(), String> {
            *place = self.flag(field)?.unwrap_or(*place);
            Ok(())
        };
        set(&mut facts.tools, "supports_function_calling")?;
        set(&mut facts.images, "supports_vision")?;
        set(&mut facts.pdf, "supports_pdf_input")?;
        set(&mut facts.reasons, "supports_reasoning")?;
        set(&mut facts.adaptive_thinking, "supports_adaptive_thinking")?;
        set(&mut facts.thinking_always_on, "thinking_always_on")?;
        if let Some(takes) = self.flag("supports_sampling_params")? {
            facts.refuses_sampling = !takes;
        } else if facts.reasons && is_openai_name(name) {
            // The table says it of a few; OpenAI refuses both parameters for every model that reasons.
            facts.refuses_sampling = true;
        }
        if self.mode() == Some("responses") {
            facts.tools_need_responses = true;
        } else if facts.reasons && is_gpt_from_5_4(name) {
            // OpenAI's own host refuses function tools on chat completions for these; the table does not say so.
            facts.tools_need_responses = true;
        }
        Ok(())
    }

    fn apply_caching(&self, name: &str, facts: &mut ModelFacts) -> Result<(), String> {
        let least = self.tokens("prompt_cache_min_tokens")?;
        match self.flag("supports_prompt_caching")? {
            Some(false) => facts.prompt_caching = None,
            Some(true) => {
                let before = facts.prompt_caching.map_or(0, |caching| caching.least_tokens);
                // Of those on Bedrock only Claude takes a cache point behind the tools.
                let points_behind_tools = name.contains("claude");
                let least_tokens = least.unwrap_or(before);
                facts.prompt_caching = Some(PromptCaching { least_tokens, points_behind_tools });
            }
            None => {
                if let (Some(caching), Some(least)) = (&mut facts.prompt_caching, least) {
                    caching.least_tokens = least;
                }
            }
        }
        Ok(())
    }

    /// The words for effort, where the entry speaks of thinking at all.
    fn efforts(&self, name: &str, facts: &ModelFacts) -> Result<Option<Efforts>, String> {
        if let Some(words) = self.0.get("reasoning_effort_levels") {
            let words: Option<Vec<EffortWord>> = words
                .as_array()
                .and_then(|words| words.iter().map(|word| EffortWord::parse(word.as_str()?)).collect());
            let words = words.ok_or("reasoning_effort_levels is not a list of known words")?;
            return Ok(Some(words.into_iter().collect()));
        }
        if !facts.reasons {
            return Ok(self.flag("supports_reasoning")?.map(|_| Efforts::NONE));
        }
        let mut efforts = if self.takes_usual_words(name)? {
            [EffortWord::Low, EffortWord::Medium, EffortWord::High].into_iter().collect()
        } else {
            facts.efforts
        };
        if name.starts_with("gemini-") && name.contains("flash") && !efforts.is_empty() {
            efforts = efforts.with(EffortWord::Minimal);
        }
        for word in EffortWord::ALL {
            match self.flag(&format!("supports_{}_reasoning_effort", word.as_str()))? {
                Some(true) => efforts = efforts.with(word),
                Some(false) => efforts = efforts.without(word),
                None => {}
            }
        }
        let ceiling = self.0.get("bedrock_output_config_effort_ceiling").and_then(Value::as_str);
        if let Some(ceiling) = ceiling.and_then(EffortWord::parse) {
            efforts = efforts.words().filter(|word| *word <= ceiling).collect();
        }
        Ok(Some(efforts))
    }

    /// Whether the model takes `low`, `medium` and `high`, which the table takes for granted where vendors have such words:
    /// OpenAI's models that reason, Claude where it has `output_config`, Gemini from 3 on (2.5 takes a number instead).
    fn takes_usual_words(&self, name: &str) -> Result<bool, String> {
        let is_claude = self.flag("supports_output_config")? == Some(true);
        let is_gemini = name.starts_with("gemini-") && !name.starts_with("gemini-2");
        Ok(is_claude || is_gemini || is_openai_name(name) || name.contains("gpt-oss"))
    }

    /// The price that was known, with what the entry says put over it. Every field is read, so that each is checked.
    fn price(&self, known: Option<Price>) -> Result<Option<Price>, String> {
        let input = self.usd("input_cost_per_token")?.or(known.map(|price| price.input));
        let output = self.usd("output_cost_per_token")?.or(known.map(|price| price.output));
        let output = output.or(self.is_embedder().then_some(0.0));
        let cached_input = self.usd("cache_read_input_token_cost")?;
        let cache_write = self.cache_write("cache_creation_input_token_cost")?;
        let (Some(input), Some(output)) = (input, output) else {
            return self.long_price(&Price::FREE).map(|_| None);
        };
        let cached_input = cached_input.or(known.and_then(|price| price.cached_input));
        let mut price = Price::new(input, output).with_cached_input(cached_input);
        price.cache_write = cache_write.or(known.and_then(|price| price.cache_write));
        price.long = self.long_price(&price)?.or(known.and_then(|price| price.long));
        Ok(Some(price))
    }

    /// What writing down speech costs: by the time, as the price of [`TOKENS_A_SECOND`], else by tokens. `None` where the entry
    /// says neither. Where it says both, a vendor names the time as the price of everything, words included; the table's price
    /// of a token that is heard comes to less, and a budget must not believe that.
    pub(super) fn speech_price(&self) -> Result<Option<Price>, String> {
        // The table has one price of a second, under either name or under both.
        let (heard, written) = (self.usd("input_cost_per_second")?, self.usd("output_cost_per_second")?);
        let second = heard.into_iter().chain(written).reduce(f64::max);
        let audio = self.usd("input_cost_per_audio_token")?;
        let input = audio.or(self.usd("input_cost_per_token")?);
        let output = self.usd("output_cost_per_token")?;
        Ok(match (second, input, output) {
            (Some(second), ..) => {
                Some(Price::new((second * 1e6 / TOKENS_A_SECOND as f64).round() / 1e6, 0.0))
            }
            (None, Some(input), Some(output)) => Some(Price::new(input, output)),
            _ => None,
        })
    }

    /// Some entries have a zero for "no price of its own".
    fn cache_write(&self, field: &str) -> Result<Option<f64>, String> {
        Ok(self.usd(field)?.filter(|usd| *usd > 0.0))
    }

    /// The first tier of long requests. What it leaves out costs as much as before.
    fn long_price(&self, price: &Price) -> Result<Option<LongPrice>, String> {
        let tiers = self.0.keys().filter_map(|name| tier(name));
        let Some((above, words)) = tiers.min() else { return Ok(None) };
        let tiered = |field: &str| self.usd(&format!("{field}_{words}"));
        Ok(Some(LongPrice {
            above,
            input: tiered("input_cost_per_token")?.unwrap_or(price.input),
            output: tiered("output_cost_per_token")?.unwrap_or(price.output),
            cached_input: tiered("cache_read_input_token_cost")?.or(price.cached_input),
            cache_write: self
                .cache_write(&format!("cache_creation_input_token_cost_{words}"))?
                .or(price.cache_write),
        }))
    }

    fn mode(&self) -> Option<&str> {
        self.0.get("mode").and_then(Value::as_str)
    }

    fn flag(&self, field: &str) -> Result<Option<bool>, String> {
        match self.0.get(field) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(format!("{field} is not true or false")),
        }
    }

    fn tokens(&self, field: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.0.get(field) else { return Ok(None) };
        let number = value.as_f64().filter(|number| (1.0..=MOST_TOKENS).contains(number));
        // Checked to be far below 2^53 and positive, so nothing is lost.
        let tokens = number.filter(|number| number.fract() == 0.0).map(|number| number as u64);
        match tokens {
            Some(tokens) => Ok(Some(tokens)),
            // Some embedders have a zero for "no answer".
            None if value.as_f64() == Some(0.0) => Ok(None),
            None => Err(format!("{field} is not a whole number from 1 to {MOST_TOKENS}")),
        }
    }

    /// A price in USD per million tokens, of one in USD per token.
    fn usd(&self, field: &str) -> Result<Option<f64>, String> {
        let Some(value) = self.0.get(field) else { return Ok(None) };
        match value.as_f64().filter(|usd| (0.0..=MOST_USD).contains(usd)) {
            // Four digits below a millionth of a dollar hide what binary fractions add.
            Some(usd) => Ok(Some((usd * 1e12).round() / 1e6)),
            None => Err(format!("{field} is not a price in USD per token from 0 to {MOST_USD}")),
        }
    }
}

/// The threshold of a long-context tier in the name of a field, and the words that name it.
fn tier(field: &str) -> Option<(u64, &str)> {
    let (_, words) = field.split_once("_cost_per_token_").or_else(|| field.split_once("_token_cost_"))?;
    let thousands = words.strip_prefix("above_")?.strip_suffix("k_tokens")?;
    Some((thousands.parse::<u64>().ok()?.checked_mul(1000)?, words))
}

/// Whether it is a model of OpenAI's by its name: `gpt-…` and the numbered `o…`.
fn is_openai_name(name: &str) -> bool {
    let name = name.rsplit("openai.").next().unwrap_or(name);
    let is_numbered =
        name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    is_numbered || (name.starts_with("gpt-") && !name.starts_with("gpt-oss"))
}

/// Whether it is `gpt-5.4` or a later one.
fn is_gpt_from_5_4(name: &str) -> bool {
    let Some(version) = name.strip_prefix("gpt-") else { return false };
    let version = version.split('-').next().unwrap_or_default();
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    matches!((major.parse::<u32>(), minor.parse::<u32>()), (Ok(major), Ok(minor)) if (major, minor) >= (5, 4))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn facts(name: &str, fields: Value) -> Result<ModelFacts, String> {
        let mut facts = ModelFacts::assumed(true);
        Entry::of(fields.as_object().unwrap()).complete().apply(name, &mut facts).map(|()| facts)
    }

    #[test]
    fn prices_are_read_with_their_cache_and_their_long_tier() {
        let found = facts(
            "m",
            json!({
                "input_cost_per_token": 2.5e-6, "output_cost_per_token": 1.5e-5,
                "cache_read_input_token_cost": 2.5e-7, "cache_creation_input_token_cost": 3.125e-6,
                "input_cost_per_token_above_272k_tokens": 5e-6, "output_cost_per_token_above_272k_tokens": 2.25e-5,
                "input_cost_per_token_above_272k_tokens_batches": 1e-6, "input_cost_per_token_flex": 1e-6,
            }),
        );
        let price = found.unwrap().price.unwrap();
        assert_eq!((price.input, price.output), (2.5, 15.0));
        assert_eq!((price.cached_input, price.cache_write), (Some(0.25), Some(3.125)));
        let long = price.long.unwrap();
        assert_eq!((long.above, long.input, long.output), (272_000, 5.0, 22.5));
        assert_eq!((long.cached_input, long.cache_write), (Some(0.25), Some(3.125)));
    }

    #[test]
    fn speech_costs_by_the_second_or_by_the_token() {
        let check = |fields: Value, expected: Option<(f64, f64)>| {
            let price = Entry::of(fields.as_object().unwrap()).speech_price().unwrap();
            assert_eq!(price.map(|price| (price.input, price.output)), expected, "{fields}");
        };
        // Six tenths of a cent for a minute, which is 600 tokens.
        let minute = json!({"input_cost_per_second": 0.0001, "output_cost_per_second": 0.0001});
        check(minute, Some((10.0, 0.0)));
        check(json!({"input_cost_per_second": 0.0, "output_cost_per_second": 0.0001}), Some((10.0, 0.0)));
        let tokens = json!({"input_cost_per_audio_token": 3e-6, "input_cost_per_token": 1.25e-6,
            "output_cost_per_token": 5e-6});
        check(tokens.clone(), Some((3.0, 5.0)));
        let mut both = tokens;
        both["input_cost_per_second"] = json!(0.000_030_83);
        check(both, Some((3.083, 0.0)));
        check(json!({"input_cost_per_audio_token": 3e-6}), None);
        check(json!({"max_input_tokens": 1000}), None);
        let wrong = json!({"input_cost_per_second": 1});
        assert!(Entry::of(wrong.as_object().unwrap()).speech_price().unwrap_err().contains("per_second"));
    }

    #[test]
    fn the_words_for_effort_are_those_that_the_vendor_takes() {
        let check = |name: &str, fields: Value, expected: &str| {
            let words: Vec<_> =
                facts(name, fields).unwrap().efforts.words().map(EffortWord::as_str).collect();
            assert_eq!(words.join(" "), expected, "{name}");
        };
        let reasons = || json!({"supports_reasoning": true});
        check("gpt-4.1", json!({}), "");
        check("o3", reasons(), "low medium high");
        check(
            "gpt-6-sol",
            json!({"supports_reasoning": true, "supports_none_reasoning_effort": true,
                "supports_xhigh_reasoning_effort": true, "supports_minimal_reasoning_effort": false}),
            "none low medium high xhigh",
        );
        check(
            "gpt-5.5-pro",
            json!({"supports_reasoning": true, "supports_low_reasoning_effort": false}),
            "medium high",
        );
        check("claude-sonnet-4-5", reasons(), "");
        check(
            "anthropic.claude-opus-5",
            json!({"supports_reasoning": true, "supports_output_config": true, "supports_max_reasoning_effort": true,
                "supports_xhigh_reasoning_effort": true, "bedrock_output_config_effort_ceiling": "xhigh"}),
            "low medium high xhigh",
        );
        check("gemini-2.5-flash", reasons(), "");
        check("gemini-3.1-pro-preview", reasons(), "low medium high");
        check("gemini-flash-latest", reasons(), "minimal low medium high");
        check(
            "mistral-small-latest",
            json!({"supports_reasoning": true, "reasoning_effort_levels": ["none", "high"]}),
            "none high",
        );
        check("deepseek-v4-pro", reasons(), "");
    }

    #[test]
    fn tools_need_responses_from_gpt_5_4_on() {
        let check = |name: &str, fields: Value, expected| {
            assert_eq!(facts(name, fields).unwrap().tools_need_responses, expected, "{name}");
        };
        let reasons = || json!({"supports_reasoning": true});
        check("gpt-5", reasons(), false);
        check("gpt-5.3-codex", reasons(), false);
        check("gpt-5.4-mini", reasons(), true);
        check("gpt-6-sol", reasons(), true);
        check("gpt-10.1", reasons(), true);
        check("gpt-oss-120b", reasons(), false);
        check("o3-pro", json!({"mode": "responses"}), true);
        check("claude-7", reasons(), false);
    }

    #[test]
    fn what_no_model_has_is_refused_with_the_field() {
        let check = |fields: Value, field: &str| {
            let refusal = facts("m", fields.clone()).unwrap_err();
            assert!(refusal.contains(field), "{fields}: {refusal}");
        };
        check(json!({"input_cost_per_token": -1e-6, "output_cost_per_token": 0}), "input_cost_per_token");
        check(json!({"input_cost_per_token": 1e-6, "output_cost_per_token": 1e308}), "output_cost_per_token");
        check(json!({"input_cost_per_token": "free"}), "input_cost_per_token");
        check(json!({"output_cost_per_token": 1e308}), "output_cost_per_token");
        check(
            json!({"input_cost_per_token_above_200k_tokens": -1}),
            "input_cost_per_token_above_200k_tokens",
        );
        check(json!({"max_input_tokens": -1}), "max_input_tokens");
        check(json!({"max_input_tokens": 1e300}), "max_input_tokens");
        check(json!({"max_output_tokens": 0.5}), "max_output_tokens");
        check(json!({"supports_vision": "yes"}), "supports_vision");
        check(json!({"deprecation_date": "soon"}), "deprecation_date");
        check(json!({"reasoning_effort_levels": ["lots"]}), "reasoning_effort_levels");
    }

    #[test]
    fn an_entry_says_as_much_as_it_wants() {
        let mut facts = ModelFacts::assumed(true);
        let before = facts;
        Entry::of(json!({"max_input_tokens": 50_000}).as_object().unwrap()).apply("m", &mut facts).unwrap();
        assert_eq!(facts, ModelFacts { context_window: 50_000, ..before });
    }
}
