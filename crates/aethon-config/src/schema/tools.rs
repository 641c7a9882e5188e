//! `[tools]`: how much tools may do at once, and the services they use, with their keys.

use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What tools may do at once, and services that they use. A tool whose service is not set up is absent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tools {
    /// How many commands run at once. What comes on top waits for a minute; webhooks leave a quarter of the places to you.
    pub max_shells: usize,
    /// Searching the web.
    pub web_search: WebSearch,
    /// GitHub's GraphQL interface.
    pub github: GitHub,
}

impl Default for Tools {
    fn default() -> Self {
        Self { max_shells: 8, web_search: WebSearch::default(), github: GitHub::default() }
    }
}

/// Who searches the web.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchProvider {
    /// Nobody: there is no `web_search`.
    #[default]
    #[serde(alias = "")]
    None,
    /// A SearXNG instance; `tools.web_search.host` says which.
    SearXng,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
}

/// Searching the web.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WebSearch {
    /// Who searches.
    pub provider: SearchProvider,
    /// The base address. Empty: the provider's own, which SearXNG has none of. What is set here may be reached although its
    /// address is not public.
    pub host: String,
    /// The key. SearXNG needs none.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub api_key: Secret,
}

/// GitHub's GraphQL interface.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GitHub {
    /// The token, which decides what the assistant sees and changes there. Empty: there is no `github` tool.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub token: Secret,
    /// The base address; `/graphql` is appended to it. For GitHub Enterprise Server: `https://HOST/api`.
    pub api_base: String,
}

impl Default for GitHub {
    fn default() -> Self {
        Self { token: Secret::default(), api_base: "https://api.github.com".to_owned() }
    }
}
