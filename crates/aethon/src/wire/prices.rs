//! What models cost: what the owner says in `[budget.pricing]`, else what is known.

use std::collections::BTreeMap;
use std::sync::Arc;

use aethon_agent::Prices;
use aethon_config::schema::{Budget, Price as Said};
use aethon_core::ledger::Price;

use super::model;

pub(crate) fn prices(budget: &Budget) -> Prices {
    let said = budget.pricing.clone();
    Arc::new(move |provider: &str, name: &str| {
        let owners = of_owner(&said, name);
        owners.or_else(|| aethon_providers::prices(model::named(provider)?, name))
    })
}

/// The owner's price for a model. Services answer with the dated name of the model that was asked for.
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
    Some(Price { input: price.input, output: price.output, cached_input: price.cached_input })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_knows_better_than_the_table() {
        let mut budget = Budget::default();
        budget.pricing.insert("gpt-5".into(), Said { input: 7.0, output: 8.0, cached_input: None });
        let prices = prices(&budget);
        let input = |provider: &str, model: &str| prices(provider, model).map(|price| price.input);
        assert_eq!(input("openai", "gpt-5"), Some(7.0));
        assert_eq!(input("openai", "gpt-5-2025-08-07"), Some(7.0));
        assert_ne!(input("openai", "gpt-5-mini"), Some(7.0));
        assert!(input("openai", "gpt-5-mini").is_some());
        assert_eq!(input("openai", "unheard-of"), None);
        assert_eq!(input("nobody", "unheard-of"), None);
    }
}
