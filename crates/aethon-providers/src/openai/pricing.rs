//! The prices that a router states in its list of models: `pricing: {prompt, completion, input_cache_read}`, in USD per
//! token, as texts.

use aethon_core::ledger::Price;
use serde_json::Value;

/// No model costs more per token, in USD.
const MAX_USD: f64 = 0.01;

/// Returns the price in an entry of the list, if there is one. A router whose price depends on the request says -1.
pub(super) fn of(entry: &Value) -> Option<Price> {
    let pricing = entry.get("pricing")?;
    let usd = |key: &str| {
        let stated = pricing.get(key)?;
        let usd = stated.as_f64().or_else(|| stated.as_str()?.trim().parse().ok())?;
        // Per million tokens; rounding hides binary rounding errors.
        (0.0..=MAX_USD).contains(&usd).then(|| (usd * 1e12).round() / 1e6)
    };
    let (input, output) = (usd("prompt")?, usd("completion")?);
    let mut price = Price::new(input, output).with_cached_input(usd("input_cache_read"));
    price.cache_write = usd("input_cache_write").filter(|usd| *usd > 0.0);
    Some(price)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_router_states_its_prices_per_token() {
        let check = |pricing: Value, expected: Option<(f64, f64, Option<f64>)>| {
            let price = of(&json!({"id": "m", "pricing": pricing}));
            assert_eq!(
                price.map(|price| (price.input, price.output, price.cached_input)),
                expected,
                "{pricing}"
            );
        };
        check(json!({"prompt": "0.000003", "completion": "0.000015"}), Some((3.0, 15.0, None)));
        check(
            json!({"prompt": "0.0000001", "completion": 4e-7, "input_cache_read": "0.00000005"}),
            Some((0.1, 0.4, Some(0.05))),
        );
        check(json!({"prompt": "0", "completion": "0"}), Some((0.0, 0.0, None)));
        check(json!({"prompt": "-1", "completion": "-1"}), None);
        check(json!({"prompt": "NaN", "completion": "1"}), None);
        check(json!({"input": 0.5, "output": 1.0}), None);
        check(json!("free"), None);
        assert_eq!(of(&json!({"id": "m"})), None);
    }
}
