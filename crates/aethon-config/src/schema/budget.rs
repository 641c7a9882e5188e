//! `[budget]`: the daily spending limit, and the prices of models.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Spending on models.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Budget {
    /// The most to spend in a day, in USD. 0: no limit.
    pub daily_usd: f64,
    /// The share of the daily limit at which the owner is warned.
    pub warn_ratio: f64,
    /// Whether models without a known price may be called while there is a daily limit.
    pub unpriced: Unpriced,
    /// Your own prices by model id. They take precedence over the built-in table.
    pub pricing: BTreeMap<String, Price>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { daily_usd: 0.0, warn_ratio: 0.8, unpriced: Unpriced::Refuse, pricing: BTreeMap::new() }
    }
}

/// How calls to models without a known price are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unpriced {
    /// They are refused, with the key to set.
    #[default]
    Refuse,
    /// They are made, and do not count against the limit.
    Allow,
}

/// The price of a model, in USD per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens read from the provider's cache. Unset: the price of `input`.
    pub cached_input: Option<f64>,
    /// Input tokens written to the provider's cache. Unset: the price of `input`.
    pub cache_write: Option<f64>,
    /// Price per minute of audio in USD, for transcription models billed by time. Replaces the token prices.
    pub minute: Option<f64>,
}
