//! Builds the meter from `[budget]`: the spending limits, and the prices, of which the owner's win over known ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use aethon_agent::{Meter, Prices};
use aethon_config::Config;
use aethon_config::schema::{Budget, Price as Said, Unpriced};
use aethon_core::clock::Clock;
use aethon_core::event::EventBus;
use aethon_core::ledger::{Ledger, Price};
use aethon_core::provider::Provider;
use aethon_core::transcribe::TOKENS_A_SECOND;
use aethon_core::usage;
use aethon_providers::Catalog;

/// The meter that pays for every call of the assistant.
pub(crate) fn meter(
    budget: &Budget,
    prices: Prices,
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    bus: EventBus,
) -> Meter {
    Meter::new(ledger, prices, limits(budget), clock, bus)
}

/// The daily spending limits.
pub(crate) fn limits(budget: &Budget) -> usage::Budget {
    usage::Budget {
        daily_usd: budget.daily_usd,
        warn_ratio: budget.warn_ratio,
        allows_unpriced: budget.unpriced == Unpriced::Allow,
    }
}

/// Prices in order of precedence: the owner's, the service's, the table's. The table's price depends on the address, which
/// is that of the configured model of the same provider.
pub(crate) fn prices(config: &Config, catalog: &Catalog) -> Prices {
    let (catalog, said) = (catalog.clone(), config.budget.pricing.clone());
    let models = config.model.all();
    Arc::new(move |provider: &str, name: &str, told: Option<Price>| {
        let listed = || {
            let provider = Provider::from_name(provider)?;
            let of_provider = || models.iter().filter(|model| model.provider == provider);
            let model = of_provider().find(|model| model.model_id == name).or_else(|| of_provider().next());
            let host = model.map_or("", |model| model.host.as_str());
            let tier = model.map_or("", |model| model.service_tier.trim());
            let facts = catalog.facts(provider, name, host);
            facts.price.map(|price| price.times(facts.service.tiers.of(tier)))
        };
        of_owner(&said, name).or(told).or_else(listed)
    })
}

/// The owner's price of a model. Services answer with the dated name of the model requested.
fn of_owner(said: &BTreeMap<String, Said>, name: &str) -> Option<Price> {
    let is_meant = |key: &str| {
        let rest = name.strip_prefix(key)?;
        let dated = rest
            .strip_prefix(['-', '@', ':'])
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        (rest.is_empty() || dated).then_some(key.len())
    };
    let (_, price) = said
        .iter()
        .filter_map(|(key, price)| Some((is_meant(key)?, price)))
        .max_by_key(|(length, _)| *length)?;
    if let Some(minute) = price.minute {
        return Some(Price::new(minute / (60 * TOKENS_A_SECOND) as f64 * 1e6, 0.0));
    }
    let cached = Price::new(price.input, price.output).with_cached_input(price.cached_input);
    Some(cached.with_cache_write(price.cache_write))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_is_that_of_the_service_tier() {
        let price = |tier: &str| {
            let mut config = Config::default();
            (config.model.provider, config.model.model_id) = (Provider::OpenAi, "gpt-5.2".into());
            config.model.service_tier = tier.into();
            prices(&config, &Catalog::built_in())("openai", "gpt-5.2", None).unwrap()
        };
        let usual = price("");
        assert!((price("flex").output - usual.output / 2.0).abs() < 1e-9);
        assert!((price("priority").input - usual.input * 2.0).abs() < 1e-9);
        assert_eq!(price("default"), usual);
        assert_eq!(price("flex").search, Some(0.01), "a search costs the same");
    }

    #[test]
    fn prices_of_the_owner_precede_the_table() {
        let mut config = Config::default();
        config.budget.pricing.insert("gpt-5".into(), Said { input: 7.0, output: 8.0, ..Said::default() });
        let prices = prices(&config, &Catalog::built_in());
        let input = |provider: &str, model: &str| prices(provider, model, None).map(|price| price.input);
        assert_eq!(input("openai", "gpt-5"), Some(7.0));
        assert_eq!(input("openai", "gpt-5-2025-08-07"), Some(7.0));
        assert_ne!(input("openai", "gpt-5-mini"), Some(7.0));
        assert!(input("openai", "gpt-5-mini").is_some());
        assert_eq!(input("openai", "unheard-of"), None);
        assert_eq!(input("nobody", "unheard-of"), None);
        let told = |model: &str| prices("openai", model, Some(Price::new(3.0, 4.0))).map(|price| price.input);
        assert_eq!(
            (told("gpt-5"), told("gpt-5-mini"), told("unheard-of")),
            (Some(7.0), Some(3.0), Some(3.0))
        );
    }
}
