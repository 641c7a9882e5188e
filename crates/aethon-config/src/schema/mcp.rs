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
    /// Whether the program runs in the sandbox of the kernel where `security.sandbox` is `kernel`. `false` for one that needs your
    /// home or the network; it then runs inside the usual walls.
    pub sandbox: bool,
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
            url: None,
            headers: BTreeMap::new(),
        }
    }
}
