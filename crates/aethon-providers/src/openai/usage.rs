//! The token counts of services that speak this dialect, in all their forms.

use aethon_core::model::Usage;
use serde::Deserialize;
use serde_json::Value;

use crate::counted::{INVALID_COUNT, beyond, or_newer};
use crate::estimate;

/// The counts of one chunk.
#[derive(Deserialize, Default, Clone)]
#[serde(default)]
pub(super) struct UsageWire {
    #[serde(alias = "input_tokens")]
    prompt_tokens: Option<u64>,
    #[serde(alias = "output_tokens")]
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    #[serde(alias = "input_tokens_details")]
    prompt_tokens_details: Option<PromptDetails>,
    /// Moonshot's form.
    cached_tokens: Option<u64>,
    /// DeepSeek's form.
    prompt_cache_hit_tokens: Option<u64>,
    prompt_cache_miss_tokens: Option<u64>,
    /// What a gateway charges, in USD.
    cost: Option<Value>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl UsageWire {
    /// Takes over the counts of a later chunk. Some services repeat the figures so far in every chunk.
    pub(super) fn update(&mut self, newer: Option<Self>) {
        let Some(newer) = newer else { return };
        or_newer(&mut self.prompt_tokens, newer.prompt_tokens);
        or_newer(&mut self.completion_tokens, newer.completion_tokens);
        or_newer(&mut self.total_tokens, newer.total_tokens);
        or_newer(&mut self.cached_tokens, newer.cached_tokens);
        or_newer(&mut self.prompt_cache_hit_tokens, newer.prompt_cache_hit_tokens);
        or_newer(&mut self.prompt_cache_miss_tokens, newer.prompt_cache_miss_tokens);
        self.prompt_tokens_details = newer.prompt_tokens_details.or(self.prompt_tokens_details);
        self.cost = newer.cost.or(self.cost.take());
    }

    /// Returns the usage; estimates replace what the service does not count.
    pub(super) fn usage(&self, input: u64, output: u64) -> Usage {
        let details = self.prompt_tokens_details.unwrap_or_default();
        let split = self.prompt_cache_hit_tokens.zip(self.prompt_cache_miss_tokens);
        let prompt = self.prompt_tokens.or(split.map(|(hit, miss)| hit.saturating_add(miss)));
        let counted = estimate::unless_counted(prompt, input);
        let known = |tokens: &u64| *tokens != INVALID_COUNT;
        let cached = [details.cached_tokens, self.cached_tokens, self.prompt_cache_hit_tokens];
        let cached = cached.into_iter().flatten().find(|tokens| *tokens > 0 && known(tokens)).unwrap_or(0);
        let cached = cached.min(counted);
        let written = details.cache_write_tokens.filter(known).unwrap_or(0);
        let completion = beyond(self.total_tokens, prompt, self.completion_tokens);
        Usage {
            input_tokens: counted,
            output_tokens: estimate::unless_counted(completion, output),
            cached_tokens: cached,
            cache_write_tokens: written.min(counted - cached),
            cost_usd: self.cost.as_ref().and_then(usd).unwrap_or(0.0),
            web_searches: 0,
        }
    }
}

/// Reads an amount, also as a string. An impossible one is none.
fn usd(cost: &Value) -> Option<f64> {
    let amount = cost.as_f64().or_else(|| cost.as_str()?.trim().parse().ok())?;
    (0.0..1e5).contains(&amount).then_some(amount)
}
