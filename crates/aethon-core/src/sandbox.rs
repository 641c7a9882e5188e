//! Where shell commands run: the option in the configuration that the tools follow.

use serde::{Deserialize, Serialize};

/// The user without an account: commands in a sandbox are its if the program runs as root, and the accounts of people
/// lie below.
pub const NOBODY: u32 = 65_534;

/// Where shell commands run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sandbox {
    /// On this machine.
    #[default]
    None,
    /// Only in a disposable container; without one, commands do not run.
    Docker,
    /// Only inside kernel namespaces and restrictions; without them, commands do not run.
    Kernel,
}

impl Sandbox {
    /// Their names in the configuration.
    pub const NAMES: [&'static str; 3] = ["none", "docker", "kernel"];
}
