//! Builds the sandboxes from `[security]`: their limits, whether they work here, and the tools that always run in one.

use std::path::Path;
use std::sync::Arc;

use aethon_config::Config;
use aethon_core::sandbox::Sandbox;
use aethon_core::storage::Storage;
use aethon_core::tool::ToolSource;
use aethon_tools::{DockerSandbox, DynamicTools, KernelSandbox, Options, PullPolicy, Trial};

use super::tool_options;
use crate::flags::Flags;
use crate::home::Home;
use crate::prepared::Prepared;

/// Where docker listens unless `DOCKER_HOST` says otherwise.
const DOCKER_SOCKET: &str = "unix:///var/run/docker.sock";

/// The Docker sandbox, if commands run in Docker. Docker is not contacted yet.
pub(crate) fn docker(config: &Config, flags: &Flags, home: &Home) -> Option<DockerSandbox> {
    (config.security.sandbox == Sandbox::Docker).then(|| docker_at(config, flags, home))
}

/// The Docker sandbox that this machine would have if commands ran in Docker.
pub(crate) fn docker_at(config: &Config, flags: &Flags, home: &Home) -> DockerSandbox {
    let host = flags.docker_host.as_deref().unwrap_or(DOCKER_SOCKET);
    let mut options = Options::default();
    options.home = Some(home.path().to_owned());
    options.workspace = home.workspace();
    options.user_home = flags.user_home.clone();
    options.places.account_home = flags.account_home.clone();
    options.places.allowed = config.security.allowed_paths.clone();
    options.shell.limits = tool_options::limits(config);
    DockerSandbox::new(host, &options)
}

/// Why the required sandbox is unavailable, as a reason not to start. Starts no container.
pub(crate) async fn problem(prepared: &Prepared) -> Option<String> {
    match (prepared.config.security.sandbox, &prepared.shared.docker) {
        (Sandbox::Kernel, _) => Some(without_kernel(&kernel(prepared).await.err()?)),
        (Sandbox::Docker, Some(docker)) => Some(without_docker(docker, &docker_survey(docker).await.err()?)),
        _ => None,
    }
}

fn without_kernel(why: &str) -> String {
    // A container of docker permits neither new namespaces nor mounts, and nothing in the error says so.
    let is_inside = ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists());
    let inside = match is_inside {
        true => {
            " (this is a container: it has to be started with `--security-opt seccomp=unconfined --security-opt \
                 apparmor=unconfined --security-opt systempaths=unconfined`)"
        }
        false => "",
    };
    format!(
        "security.sandbox is \"kernel\" but it does not work on this machine: {why}{inside}; allow unprivileged user namespaces and \
         enable Landlock, or set security.sandbox = \"docker\" or \"none\""
    )
}

fn without_docker(docker: &DockerSandbox, why: &str) -> String {
    format!(
        "security.sandbox is \"docker\" but docker at {} cannot provide it: {why}; correct this, start Docker, set \
         DOCKER_HOST, or set security.sandbox = \"none\"",
        docker.host()
    )
}

/// Checks the abilities of the Docker daemon.
pub(crate) async fn docker_survey(docker: &DockerSandbox) -> Result<(), String> {
    check_address(docker)?;
    docker.survey().await
}

fn check_address(docker: &DockerSandbox) -> Result<(), String> {
    let is_understood = ["unix://", "tcp://"].iter().any(|scheme| docker.host().starts_with(scheme));
    if is_understood { Ok(()) } else { Err("only unix:// and tcp:// addresses are supported".into()) }
}

/// The result of trying the sandbox of commands.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    /// The property proved; `None` without a sandbox.
    pub(crate) proved: Option<String>,
    /// Concerns about it.
    pub(crate) concerns: Vec<String>,
}

/// Proves that the configured sandbox works here, with docker by a container. The error is a reason not to start.
pub(crate) async fn proof(prepared: &Prepared, pull: PullPolicy) -> Result<Proof, String> {
    match (prepared.config.security.sandbox, &prepared.shared.docker) {
        (Sandbox::Kernel, _) => {
            let concerns = kernel(prepared).await.map_err(|why| without_kernel(&why))?;
            Ok(Proof { proved: Some("it works here".to_owned()), concerns })
        }
        (Sandbox::Docker, Some(docker)) => {
            let tried = tried(prepared, docker, pull).await;
            let Trial { proved, concerns } = tried.map_err(|why| without_docker(docker, &why))?;
            Ok(Proof { proved: Some(proved), concerns })
        }
        _ => Ok(Proof::default()),
    }
}

async fn tried(prepared: &Prepared, docker: &DockerSandbox, pull: PullPolicy) -> Result<Trial, String> {
    check_address(docker)?;
    let networks = crate::sandbox_reach::networks(&prepared.config);
    let is_open = prepared.config.dashboard.auth_token.is_empty();
    if let Some((key, _)) = networks.first().filter(|_| is_open)
        && docker.reaches_loopback().await
    {
        return Err(format!(
            "Docker Desktop lets every container that has a network reach the assistant's own port, and dashboard.auth_token \
             is empty: set a token, or {key} = \"none\""
        ));
    }
    docker.try_out(pull).await
}

/// Checks whether the kernel sandbox works here. Returns concerns about it; the error names the missing feature.
pub(crate) async fn kernel(prepared: &Prepared) -> Result<Vec<String>, String> {
    let sandbox = KernelSandbox::new(&tool_options::options(prepared));
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
    let (audit, clock) = (storage.audit.clone(), prepared.clock());
    let (folder, redactor) = (prepared.home.tools(), prepared.shared.redactor.clone());
    Some(Arc::new(DynamicTools::open(folder, options, taken, audit, clock, redactor)))
}
