//! The catalog of SOPs.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;

use super::{Sop, SopName};
use crate::error::{Error, Result};

/// The SOPs as they currently are: a file that was just added counts.
#[async_trait]
pub trait SopCatalog: Send + Sync {
    /// Returns all of them, by name. A file in the workspace overrides the built-in SOP of the same name.
    async fn sops(&self) -> Result<Vec<Arc<Sop>>>;

    /// Returns the one with this name.
    async fn sop(&self, name: &SopName) -> Result<Option<Arc<Sop>>>;

    /// Returns the files that are named like SOPs but are invalid. They do not affect the others.
    async fn broken(&self) -> Result<Vec<BrokenSop>>;

    /// Returns what is wrong with the text of a SOP; empty if it is valid.
    fn check(&self, content: &str) -> Vec<SopFault>;

    /// Writes a file in the workspace.
    async fn save(&self, name: &SopName, content: &str) -> Result<Arc<Sop>, SopRefusal>;

    /// Removes a file from the workspace.
    async fn remove(&self, name: &SopName) -> Result<(), SopRefusal>;
}

/// An invalid SOP file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenSop {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub faults: Vec<SopFault>,
}

/// A fault at one place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SopFault {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
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
    /// The file could not be written or removed.
    #[error(transparent)]
    Failed(#[from] Error),
}

fn in_one_line(faults: &[SopFault]) -> String {
    let lines: Vec<String> =
        faults.iter().map(|fault| format!("line {}: {}", fault.line, fault.message)).collect();
    lines.join("; ")
}
