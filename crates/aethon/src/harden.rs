//! Process hardening at startup: keeps other processes out of this one's memory, and raises the limit of open files so that
//! everybody who connects can be served.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limits of open files to try, in order.
const OPEN_FILES: [u64; 2] = [65_536, 10_240];

/// Keeps other processes of the same user from reading this one's memory, environment and open files, prevents core dumps,
/// and raises the limit of open files. Call it first in `main`. Child processes are not protected by it.
pub fn harden_process() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // It cannot fail on a kernel that Rust supports, and the program also works without it.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    // Lowering a limit is always permitted.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    raise_open_files();
}

/// Raises the limit of open files as far as the system allows, within reason: with the usual 1,024, a few hundred idle
/// connections would lock the owner out.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    for wanted in OPEN_FILES {
        let wanted = limit.maximum.map_or(wanted, |most| most.min(wanted));
        if limit.current.is_none_or(|current| current >= wanted) {
            return;
        }
        // Some systems enforce a lower limit than they report; then the next number is tried.
        if setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }).is_ok() {
            return;
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::{DumpableBehavior, dumpable_behavior};

    use super::*;

    #[test]
    fn the_memory_is_closed_to_others_and_written_nowhere() {
        harden_process();
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
        assert_eq!(getrlimit(Resource::Core).current, Some(0));
        let files = getrlimit(Resource::Nofile);
        let wanted = files.maximum.map_or(OPEN_FILES[0], |most| most.min(OPEN_FILES[0]));
        assert!(files.current.is_none_or(|current| current >= wanted), "{files:?}");
    }
}
