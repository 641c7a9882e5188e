//! The catalog of SOPs.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Sop, SopName};
use crate::error::{Error, Result};
use crate::version::{Expected, Version};

/// The SOPs as they currently are: a file that was just added counts.
#[async_trait]
pub trait SopCatalog: Send + Sync {
    /// Returns all of them, by name. A file in the workspace overrides the built-in SOP of the same name.
    async fn sops(&self) -> Result<Vec<Arc<Sop>>>;

    /// Returns the one with this name.
    async fn sop(&self, name: &SopName) -> Result<Option<Arc<Sop>>>;

    /// Returns the files that are named like SOPs but are invalid. They do not affect the others.
    async fn broken(&self) -> Result<Vec<BrokenSop>>;

    /// Returns what is wrong with the text of a SOP, and what was not understood in it.
    fn check(&self, content: &str) -> SopCheck;

    /// Writes a file in the workspace, if the SOP is as expected. Its earlier text is kept.
    async fn save(&self, name: &SopName, content: &str, expected: Expected) -> Result<Arc<Sop>, SopRefusal>;

    /// Removes a file from the workspace, if the SOP is as expected. Its text is kept.
    async fn remove(&self, name: &SopName, expected: Expected) -> Result<(), SopRefusal>;

    /// Returns the earlier texts of the file, newest first, also of a SOP that was removed.
    async fn versions(&self, name: &SopName) -> Result<Vec<SopVersion>>;
}

/// An earlier text of a SOP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SopVersion {
    /// When another text took its place, or the SOP was removed.
    #[serde(serialize_with = "crate::time::serialize")]
    pub replaced_at: Timestamp,
    /// The text.
    pub content: String,
}

/// An invalid SOP file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenSop {
    /// The file.
    pub path: PathBuf,
    /// Its faults.
    pub faults: Vec<SopFault>,
    /// Its text and the name under which it would count, if it can be read in full and has the name of a SOP.
    pub draft: Option<SopDraft>,
}

/// A text that would be a SOP if it were valid, such as one that is half written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SopDraft {
    /// The name of the SOP.
    pub name: SopName,
    /// The text. Bytes that are not UTF-8 are replaced.
    pub content: Arc<str>,
}

impl SopDraft {
    /// Returns the version of the text, as that of a valid SOP.
    pub fn version(&self) -> Version {
        Version::of([&*self.content])
    }
}

/// A fault at one place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SopFault {
    /// The line, from 1.
    pub line: usize,
    /// The problem.
    pub message: String,
}

/// What was found in the text of a SOP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SopCheck {
    /// What makes it invalid; empty if it is valid.
    pub faults: Vec<SopFault>,
    /// What has no meaning to the program although it looks as if it should have. It harms nothing.
    pub remarks: Vec<SopFault>,
}

/// Why a SOP was not written or removed.
#[derive(Debug, thiserror::Error)]
pub enum SopRefusal {
    /// The text is not a valid SOP.
    #[error("the SOP has faults: {}", in_one_line(.0))]
    Faults(Vec<SopFault>),
    /// The text contains a secret.
    #[error("the SOP has {0} in it; keep secrets out of SOPs, and name the credential instead")]
    Secret(String),
    /// It is built in and cannot be removed.
    #[error(
        "{0} is built in and cannot be removed; a file of the same name in the workspace's sops/ takes its place"
    )]
    BuiltIn(SopName),
    /// There is none with this name.
    #[error("there is no SOP named {0}")]
    Unknown(SopName),
    /// The folder of SOPs is not used, because it is a link or no directory.
    #[error("{0}")]
    Folder(String),
    /// The file cannot be read in full, so its text would be lost.
    #[error("{0}")]
    File(String),
    /// The file could not be written or removed.
    #[error(transparent)]
    Failed(#[from] Error),
}

fn in_one_line(faults: &[SopFault]) -> String {
    let lines: Vec<String> =
        faults.iter().map(|fault| format!("line {}: {}", fault.line, fault.message)).collect();
    lines.join("; ")
}
