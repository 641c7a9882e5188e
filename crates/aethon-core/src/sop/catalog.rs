//! Which SOPs there are.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;

use super::{Sop, SopName};
use crate::error::{Error, Result};

/// The SOPs as they are now: a file that was just put there counts.
#[async_trait]
pub trait SopCatalog: Send + Sync {
    /// All of them, by name. A file of the workspace stands in the place of a built-in one of its name.
    async fn sops(&self) -> Result<Vec<Arc<Sop>>>;

    /// The one of this name.
    async fn sop(&self, name: &SopName) -> Result<Option<Arc<Sop>>>;

    /// Files that are no SOP although they are called so. They do not touch the others.
    async fn broken(&self) -> Result<Vec<BrokenSop>>;

    /// What is wrong with a text that is to be a SOP; nothing when it is one.
    fn check(&self, content: &str) -> Vec<SopFault>;

    /// Writes a file of the workspace.
    async fn save(&self, name: &SopName, content: &str) -> Result<Arc<Sop>, SopRefusal>;

    /// Removes a file of the workspace.
    async fn remove(&self, name: &SopName) -> Result<(), SopRefusal>;
}

/// A file that is no SOP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenSop {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub faults: Vec<SopFault>,
}

/// What is wrong in one place of a file.
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
    /// The text is no SOP.
    #[error("the SOP has faults: {}", in_one_line(.0))]
    Faults(Vec<SopFault>),
    /// The text has a secret in it.
    #[error("the SOP has {0} in it; keep secrets out of SOPs, and name the credential instead")]
    Secret(String),
    /// It is built in and cannot be removed.
    #[error(
        "{0} is built in and cannot be removed; a file of the same name in the workspace's sops/ takes its place"
    )]
    BuiltIn(SopName),
    /// There is none of this name.
    #[error("there is no SOP named {0}")]
    Unknown(SopName),
    /// The file could not be written or removed.
    #[error(transparent)]
    Failed(#[from] Error),
}

fn in_one_line(faults: &[SopFault]) -> String {
    let lines: Vec<String> =
        faults.iter().map(|fault| format!("line {}: {}", fault.line, fault.message)).collect();
    lines.join("; ")
}
