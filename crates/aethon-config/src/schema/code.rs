//! `[lsp]` and `[repo_map]`: language servers, and the map of the code.

use std::collections::BTreeMap;

use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Language servers, which the assistant asks about code.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Lsp {
    /// Whether there is the tool `lsp`, and edits are looked at by a language server.
    pub enabled: bool,
    /// How long an answer may take.
    pub timeout_seconds: u64,
    /// Servers by name, besides the usual ones for Rust (`rust`), Python (`python`), TypeScript and JavaScript (`typescript`), Go
    /// (`go`) and C (`c`). One with such a name replaces it.
    pub servers: BTreeMap<String, LspServer>,
}

/// A language server.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LspServer {
    /// The program, which talks over its pipes.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment.
    #[schemars(schema_with = "crate::json_schema::secrets")]
    pub env: BTreeMap<String, Secret>,
    /// The endings of its files, such as `py`.
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
    /// Whether there is the tool `repo_map`.
    pub enabled: bool,
    /// How many characters a map has at most.
    pub max_chars: usize,
}

impl Default for RepoMap {
    fn default() -> Self {
        Self { enabled: false, max_chars: 8_000 }
    }
}
