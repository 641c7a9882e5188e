//! A LiteLLM proxy's description of a model at `/model/info`: its own table, overridden by the owner's `model_info`.
//! Format: `{data: [{model_name, litellm_params: {model}, model_info: {…}}]}`, where `null` means unknown.

use aethon_core::ledger::Price;
use aethon_core::model::{ModelError, SelfReport};
use serde_json::{Map, Value};

use crate::catalog::LiteLlmEntry;
use crate::classify;
use crate::learned::Description;
use crate::rules::bare_name;
use crate::service::Service;

/// Combines the deployments with the model's name: any of them may respond, so only what all of them can do is
/// certain.
pub(super) fn description(service: &Service, list: &Value) -> Result<Description, ModelError> {
    let deployments = list.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_named = |entry: &&Value| word(entry, "/model_name") == Some(&service.model);
    let mut report = SelfReport::default();
    for deployment in deployments.iter().filter(is_named) {
        let told = told(deployment).map_err(|why| {
            classify::malformed(service, &format!("the proxy's description of the model: {why}"))
        })?;
        report = joined(report, told);
    }
    Ok(Description { report, is_open: false })
}

/// Returns the stated abilities of one deployment. Impossible numbers are refused with the name of the field.
fn told(deployment: &Value) -> Result<SelfReport, String> {
    let name = word(deployment, "/litellm_params/model").unwrap_or_default();
    let none = Map::new();
    let fields = deployment.get("model_info").and_then(Value::as_object).unwrap_or(&none);
    LiteLlmEntry::of(fields).report(bare_name(name))
}

fn joined(one: SelfReport, other: SelfReport) -> SelfReport {
    let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
    let both = |one: Option<bool>, other: Option<bool>| one.into_iter().chain(other).min();
    SelfReport {
        context_window: least(one.context_window, other.context_window),
        max_output: least(one.max_output, other.max_output),
        images: both(one.images, other.images),
        tools: both(one.tools, other.tools),
        price: one.price.into_iter().chain(other.price).reduce(max_price),
        longest_window: least(one.longest_window, other.longest_window),
    }
}

/// Returns a price that covers both.
fn max_price(one: Price, other: Price) -> Price {
    let each = |part: fn(&Price) -> Option<f64>| match (part(&one), part(&other)) {
        (None, None) => None,
        _ => Some(part(&one).unwrap_or(one.input).max(part(&other).unwrap_or(other.input))),
    };
    let mut both = Price::new(one.input.max(other.input), one.output.max(other.output))
        .with_cached_input(each(|price| price.cached_input))
        .with_cache_write(each(|price| price.cache_write));
    both.long = one.long.into_iter().chain(other.long).max_by(|a, b| a.output.total_cmp(&b.output));
    both
}

fn word<'a>(entry: &'a Value, path: &str) -> Option<&'a str> {
    entry.pointer(path)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::endpoint::Endpoint;
    use crate::options::{Options, Provider};

    fn described(list: &Value) -> Result<SelfReport, ModelError> {
        let options =
            Options { host: "http://127.0.0.1:4000".into(), ..Options::new(Provider::LiteLlm, "team") };
        let service = Service::new(&options, Endpoint::of(&options).unwrap());
        description(&service, list).map(|description| description.report)
    }

    fn deployment(name: &str, behind: &str, info: &Value) -> Value {
        json!({"model_name": name, "litellm_params": {"model": behind}, "model_info": info})
    }

    #[test]
    fn the_deployments_of_the_model_are_joined() {
        let check = |deployments: &[Value], window, max_output, images, tools| {
            let expected =
                SelfReport { context_window: window, max_output, images, tools, ..SelfReport::default() };
            assert_eq!(described(&json!({"data": deployments})).unwrap(), expected, "{deployments:?}");
        };
        let large = json!({"id": "x", "max_input_tokens": 200_000, "max_output_tokens": 64_000,
            "supports_vision": true, "supports_function_calling": true, "key": null});
        let small =
            json!({"max_input_tokens": 32_000, "supports_vision": false, "supports_function_calling": null});
        let of = |info: &Value| deployment("team", "anthropic/claude-sonnet-5", info);
        check(&[of(&large)], Some(200_000), Some(64_000), Some(true), Some(true));
        check(&[of(&small)], Some(32_000), None, Some(false), None);
        check(&[of(&large), of(&small)], Some(32_000), Some(64_000), Some(false), Some(true));
        check(&[deployment("other", "openai/gpt-4o", &large)], None, None, None, None);
        check(&[of(&json!({"max_tokens": 4_096, "max_input_tokens": 0}))], None, None, None, None);
        check(&[of(&Value::Null), json!("no")], None, None, None, None);
        // The limit stated for OpenAI's newer models excludes the response.
        let beside = json!({"max_input_tokens": 272_000, "max_output_tokens": 128_000});
        check(&[deployment("team", "openai/gpt-5", &beside)], Some(400_000), Some(128_000), None, None);
        for list in [json!({}), json!([]), json!({"data": {}})] {
            assert_eq!(described(&list).unwrap(), SelfReport::default(), "{list}");
        }
    }

    #[test]
    fn of_several_prices_the_dearest_counts() {
        let price = |infos: &[Value]| {
            let list: Vec<_> = infos.iter().map(|info| deployment("team", "openai/gpt-4o", info)).collect();
            let price = described(&json!({"data": list})).unwrap().price?;
            Some((price.input, price.output, price.cached_input))
        };
        let one = json!({"input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6, "cache_read_input_token_cost": 5e-7});
        let other = json!({"input_cost_per_token": 3e-6, "output_cost_per_token": 6e-6});
        let free = json!({"input_cost_per_token": 0, "output_cost_per_token": 0});
        assert_eq!(price(std::slice::from_ref(&one)), Some((2.0, 8.0, Some(0.5))));
        assert_eq!(price(&[one.clone(), other]), Some((3.0, 8.0, Some(3.0))));
        assert_eq!(price(&[one, free.clone()]), Some((2.0, 8.0, Some(0.5))), "a zero is no price");
        assert_eq!(price(&[free]), None);
        assert!(
            described(&json!({"data": [deployment("team", "", &json!({"input_cost_per_token": -1}))]}))
                .is_err()
        );
    }

    #[test]
    fn impossible_figures_are_refused_with_the_field() {
        for (info, field) in [
            (json!({"max_input_tokens": -1}), "max_input_tokens"),
            (json!({"max_input_tokens": 1e300}), "max_input_tokens"),
            (json!({"max_output_tokens": 0.5}), "max_output_tokens"),
            (json!({"supports_vision": "yes"}), "supports_vision"),
        ] {
            let error = described(&json!({"data": [deployment("team", "", &info)]})).unwrap_err();
            assert!(error.detail().is_some_and(|detail| detail.contains(field)), "{info}: {error:?}");
        }
    }
}
