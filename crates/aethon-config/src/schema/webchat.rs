//! `[channels.webchat]`: the browser chat, and where the HTTP application listens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The browser chat and the address of the HTTP application.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WebChat {
    /// Whether the HTTP application runs at all: chat page, dashboard and webhooks.
    pub enabled: bool,
    /// The address to bind. Anything but loopback needs `dashboard.auth_token`.
    pub host: String,
    /// The port to bind; 0 takes a free one, and -1 none: then only `socket` is served.
    pub port: i32,
    /// A Unix socket that is served as well, for you alone: its path, or a name in the `run/` of the home. Empty: none.
    pub socket: String,
    /// Origins besides the service's own that may open the WebSockets, such as `https://home.example`.
    pub allowed_origins: Vec<String>,
    /// Names under which the service may be reached, any port.
    pub allowed_hosts: Vec<String>,
}

impl Default for WebChat {
    fn default() -> Self {
        Self {
            enabled: true,
            host: "127.0.0.1".to_owned(),
            port: 18790,
            socket: String::new(),
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
        }
    }
}

impl WebChat {
    /// The port to bind; `None` if only the socket is served.
    pub fn tcp_port(&self) -> Option<u16> {
        u16::try_from(self.port).ok()
    }
}
