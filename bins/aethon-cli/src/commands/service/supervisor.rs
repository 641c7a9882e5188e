//! The service manager of this machine, and its commands.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Result, bail};

use super::unit::Unit;
use super::{launchd, systemd};

/// A service manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Supervisor {
    /// systemd's, of a user.
    Systemd,
    /// macOS's.
    Launchd,
}

impl Supervisor {
    /// The one of this system.
    pub(super) const HERE: Self = if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd };

    /// Returns where the service file stands.
    pub(super) fn file(self) -> Result<PathBuf> {
        let Some(home) = crate::environment::user_home() else {
            bail!("HOME is not set, so there is no place for the service file");
        };
        Ok(match self {
            Self::Systemd => crate::environment::user_config()
                .unwrap_or_else(|| home.join(".config"))
                .join("systemd/user")
                .join(systemd::NAME),
            Self::Launchd => home.join("Library/LaunchAgents").join(format!("{}.plist", launchd::LABEL)),
        })
    }

    /// Returns the text of the service file.
    pub(super) fn text(self, unit: &Unit) -> String {
        match self {
            Self::Systemd => systemd::text(unit),
            Self::Launchd => launchd::text(unit),
        }
    }

    /// Returns the commands that start the service now and with every session.
    pub(super) fn starting(self, file: &Path) -> Vec<Vec<String>> {
        match self {
            // Restarting, because an earlier version may run.
            Self::Systemd => words(&[
                "systemctl --user daemon-reload",
                "systemctl --user enable aethon.service",
                "systemctl --user restart aethon.service",
            ]),
            Self::Launchd => {
                vec![vec!["launchctl".into(), "load".into(), "-w".into(), file.display().to_string()]]
            }
        }
    }

    /// Returns the commands that stop the service for good, before its file is removed.
    pub(super) fn stopping(self, file: &Path) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => words(&["systemctl --user disable --now aethon.service"]),
            Self::Launchd => {
                vec![vec!["launchctl".into(), "unload".into(), "-w".into(), file.display().to_string()]]
            }
        }
    }

    /// Returns the commands that follow the removal of the file.
    pub(super) fn forgetting(self) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => words(&["systemctl --user daemon-reload"]),
            Self::Launchd => Vec::new(),
        }
    }

    /// Returns the state of the service in the manager's words.
    pub(super) fn state(self) -> Option<String> {
        let command = match self {
            Self::Systemd => "systemctl --user is-active aethon.service".to_owned(),
            Self::Launchd => format!("launchctl list {}", launchd::LABEL),
        };
        let output = output(&words(&[&command]).remove(0)).ok()?;
        let first =
            String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned();
        match self {
            Self::Systemd => Some(first).filter(|state| !state.is_empty()),
            Self::Launchd => Some(if output.status.success() { "active" } else { "inactive" }.to_owned()),
        }
    }

    /// Returns whether services go on while their user is signed out; `None` if that is unknown.
    pub(super) fn lingers(self) -> Option<bool> {
        if self != Self::Systemd {
            return None;
        }
        let output = output(&words(&["loginctl show-user --property=Linger --value"]).remove(0)).ok()?;
        match String::from_utf8_lossy(&output.stdout).trim() {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        }
    }
}

fn words(commands: &[&str]) -> Vec<Vec<String>> {
    commands.iter().map(|command| command.split(' ').map(str::to_owned).collect()).collect()
}

/// Runs a command of the service manager.
///
/// # Errors
///
/// It could not be started or failed, with its words.
pub(super) fn run(command: &[String]) -> Result<()> {
    let shown = command.join(" ");
    let output = match output(command) {
        Ok(output) => output,
        Err(error) => bail!("`{shown}` cannot be started: {error}"),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        bail!("`{shown}` failed: {}", if said.is_empty() { output.status.to_string() } else { said });
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the service manager's own programs, which end by themselves")]
fn output(command: &[String]) -> std::io::Result<Output> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    Command::new(program).args(arguments).stdin(Stdio::null()).output()
}
