//! What the web tools may reach and which services they use, as values. The facade fills them from the configuration.

use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::egress::HostRule;
use aethon_core::secret::Secret;

/// The reach of the web tools. Begin with the default and set what differs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WebOptions {
    /// `security.egress_allowed_hosts`: hosts that may be reached although their address is not public.
    pub allowed_hosts: Vec<HostRule>,
    /// `tools.web_search`: who searches; without it there is no `web_search`.
    pub search: Option<SearchOptions>,
    /// `tools.github`: without it there is no `github`.
    pub github: Option<GitHubOptions>,
    /// How long a whole request may take, redirects apart.
    pub timeout: Duration,
    /// Who knows the addresses of hosts; the system when absent.
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
    /// With what this changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// Who searches, and what opens it.
#[derive(Debug, Clone)]
pub struct SearchOptions {
    /// The service.
    pub service: SearchService,
    /// The base address; the service's own when absent.
    pub base: Option<String>,
    /// The key.
    pub key: Secret,
}

/// A service that searches the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchService {
    /// A SearXNG instance.
    SearXng,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
}

/// GitHub's GraphQL interface.
#[derive(Debug, Clone)]
pub struct GitHubOptions {
    /// The base address; `/graphql` is appended.
    pub base: String,
    /// What opens it.
    pub token: Secret,
}

/// Knows the addresses of hosts.
pub trait Names: Debug + Send + Sync {
    /// The addresses of this host for a connection to this port. May block.
    fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}
