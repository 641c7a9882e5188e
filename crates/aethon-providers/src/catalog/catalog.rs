//! The catalogue: what is built in, and above it what the owner's own file says.

use std::collections::BTreeMap;
use std::sync::Arc;

use aethon_core::ledger::Price;
use aethon_core::provider::Provider;

use super::built_in;
use super::facts::ModelFacts;
use super::own::{self, OwnModel};
use super::query::Query;
use super::vendor;

/// What is known of models. Cheap to clone; a value and not a global, so that two assistants of one process can differ.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    own: Arc<[OwnModel]>,
}

/// A model of the catalogue.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CatalogModel {
    /// Who sells it: the name of a provider, or of somebody behind OpenAI's dialect or a LiteLLM proxy.
    pub vendor: String,
    /// Its id there.
    pub name: String,
    /// What is known of it.
    pub facts: ModelFacts,
}

impl Catalog {
    /// What is built in.
    pub fn built_in() -> Self {
        Self::default()
    }

    /// What is built in, and above it the models of this text, in the form of `HOME/models.json`.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the text; nothing of it counts then.
    pub fn with_own(text: &str) -> Result<Self, String> {
        own::read(text).map(|models| Self { own: models.into() })
    }

    /// How many models the owner's own file names.
    pub fn own_count(&self) -> usize {
        self.own.len()
    }

    /// The models that the owner's own file names, but for those that only write down speech, with what is known of them.
    pub fn own_models(&self) -> Vec<CatalogModel> {
        let named = |model: &OwnModel| {
            let vendor = model.vendor.clone().unwrap_or_default();
            let provider = Provider::from_name(&vendor).unwrap_or_default();
            CatalogModel { vendor, name: model.name.clone(), facts: self.facts(provider, &model.name, "") }
        };
        self.answering().map(named).collect()
    }

    /// Where the built-in table came from: package and version.
    pub fn source() -> &'static str {
        built_in::SOURCE.trim()
    }

    /// What is known of a model of this provider at this address (empty for the provider's own), or assumed.
    pub fn facts(&self, provider: Provider, model: &str, host: &str) -> ModelFacts {
        let is_offline = matches!(provider, Provider::Fake | Provider::Echo);
        let query = Query::of(provider, model, host);
        let row = if is_offline { None } else { built_in::find(&query) };
        let found = row.map(|(fit, mut facts)| {
            facts.price = facts.price.filter(|_| !fit.is_other_price);
            facts
        });
        let is_hosted = host.trim().is_empty() && provider != Provider::Ollama;
        let mut facts = found.unwrap_or_else(|| match provider {
            Provider::Fake | Provider::Echo => offline(provider),
            _ => ModelFacts::assumed(is_hosted),
        });
        if is_free(provider) {
            facts.price = Some(Price::FREE);
        }
        let own = self.answering().filter_map(|model| Some((model.fit(&query)?, model)));
        match own.min_by_key(|(fit, _)| *fit) {
            // Checked when the file was read.
            Some((fit, model)) => model.over(facts).map_or(facts, |said| ModelFacts {
                price: if fit.is_other_price { facts.price } else { said.price },
                ..said
            }),
            None => facts,
        }
    }

    /// The list price of a model, where it holds for the service at this address.
    pub fn price(&self, provider: Provider, model: &str, host: &str) -> Option<Price> {
        self.facts(provider, model, host).price
    }

    /// What writing down speech costs with a model at this address: a second of it is [`TOKENS_A_SECOND`] tokens.
    ///
    /// A server of one's own often calls its model as OpenAI does, and costs nothing of OpenAI's. So, unlike the price of
    /// answers, a built-in one holds at the vendors' own addresses and behind a LiteLLM proxy only.
    ///
    /// [`TOKENS_A_SECOND`]: aethon_core::transcribe::TOKENS_A_SECOND
    pub fn speech_price(&self, provider: Provider, model: &str, host: &str) -> Option<Price> {
        let query = Query::of(provider, model, host);
        let own = self.own.iter().filter_map(|model| {
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

    /// The owner's rows of models that answer or make vectors.
    fn answering(&self) -> impl Iterator<Item = &OwnModel> {
        self.own.iter().filter(|model| !model.entry.is_speech())
    }

    /// Every model that answers or makes vectors, by vendor and name.
    pub fn models(&self) -> Vec<CatalogModel> {
        let built_in = built_in::lines().filter_map(|line| {
            let (vendor, name) = (line.vendor.to_owned(), line.name.to_owned());
            Some(((vendor, name), line.facts()?))
        });
        let mut models: BTreeMap<(String, String), ModelFacts> = built_in.collect();
        for model in self.answering() {
            let vendors: Vec<String> = match &model.vendor {
                Some(vendor) => vec![vendor.clone()],
                // One that is everybody's stands above each row of its name.
                None => {
                    let named = models.keys().filter(|(_, name)| *name == model.name);
                    let named: Vec<String> = named.map(|(vendor, _)| vendor.clone()).collect();
                    if named.is_empty() { vec![String::new()] } else { named }
                }
            };
            for vendor in vendors {
                let place = models.entry((vendor, model.name.clone())).or_insert(ModelFacts::assumed(true));
                *place = model.over(*place).unwrap_or(*place);
            }
        }
        models.into_iter().map(|((vendor, name), facts)| CatalogModel { vendor, name, facts }).collect()
    }
}

/// Whether a provider's models cost nothing: they run here.
fn is_free(provider: Provider) -> bool {
    matches!(provider, Provider::Ollama | Provider::Fake | Provider::Echo)
}

/// The models that are part of the program.
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
