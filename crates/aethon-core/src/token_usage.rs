//! What requests to models took.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens of one or more requests.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Input tokens, including cached ones.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Input tokens that the provider had cached.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Input tokens that the provider wrote to its cache, if it charges separately for that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Web searches that the provider ran, if it charges separately for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub web_searches: u64,
    /// The cost in USD; 0 if the price is unknown.
    #[serde(default, serialize_with = "crate::ledger::serialize_usd")]
    pub cost_usd: f64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cached_tokens += other.cached_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.web_searches += other.web_searches;
        self.cost_usd += other.cost_usd;
    }
}
