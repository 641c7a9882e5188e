//! Where shell commands run: the choice that the configuration makes and the tools act on.

use serde::{Deserialize, Serialize};

/// Where shell commands run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sandbox {
    /// On this machine.
    #[default]
    None,
    /// In a disposable container and nowhere else: without one, a command does not run.
    Docker,
    /// Inside namespaces and walls of the kernel and nowhere else: without them, a command does not run.
    Kernel,
}

impl Sandbox {
    /// The words for them in the configuration.
    pub const NAMES: [&'static str; 3] = ["none", "docker", "kernel"];
}
