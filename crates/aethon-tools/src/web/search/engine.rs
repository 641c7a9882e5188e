//! What a search service is to the tool.

use aethon_core::secret::Secret;
use aethon_core::tool::ToolError;
use serde::Deserialize;
use serde_json::Value;

use crate::web::json::Exchange;

/// A service that searches the web.
pub(super) trait SearchEngine: Send + Sync {
    /// Its name in sentences.
    fn name(&self) -> &'static str;

    /// Its own address; a service that anybody runs has none.
    fn usual_base(&self) -> Option<&'static str>;

    /// The request for these words.
    fn ask(&self, base: &str, query: &Query<'_>, key: &Secret) -> Result<Exchange, ToolError>;

    /// What a good answer holds.
    fn read(&self, answer: Value) -> Result<Vec<Hit>, serde_json::Error>;

    /// What an answer with a bad status means, where the service has its own meaning.
    fn explain(&self, _status: u16) -> Option<&'static str> {
        None
    }
}

/// What is searched for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query<'q> {
    pub(super) words: &'q str,
    /// How many hits are wanted.
    pub(super) count: usize,
}

/// A page that was found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(super) struct Hit {
    pub(super) title: String,
    pub(super) url: String,
    /// A passage of it.
    #[serde(alias = "content", alias = "description")]
    pub(super) passage: String,
    /// When it was written, as the service says it.
    #[serde(alias = "publishedDate", alias = "published_date", alias = "age")]
    pub(super) date: Option<String>,
}
