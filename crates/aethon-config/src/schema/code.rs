//! `[lsp]` and `[repo_map]`: language servers, and the map of the code.

use std::collections::BTreeMap;

use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Language servers for questions about code.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Lsp {
    /// Whether the tool `lsp` exists and language servers check edits.
    pub enabled: bool,
    /// Seconds to wait for an answer.
    pub timeout_seconds: u64,
    /// Servers by name, besides the default ones for Rust (`rust`), Python (`python`), TypeScript and JavaScript (`typescript`),
    /// Go (`go`) and C (`c`). A server with one of these names replaces the default.
    pub servers: BTreeMap<String, LspServer>,
}

/// A language server.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LspServer {
    /// The program, which communicates over standard input and output.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment variables.
    #[schemars(schema_with = "crate::json_schema::secrets")]
    pub env: BTreeMap<String, Secret>,
    /// The extensions of its files, such as `py`.
    pub extensions: Vec<String>,
}

impl Default for Lsp {
    fn default() -> Self {
        Self { enabled: false, timeout_seconds: 30, servers: BTreeMap::new() }
    }
}

/// A map of the source files of a folder.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RepoMap {
    /// Whether the tool `repo_map` exists.
    pub enabled: bool,
    /// The maximum length of a map, in characters.
    pub max_chars: usize,
}

impl Default for RepoMap {
    fn default() -> Self {
        Self { enabled: false, max_chars: 8_000 }
    }
}
