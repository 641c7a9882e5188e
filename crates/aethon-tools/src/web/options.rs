//! Settings of the web tools: the addresses that they may reach and the services that they use. The facade fills them
//! from the configuration.

use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::egress::HostRule;
use aethon_core::secret::Secret;

/// Settings of the web tools. Start from the default and change what differs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WebOptions {
    /// `security.egress_allowed_hosts`: hosts that may be reached although their address is not public.
    pub allowed_hosts: Vec<HostRule>,
    /// `tools.web_search`: the search service; without it there is no `web_search`.
    pub search: Option<SearchOptions>,
    /// `tools.github`: without it there is no `github`.
    pub github: Option<GitHubOptions>,
    /// Timeout of a whole request, not counting redirects.
    pub timeout: Duration,
    /// Resolver for host names; the system's if absent.
    pub names: Option<Arc<dyn Names>>,
}

impl Default for WebOptions {
    fn default() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            search: None,
            github: None,
            timeout: Duration::from_secs(30),
            names: None,
        }
    }
}

impl WebOptions {
    /// Applies a change and returns the result.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// A search service with its credentials.
#[derive(Debug, Clone)]
pub struct SearchOptions {
    /// The service.
    pub service: SearchService,
    /// Base URL; the service's own if absent.
    pub base: Option<String>,
    /// The API key.
    pub key: Secret,
}

/// A web search service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchService {
    /// A SearXNG instance.
    SearXng,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
}

/// GitHub's GraphQL API.
#[derive(Debug, Clone)]
pub struct GitHubOptions {
    /// Base URL, to which `/graphql` is appended.
    pub base: String,
    /// The access token.
    pub token: Secret,
}

/// Resolves host names.
pub trait Names: Debug + Send + Sync {
    /// Returns the addresses of a host for a connection to this port. May block.
    fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}
