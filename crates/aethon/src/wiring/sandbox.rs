//! Builds the sandboxes from `[security]`: their limits, whether they work here, and the tools that always run in one.

use std::sync::Arc;

use aethon_config::Config;
use aethon_core::sandbox::Sandbox;
use aethon_core::storage::Storage;
use aethon_core::tool::ToolSource;
use aethon_tools::{DockerSandbox, DynamicTools, KernelSandbox, Options, SandboxLimits};

use crate::builder::Prepared;
use crate::home::Home;
use crate::preflight::{DOCKER_SOCKET, Flags};

/// The limits of a sandbox.
pub(crate) fn limits(config: &Config) -> SandboxLimits {
    let security = &config.security;
    let mut limits = SandboxLimits::default();
    limits.image = security.sandbox_image.clone();
    limits.memory = bytes(&security.sandbox_memory).unwrap_or(limits.memory);
    limits.cpus = security.sandbox_cpus;
    limits.processes = security.sandbox_pids_limit;
    limits.network = security.sandbox_network.clone();
    limits
}

/// The Docker sandbox, if commands run in Docker. Docker is not contacted yet.
pub(crate) fn docker(config: &Config, flags: &Flags, home: &Home) -> Option<DockerSandbox> {
    (config.security.sandbox == Sandbox::Docker).then(|| {
        let host = flags.docker_host.as_deref().unwrap_or(DOCKER_SOCKET);
        DockerSandbox::new(host, limits(config), home.path(), &home.workspace())
    })
}

/// Why the kernel sandbox, although required, is unavailable; as a reason not to start.
pub(crate) async fn problem(prepared: &Prepared) -> Option<String> {
    if prepared.config.security.sandbox != Sandbox::Kernel {
        return None;
    }
    let why = kernel(prepared).await.err()?;
    Some(format!(
        "security.sandbox is \"kernel\" but this machine cannot have it: {why}; allow unprivileged user namespaces and turn \
         Landlock on, or set security.sandbox = \"docker\" or \"none\""
    ))
}

/// Checks whether the kernel sandbox works here; the error says what is missing.
pub(crate) async fn kernel(prepared: &Prepared) -> Result<(), String> {
    let sandbox = KernelSandbox::new(&super::tools::options(prepared));
    let checked = tokio::task::spawn_blocking(move || sandbox.check()).await;
    checked.unwrap_or_else(|error| Err(error.to_string()))
}

/// The tools created at run time, if enabled.
pub(crate) fn dynamic(
    prepared: &Prepared,
    storage: &Storage,
    options: &Options,
    taken: Vec<String>,
) -> Option<Arc<dyn ToolSource>> {
    if !prepared.config.runtime_tools.enabled {
        return None;
    }
    let kept = (storage.audit.clone(), prepared.clock(), prepared.shared.redactor.clone());
    let folder = prepared.home.tools();
    Some(Arc::new(DynamicTools::open(folder, options, taken, kept)))
}

/// Parses a size such as `512m` into bytes.
fn bytes(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        'k' | 'K' => 1 << 10,
        'm' | 'M' => 1 << 20,
        'g' | 'G' => 1 << 30,
        _ => 1,
    };
    let digits = text.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_their_units() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(bytes(text), expected, "{text:?}");
        check("512m", Some(512 << 20));
        check("2G", Some(2 << 30));
        check("64k", Some(64 << 10));
        check("1048576", Some(1 << 20));
        check("100b", Some(100));
        check("", None);
    }
}
