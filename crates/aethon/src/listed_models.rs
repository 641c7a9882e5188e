//! The models that the configured service lists, for those who choose one.

use std::time::Duration;

use crate::prepared::Prepared;
use crate::wiring;

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
