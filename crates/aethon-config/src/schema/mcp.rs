//! `[mcp]`: servers whose tools the assistant uses.

use std::collections::BTreeMap;

use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tools from MCP servers.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Mcp {
    /// Servers by name; their tools appear as `NAME__tool`.
    pub servers: BTreeMap<String, McpServer>,
}

/// An MCP server: a program to start, or an address.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct McpServer {
    /// Whether the server is used.
    pub enabled: bool,
    /// The program to start.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment variables.
    #[schemars(schema_with = "crate::json_schema::secrets")]
    pub env: BTreeMap<String, Secret>,
    /// Whether the program runs in the sandbox that `security.sandbox` names. Set `false` for a program that needs your home
    /// directory; it then runs with the usual confinement.
    pub sandbox: bool,
    /// The Docker image with the program, if `security.sandbox` is `docker`. Unset: `security.sandbox_image`.
    pub image: Option<String>,
    /// Its Docker network mode. Unset: `security.sandbox_network`.
    pub network: Option<String>,
    /// Whether you trust the server's descriptions of its tools. Otherwise they count as text from outside, which matters with
    /// `security.taint_requires_approval`. The results of its tools always do.
    pub trusted: bool,
    /// The address of a remote server.
    pub url: Option<String>,
    /// Headers for requests to that address.
    #[schemars(schema_with = "crate::json_schema::secrets")]
    pub headers: BTreeMap<String, Secret>,
    /// The sign-in at that address, if it wants one (`aethon-cli mcp login NAME`). Most servers need nothing here.
    pub oauth: McpOauth,
}

/// How this program signs in at a remote MCP server.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct McpOauth {
    /// The id under which you have registered this program at the authorization server. Unset: it registers itself.
    pub client_id: Option<String>,
    /// The secret of that registration.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub client_secret: Secret,
    /// The scopes to ask for. Unset: those that the server names.
    pub scopes: Vec<String>,
    /// The only authorization server that is trusted with the secret. Unset, without a secret: the one that the server
    /// names.
    pub issuer: Option<String>,
    /// The port on this machine at which the browser comes back, as `http://127.0.0.1:PORT/mcp/callback`. 0 is any free one.
    pub redirect_port: u16,
}

impl Default for McpServer {
    fn default() -> Self {
        Self {
            enabled: true,
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            sandbox: true,
            image: None,
            network: None,
            trusted: false,
            url: None,
            headers: BTreeMap::new(),
            oauth: McpOauth::default(),
        }
    }
}
