//! SOPs: named workflows in Markdown that the owner, a job, a webhook or an MCP client runs by name.
//!
//! A [`Sop`] is a file that was understood; reading files and judging them is the agent's. [`SopCatalog`] is the built-in
//! ones and those of the workspace, as they are now. A [`SopRun`] is what is kept of one that was run; [`SopRuns`] keeps it.

mod catalog;
mod run;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use catalog::{BrokenSop, SopCatalog, SopFault, SopRefusal};
pub use run::{SopRun, SopRunChange, SopRunState, SopRunner, SopRuns};

/// The name of a SOP: 1 to 64 lower-case letters, digits and `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SopName(Arc<str>);

/// A name that no SOP can have.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the SOP name {0:?} is not valid: use 1 to 64 lower-case letters, digits and hyphens")]
pub struct InvalidSopName(String);

impl SopName {
    /// Checks and wraps a name.
    pub fn parse(name: &str) -> Result<Self, InvalidSopName> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if (1..=64).contains(&name.len()) && name.bytes().all(plain) {
            Ok(Self(name.into()))
        } else {
            Err(InvalidSopName(name.chars().take(80).collect()))
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SopName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SopName {
    type Error = InvalidSopName;
    fn try_from(name: String) -> Result<Self, InvalidSopName> {
        Self::parse(&name)
    }
}

impl From<SopName> for String {
    fn from(name: SopName) -> Self {
        name.as_str().to_owned()
    }
}

/// A SOP that was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Sop {
    /// Its name.
    pub name: SopName,
    /// Its title.
    pub title: String,
    /// The first paragraph of its overview.
    pub description: String,
    /// What it takes.
    pub parameters: Vec<SopParameter>,
    /// What is done, in order.
    pub steps: Vec<SopStep>,
    /// Where it comes from.
    pub origin: SopOrigin,
    /// The whole text, as it was written.
    pub content: Arc<str>,
}

impl Sop {
    /// The parameter of this name.
    pub fn parameter(&self, name: &str) -> Option<&SopParameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }
}

/// A parameter of a SOP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SopParameter {
    /// Its name.
    pub name: String,
    /// Whether the SOP cannot be run without it.
    pub required: bool,
    /// What it is when nobody says so.
    pub default: Option<String>,
    /// What it means.
    pub description: String,
}

/// A step of a SOP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SopStep {
    /// What it is called.
    pub title: String,
    /// What is to be done, constraints included, as it was written.
    pub text: String,
}

/// Where a SOP comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SopOrigin {
    /// It is part of the program.
    BuiltIn,
    /// It is a file of the workspace.
    File(PathBuf),
}
