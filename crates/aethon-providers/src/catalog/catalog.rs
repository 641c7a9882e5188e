//! The catalogue: the built-in table, overridden by the owner's own file.

use std::collections::BTreeMap;
use std::sync::Arc;

use aethon_core::ledger::Price;
use aethon_core::provider::Provider;
use jiff::civil::Date;

use super::built_in;
use super::facts::ModelFacts;
use super::own::{self, OwnModel};
use super::query::Query;
use super::vendor;

/// Facts about models. Cheap to clone; a value rather than a global, so that two assistants in one process can
/// differ.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    own: Arc<[OwnModel]>,
    /// The day on which the owner's file was installed; `None` for one that was written by hand.
    own_date: Option<Date>,
}

/// A model in the catalogue.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CatalogModel {
    /// Its vendor: the name of a provider, or of a service behind OpenAI's dialect or a LiteLLM proxy.
    pub vendor: String,
    /// The vendor's id for it.
    pub name: String,
    /// The facts about it.
    pub facts: ModelFacts,
}

impl Catalog {
    /// Creates the built-in catalogue.
    pub fn built_in() -> Self {
        Self::default()
    }

    /// Creates the built-in catalogue, overridden by the models in this text, in the format of `HOME/models.json`.
    ///
    /// # Errors
    ///
    /// A sentence that names the fault of the text, none of which is used then.
    pub fn with_own(text: &str) -> Result<Self, String> {
        let models = own::read(text)?;
        Ok(Self { own: models.into(), own_date: own::installed_on(text) })
    }

    /// Returns the day on which the owner's own file was installed, if it says so.
    pub fn own_date(&self) -> Option<Date> {
        self.own_date
    }

    /// Returns whether the owner's own file was installed before the built-in table was made. The built-in table then
    /// holds for the models that it knows, except for rows that the owner wrote.
    pub fn is_own_outdated(&self) -> bool {
        self.own_date.zip(built_in::made_on()).is_some_and(|(own, made)| own < made)
    }

    /// Returns the number of models in the owner's own file.
    pub fn own_count(&self) -> usize {
        self.own.len()
    }

    /// Returns the models in the owner's own file with their facts, except those that only transcribe.
    pub fn own_models(&self) -> Vec<CatalogModel> {
        let named = |model: &OwnModel| {
            let vendor = model.vendor.clone().unwrap_or_default();
            let provider = Provider::from_name(&vendor).unwrap_or_default();
            CatalogModel { vendor, name: model.name.clone(), facts: self.facts(provider, &model.name, "") }
        };
        self.answering().map(named).collect()
    }

    /// Returns the source of the built-in table: package and version.
    pub fn source() -> &'static str {
        built_in::source()
    }

    /// Returns the day on which the built-in table was made.
    pub fn made_on() -> Option<Date> {
        built_in::made_on()
    }

    /// Returns the known or assumed facts about a model of this provider at this address (empty for the provider's
    /// own).
    pub fn facts(&self, provider: Provider, model: &str, host: &str) -> ModelFacts {
        let is_offline = matches!(provider, Provider::Fake | Provider::Echo);
        let query = Query::of(provider, model, host);
        let row = if is_offline { None } else { built_in::find(&query) };
        let is_listed = row.as_ref().is_some_and(|(fit, _)| !fit.is_distant());
        let found = row.map(|(fit, mut facts)| {
            facts.price = facts.price.filter(|_| !fit.is_other_price);
            facts
        });
        let is_hosted = host.trim().is_empty() && provider != Provider::Ollama;
        let mut facts = found.unwrap_or_else(|| match provider {
            Provider::Fake | Provider::Echo => offline(provider),
            _ => ModelFacts::assumed(is_hosted),
        });
        if is_free(provider) || (vendor::is_router(host) && model.trim().ends_with(":free")) {
            facts.price = Some(Price::FREE);
        }
        let own = self.answering().filter(|model| !(is_listed && self.is_superseded(model)));
        let own = own.filter_map(|model| Some((model.fit(&query)?, model)));
        match own.min_by_key(|(fit, _)| *fit) {
            // Validated when the file was read.
            Some((fit, model)) => model.over(facts).map_or(facts, |said| ModelFacts {
                price: if fit.is_other_price { facts.price } else { said.price },
                ..said
            }),
            None => facts,
        }
    }

    /// Returns the list price of a model, if it applies to the service at this address.
    pub fn price(&self, provider: Provider, model: &str, host: &str) -> Option<Price> {
        self.facts(provider, model, host).price
    }

    /// Returns the price of transcription with a model at this address. One second counts as [`TOKENS_A_SECOND`]
    /// tokens.
    ///
    /// A self-hosted server often uses OpenAI's model name without OpenAI's price. So, unlike the price of chat
    /// models, a built-in price applies only at the vendors' own addresses and behind a LiteLLM proxy.
    ///
    /// [`TOKENS_A_SECOND`]: aethon_core::transcribe::TOKENS_A_SECOND
    pub fn speech_price(&self, provider: Provider, model: &str, host: &str) -> Option<Price> {
        let query = Query::of(provider, model, host);
        let is_listed = built_in::find_speech(&query).is_some();
        let own = self.own.iter().filter(|model| !(is_listed && self.is_superseded(model)));
        let own = own.filter_map(|model| {
            let price = model.entry.speech_price().ok().flatten()?;
            Some((model.fit(&query).filter(|fit| !fit.is_other_price)?, price))
        });
        if let Some((_, price)) = own.min_by_key(|(fit, _)| *fit) {
            return Some(price);
        }
        let is_sold_there = provider == Provider::LiteLlm || vendor::is_known_host(host);
        let (fit, facts) = built_in::find_speech(&query).filter(|_| is_sold_there)?;
        facts.price.filter(|_| !fit.is_other_price)
    }

    /// Returns whether a row gives way to the built-in table: it comes from an older table.
    fn is_superseded(&self, model: &OwnModel) -> bool {
        self.is_own_outdated() && model.entry.provider().is_some()
    }

    /// Returns the owner's rows of chat and embedding models.
    fn answering(&self) -> impl Iterator<Item = &OwnModel> {
        self.own.iter().filter(|model| !model.entry.is_speech())
    }

    /// Returns all chat and embedding models, by vendor and name.
    pub fn models(&self) -> Vec<CatalogModel> {
        let built_in = built_in::lines().filter_map(|line| {
            let (vendor, name) = (line.vendor.to_owned(), line.name.to_owned());
            Some(((vendor, name), line.facts()?))
        });
        let mut models: BTreeMap<(String, String), ModelFacts> = built_in.collect();
        for model in self.answering() {
            let vendors: Vec<String> = match &model.vendor {
                Some(vendor) => vec![vendor.clone()],
                // A row for every vendor overrides each row of that name.
                None => {
                    let named = models.keys().filter(|(_, name)| *name == model.name);
                    let named: Vec<String> = named.map(|(vendor, _)| vendor.clone()).collect();
                    if named.is_empty() { vec![String::new()] } else { named }
                }
            };
            for vendor in vendors {
                if self.is_superseded(model) && models.contains_key(&(vendor.clone(), model.name.clone())) {
                    continue;
                }
                let place = models.entry((vendor, model.name.clone())).or_insert(ModelFacts::assumed(true));
                *place = model.over(*place).unwrap_or(*place);
            }
        }
        models.into_iter().map(|((vendor, name), facts)| CatalogModel { vendor, name, facts }).collect()
    }
}

/// Returns whether a provider's models are free because they run locally.
fn is_free(provider: Provider) -> bool {
    matches!(provider, Provider::Ollama | Provider::Fake | Provider::Echo)
}

/// Returns the facts about the models that are part of the program.
fn offline(provider: Provider) -> ModelFacts {
    let is_fake = provider == Provider::Fake;
    ModelFacts {
        context_window: 200_000,
        max_output: 32_000,
        tools: is_fake,
        images: is_fake,
        is_known: true,
        ..ModelFacts::assumed(true)
    }
}
