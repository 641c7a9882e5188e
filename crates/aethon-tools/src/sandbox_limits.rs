//! Resource limits of a sandbox.

/// Maximum size in bytes of a file written by any child process: more than people keep, and less than a disk.
pub(crate) const MAX_FILE: u64 = 16 << 30;

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

/// Formats a number of bytes as `security.sandbox_memory` takes it: `512m`.
pub(crate) fn amount(bytes: u64) -> String {
    let units = [(30, "g"), (20, "m"), (10, "k")];
    let whole = units.into_iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    whole.map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_reads_as_it_was_configured() {
        for (bytes, expected) in
            [(512 << 20, "512m"), (2 << 30, "2g"), (6 << 10, "6k"), (1000, "1000"), (0, "0")]
        {
            assert_eq!(amount(bytes), expected);
        }
    }
}
