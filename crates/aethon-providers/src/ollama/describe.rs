//! What Ollama says about a model. `/api/ps` states the context window of a loaded model, which depends on the
//! machine and on how the server was started; `/api/show` states the model's design and abilities. Formats:
//! Ollama's `docs/api.md`.

use aethon_core::model::SelfReport;
use serde_json::Value;

use crate::learned::Description;

/// Combines the two responses. The design of a model is only an upper bound, because servers usually allow less.
pub(super) fn description(model: &str, running: &Value, shown: &Value, known_window: u64) -> Description {
    let loaded = entry(running, model);
    let in_force =
        loaded.and_then(|entry| entry.get("context_length")?.as_u64()).or_else(|| set_window(shown));
    let context_window = in_force.or_else(|| Some(made_for(shown)?.min(known_window)));
    let ability = |name: &str| {
        let abilities = shown.get("capabilities")?.as_array()?;
        Some(abilities.iter().any(|ability| ability.as_str() == Some(name)))
    };
    Description {
        report: SelfReport {
            context_window,
            images: ability("vision"),
            tools: ability("tools"),
            ..SelfReport::default()
        },
        is_open: in_force.is_none() && loaded.is_none(),
    }
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
    parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok())
}

/// Reads the context length. The key begins with the architecture: `llama.context_length`.
fn made_for(shown: &Value) -> Option<u64> {
    let facts = shown.get("model_info")?.as_object()?;
    facts.iter().find_map(|(key, value)| key.ends_with(".context_length").then(|| value.as_u64())?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_running_context_overrides_the_designed_one() {
        let check = |running: Value, shown: Value, expected, is_open| {
            let found = description("m", &running, &shown, 32_768);
            assert_eq!(
                (found.report.context_window, found.is_open),
                (expected, is_open),
                "{running} {shown}"
            );
        };
        let loaded = json!({"models": [{"name": "x"}, {"name": "m:latest", "context_length": 4096}]});
        let old = json!({"models": [{"name": "m:latest"}]});
        let idle = json!({"models": []});
        let shown = json!({"model_info": {"general.architecture": "llama", "llama.context_length": 131_072}});
        let small = json!({"model_info": {"llama.context_length": 8192}});
        let set = json!({"parameters": "temperature 0.7\nnum_ctx    16384\n", "model_info": {}});
        check(loaded.clone(), shown.clone(), Some(4_096), false);
        check(loaded, set.clone(), Some(4_096), false);
        check(idle.clone(), set, Some(16_384), false);
        check(idle.clone(), shown.clone(), Some(32_768), true);
        check(idle.clone(), small, Some(8_192), true);
        check(old, shown, Some(32_768), false);
        check(idle, json!({}), None, true);
        check(json!([]), json!("no"), None, true);
    }

    #[test]
    fn abilities_are_known_where_they_are_listed() {
        let check = |shown: Value, expected| {
            let report = description("m", &json!({}), &shown, 1).report;
            assert_eq!((report.images, report.tools), expected, "{shown}");
        };
        check(json!({"capabilities": ["completion", "vision"]}), (Some(true), Some(false)));
        check(json!({"capabilities": ["completion", "tools", "thinking"]}), (Some(false), Some(true)));
        check(json!({"model_info": {}}), (None, None));
    }
}
