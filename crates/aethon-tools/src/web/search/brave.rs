//! Brave Search, its web endpoint.

use aethon_core::secret::Secret;
use aethon_core::tool::ToolError;
use serde::Deserialize;
use serde_json::Value;
use ureq::http::HeaderName;

use super::engine::{Hit, Query, SearchEngine};
use crate::web::json::JsonRequest;
use crate::web::with_query;

pub(super) struct Brave;

#[derive(Deserialize)]
struct BraveAnswer {
    #[serde(default)]
    web: Web,
}

#[derive(Default, Deserialize)]
struct Web {
    #[serde(default)]
    results: Vec<Hit>,
}

impl SearchEngine for Brave {
    fn name(&self) -> &'static str {
        "Brave Search"
    }

    fn usual_base(&self) -> Option<&'static str> {
        Some("https://api.search.brave.com")
    }

    fn ask(&self, base: &str, query: &Query<'_>, key: &Secret) -> Result<JsonRequest, ToolError> {
        let count = query.count.to_string();
        let parameters = [("q", query.words), ("count", count.as_str())];
        let address = with_query(&format!("{base}/res/v1/web/search"), &parameters)?;
        JsonRequest::get(address).with_key(HeaderName::from_static("x-subscription-token"), "", key)
    }

    fn read(&self, answer: Value) -> Result<Vec<Hit>, serde_json::Error> {
        Ok(serde_json::from_value::<BraveAnswer>(answer)?.web.results)
    }
}
