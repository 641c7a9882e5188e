//! What servers with OpenAI's dialect say about their models. The list of models has no standard field for the
//! context window, so each server uses its own; llama.cpp reveals more at `/props`.

use aethon_core::model::SelfReport;
use serde_json::Value;

use crate::learned::Description;

/// Where vLLM, gateways, LM Studio and others state the context window.
const WINDOWS: [&str; 4] = ["max_model_len", "context_length", "context_window", "max_context_length"];

/// Returns a model's entry in the list. A single entry matches any name.
pub(super) fn entry<'a>(list: &'a Value, model: &str) -> Option<&'a Value> {
    let models = list.get("data")?.as_array()?;
    let named = models.iter().find(|entry| entry.get("id").and_then(Value::as_str) == Some(model));
    named.or_else(|| models.first().filter(|_| models.len() == 1))
}

/// Returns whether the server is llama.cpp's own.
pub(super) fn is_llama_cpp(entry: &Value) -> bool {
    entry.get("owned_by").and_then(Value::as_str) == Some("llamacpp")
}

/// Combines the entry with llama.cpp's properties, if there are any. The training length of a model is only an upper
/// bound.
pub(super) fn description(entry: &Value, properties: Option<&Value>, known_window: u64) -> Description {
    let number = |place: &Value, path: &str| place.pointer(path).and_then(Value::as_u64);
    let listed = || WINDOWS.iter().find_map(|key| entry.get(key)?.as_u64());
    let in_force = properties.and_then(|it| number(it, "/default_generation_settings/n_ctx")).or_else(listed);
    let context_window = in_force.or_else(|| Some(number(entry, "/meta/n_ctx_train")?.min(known_window)));
    let images = properties.and_then(|it| it.pointer("/modalities/vision")?.as_bool());
    let report =
        SelfReport { context_window: context_window.filter(|it| *it > 0), images, ..SelfReport::default() };
    Description { report, is_open: false }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_entry_is_the_named_one_or_the_only_one() {
        let check = |list: Value, expected: Option<&str>| {
            let found = entry(&list, "m").and_then(|entry| entry["id"].as_str());
            assert_eq!(found, expected, "{list}");
        };
        check(json!({"data": [{"id": "a"}, {"id": "m"}]}), Some("m"));
        check(json!({"data": [{"id": "/models/a.gguf"}]}), Some("/models/a.gguf"));
        check(json!({"data": [{"id": "a"}, {"id": "b"}]}), None);
        check(json!({"data": []}), None);
        check(json!({"models": [{"id": "m"}]}), None);
    }

    #[test]
    fn each_server_says_it_in_its_own_way() {
        let check = |entry: Value, properties: Option<Value>, window, images| {
            let report = description(&entry, properties.as_ref(), 32_768).report;
            assert_eq!((report.context_window, report.images), (window, images), "{entry}");
        };
        check(json!({"id": "m", "max_model_len": 16_384}), None, Some(16_384), None);
        check(json!({"id": "m", "context_length": 65_536}), None, Some(65_536), None);
        check(
            json!({"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131_072}}),
            None,
            Some(32_768),
            None,
        );
        check(
            json!({"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131_072}}),
            Some(json!({"default_generation_settings": {"n_ctx": 4096}, "modalities": {"vision": true}})),
            Some(4_096),
            Some(true),
        );
        check(json!({"id": "m", "max_model_len": 0}), None, None, None);
        check(json!({"id": "m"}), None, None, None);
    }
}
