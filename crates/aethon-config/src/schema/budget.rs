//! `[budget]`: what may be spent in a day, and what models cost.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What may be spent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Budget {
    /// The ceiling of a day in USD; 0 is no ceiling.
    pub daily_usd: f64,
    /// The share of the ceiling at which the owner is warned.
    pub warn_ratio: f64,
    /// What becomes of calls to a model whose price is not known, while there is a ceiling.
    pub unpriced: Unpriced,
    /// Prices by model id.
    pub pricing: BTreeMap<String, Price>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { daily_usd: 0.0, warn_ratio: 0.8, unpriced: Unpriced::Refuse, pricing: BTreeMap::new() }
    }
}

/// What becomes of calls whose price is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unpriced {
    /// They are not made, and the refusal says what to set.
    #[default]
    Refuse,
    /// They are made, and the ceiling does not hold for them.
    Allow,
}

/// What a model costs, in USD per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Price {
    /// Tokens read.
    pub input: f64,
    /// Tokens written.
    pub output: f64,
    /// Tokens read from the provider's cache. Unset: the same as `input`.
    pub cached_input: Option<f64>,
    /// Tokens put into the provider's cache. Unset: the same as `input`.
    pub cache_write: Option<f64>,
    /// A minute of audio, for models that write down what is said and are billed by time; stands in the place of the others.
    pub minute: Option<f64>,
}
