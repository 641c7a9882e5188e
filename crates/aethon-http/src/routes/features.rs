//! `/api/features`: which features of the assistant work right now, and the reasons where they do not.

use aethon_core::feature::Feature;
use schemars::JsonSchema;
use serde::Serialize;

use crate::deps::Setup;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// The features of the assistant.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Features")]
pub(super) struct Told {
    features: Vec<Feature>,
}

/// `GET /api/features`: the current state of the running parts.
pub(super) fn list(setup: Setup, _request: &Request) -> HandlerResult {
    response::json(&Told { features: setup.features.now() })
}

#[cfg(test)]
mod tests {
    use aethon_core::feature::{Feature, FeatureState};
    use serde_json::json;

    use crate::options::Options;
    use crate::service::tests::TestApp;

    #[tokio::test]
    async fn the_board_is_read_on_every_request() {
        let app = TestApp::new(Options::default());
        assert_eq!(app.get("/api/features", &[]).await.json()["features"], json!([]));
        let detail = "nothing was stored yet";
        app.features.offer(move || {
            vec![Feature::new(("memory", "Memory"), FeatureState::Degraded, detail, "memory.enabled")]
        });
        let expected = json!([{
            "id": "memory", "title": "Memory", "state": "degraded", "detail": detail, "config_key": "memory.enabled"
        }]);
        assert_eq!(app.get("/api/features", &[]).await.json()["features"], expected);
    }
}
