//! The walls of a child that reads a document: limits on what it takes, no files, no network, no other processes, and no
//! system calls but those that memory and its two pipes need. It builds them itself, before it has read a byte.
//!
//! Where a kernel lacks some of them the others still stand; the limits exist everywhere.

use rustix::process::{Resource, Rlimit, setrlimit};

use super::{MEMORY, PROCESSOR};

/// Builds all walls that this machine knows.
pub(super) fn build() {
    let at_most = |value: u64| Rlimit { current: Some(value), maximum: Some(value) };
    for (what, most) in [
        (Resource::As, MEMORY),
        (Resource::Cpu, PROCESSOR),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        // Those that it has stay.
        (Resource::Nofile, 0),
    ] {
        // One that cannot be set does not make the others useless.
        let _ = setrlimit(what, at_most(most));
    }
    #[cfg(target_os = "linux")]
    crate::confine::seal();
}
