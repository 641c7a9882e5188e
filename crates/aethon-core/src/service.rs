//! What the HTTP application and the terminal tell about the running service, and the one thing that they change of it.

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// The configuration as it may be shown: masked.
#[async_trait]
pub trait ConfigView: Send + Sync {
    /// Nested objects with every secret replaced by `***`.
    fn dump(&self) -> Value;

    /// The JSON Schema of the configuration file.
    fn schema(&self) -> Value;

    /// Each key with its value and where that came from. Nothing where nobody can tell.
    async fn keys(&self) -> Result<Vec<ConfigKey>> {
        Ok(Vec::new())
    }

    /// Changes keys in the file, or says what that would change.
    async fn edit(&self, _edit: ConfigEdit) -> Result<ConfigEdited, ConfigRefusal> {
        Err(Error::invalid("the configuration cannot be edited here").into())
    }
}

/// A key with its value and where that came from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConfigKey {
    /// The key in full.
    pub key: String,
    /// `default`, `file`, `environment` or `flag`.
    pub source: &'static str,
    /// The file and line, the variable, or the flag.
    pub place: String,
    /// What it means.
    pub description: String,
    /// The built-in value.
    pub default: Value,
    /// The value in force, masked.
    pub value: Value,
    /// The words it takes, when it takes no others.
    pub words: Vec<String>,
    /// Whether it is a secret, or holds some; such a key is not edited by the API.
    pub secret: bool,
    /// Whether a new value takes effect only at the next start.
    pub needs_restart: bool,
}

/// Keys that are to be changed.
#[derive(Debug, Clone)]
pub struct ConfigEdit {
    /// Their new values; null takes a key out of the file.
    pub changes: Map<String, Value>,
    /// Whether it is only said what that would change.
    pub is_dry_run: bool,
    /// Who wants it, for the audit.
    pub by: String,
}

/// What an edit came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConfigEdited {
    /// Whether the file was written.
    pub saved: bool,
    /// What differs in the file, without secrets.
    pub diff: String,
    /// Keys whose new values are in force, or would be.
    pub taken_over: Vec<String>,
    /// Keys that take effect at the next start.
    pub needs_restart: Vec<String>,
    /// Keys that the environment or a flag sets as well, so that the file does not count for them.
    pub overridden: Vec<String>,
    /// What is worth knowing.
    pub warnings: Vec<String>,
}

/// Why keys were not changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigRefusal {
    /// Keys and what is wrong with them.
    #[error("{}", in_one_line(.0))]
    Keys(Vec<(String, String)>),
    /// It could not be done.
    #[error(transparent)]
    Failed(#[from] Error),
}

fn in_one_line(faults: &[(String, String)]) -> String {
    let lines: Vec<String> = faults.iter().map(|(key, message)| format!("{key}: {message}")).collect();
    lines.join("; ")
}
