//! What a sandbox may use of the machine.

/// The largest file that anything the assistant starts may write, in bytes: more than people keep, and less than a disk.
pub(crate) const LARGEST_FILE: u64 = 16 << 30;

/// What a sandbox gives to what runs in it: `security.sandbox_*`.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxLimits {
    /// The image, in docker.
    pub image: String,
    /// Memory in bytes: of the container, or of each process.
    pub memory: u64,
    /// Processors, in docker.
    pub cpus: f64,
    /// The most processes at once.
    pub processes: u32,
    /// The network: `none`, or what docker calls it.
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
