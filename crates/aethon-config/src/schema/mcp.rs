//! `[mcp]`: servers whose tools the assistant borrows.

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
    /// Whether it is used.
    pub enabled: bool,
    /// The program to start.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment.
    #[schemars(schema_with = "crate::json_schema::secrets")]
    pub env: BTreeMap<String, Secret>,
    /// Whether the program runs in the sandbox that `security.sandbox` names. `false` for one that needs your home; it then runs
    /// inside the usual walls.
    pub sandbox: bool,
    /// The docker image that has the program, where `security.sandbox` is `docker`; else `security.sandbox_image`.
    pub image: Option<String>,
    /// Its network in the sandbox; else `security.sandbox_network`.
    pub network: Option<String>,
    /// Whether you vouch for what the server says of its tools. Otherwise its descriptions count as text from outside, which
    /// matters with `security.taint_requires_approval`. What its tools return counts as that in any case.
    pub trusted: bool,
    /// The address of a server that runs elsewhere.
    pub url: Option<String>,
    /// Headers sent to that address.
    #[schemars(schema_with = "crate::json_schema::secrets")]
    pub headers: BTreeMap<String, Secret>,
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
        }
    }
}
