//! What the owner set for every request to a model; what is not set is not sent.

use serde_json::{Map, Value};

use crate::options::Options;
use crate::prompt::merge_extra;

/// The settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) max_tokens: Option<u32>,
    pub(crate) temperature: Option<f64>,
    pub(crate) top_p: Option<f64>,
    /// Only where the owner set it.
    pub(crate) context_window: Option<u64>,
    pub(crate) extra: Map<String, Value>,
}

impl Settings {
    pub(crate) fn of(options: &Options) -> Self {
        Self {
            max_tokens: options.max_tokens,
            temperature: options.temperature,
            top_p: options.top_p,
            context_window: options.overrides.context_window,
            extra: options.extra.clone(),
        }
    }

    /// The body as it is sent.
    pub(crate) fn finish(&self, mut body: Value) -> Vec<u8> {
        merge_extra(&mut body, &self.extra);
        body.to_string().into_bytes()
    }
}

/// Sets a key whose value is there.
pub(crate) fn set(body: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body[key] = value.into();
    }
}
