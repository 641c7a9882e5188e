//! Interface between the tool and a search service.

use aethon_core::secret::Secret;
use aethon_core::tool::ToolError;
use serde::Deserialize;
use serde_json::Value;

use crate::web::json::JsonRequest;

/// A web search service.
pub(super) trait SearchEngine: Send + Sync {
    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// Its default base URL; `None` for software that people host themselves.
    fn usual_base(&self) -> Option<&'static str>;

    /// Builds the request for a query.
    fn ask(&self, base: &str, query: &Query<'_>, key: &Secret) -> Result<JsonRequest, ToolError>;

    /// Parses a successful response.
    fn read(&self, answer: Value) -> Result<Vec<Hit>, serde_json::Error>;

    /// Explains a status that has a special meaning for this service.
    fn explain(&self, _status: u16) -> Option<&'static str> {
        None
    }
}

/// A search query.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query<'q> {
    pub(super) words: &'q str,
    /// Number of hits wanted.
    pub(super) count: usize,
}

/// A page that was found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(super) struct Hit {
    pub(super) title: String,
    pub(super) url: String,
    /// An excerpt.
    #[serde(alias = "content", alias = "description")]
    pub(super) passage: String,
    /// The date of the page, as the service formats it.
    #[serde(alias = "publishedDate", alias = "published_date", alias = "age")]
    pub(super) date: Option<String>,
}
