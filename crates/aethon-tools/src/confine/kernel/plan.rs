//! The input of the steps: one JSON document, passed as an argument. It contains no secrets.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{OUTER, STEP};
use crate::run_as::RunAs;

/// The settings of a command in the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The directory that it may change.
    pub(crate) workspace: PathBuf,
    /// The parts of it that may be changed, if not all.
    pub(crate) parts: Option<Vec<PathBuf>>,
    /// The directory in which it starts.
    pub(crate) directory: PathBuf,
    /// The person's home, replaced by an empty one that disappears with the command.
    pub(crate) home: Option<PathBuf>,
    /// Other places to cover.
    pub(crate) hidden: Vec<PathBuf>,
    /// Places inside covered ones that stay readable.
    pub(crate) kept: Vec<PathBuf>,
    /// Whether it has the machine's network.
    pub(crate) network: bool,
    /// Ports that are closed even then.
    pub(crate) ports: Vec<u16>,
    /// Memory of each process, and size of all temporary files, in bytes.
    pub(crate) memory: u64,
    /// The control group to join first, which limits the memory of all processes together.
    #[serde(default)]
    pub(crate) group: Option<PathBuf>,
    /// Maximum number of processes.
    pub(crate) processes: u64,
    /// The user and group to switch to first.
    pub(crate) user: Option<RunAs>,
}

impl Plan {
    pub(super) fn parse(text: &OsStr) -> io::Result<Self> {
        let text = text.to_str().ok_or_else(|| io::Error::other("the plan is no text"))?;
        serde_json::from_str(text)
            .map_err(|error| io::Error::other(format!("the plan cannot be read: {error}")))
    }

    /// Serializes the plan for the inner step.
    pub(super) fn to_text(&self) -> io::Result<String> {
        serde_json::to_string(self).map_err(io::Error::other)
    }

    /// Returns the arguments between the launcher and the command.
    pub(crate) fn words(&self) -> Vec<OsString> {
        // Serialization fails if a path is not UTF-8; the step then rejects the empty plan, and nothing runs.
        let plan = self.to_text().unwrap_or_default();
        vec![STEP.into(), OUTER.into(), plan.into()]
    }
}

/// Returns the user for commands if the service runs as root; `None` means the service's own user.
pub(crate) fn nobody() -> Option<RunAs> {
    rustix::process::geteuid().is_root().then_some(RunAs::NOBODY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_its_way_through_arguments() {
        let plan = Plan {
            workspace: "/home/ada/.aethon/workspace".into(),
            home: Some("/home/ada".into()),
            hidden: vec!["/srv".into()],
            ports: vec![18_790],
            memory: 1 << 29,
            processes: 256,
            user: Some(RunAs::NOBODY),
            ..Plan::default()
        };
        let words = plan.words();
        assert_eq!((words[0].to_str(), words[1].to_str()), (Some(STEP), Some(OUTER)));
        assert_eq!(Plan::parse(&words[2]).unwrap(), plan);
        assert!(Plan::parse(OsStr::new("")).is_err());
    }
}
