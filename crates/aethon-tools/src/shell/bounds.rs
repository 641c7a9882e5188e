//! Limits for every child process, wherever it runs: a maximum file size, a maximum number of processes, and a higher
//! OOM score, so that the kernel kills the child before the assistant when memory runs out.
//!
//! They are set from outside while the child still waits at its gate, and everything that it starts inherits them.
//! Memory is not limited here, because the only limit available to a user counts memory that a runtime reserves and never
//! uses; a sandbox has one.

use std::process::Child;

/// Applies the limits. Errors are ignored: running without them is better than not running.
#[cfg(target_os = "linux")]
pub(super) fn apply(child: &Child) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    use crate::sandbox_limits::MAX_FILE;

    /// Out of 1000: more than the person's usual programs, less than what must be killed first.
    const KILLED_BEFORE_OTHERS: &str = "500";
    /// How many processes and threads may be added to the existing ones.
    const MORE_PROCESSES: u64 = 2_048;

    let pid = Pid::from_child(child);
    let at_most = |value: u64| Rlimit { current: Some(value), maximum: Some(value) };
    let _ = prlimit(Some(pid), Resource::Fsize, at_most(MAX_FILE));
    // The kernel counts all processes of the user; counting all of the machine is a safe upper bound.
    if let Some(there_are) = processes() {
        let _ = prlimit(Some(pid), Resource::Nproc, at_most(there_are + MORE_PROCESSES));
    }
    let _ = std::fs::write(format!("/proc/{}/oom_score_adj", child.id()), KILLED_BEFORE_OTHERS);
}

/// Does nothing: elsewhere a process can set only its own limits.
#[cfg(not(target_os = "linux"))]
pub(super) fn apply(_child: &Child) {}

/// Returns the number of processes and threads on the machine, the number after the slash in the load average.
#[cfg(target_os = "linux")]
fn processes() -> Option<u64> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    load.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}
