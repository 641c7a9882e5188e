//! SearXNG, a self-hosted search engine. It returns JSON only if its owner has enabled that.

use aethon_core::secret::Secret;
use aethon_core::tool::ToolError;
use serde::Deserialize;
use serde_json::Value;

use super::engine::{Hit, Query, SearchEngine};
use crate::web::json::JsonRequest;
use crate::web::with_query;

pub(super) struct SearXng;

#[derive(Deserialize)]
struct SearxngAnswer {
    #[serde(default)]
    results: Vec<Hit>,
}

impl SearchEngine for SearXng {
    fn name(&self) -> &'static str {
        "SearXNG"
    }

    fn usual_base(&self) -> Option<&'static str> {
        None
    }

    fn ask(&self, base: &str, query: &Query<'_>, key: &Secret) -> Result<JsonRequest, ToolError> {
        let address = with_query(&format!("{base}/search"), &[("q", query.words), ("format", "json")])?;
        let request = JsonRequest::get(address);
        // SearXNG itself needs no key, but a proxy in front of it may.
        if key.is_empty() {
            return Ok(request);
        }
        request.with_key(ureq::http::header::AUTHORIZATION, "Bearer ", key)
    }

    fn read(&self, answer: Value) -> Result<Vec<Hit>, serde_json::Error> {
        Ok(serde_json::from_value::<SearxngAnswer>(answer)?.results)
    }

    fn explain(&self, status: u16) -> Option<&'static str> {
        (status == 403).then_some(
            "it does not answer in JSON: the owner must add `json` to `search.formats` in its settings.yml",
        )
    }
}
