//! Checks what types cannot express: ranges, addresses, and keys that depend on each other.
//!
//! Checks that depend on the machine (a port in use, Docker not answering, a public bind without a token) belong to the facade;
//! here the configuration is judged on its own.

mod address;
mod backup;
mod channels;
mod entries;
mod household;
mod storage;
mod tool_names;
mod tools;

use crate::header_values;
use crate::limits::LIMITS;
use crate::mask;
use crate::path::{KeyPath, Step};
use crate::remark::{Remark, Remarks};
use crate::schema::{Config, Fallback, Model};

/// Checks the whole configuration.
pub(crate) fn check(config: &Config) -> Vec<Remark> {
    let mut remarks = Remarks::default();
    ranges(config, &mut remarks);
    model(&KeyPath::of(["model"]), &config.model, &mut remarks);
    fallbacks(&KeyPath::of(["model", "fallbacks"]), &config.model.fallbacks, &mut remarks);
    for (name, named) in &config.model.named {
        let key = KeyPath::of(["model", "named", name]);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
            remarks.problem(
                key.clone(),
                "a name that nobody could type",
                "1 to 64 letters, digits, `-`, `_` and `.`",
            );
        }
        if name == "default" {
            remarks.problem(key.clone(), "the word for the configured model", "another name");
        }
        if !named.model.named.is_empty() {
            remarks.problem(key.key("named"), "named models of a named model", "one list, in [model]");
        }
        model(&key, &named.model, &mut remarks);
        if named.sets("fallbacks") {
            fallbacks(&key.key("fallbacks"), &named.model.fallbacks, &mut remarks);
        }
    }
    let embedding = &config.memory.embedding;
    let key = KeyPath::of(["memory", "embedding"]);
    address::model_host(&key, &embedding.host, embedding.allow_http, &mut remarks);
    let spoken = &config.transcription;
    address::model_host(&KeyPath::of(["transcription"]), &spoken.host, spoken.allow_http, &mut remarks);
    let collector = config.telemetry.otlp_endpoint.trim();
    if !collector.is_empty() {
        address::service(KeyPath::of(["telemetry", "otlp_endpoint"]), collector, &mut remarks);
    }
    backup::check(config, &mut remarks);
    storage::check(config, &mut remarks);
    channels::check(config, &mut remarks);
    entries::check(config, &mut remarks);
    household::check(config, &mut remarks);
    tool_names::check(config, &mut remarks);
    tools::check(config, &mut remarks);
    remarks.0
}

fn fallbacks(list: &KeyPath, fallbacks: &[Fallback], remarks: &mut Remarks) {
    for (index, fallback) in fallbacks.iter().enumerate() {
        let key = list.clone().join(Step::Index(index));
        match fallback {
            Fallback::ModelId(id) if id.trim().is_empty() => remarks.problem(key, "nothing", "a model id"),
            Fallback::ModelId(_) => {}
            Fallback::Model(fallback) if !fallback.fallbacks.is_empty() => {
                remarks.problem(key.key("fallbacks"), "fallbacks of a fallback", "one list, in [model]");
            }
            Fallback::Model(fallback) => model(&key, fallback, remarks),
        }
    }
}

fn model(key: &KeyPath, model: &Model, remarks: &mut Remarks) {
    for name in model.headers.keys() {
        let key = key.key("headers").key(name);
        if header_values::is_reserved(name) {
            remarks.problem(key, "a header that belongs to the connection", "any other header");
        } else if !header_values::is_name(name) {
            remarks.problem(key, "a name that no header can have", "letters, digits and `-`");
        }
    }
    address::model_host(key, &model.host, model.allow_http, remarks);
    service_tier(key, model, remarks);
}

/// Checks the word for the service tier. Servers that speak OpenAI's dialect have words of their own.
fn service_tier(key: &KeyPath, model: &Model, remarks: &mut Remarks) {
    let (tier, tiers) = (model.service_tier.trim(), model.provider.service_tiers());
    let has_own_words = model.provider.has_compatible_servers() && !model.host.trim().is_empty();
    if tier.is_empty() || has_own_words || tiers.contains(&tier) {
        return;
    }
    let allowed = match tiers {
        [] => format!("no word, because {} has no service tiers", model.provider.title()),
        tiers => format!("one of {}", tiers.join(", ")),
    };
    remarks.problem(key.key("service_tier"), tier, allowed);
}

fn ranges(config: &Config, remarks: &mut Remarks) {
    let whole = mask::to_value(config);
    for (name, range) in LIMITS {
        let path = KeyPath::of(name.split('.'));
        let mut places = vec![(path.clone(), path.find(&whole))];
        // A fallback and a named model have the keys of [model] and their ranges.
        if let Some(inner) = name.strip_prefix("model.") {
            for (index, fallback) in whole["model"]["fallbacks"].as_array().into_iter().flatten().enumerate()
            {
                let key = KeyPath::of(["model", "fallbacks"]).join(Step::Index(index)).key(inner);
                places.push((key, fallback.get(inner)));
            }
            for (named, table) in whole["model"]["named"].as_object().into_iter().flatten() {
                places.push((KeyPath::of(["model", "named", named]).key(inner), table.get(inner)));
            }
        }
        for (key, value) in places {
            if let Some(number) = value.and_then(serde_json::Value::as_f64)
                && !range.contains(number)
            {
                remarks.problem(key, number.to_string(), format!("a number {range}"));
            }
        }
    }
}
