//! Generates `data/models.json` from LiteLLM's complete table, for `cargo xtask catalog`.
//!
//! Rows that a lookup would derive anyway are omitted: a dated name with the same facts as the undated one, or a
//! regional inference profile with the same facts as the model.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::facts::ModelFacts;
use super::line::{BLANK, Row};
use super::litellm::Entry;
use super::{name, vendor};

/// Returns the text of the file. The same table always gives the same bytes.
///
/// # Errors
///
/// A sentence that names the model and the field if the table contains an impossible value.
pub fn built_in_catalog(table: &str) -> Result<String, String> {
    let table: BTreeMap<String, Map<String, Value>> = serde_json::from_str(table)
        .map_err(|error| format!("the table is not a JSON object of models: {error}"))?;
    let (mut models, mut speech) = (BTreeMap::new(), BTreeMap::new());
    for (id, fields) in &table {
        let Some((key, entry)) = wanted(id, fields) else { continue };
        if entry.is_speech() {
            let price = entry.speech_price().map_err(|fault| format!("{id}: {fault}"))?;
            speech.extend(price.map(|price| (key, ModelFacts { price: Some(price), ..BLANK })));
            continue;
        }
        let mut facts = BLANK;
        let name = key.split_once('/').map_or(key.as_str(), |(_, name)| name);
        entry
            .complete()
            .apply(&name.to_ascii_lowercase(), &mut facts)
            .map_err(|fault| format!("{id}: {fault}"))?;
        models.insert(key, facts);
    }
    inherit_ends(&mut models);
    let mut rows = rows(&models, Row::of)?;
    rows.extend(self::rows(&speech, Row::of_speech)?);
    rows.sort();
    Ok(format!("{{\n{}\n}}\n", rows.join(",\n")))
}

/// Returns a line for each model that a lookup could not derive.
fn rows(models: &BTreeMap<String, ModelFacts>, row: fn(&ModelFacts) -> Row) -> Result<Vec<String>, String> {
    let own = models.iter().filter(|(key, facts)| !is_derivable(key, facts, models));
    let line = |(key, facts): (&String, &ModelFacts)| {
        Ok(format!("{}:{}", Value::from(key.as_str()), serde_json::to_string(&row(facts))?))
    };
    own.map(line).collect::<Result<_, serde_json::Error>>().map_err(|error| error.to_string())
}

/// Returns the catalogue id and the entry of a model that Aethon can use.
pub(super) fn wanted(id: &str, fields: &Map<String, Value>) -> Option<(String, Entry)> {
    let entry = Entry::of(fields);
    let vendor = vendor::of_litellm(entry.provider()?)?;
    let has_size = entry.has_window() || entry.is_embedder() || entry.is_speech();
    let name = id
        .split_once('/')
        .filter(|(first, _)| vendor::of_litellm(first).is_some())
        .map_or(id, |(_, name)| name);
    // Fireworks' own models are looked up without `accounts/fireworks/models/`.
    let name = if vendor == "fireworks" { name.rsplit('/').next().unwrap_or(name) } else { name };
    // Prices of single regions and of reserved capacity, and models of others behind an API of Perplexity's own.
    let is_special = matches!(vendor, "bedrock" | "azure" | "perplexity") && name.contains('/');
    // Hundreds of old models that can call no tools would only make the program larger.
    let is_special = is_special || (vendor == "fireworks" && !entry.can_call_tools());
    ((entry.is_wanted() || entry.is_speech()) && has_size && !is_special)
        .then(|| (format!("{vendor}/{name}"), entry))
}

/// An undated name refers to the newest dated one, and retires with it.
fn inherit_ends(models: &mut BTreeMap<String, ModelFacts>) {
    let mut newest: BTreeMap<String, Option<jiff::civil::Date>> = BTreeMap::new();
    for (key, facts) in models.iter() {
        let base = name::undated(key);
        if base.len() < key.len() {
            // Sorted by date, so the last one stays.
            newest.insert(base.to_owned(), facts.retires_on);
        }
    }
    for (base, ends) in newest {
        if let Some(facts) = models.get_mut(&base).filter(|facts| facts.retires_on.is_none()) {
            facts.retires_on = ends;
        }
    }
}

/// Returns whether a lookup of this id finds the same facts in another row.
fn is_derivable(key: &str, facts: &ModelFacts, models: &BTreeMap<String, ModelFacts>) -> bool {
    let Some((vendor, own)) = key.split_once('/') else { return false };
    let others = name::own_names(own).into_iter().skip(1).filter(|(_, has_price)| *has_price);
    let next = others.map(|(other, _)| format!("{vendor}/{other}")).find_map(|other| models.get(&other));
    next == Some(facts)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table() -> Value {
        let model = |provider: &str, more: Value| {
            let mut fields = json!({"litellm_provider": provider, "mode": "chat", "max_input_tokens": 1000,
                "max_output_tokens": 100, "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6,
                "source": "https://example.com", "supports_vision": true});
            fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            fields
        };
        json!({
            "sample_spec": {"litellm_provider": "one of", "max_input_tokens": "max input tokens"},
            "m-2026-01-01": model("openai", json!({"deprecation_date": "2026-12-01"})),
            "m": model("openai", json!({})),
            "n-2026-01-01": model("openai", json!({})),
            "n": model("openai", json!({"max_output_tokens": 200})),
            "anthropic.c": model("bedrock_converse", json!({})),
            "us.anthropic.c": model("bedrock_converse", json!({"input_cost_per_token": 1.1e-6})),
            "eu.anthropic.c": model("bedrock_converse", json!({})),
            "bedrock/us-east-1/anthropic.c": model("bedrock", json!({})),
            "gemini/g": model("gemini", json!({})),
            "painter": model("openai", json!({"mode": "image_generation"})),
            "azure/us/m": model("azure", json!({})),
            "elsewhere": model("sagemaker", json!({})),
            "hearer": {"litellm_provider": "openai", "mode": "audio_transcription", "max_input_tokens": 1000,
                "input_cost_per_second": 0.0001},
            "hearer-2026-01-01": {"litellm_provider": "openai", "mode": "audio_transcription",
                "input_cost_per_second": 0.0001},
            "groq/deaf": {"litellm_provider": "groq", "mode": "audio_transcription"},
            "unsized": {"litellm_provider": "openai", "mode": "chat"},
        })
    }

    #[test]
    fn table_is_trimmed_to_usable_models_and_underived_fields() {
        let text = built_in_catalog(&table().to_string()).unwrap();
        let made: Map<String, Value> = serde_json::from_str(&text).unwrap();
        let keys: Vec<_> = made.keys().map(String::as_str).collect();
        let expected = [
            "bedrock/anthropic.c",
            "bedrock/us.anthropic.c",
            "gemini/g",
            "openai/hearer",
            "openai/m",
            "openai/n",
            "openai/n-2026-01-01",
        ];
        assert_eq!(keys, expected);
        assert_eq!(made["openai/m"]["ends"], "2026-12-01", "the end of the dated one is that of the other");
        assert_eq!(made["bedrock/us.anthropic.c"]["usd"], json!([1.1, 2.0, null, null]));
        assert_eq!(made["openai/hearer"], json!({"speech": true, "usd": [10.0, 0.0, null, null]}));
        assert!(!text.contains("example.com"));
        assert_eq!(built_in_catalog(&table().to_string()).unwrap(), text, "the same bytes again");
    }

    #[test]
    fn a_table_with_what_no_model_has_is_refused() {
        let mut table = table();
        table["m"]["input_cost_per_token"] = json!(-1);
        let refusal = built_in_catalog(&table.to_string()).unwrap_err();
        assert!(refusal.starts_with("m: input_cost_per_token"), "{refusal}");
        assert!(built_in_catalog("[]").is_err());
    }
}
