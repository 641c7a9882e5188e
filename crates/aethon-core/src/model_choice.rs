//! The models that a person can choose for a conversation or a message.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::ledger::Price;
use crate::session::no_such_model;

/// The models that can be chosen, as the configuration and its services have them.
#[async_trait]
pub trait ModelChoices: Send + Sync {
    /// Returns all of them: the named ones first, then the configured model with its fallbacks, then those that the
    /// configured service lists, or those of the catalogue if it lists none.
    async fn offered(&self) -> Vec<OfferedModel>;

    /// Returns the id of the configured model.
    fn current(&self) -> String;

    /// Checks that a model of this name can be chosen.
    ///
    /// # Errors
    ///
    /// There is no such model; the message names those closest to it.
    async fn check(&self, name: &str) -> Result<()>;
}

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OfferedModel {
    /// The word by which it is chosen: a name under `[model.named]`, or its id at the service.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its id at the service.
    pub model_id: String,
    /// Its provider.
    pub provider: String,
    /// Where it comes from.
    pub source: ModelSource,
    /// How many tokens a request and its answer may take together, if that is known.
    pub context_window: Option<u64>,
    /// Its price in USD per million tokens, if that is known.
    pub prices: Option<Price>,
    /// Its abilities, if they are known: `tools`, `images`, `pdf`, `reasoning`.
    pub abilities: Vec<&'static str>,
}

/// Where a model that can be chosen comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ModelSource {
    /// A table `[model.named.NAME]`.
    Named,
    /// A fallback of the configured model.
    Fallback,
    /// The configured model itself, or the list of its service.
    Service,
    /// The catalogue.
    Catalog,
}

/// A model in the list of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// Its id there.
    pub id: String,
    /// Its name for people, if it has one.
    pub name: Option<String>,
}

/// Offers nothing, as in a program that brings a model of its own.
pub struct NoChoices;

#[async_trait]
impl ModelChoices for NoChoices {
    async fn offered(&self) -> Vec<OfferedModel> {
        Vec::new()
    }

    fn current(&self) -> String {
        String::new()
    }

    async fn check(&self, name: &str) -> Result<()> {
        Err(no_such_model(name))
    }
}
