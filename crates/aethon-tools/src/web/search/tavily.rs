//! Tavily.

use aethon_core::secret::Secret;
use aethon_core::tool::ToolError;
use serde::Deserialize;
use serde_json::{Value, json};
use ureq::http::header;

use super::engine::{Hit, Query, SearchEngine};
use crate::web::json::JsonRequest;
use crate::web::with_query;

pub(super) struct Tavily;

#[derive(Deserialize)]
struct TavilyAnswer {
    #[serde(default)]
    results: Vec<Hit>,
}

impl SearchEngine for Tavily {
    fn name(&self) -> &'static str {
        "Tavily"
    }

    fn usual_base(&self) -> Option<&'static str> {
        Some("https://api.tavily.com")
    }

    fn ask(&self, base: &str, query: &Query<'_>, key: &Secret) -> Result<JsonRequest, ToolError> {
        let wish = json!({"query": query.words, "max_results": query.count, "search_depth": "basic"});
        let address = with_query(&format!("{base}/search"), &[])?;
        JsonRequest::post(address, &wish).with_key(header::AUTHORIZATION, "Bearer ", key)
    }

    fn read(&self, answer: Value) -> Result<Vec<Hit>, serde_json::Error> {
        Ok(serde_json::from_value::<TavilyAnswer>(answer)?.results)
    }
}
