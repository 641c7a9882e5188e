//! `[tools]`: limits of tools, and the services that they use with their keys.

use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits of tools, and the services that they use. A tool whose service is not set up is absent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tools {
    /// The maximum number of commands running at once. Further ones wait for up to a minute; a quarter of the places is never
    /// used by webhooks.
    pub max_shells: usize,
    /// Web search.
    pub web_search: WebSearch,
    /// GitHub's GraphQL API.
    pub github: GitHub,
}

impl Default for Tools {
    fn default() -> Self {
        Self { max_shells: 8, web_search: WebSearch::default(), github: GitHub::default() }
    }
}

/// The provider of web search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchProvider {
    /// No web search: the tool `web_search` is absent.
    #[default]
    #[serde(alias = "")]
    None,
    /// A SearXNG instance at `tools.web_search.host`.
    SearXng,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
}

/// Web search.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WebSearch {
    /// The search provider.
    pub provider: SearchProvider,
    /// The base address, which SearXNG requires. Empty: the provider's own. An address set here may be reached although it is not
    /// public.
    pub host: String,
    /// The API key. SearXNG needs none.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub api_key: Secret,
}

/// GitHub's GraphQL API.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GitHub {
    /// The access token, whose permissions limit what the assistant can see and change. Empty: the tool `github` is absent.
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
