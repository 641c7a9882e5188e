//! The models that the configured service lists, for those who choose one.

use std::time::Duration;

use aethon_core::provider::Provider;

use crate::prepared::Prepared;
use crate::wiring;
use crate::wiring::model::{facts, in_words, nearest};

/// How long a service may take to list its models.
const LIST_WAIT: Duration = Duration::from_secs(8);

/// Returns the ids of the models that the configured service lists; none if it does not answer.
pub async fn listed_models(prepared: &Prepared) -> Vec<String> {
    let Some((_, provider)) = wiring::model::each_in_short(prepared, 1).into_iter().next() else {
        return Vec::new();
    };
    let listed = tokio::time::timeout(LIST_WAIT, provider.list()).await;
    listed.ok().and_then(Result::ok).unwrap_or_default().into_iter().map(|model| model.id).collect()
}

/// Reports that the service lists models, and not this one, but some with a similar name. Services may serve more than they
/// list, so a name that is like no other says nothing.
pub(crate) async fn unlisted(prepared: &Prepared) -> Option<String> {
    let model = &prepared.config.model;
    let is_own = prepared.source.parts.model.is_some();
    // Ollama says itself that it has no such model, and the table has other names of one model.
    if is_own || model.provider == Provider::Ollama || facts(prepared, model).is_known {
        return None;
    }
    let listed = listed_models(prepared).await;
    if listed.contains(&model.model_id) {
        return None;
    }
    let near = in_words(&nearest(&model.model_id, listed.into_iter()))?;
    Some(format!("of the models that it lists, {near}"))
}
