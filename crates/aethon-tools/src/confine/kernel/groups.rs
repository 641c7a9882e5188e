//! A control group for each command, where the system has delegated one to the service.
//!
//! Limits of a process count the memory that is its own, and no shared memory. A control group counts everything, for all
//! processes together, but only its owner may create one: systemd delegates a group to a unit that has `Delegate=`, and
//! marks it. A group that is not marked is left alone, even if it is writable.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sandbox_limits::SandboxLimits;

const ROOT: &str = "/sys/fs/cgroup";
/// By these attributes systemd marks a group as delegated.
const MARKS: [&str; 2] = ["user.delegate", "trusted.delegate"];
/// The group of the service itself: a group that has groups of its own may hold no processes.
const OWN: &str = "assistant";
/// The groups of commands begin with this.
const PREFIX: &str = "command-";

/// The groups of one service.
#[derive(Debug)]
pub(crate) struct ControlGroups {
    delegated: PathBuf,
    count: AtomicU64,
}

impl ControlGroups {
    /// Takes over the group that was delegated to this process. `None` if there is none, or if it cannot be used.
    pub(crate) fn delegated() -> Option<Self> {
        let text = fs::read_to_string("/proc/self/cgroup").ok()?;
        let path = text.lines().find_map(|line| line.strip_prefix("0::/")).filter(|path| !path.is_empty())?;
        let group = Path::new(ROOT).join(path);
        let is_marked = MARKS.iter().any(|mark| {
            let mut value = [0; 8];
            rustix::fs::getxattr(&group, *mark, &mut value)
                .is_ok_and(|length| value[..length].starts_with(b"1"))
        });
        if !is_marked {
            return None;
        }
        Self::take_over(&group).ok()
    }

    fn take_over(group: &Path) -> io::Result<Self> {
        let controllers = fs::read_to_string(group.join("cgroup.controllers"))?;
        if !controllers.split_whitespace().any(|name| name == "memory") {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (own, procs) = (group.join(OWN), "cgroup.procs");
        match fs::create_dir(&own) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => fs::write(own.join(procs), "0")?,
        }
        if let Err(error) = fs::write(group.join("cgroup.subtree_control"), "+memory") {
            // Something else runs in the group. Everything goes back to where it was.
            fs::write(group.join(procs), "0")?;
            fs::remove_dir(own)?;
            return Err(error);
        }
        Ok(Self { delegated: group.to_path_buf(), count: AtomicU64::new(0) })
    }

    /// Creates a group for a command, and removes those of commands that have ended.
    pub(crate) fn create(&self, limits: &SandboxLimits) -> io::Result<PathBuf> {
        for entry in fs::read_dir(&self.delegated)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                // It fails for a group in which a command still runs.
                let _ = fs::remove_dir(entry.path());
            }
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let group = self.delegated.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&group)?;
        fs::write(group.join("memory.max"), limits.memory.to_string())?;
        // Kernels without swap accounting lack the first, older ones the second.
        for (name, value) in [("memory.swap.max", "0"), ("memory.oom.group", "1")] {
            let _ = fs::write(group.join(name), value);
        }
        Ok(group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_gets_a_group_whose_memory_is_limited() {
        let folder = tempfile::tempdir().unwrap();
        let group = folder.path();
        assert!(ControlGroups::take_over(group).is_err(), "there are no controllers");
        fs::write(group.join("cgroup.controllers"), "cpu pids\n").unwrap();
        assert!(ControlGroups::take_over(group).is_err(), "none for memory");
        fs::write(group.join("cgroup.controllers"), "cpu memory pids\n").unwrap();
        let groups = ControlGroups::take_over(group).unwrap();
        let read = |path: PathBuf| fs::read_to_string(path).unwrap();
        assert_eq!(read(group.join("cgroup.subtree_control")), "+memory");
        assert_eq!(read(group.join("assistant/cgroup.procs")), "0", "the service is out of the way");
        fs::create_dir(group.join("command-1-1")).unwrap();
        let own = groups.create(&SandboxLimits { memory: 64 << 20, ..SandboxLimits::default() }).unwrap();
        assert_eq!(read(own.join("memory.max")), "67108864");
        assert!(!group.join("command-1-1").exists(), "what has ended is removed");
        assert_ne!(groups.create(&SandboxLimits::default()).unwrap(), own);
    }

    #[test]
    fn a_group_in_which_something_else_runs_is_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cgroup.controllers"), "memory\n").unwrap();
        // The kernel refuses with EBUSY; a directory refuses as well.
        fs::create_dir(folder.path().join("cgroup.subtree_control")).unwrap();
        assert!(ControlGroups::take_over(folder.path()).is_err());
        assert_eq!(fs::read_to_string(folder.path().join("cgroup.procs")).unwrap(), "0");
    }
}
