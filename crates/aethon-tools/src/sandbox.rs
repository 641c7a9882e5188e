//! The kernel sandbox as the rest of the crate sees it: the prefix for a command, and whether the sandbox works here at
//! all. The implementation is in `confine`; only Linux has it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};

use aethon_core::sandbox::Sandbox;
use aethon_core::turn::Trust;

use crate::confine::Confinement;
#[cfg(target_os = "linux")]
use crate::confine::ControlGroups;
use crate::options::Options;
use crate::sandbox_limits::SandboxLimits;

/// Runs a sandbox step if the program was started as one, and returns its exit code. Call this first in `main`.
#[cfg(target_os = "linux")]
pub fn step(arguments: &[OsString]) -> Option<ExitCode> {
    crate::confine::step(arguments)
}

/// Does nothing: this system has no sandbox steps.
#[cfg(not(target_os = "linux"))]
pub fn step(_arguments: &[OsString]) -> Option<ExitCode> {
    None
}

/// Environment variable that a step needs; the command itself does not get it.
#[cfg(target_os = "linux")]
pub(crate) const STEP_VARIABLE: (&str, &str) = crate::confine::ALONE;
#[cfg(not(target_os = "linux"))]
pub(crate) const STEP_VARIABLE: (&str, &str) = ("AETHON_STEP", "");

/// The gaps of the memory limit without a control group.
#[cfg(target_os = "linux")]
const UNBOUND: &str = "security.sandbox_memory limits the private memory of each process of a command and its temporary files, \
                       but neither shared memory nor all processes together: this service has no control group of its own \
                       (in a unit of systemd: `Delegate=memory`)";

/// The control groups of this process, taken over once: several sandboxes exist, and they share them.
#[cfg(target_os = "linux")]
static GROUPS: OnceLock<Option<ControlGroups>> = OnceLock::new();
/// Whether a command could not be started in a control group.
#[cfg(target_os = "linux")]
static GROUPS_FAIL: AtomicBool = AtomicBool::new(false);

#[cfg(target_os = "linux")]
fn groups() -> Option<&'static ControlGroups> {
    let groups = GROUPS.get_or_init(ControlGroups::delegated).as_ref();
    groups.filter(|_| !GROUPS_FAIL.load(Ordering::Relaxed))
}

/// The kernel sandbox of one assistant.
#[derive(Debug, Clone)]
pub struct KernelSandbox {
    launcher: Option<PathBuf>,
    limits: SandboxLimits,
    confinement: Arc<Confinement>,
    workspace: PathBuf,
    /// Whether it is where commands run.
    is_chosen: bool,
}

impl KernelSandbox {
    /// Creates the sandbox that these options describe.
    pub fn new(options: &Options) -> Self {
        Self {
            launcher: options.shell.launcher.clone(),
            limits: options.shell.limits.clone(),
            confinement: Arc::new(Confinement::new(options)),
            workspace: options.workspace.clone(),
            is_chosen: options.shell.sandbox == Sandbox::Kernel,
        }
    }

    /// Checks whether the sandbox works here, by a trial that runs no command of a model's. Returns notes for the
    /// owner; the error says which part is missing.
    #[cfg(target_os = "linux")]
    pub fn check(&self) -> Result<Vec<String>, String> {
        let launcher = self.launcher().map_err(|error| error.to_string())?;
        // Before the first start the workspace may not exist yet, and one that commands do not use stays as it is.
        let is_used = self.is_chosen && self.workspace.is_dir();
        let at = if is_used { self.workspace.clone() } else { PathBuf::from("/") };
        let mut plan = self.confinement.plan(at.clone(), &self.limits, Trust::Owner);
        plan.workspace = at;
        // As before each command: a workspace that only root can enter is out of reach of the user that it runs as.
        if let Some(user) = plan.user.filter(|_| is_used) {
            crate::confine::hand_over(&plan.workspace, user).map_err(|error| error.to_string())?;
        }
        let mut concerns = crate::confine::trial(launcher, &plan)?;
        let groups = groups().and_then(|groups| groups.create(&self.limits).ok());
        plan.group = groups.clone();
        if groups.is_none() || crate::confine::trial(launcher, &plan).is_err() {
            GROUPS_FAIL.store(groups.is_some(), Ordering::Relaxed);
            concerns.push(UNBOUND.to_owned());
        }
        Ok(concerns)
    }

    /// Always fails: this system has no kernel sandbox.
    #[cfg(not(target_os = "linux"))]
    pub fn check(&self) -> Result<Vec<String>, String> {
        Err("only Linux has it".into())
    }

    /// Returns this sandbox with the network that the owner configured for a program.
    pub(crate) fn with_network(&self, network: &str) -> Self {
        let limits = SandboxLimits { network: network.to_owned(), ..self.limits.clone() };
        Self { limits, ..self.clone() }
    }

    /// Returns the prefix for a command of a turn of this trust that starts in this directory. Blocks.
    #[cfg(target_os = "linux")]
    pub(crate) fn words(&self, directory: &Path, trust: Trust) -> io::Result<Vec<OsString>> {
        let launcher = self.launcher()?;
        let mut plan = self.confinement.plan(directory.to_path_buf(), &self.limits, trust);
        plan.group = groups().map(|groups| groups.create(&self.limits)).transpose()?;
        if let Some(user) = plan.user {
            crate::confine::hand_over(&plan.workspace, user)?;
        }
        Ok([launcher.as_os_str().to_owned()].into_iter().chain(plan.words()).collect())
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "there is none on this system")]
    pub(crate) fn words(&self, _directory: &Path, _trust: Trust) -> io::Result<Vec<OsString>> {
        Err(io::Error::other("only Linux has the sandbox of the kernel"))
    }

    #[cfg(target_os = "linux")]
    fn launcher(&self) -> io::Result<&Path> {
        self.launcher.as_deref().ok_or_else(|| {
            io::Error::other(
                "the program that embeds Aethon has named no launcher for the sandbox of the kernel",
            )
        })
    }
}
