//! The owner's settings for every request to a model. Unset ones are not sent.

use aethon_core::model::Effort;
use serde_json::{Map, Value};

use crate::options::Options;

/// The owner's settings for every request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) max_tokens: Option<u32>,
    pub(crate) temperature: Option<f64>,
    pub(crate) top_p: Option<f64>,
    pub(crate) effort: Option<Effort>,
    /// The service tier, where the owner chose one.
    pub(crate) service_tier: Option<String>,
    pub(crate) extra: Map<String, Value>,
}

impl Settings {
    pub(crate) fn of(options: &Options) -> Self {
        Self {
            max_tokens: options.max_tokens,
            temperature: options.temperature,
            top_p: options.top_p,
            effort: options.effort,
            service_tier: Some(options.extras.service_tier.trim().to_owned()).filter(|tier| !tier.is_empty()),
            extra: options.extras.body.clone(),
        }
    }
}

/// Sets a key if there is a value.
pub(crate) fn set(body: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body[key] = value.into();
    }
}
