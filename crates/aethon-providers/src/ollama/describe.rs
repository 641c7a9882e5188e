//! What Ollama says about a model, and the context window that it is asked to give it.
//!
//! `/api/show` states what the model is made for and its abilities. Ollama itself gives most models far less and cuts
//! what is longer without a word, so every request names the window (`num_ctx`). It depends only on the model, the owner's
//! settings and earlier refusals, because Ollama loads a model anew for each other value. `/api/ps` states the window of a
//! loaded model, which is the best guess where nothing else is said. Formats: Ollama's `docs/api.md`.

use aethon_core::model::{Capabilities, SelfReport, WindowSource};
use serde_json::Value;

use crate::capabilities::OLLAMA_WINDOW;
use crate::learned::Description;

/// The window asked for if the model can take it. More is slow and takes much memory, and few conversations need it.
const USUAL_WINDOW: u64 = 32_768;
/// The memory that the context of any model may take, in bytes. A larger model may take as much again as its weights.
const CONTEXT_BYTES: f64 = 8.0 * (1u64 << 30) as f64;

/// Reads the response of `/api/show`.
pub(super) fn description(shown: &Value, known: &Capabilities) -> Description {
    let longest = made_for(shown);
    let set = set_window(shown);
    let usual =
        || longest.is_some().then(|| affordable(shown).map_or(USUAL_WINDOW, |most| most.min(USUAL_WINDOW)));
    // A smaller window that was learnt is all that the machine had memory for. Ollama's own is too small to be that.
    let learnt = known.window.source == WindowSource::Learnt && known.context_window > OLLAMA_WINDOW;
    let most = if learnt { known.context_window } else { u64::MAX };
    let context_window = set.or_else(usual).map(|window| window.min(most).min(longest.unwrap_or(u64::MAX)));
    let ability = |name: &str| {
        let abilities = shown.get("capabilities")?.as_array()?;
        Some(abilities.iter().any(|ability| ability.as_str() == Some(name)))
    };
    let report = SelfReport {
        context_window,
        longest_window: longest,
        images: ability("vision"),
        tools: ability("tools"),
        ..SelfReport::default()
    };
    Description { report, is_open: context_window.is_none() }
}

/// Adds what `/api/ps` says about a loaded model, for servers that say nothing else.
pub(super) fn running(description: &mut Description, list: &Value, model: &str) {
    description.report.context_window = entry(list, model)
        .and_then(|entry| entry.get("context_length")?.as_u64())
        .filter(|window| *window > 0);
}

/// Returns a model's entry in a list of models. A name without a tag means the tag `latest`.
pub(super) fn entry<'a>(list: &'a Value, model: &str) -> Option<&'a Value> {
    let is_it = |entry: &&Value| {
        let name = entry.get("name").or(entry.get("model")).and_then(Value::as_str).unwrap_or_default();
        name == model || name.strip_suffix(":latest") == Some(model)
    };
    list.get("models")?.as_array()?.iter().find(is_it)
}

/// Reads `num_ctx` from the model's own parameters, which are lines of text.
fn set_window(shown: &Value) -> Option<u64> {
    let parameters = shown.get("parameters")?.as_str()?;
    let set = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok());
    set.filter(|window| *window > 0)
}

/// Reads the context length. The key begins with the architecture: `llama.context_length`.
fn made_for(shown: &Value) -> Option<u64> {
    fact(shown, ".context_length")?.as_u64().filter(|length| *length > 0)
}

fn fact<'a>(shown: &'a Value, ending: &str) -> Option<&'a Value> {
    let facts = shown.get("model_info")?.as_object()?;
    facts.iter().find_map(|(key, value)| key.ends_with(ending).then_some(value))
}

/// Returns how many tokens of context take no more memory than is sensible beside the model itself, if it says enough
/// about its layers.
fn affordable(shown: &Value) -> Option<u64> {
    let number = |ending| fact(shown, ending)?.as_f64().filter(|number| *number > 0.0);
    let layers = number(".block_count")?;
    let heads = fact(shown, ".attention.head_count_kv")?;
    // Some models have another number of heads in each layer.
    let heads = match heads.as_array() {
        Some(each) => each.iter().filter_map(Value::as_f64).sum::<f64>(),
        None => heads.as_f64()? * layers,
    };
    let by_head = || Some(number(".embedding_length")? / number(".attention.head_count")?);
    let key = number(".attention.key_length").or_else(by_head)?;
    let value = number(".attention.value_length").or_else(by_head)?;
    // Models with a sliding window keep the whole context in some layers only.
    let share = if number(".attention.sliding_window").is_some() { 0.5 } else { 1.0 };
    let bytes_a_token = heads * (key + value) * 2.0 * share;
    let weights = number("general.parameter_count").unwrap_or(0.0) * bits(shown) / 8.0;
    let tokens = weights.max(CONTEXT_BYTES) / bytes_a_token;
    let is_plausible = tokens.is_finite() && tokens >= 1.0;
    is_plausible.then(|| (tokens.min(1e9) as u64 / 1024 * 1024).max(OLLAMA_WINDOW))
}

/// Returns how many bits a weight takes: the first number in `Q4_K_M`, `F16` or `IQ3_XS`.
fn bits(shown: &Value) -> f64 {
    let level = shown.pointer("/details/quantization_level").and_then(Value::as_str).unwrap_or_default();
    let digits = level.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|bits| (1.0..=64.0).contains(bits)).unwrap_or(4.0)
}

#[cfg(test)]
mod tests {
    use aethon_core::model::WindowFacts;
    use serde_json::json;

    use super::*;

    fn known() -> Capabilities {
        Capabilities::new("ollama", "m").with_sizes(OLLAMA_WINDOW, 4_096)
    }

    #[test]
    fn window_is_what_the_model_takes_up_to_the_usual_one() {
        let check = |shown: Value, expected: Option<u64>, is_open| {
            let found = description(&shown, &known());
            assert_eq!((found.report.context_window, found.is_open), (expected, is_open), "{shown}");
        };
        let made_for = |tokens: u64| json!({"general.architecture": "llama", "llama.context_length": tokens});
        let set = "temperature 0.7\nnum_ctx    16384\n";
        check(json!({"model_info": made_for(131_072)}), Some(32_768), false);
        check(json!({"model_info": made_for(40_960)}), Some(32_768), false);
        check(json!({"model_info": made_for(2_048)}), Some(2_048), false);
        check(json!({"model_info": made_for(131_072), "parameters": set}), Some(16_384), false);
        check(json!({"model_info": made_for(8_192), "parameters": set}), Some(8_192), false);
        check(json!({"model_info": {}, "parameters": set}), Some(16_384), false);
        check(json!({"model_info": made_for(0)}), None, true);
        check(json!({}), None, true);
        check(json!("no"), None, true);
    }

    #[test]
    fn learnt_window_stands_unless_it_is_the_one_ollama_usually_gives() {
        let check = |learnt, expected| {
            let facts = WindowFacts {
                source: WindowSource::Learnt,
                longest: None,
                is_asked_first: true,
                cuts_silently: true,
            };
            let known = known().with_sizes(learnt, 100).with_window(facts);
            let shown = json!({"model_info": {"qwen3.context_length": 40_960}});
            let report = description(&shown, &known).report;
            assert_eq!((report.context_window, report.longest_window), (Some(expected), Some(40_960)));
        };
        check(16_384, 16_384);
        check(4_096, 32_768);
        check(131_072, 32_768);
    }

    #[test]
    fn context_of_a_model_takes_no_more_memory_than_is_sensible() {
        let check = |parameters: f64, layers: u64, heads: Value, quantisation: &str, expected| {
            let shown = json!({
                "details": {"quantization_level": quantisation},
                "model_info": {
                    "general.parameter_count": parameters, "x.context_length": 131_072, "x.block_count": layers,
                    "x.attention.head_count_kv": heads, "x.attention.key_length": 128, "x.attention.value_length": 128,
                },
            });
            assert_eq!(description(&shown, &known()).report.context_window, Some(expected), "{shown}");
        };
        check(8.2e9, 36, json!(8), "Q4_K_M", 32_768);
        check(70e9, 80, json!(8), "Q4_K_M", 32_768);
        check(0.27e9, 18, json!(1), "F16", 32_768);
        check(35e9, 40, json!(64), "Q4_0", 13_312);
        check(35e9, 2, json!([64, 64]), "Q4_0", 32_768);
        check(1e9, 80, json!(64), "Q4_0", 4_096);
        check(1e9, 80, json!(null), "Q4_0", 32_768);
    }

    #[test]
    fn loaded_model_says_its_window_where_nothing_else_does() {
        let check = |list: Value, expected: Option<u64>| {
            let mut found = description(&json!({}), &known());
            running(&mut found, &list, "m");
            assert_eq!((found.report.context_window, found.is_open), (expected, true), "{list}");
        };
        check(json!({"models": [{"name": "x"}, {"name": "m:latest", "context_length": 8192}]}), Some(8_192));
        check(json!({"models": [{"name": "m:latest"}]}), None);
        check(json!({"models": []}), None);
        check(json!([]), None);
    }

    #[test]
    fn abilities_are_known_where_they_are_listed() {
        let check = |shown: Value, expected| {
            let report = description(&shown, &known()).report;
            assert_eq!((report.images, report.tools), expected, "{shown}");
        };
        check(json!({"capabilities": ["completion", "vision"]}), (Some(true), Some(false)));
        check(json!({"capabilities": ["completion", "tools", "thinking"]}), (Some(false), Some(true)));
        check(json!({"model_info": {}}), (None, None));
    }
}
