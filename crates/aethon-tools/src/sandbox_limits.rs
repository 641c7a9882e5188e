//! Resource limits of a sandbox.

/// Maximum size in bytes of a file written by any child process: more than people keep, and less than a disk.
pub(crate) const LARGEST_FILE: u64 = 16 << 30;

/// Resource limits of a sandbox: `security.sandbox_*`.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxLimits {
    /// The image, for docker.
    pub image: String,
    /// Memory in bytes: of the container, or of each process.
    pub memory: u64,
    /// Number of CPUs, for docker.
    pub cpus: f64,
    /// Maximum number of processes.
    pub processes: u32,
    /// The network: `none`, or a docker network name.
    pub network: String,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            image: "debian:stable-slim".into(),
            memory: 512 << 20,
            cpus: 1.0,
            processes: 256,
            network: "none".into(),
        }
    }
}
