//! What servers with OpenAI's dialect say about their models. The list of models has no standard field for the
//! context window, so each server uses its own; llama.cpp reveals more at `/props`, and LM Studio at `/api/v0/models`.

use aethon_core::model::SelfReport;
use serde_json::Value;

use crate::learned::Description;

/// Where vLLM, gateways, LM Studio and others state the context window.
const WINDOWS: [&str; 5] =
    ["loaded_context_length", "max_model_len", "context_length", "context_window", "max_context_length"];

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

/// Returns whether the entry states a context window.
pub(super) fn states_window(entry: &Value) -> bool {
    WINDOWS.iter().any(|key| entry.get(key).is_some_and(Value::is_u64))
}

/// Reads the entry of LM Studio's own list. A model that is not loaded gets a window only with the first request.
pub(super) fn of_lm_studio(entry: &Value, known_window: u64) -> Description {
    let number = |key| entry.get(key).and_then(Value::as_u64).filter(|tokens| *tokens > 0);
    let (loaded, longest) = (number("loaded_context_length"), number("max_context_length"));
    let images = entry.get("type").and_then(Value::as_str).map(|kind| kind == "vlm");
    let context_window = loaded.or_else(|| longest.map(|longest| longest.min(known_window)));
    let report = SelfReport { context_window, longest_window: longest, images, ..SelfReport::default() };
    Description { report, is_open: loaded.is_none() }
}

/// Combines the entry with llama.cpp's properties, if there are any. The training length of a model is only an upper
/// bound.
pub(super) fn description(entry: &Value, properties: Option<&Value>, known_window: u64) -> Description {
    let number =
        |place: &Value, path: &str| place.pointer(path).and_then(Value::as_u64).filter(|tokens| *tokens > 0);
    let of_server = |it| {
        number(it, "/default_generation_settings/n_ctx")
            .or_else(|| number(it, "/default_generation_settings/params/n_ctx"))
            .or_else(|| number(it, "/n_ctx"))
    };
    let listed = || WINDOWS.iter().find_map(|key| entry.get(key)?.as_u64()).filter(|tokens| *tokens > 0);
    let loaded = || number(entry, "/meta/n_ctx");
    let in_force = properties.and_then(of_server).or_else(loaded).or_else(listed);
    let longest_window = number(entry, "/meta/n_ctx_train");
    let context_window = in_force.or_else(|| Some(longest_window?.min(known_window)));
    let images = properties.and_then(|it| it.pointer("/modalities/vision")?.as_bool());
    let report = SelfReport { context_window, longest_window, images, ..SelfReport::default() };
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
        check(json!({"id": "m", "meta": {"n_ctx": 2048, "n_ctx_train": 32_768}}), None, Some(2_048), None);
        check(
            json!({"id": "m", "loaded_context_length": 4096, "max_context_length": 32_768}),
            None,
            Some(4_096),
            None,
        );
        check(json!({"id": "m", "max_model_len": 0}), None, None, None);
        check(json!({"id": "m"}), None, None, None);
    }

    #[test]
    fn lm_studio_says_what_is_loaded() {
        let check = |entry: Value, window, images, is_open| {
            let Description { report, is_open: found } = of_lm_studio(&entry, 32_768);
            assert_eq!((report.context_window, report.images, found), (window, images, is_open), "{entry}");
        };
        let loaded = json!({"type": "llm", "state": "loaded", "max_context_length": 131_072,
            "loaded_context_length": 4096});
        check(loaded, Some(4_096), Some(false), false);
        let idle = json!({"type": "vlm", "state": "not-loaded", "max_context_length": 8192});
        check(idle, Some(8_192), Some(true), true);
        check(json!({"type": "llm", "max_context_length": 131_072}), Some(32_768), Some(false), true);
        check(json!({}), None, None, true);
    }
}
