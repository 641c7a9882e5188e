//! The owner's own models, `HOME/models.json`: an object by model id, in the terms of LiteLLM's table.
//!
//! The text comes from outside, and all of it is validated before any is used: its size, its depth, and every number.
//! Reading and replacing the file is the caller's job.

use std::collections::BTreeMap;

use aethon_core::provider::Provider;
use jiff::civil::Date;
use serde_json::{Map, Value, json};

use super::facts::ModelFacts;
use super::litellm::Entry;
use super::query::{Fit, Query};
use super::{generate, vendor};

/// The maximum size of `models.json` in bytes.
pub const MAX_BYTES: usize = 2 * 1024 * 1024;
/// The maximum size of a table before it is trimmed, in bytes.
pub const MAX_TABLE_BYTES: usize = 32 * 1024 * 1024;

/// One entry of the file.
#[derive(Debug, Clone)]
pub(super) struct OwnModel {
    /// The vendor it belongs to; `None` for every provider.
    pub(super) vendor: Option<String>,
    pub(super) name: String,
    pub(super) entry: Entry,
}

/// Parses all entries, ordered by id.
pub(super) fn read(text: &str) -> Result<Vec<OwnModel>, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    object(text)?.iter().filter(|(id, _)| *id != ABOUT).map(|(id, fields)| model(id, fields)).collect()
}

/// The entry that a table of LiteLLM has to describe itself, where an installed file says when that was.
const ABOUT: &str = "sample_spec";
const INSTALLED_ON: &str = "installed_on";

/// Returns the day on which this file was installed, if it says so.
pub(super) fn installed_on(text: &str) -> Option<Date> {
    object(text).ok()?.get(ABOUT)?.get(INSTALLED_ON)?.as_str()?.parse().ok()
}

fn object(text: &str) -> Result<BTreeMap<String, Map<String, Value>>, String> {
    serde_json::from_str(text).map_err(|error| format!("it is not a JSON object of models: {error}"))
}

fn model(id: &str, fields: &Map<String, Value>) -> Result<OwnModel, String> {
    let entry = Entry::of(fields);
    let (vendor, name) = split(id, &entry);
    let model = OwnModel { vendor, name, entry };
    let checked = model.over(ModelFacts::assumed(true)).and_then(|_| model.entry.speech_price());
    checked.map_err(|fault| format!("the model {id:?} is wrong: {fault}"))?;
    Ok(model)
}

/// Splits an id into vendor and name. `MODEL` alone applies to every vendor, unless the entry names one.
fn split(id: &str, entry: &Entry) -> (Option<String>, String) {
    let known = |word: &str| {
        let provider = Provider::from_name(word).map(Provider::name);
        vendor::of_litellm(word).or(provider).map(str::to_owned)
    };
    if let Some((first, rest)) = id.split_once('/')
        && let Some(vendor) = known(first)
    {
        return (Some(vendor), rest.to_owned());
    }
    (entry.provider().and_then(known), id.to_owned())
}

impl OwnModel {
    /// Returns the facts with the entry applied.
    pub(super) fn over(&self, mut facts: ModelFacts) -> Result<ModelFacts, String> {
        self.entry.apply(&self.name.to_ascii_lowercase(), &mut facts)?;
        facts.is_known = true;
        Ok(facts)
    }

    /// Returns how well it matches.
    pub(super) fn fit(&self, query: &Query) -> Option<Fit> {
        query.fit(self.vendor.as_deref(), &self.name)
    }
}

/// Trims one of LiteLLM's tables, or a file in its format, to what Aethon reads, and notes the day in it.
///
/// # Errors
///
/// A sentence for the owner that names the fault.
pub fn trim_models(text: &str, today: Date) -> Result<String, String> {
    if text.len() > MAX_TABLE_BYTES {
        return Err(format!("it has more than {MAX_TABLE_BYTES} bytes"));
    }
    let mut kept = Map::new();
    for (id, fields) in object(text)?.iter().filter(|(id, _)| *id != ABOUT) {
        // Entries without a provider are the owner's own, and omitted abilities stay unstated.
        let entry = match fields.contains_key("litellm_provider") {
            true => generate::wanted(id, fields).map(|(_, entry)| entry.complete()),
            false => Some(Entry::of(fields)),
        };
        let Some(entry) = entry else { continue };
        model(id, fields)?;
        kept.insert(id.clone(), entry.into_fields().into());
    }
    if kept.is_empty() {
        return Err("it names no model that Aethon can be asked for".to_owned());
    }
    let about = format!("{}: {}", Value::from(ABOUT), json!({ INSTALLED_ON: today.to_string() }));
    let rows = kept.iter().map(|(id, fields)| format!("{}: {fields}", Value::from(id.as_str())));
    let rows: Vec<String> = std::iter::once(about).chain(rows).collect();
    let trimmed = format!("{{\n{}\n}}\n", rows.join(",\n"));
    if trimmed.len() > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes of models that Aethon can be asked for"));
    }
    Ok(trimmed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: Date = jiff::civil::date(2026, 11, 27);

    #[test]
    fn a_file_that_is_broken_hostile_or_huge_is_refused() {
        let check = |text: &str, words: &str| {
            let refusal = read(text).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
            assert!(trim_models(text, TODAY).is_err(), "{words}");
        };
        check("", "not a JSON object");
        check("[]", "not a JSON object");
        check("{\"m\": 5}", "not a JSON object");
        check("{\"m\": {\"max_tokens\": NaN}}", "not a JSON object");
        check("{\"m\": {\"max_tokens\": 1e999}}", "not a JSON object");
        check("{\"m\": {\"max_tokens\": -5}}", "\"m\" is wrong: max_tokens");
        check("{\"m\": {\"input_cost_per_token\": 1e308}}", "\"m\" is wrong: input_cost_per_token");
        check(
            &format!("{{\"m\": {{\"x\": {}1{}}}}}", "[".repeat(5000), "]".repeat(5000)),
            "not a JSON object",
        );
        let huge = format!("{{\"m\": {{\"x\": \"{}\"}}}}", "a".repeat(MAX_BYTES));
        assert!(read(&huge).unwrap_err().contains("bytes"));
    }

    #[test]
    fn a_whole_table_is_trimmed_and_what_is_left_can_be_read() {
        let table = r#"{"sample_spec": {"litellm_provider": "one of", "max_tokens": "LEGACY"},
            "m": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 1000, "source": "x"},
            "painter": {"litellm_provider": "openai", "mode": "image_generation", "max_input_tokens": 1000},
            "elsewhere": {"litellm_provider": "sagemaker", "mode": "chat", "max_input_tokens": 1000},
            "mine": {"max_input_tokens": 500}}"#;
        let trimmed = trim_models(table, TODAY).unwrap();
        assert_eq!(installed_on(&trimmed), Some(TODAY));
        let models = read(&trimmed).unwrap();
        let names: Vec<_> =
            models.iter().map(|model| (model.vendor.as_deref(), model.name.as_str())).collect();
        assert_eq!(names, [(Some("openai"), "m"), (None, "mine")]);
        assert!(!trimmed.contains("source"));
        let facts = |at: usize| models[at].over(ModelFacts::assumed(true)).unwrap();
        assert!(!facts(0).images && facts(1).images, "a table means what it leaves out, an owner does not");
        assert_eq!(trim_models(&trimmed, TODAY).unwrap(), trimmed, "what is trimmed stays as it is");
        assert!(trim_models("{}", TODAY).unwrap_err().contains("no model"));
    }
}
