//! What a child may take of the machine, wherever it runs: its files have a largest size, there is an end to how many processes
//! it makes, and when memory runs out the kernel takes it before the assistant.
//!
//! They are set from outside while the child still waits to begin, and everything that it starts inherits them. Memory has no
//! limit here, because the only one that a user can set counts what a runtime reserves and never uses; a sandbox has one.

use std::process::Child;

/// Sets them. What the machine does not permit is left, because a command that runs without is what there was before.
#[cfg(target_os = "linux")]
pub(super) fn apply(child: &Child) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    use crate::sandbox_limits::LARGEST_FILE;

    /// Of a thousand: more than usual programs of the person's, less than what is to be killed first of all.
    const KILLED_BEFORE_OTHERS: &str = "500";
    /// How many processes and threads may come to those that there are.
    const MORE_PROCESSES: u64 = 2_048;

    let pid = Pid::from_child(child);
    let at_most = |value: u64| Rlimit { current: Some(value), maximum: Some(value) };
    let _ = prlimit(Some(pid), Resource::Fsize, at_most(LARGEST_FILE));
    // The kernel counts those of the user, whoever started them; all that there are is at least as many.
    if let Some(there_are) = processes() {
        let _ = prlimit(Some(pid), Resource::Nproc, at_most(there_are + MORE_PROCESSES));
    }
    let _ = std::fs::write(format!("/proc/{}/oom_score_adj", child.id()), KILLED_BEFORE_OTHERS);
}

/// Elsewhere a process sets its own limits only.
#[cfg(not(target_os = "linux"))]
pub(super) fn apply(_child: &Child) {}

/// How many processes and threads the machine has: the number behind the slash in the load.
#[cfg(target_os = "linux")]
fn processes() -> Option<u64> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    load.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}
