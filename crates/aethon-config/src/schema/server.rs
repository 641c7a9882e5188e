//! `[server]`: limits of the HTTP server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits of the HTTP server.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Server {
    /// The maximum size of a request body, in bytes.
    pub max_body_bytes: usize,
    /// The maximum number of open connections.
    pub max_connections: usize,
    /// Seconds in which the head of a request must arrive.
    pub header_timeout_seconds: u64,
    /// Seconds in which the body of a request must arrive.
    pub body_timeout_seconds: u64,
    /// Seconds that running turns have to finish when the service stops.
    pub shutdown_grace: u64,
    /// Seconds that a webhook waits for its reply.
    pub webhook_timeout_seconds: u64,
    /// The path below which a proxy offers the service, such as `/aethon`, whether the proxy takes it away or keeps it. Empty:
    /// the service has the host for itself.
    pub base_path: String,
    /// Addresses or networks of proxies whose `X-Forwarded-*` headers are trusted; `unix` is what connects to the Unix socket.
    pub trusted_proxies: Vec<String>,
    /// Addresses or networks that may read `/api/ready` without the access token: probes of a supervisor, a proxy or a cluster.
    pub health_from: Vec<String>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            max_body_bytes: 1_048_576,
            max_connections: 4096,
            header_timeout_seconds: 10,
            body_timeout_seconds: 30,
            shutdown_grace: 8,
            webhook_timeout_seconds: 600,
            base_path: String::new(),
            trusted_proxies: Vec::new(),
            health_from: Vec::new(),
        }
    }
}
