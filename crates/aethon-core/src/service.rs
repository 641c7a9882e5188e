//! The running service as the HTTP application and the terminal show it, and the one thing that they can change.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::event::ConfigNews;
use crate::version::{Expected, Version};

/// The configuration as it may be shown: masked.
#[async_trait]
pub trait ConfigView: Send + Sync {
    /// Returns nested objects with every secret replaced by `***`.
    fn dump(&self) -> Value;

    /// Returns the JSON Schema of the configuration file.
    fn schema(&self) -> Value;

    /// Returns each key with its value and origin; empty if that is unknown.
    async fn keys(&self) -> Result<Vec<ConfigKey>> {
        Ok(Vec::new())
    }

    /// Returns the version of the file and its masked content: not yet in force if it has not been taken over.
    async fn on_file(&self) -> Result<ConfigOnFile> {
        Ok(ConfigOnFile { version: Version::of([]), config: self.dump() })
    }

    /// Changes keys in the file, if that is as expected, or reports what that would change.
    async fn edit(&self, _edit: ConfigEdit) -> Result<ConfigEdited, ConfigRefusal> {
        Err(Error::invalid("the configuration cannot be edited here").into())
    }

    /// Reads the file again, as on SIGHUP, and applies what can change at run time.
    async fn reload(&self) -> Result<ConfigNews> {
        Err(Error::invalid("the configuration cannot be reloaded here"))
    }
}

/// The configuration as its file has it now.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigOnFile {
    /// The version of the file.
    pub version: Version,
    /// Its resulting configuration, masked; null if it cannot be read.
    pub config: Value,
}

/// A key with its value and origin.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ConfigKey {
    /// The key in full.
    pub key: String,
    /// `default`, `file`, `environment` or `flag`.
    #[schemars(extend("enum" = ["default", "file", "environment", "flag"]))]
    pub source: &'static str,
    /// The file and line, the variable, or the flag.
    pub place: String,
    /// Its meaning.
    pub description: String,
    /// The built-in value.
    pub default: Value,
    /// The value in force, masked.
    pub value: Value,
    /// The allowed values, if it is an enumeration.
    pub words: Vec<String>,
    /// Whether it is a secret or contains some; such a key cannot be edited through the API.
    pub secret: bool,
    /// Whether a new value takes effect only after a restart.
    pub needs_restart: bool,
}

/// A change of configuration keys.
#[derive(Debug, Clone)]
pub struct ConfigEdit {
    /// The new values; null removes a key from the file.
    pub changes: Map<String, Value>,
    /// Whether to report the change only.
    pub is_dry_run: bool,
    /// Whether the owner has confirmed that protection may be loosened.
    pub is_confirmed: bool,
    /// The expected state of the file.
    pub expected: Expected,
    /// Who wants it, for the audit log.
    pub by: String,
}

/// The result of an edit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ConfigEdited {
    /// The version of the file afterwards; of the file as it is, if nothing was written.
    #[serde(skip)]
    pub version: Version,
    /// Whether the file was written.
    pub saved: bool,
    /// What changes in the file, without secrets.
    pub diff: String,
    /// Edited keys whose new values are in effect, or would be.
    pub taken_over: Vec<String>,
    /// Edited keys that take effect after a restart.
    pub needs_restart: Vec<String>,
    /// Keys that the environment or a flag sets as well, so that the file has no effect on them.
    pub overridden: Vec<String>,
    /// Keys whose change loosens protection, or says where keys are sent or which programs run.
    pub loosened: Vec<String>,
    /// Things worth knowing.
    pub warnings: Vec<String>,
}

/// A change that loosens protection and is not confirmed.
#[derive(Debug, Clone, PartialEq)]
pub struct UnconfirmedChange {
    /// The keys for which that is so.
    pub keys: Vec<String>,
    /// What would change.
    pub change: ConfigEdited,
}

/// Why keys were not changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigRefusal {
    /// Keys and their faults.
    #[error("{}", in_one_line(.0))]
    Keys(Vec<(String, String)>),
    /// Protection is loosened only if the owner confirms it.
    #[error("the change must be confirmed: {}", .0.keys.join(", "))]
    Unconfirmed(Box<UnconfirmedChange>),
    /// It could not be done.
    #[error(transparent)]
    Failed(#[from] Error),
}

fn in_one_line(faults: &[(String, String)]) -> String {
    let lines: Vec<String> = faults.iter().map(|(key, message)| format!("{key}: {message}")).collect();
    lines.join("; ")
}
