//! One model in the terms of LiteLLM's table, from which the built-in catalogue is generated and in which
//! `HOME/models.json` is written.
//!
//! An entry may be partial; omitted fields keep their value. Impossible numbers (negative, infinite, absurd) are
//! refused with the name of the field, because the budget would believe a wrong price. A few facts that the table
//! does not state are derived here, each with the reason.

use aethon_core::ledger::{LongPrice, Price};
use aethon_core::model::SelfReport;
use aethon_core::transcribe::TOKENS_A_SECOND;
use serde_json::{Map, Value};

use super::facts::{EffortWord, Efforts, ModelFacts, PromptCaching};

/// No model accepts more tokens.
const MAX_TOKENS: f64 = 100_000_000.0;
/// No model costs more per token, in USD.
const MAX_USD: f64 = 0.01;

/// No web search costs more, in USD.
const MAX_SEARCH_USD: f64 = 1.0;

/// Input limits, without the response, of OpenAI's models with 400,000 and 1,050,000 tokens in total.
const OPENAI_INPUT_LIMITS: [u64; 2] = [272_000, 922_000];

/// The fields that are read. Everything else in an entry is ignored.
const FIELDS: &str = "litellm_provider mode max_input_tokens max_output_tokens max_tokens deprecation_date \
    supported_endpoints input_cost_per_token output_cost_per_token cache_read_input_token_cost \
    cache_creation_input_token_cost input_cost_per_audio_token input_cost_per_second \
    output_cost_per_second supports_function_calling supports_vision supports_pdf_input \
    supports_reasoning supports_adaptive_thinking thinking_always_on supports_sampling_params \
    supports_prompt_caching prompt_cache_min_tokens supports_output_config \
    bedrock_output_config_effort_ceiling reasoning_effort_levels supports_none_reasoning_effort \
    supports_minimal_reasoning_effort supports_low_reasoning_effort supports_xhigh_reasoning_effort \
    supports_max_reasoning_effort supports_medium_reasoning_effort supports_web_search \
    search_context_cost_per_query input_cost_per_token_flex output_cost_per_token_flex \
    input_cost_per_token_priority output_cost_per_token_priority";

/// The kinds of models Aethon uses, apart from transcription.
const MODES: [&str; 3] = ["chat", "responses", "embedding"];
/// Transcription. Such a model has its own kind of row and is no chat model.
const SPEECH: &str = "audio_transcription";

/// Abilities that a complete table omits for models that lack them.
const ABILITIES: [&str; 5] = [
    "supports_function_calling",
    "supports_vision",
    "supports_pdf_input",
    "supports_reasoning",
    "supports_web_search",
];

/// One model's entry.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Entry(Map<String, Value>);

impl Entry {
    /// Creates an entry from the fields that are read.
    pub(crate) fn of(fields: &Map<String, Value>) -> Self {
        let is_read = |name: &str| FIELDS.split(' ').any(|field| field == name) || tier(name).is_some();
        let read = fields.iter().filter(|(name, value)| is_read(name) && !value.is_null());
        Self(read.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// Marks abilities that are not mentioned as missing, as a complete table means it.
    pub(super) fn complete(mut self) -> Self {
        for ability in ABILITIES {
            self.0.entry(ability).or_insert(false.into());
        }
        self
    }

    pub(super) fn into_fields(self) -> Map<String, Value> {
        self.0
    }

    /// Returns LiteLLM's name of the provider.
    pub(super) fn provider(&self) -> Option<&str> {
        self.0.get("litellm_provider").and_then(Value::as_str)
    }

    /// Returns whether it is a chat or embedding model; an entry without a mode counts as chat.
    pub(super) fn is_wanted(&self) -> bool {
        self.mode().is_none_or(|mode| MODES.contains(&mode))
    }

    pub(super) fn is_embedder(&self) -> bool {
        self.mode() == Some("embedding")
    }

    /// Returns whether it is a transcription model.
    pub(super) fn is_speech(&self) -> bool {
        self.mode() == Some(SPEECH)
    }

    /// Returns whether it says that the model can call tools.
    pub(super) fn can_call_tools(&self) -> bool {
        self.0.get("supports_function_calling").and_then(Value::as_bool) == Some(true)
    }

    /// Returns whether it states how many tokens the model accepts.
    pub(super) fn has_window(&self) -> bool {
        self.0.contains_key("max_input_tokens") || self.0.contains_key("max_tokens")
    }

    /// Applies the entry to the known facts about the model called `name`. An error names the field.
    pub(super) fn apply(&self, name: &str, facts: &mut ModelFacts) -> Result<(), String> {
        self.apply_sizes(name, facts)?;
        facts.price = self.price(facts.price)?;
        self.apply_tiers(facts)?;
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

    /// Returns the entry's own statements about the model called `name`, without assumptions. An error names the
    /// field.
    pub(crate) fn report(&self, name: &str) -> Result<SelfReport, String> {
        let mut facts = ModelFacts::assumed(true);
        self.apply_sizes(name, &mut facts)?;
        Ok(SelfReport {
            context_window: self.tokens("max_input_tokens")?.map(|_| facts.context_window),
            max_output: self.tokens("max_output_tokens")?.map(|_| facts.max_output),
            images: self.flag("supports_vision")?,
            tools: self.flag("supports_function_calling")?,
            // A proxy writes zeros if it knows no price.
            price: self.price(None)?.filter(|price| !price.is_free()),
            ..SelfReport::default()
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
        // For some of OpenAI's models, the table's limit excludes the response.
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
        set(&mut facts.service.searches_web, "supports_web_search")?;
        if let Some(takes) = self.flag("supports_sampling_params")? {
            facts.refuses_sampling = !takes;
        } else if facts.reasons && is_openai_name(name) {
            // The table says so for only a few, but OpenAI refuses both parameters for every model that reasons.
            facts.refuses_sampling = true;
        }
        if self.mode() == Some("responses") {
            facts.tools_need_responses = true;
        } else if facts.reasons && is_gpt_from_5_4(name) {
            // OpenAI's own host refuses function tools in chat completions for these models; the table does not say
            // so.
            facts.tools_need_responses = true;
        }
        Ok(())
    }

    /// Sets the prices of service tiers. The dearer of input and output decides, so that no tier is booked too low.
    fn apply_tiers(&self, facts: &mut ModelFacts) -> Result<(), String> {
        let factor = |tier: &str| -> Result<Option<f64>, String> {
            let mut most: Option<f64> = None;
            for (field, usual) in [
                ("input_cost_per_token", facts.price.map(|price| price.input)),
                ("output_cost_per_token", facts.price.map(|price| price.output)),
            ] {
                if let Some(usd) = self.usd(&format!("{field}_{tier}"))?
                    && let Some(usual) = usual.filter(|usual| *usual > 0.0)
                {
                    let factor = (usd / usual * 1e4).round() / 1e4;
                    most = Some(most.map_or(factor, |most| most.max(factor)));
                }
            }
            Ok(most)
        };
        let (flex, priority) = (factor("flex")?, factor("priority")?);
        facts.service.tiers.flex = flex.or(facts.service.tiers.flex);
        facts.service.tiers.priority = priority.or(facts.service.tiers.priority);
        Ok(())
    }

    fn apply_caching(&self, name: &str, facts: &mut ModelFacts) -> Result<(), String> {
        let least = self.tokens("prompt_cache_min_tokens")?;
        match self.flag("supports_prompt_caching")? {
            Some(false) => facts.service.prompt_caching = None,
            Some(true) => {
                let before = facts.service.prompt_caching.map_or(0, |caching| caching.least_tokens);
                // On Bedrock, only Claude accepts a cache point after the tools.
                let points_behind_tools = name.contains("claude");
                let least_tokens = least.unwrap_or(before);
                facts.service.prompt_caching = Some(PromptCaching { least_tokens, points_behind_tools });
            }
            None => {
                if let (Some(caching), Some(least)) = (&mut facts.service.prompt_caching, least) {
                    caching.least_tokens = least;
                }
            }
        }
        Ok(())
    }

    /// Returns the effort words, if the entry mentions thinking at all.
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

    /// Returns whether the model accepts `low`, `medium` and `high`, which the table takes for granted where vendors
    /// use such words: OpenAI's reasoning models, Claude with `output_config`, Gemini from version 3 (2.5 takes a
    /// number instead).
    fn takes_usual_words(&self, name: &str) -> Result<bool, String> {
        let is_claude = self.flag("supports_output_config")? == Some(true);
        let is_gemini = name.starts_with("gemini-") && !name.starts_with("gemini-2");
        Ok(is_claude || is_gemini || is_openai_name(name) || name.contains("gpt-oss"))
    }

    /// Returns the known price with the entry applied. Every field is read, so that each is validated.
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
        price.search = self.search_price()?.or(known.and_then(|price| price.search));
        price.long = self.long_price(&price)?.or(known.and_then(|price| price.long));
        Ok(Some(price))
    }

    /// Returns the price of transcription: by time, as the price of [`TOKENS_A_SECOND`], else by tokens. `None` if
    /// the entry has neither. If it has both, the price by time counts, since it covers everything including the
    /// text, whereas the table's price per audio token comes to less and would mislead the budget.
    pub(super) fn speech_price(&self) -> Result<Option<Price>, String> {
        // The table has one price per second, under either name or both.
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

    /// Returns the price of a web search with the usual amount of context, in USD.
    fn search_price(&self) -> Result<Option<f64>, String> {
        let Some(prices) = self.0.get("search_context_cost_per_query") else { return Ok(None) };
        let usual = prices.get("search_context_size_medium").and_then(Value::as_f64);
        match usual.filter(|usd| (0.0..=MAX_SEARCH_USD).contains(usd)) {
            Some(usd) => Ok(Some(usd)),
            None => Err(format!(
                "search_context_cost_per_query has no price from 0 to {MAX_SEARCH_USD} as search_context_size_medium"
            )),
        }
    }

    /// In some entries, zero means that there is no separate price.
    fn cache_write(&self, field: &str) -> Result<Option<f64>, String> {
        Ok(self.usd(field)?.filter(|usd| *usd > 0.0))
    }

    /// Returns the first tier for long requests. Omitted fields cost as much as below the threshold.
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
        let number = value.as_f64().filter(|number| (1.0..=MAX_TOKENS).contains(number));
        // Checked to be positive and far below 2^53, so the conversion is exact.
        let tokens = number.filter(|number| number.fract() == 0.0).map(|number| number as u64);
        match tokens {
            Some(tokens) => Ok(Some(tokens)),
            // In some embedding models' entries, zero means that there is no output.
            None if value.as_f64() == Some(0.0) => Ok(None),
            None => Err(format!("{field} is not a whole number from 1 to {MAX_TOKENS}")),
        }
    }

    /// Converts a price in USD per token to one per million tokens.
    fn usd(&self, field: &str) -> Result<Option<f64>, String> {
        let Some(value) = self.0.get(field) else { return Ok(None) };
        match value.as_f64().filter(|usd| (0.0..=MAX_USD).contains(usd)) {
            // Rounding to a millionth of a dollar per million tokens hides binary rounding errors.
            Some(usd) => Ok(Some((usd * 1e12).round() / 1e6)),
            None => Err(format!("{field} is not a price in USD per token from 0 to {MAX_USD}")),
        }
    }
}

/// Splits the threshold of a long-context tier from the name of a field, with the words that express it.
fn tier(field: &str) -> Option<(u64, &str)> {
    let (_, words) = field.split_once("_cost_per_token_").or_else(|| field.split_once("_token_cost_"))?;
    let thousands = words.strip_prefix("above_")?.strip_suffix("k_tokens")?;
    Some((thousands.parse::<u64>().ok()?.checked_mul(1000)?, words))
}

/// Returns whether the name is one of OpenAI's: `gpt-…` and the numbered `o…`.
fn is_openai_name(name: &str) -> bool {
    let name = name.rsplit("openai.").next().unwrap_or(name);
    let is_numbered =
        name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    is_numbered || (name.starts_with("gpt-") && !name.starts_with("gpt-oss"))
}

/// Returns whether it is `gpt-5.4` or later.
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
        // Six tenths of a cent per minute, which is 600 tokens.
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
    fn impossible_figures_are_refused_with_the_field() {
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
