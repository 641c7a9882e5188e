//! What instructs the model at one moment, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

/// One source of instructions for the model.
pub trait Instructions: Send + Sync {
    /// Returns the current state. May read files, so it blocks; the result is the same `Arc` as long as nothing has changed.
    fn observe(&self) -> Arc<Observations>;
}

/// The instructions of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observations {
    /// Where it comes from.
    pub origin: Origin,
    /// Each part, by its name in notices to the owner.
    pub entries: BTreeMap<String, Observed>,
}

/// Where instructions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Files of the workspace. An absent file does not exist, so a file that comes or goes is a change.
    Workspace,
    /// Servers of tools. One that is absent may be back later, and one that is new was configured by the owner.
    Servers,
}

/// A part of the instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observed {
    /// Its text, or a digest of it.
    Text(String),
    /// The same, as the owner wrote it through the program.
    OfOwner(String),
    /// It is gone, and the owner removed it through the program.
    RemovedByOwner,
    /// It is not used, for this reason.
    Unusable(String),
}

impl Observations {
    /// A source that has nothing.
    pub fn none(origin: Origin) -> Self {
        Self { origin, entries: BTreeMap::new() }
    }
}
