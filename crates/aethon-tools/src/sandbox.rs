//! The sandbox of the kernel, as the rest of the crate sees it: what stands before a command, and whether it works here at all.
//! How it works is in `confine`; on systems other than Linux there is none.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use crate::confine::Confinement;
use crate::options::Options;
use crate::sandbox_limits::SandboxLimits;

/// Runs a step of the sandbox when the program was started as one, and says how it ended. Call this first thing in `main`.
#[cfg(target_os = "linux")]
pub fn step(arguments: &[OsString]) -> Option<ExitCode> {
    crate::confine::step(arguments)
}

/// There are no steps on this system.
#[cfg(not(target_os = "linux"))]
pub fn step(_arguments: &[OsString]) -> Option<ExitCode> {
    None
}

/// What the environment of a step has to say; the command itself does not get it.
#[cfg(target_os = "linux")]
pub(crate) const STEP_VARIABLE: (&str, &str) = crate::confine::ALONE;
#[cfg(not(target_os = "linux"))]
pub(crate) const STEP_VARIABLE: (&str, &str) = ("AETHON_STEP", "");

/// The sandbox of the kernel for one assistant.
#[derive(Debug, Clone)]
pub struct KernelSandbox {
    launcher: Option<PathBuf>,
    limits: SandboxLimits,
    confinement: Arc<Confinement>,
    workspace: PathBuf,
}

impl KernelSandbox {
    /// The sandbox that these options ask for.
    pub fn new(options: &Options) -> Self {
        Self {
            launcher: options.shell.launcher.clone(),
            limits: options.shell.limits.clone(),
            confinement: Arc::new(Confinement::new(options)),
            workspace: options.workspace.clone(),
        }
    }

    /// Whether it works here, found out by running nothing in it. The error says what is missing.
    #[cfg(target_os = "linux")]
    pub fn check(&self) -> Result<(), String> {
        let launcher = self.launcher().map_err(|error| error.to_string())?;
        // The workspace may not be there yet, before a first start.
        let at = if self.workspace.is_dir() { self.workspace.clone() } else { PathBuf::from("/") };
        let mut plan = self.confinement.plan(at.clone(), &self.limits);
        plan.workspace = at;
        crate::confine::trial(launcher, &plan)
    }

    /// There is none on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn check(&self) -> Result<(), String> {
        Err("only Linux has it".into())
    }

    /// This sandbox for a program that its owner gives a network of its own.
    pub(crate) fn with_network(&self, network: &str) -> Self {
        let limits = SandboxLimits { network: network.to_owned(), ..self.limits.clone() };
        Self { limits, ..self.clone() }
    }

    /// What stands before a command that begins in this directory. Blocks; call it where that does not matter.
    #[cfg(target_os = "linux")]
    pub(crate) fn words(&self, directory: &Path) -> io::Result<Vec<OsString>> {
        let launcher = self.launcher()?;
        let plan = self.confinement.plan(directory.to_path_buf(), &self.limits);
        if let Some(user) = plan.user {
            crate::confine::hand_over(&plan.workspace, user)?;
        }
        Ok([launcher.as_os_str().to_owned()].into_iter().chain(plan.words()).collect())
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "there is none on this system")]
    pub(crate) fn words(&self, _directory: &Path) -> io::Result<Vec<OsString>> {
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
