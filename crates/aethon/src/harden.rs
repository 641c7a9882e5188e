//! Process hardening at startup: keeps other processes out of this one's memory, raises the limit of open files so that
//! everybody who connects can be served, and refuses to start where memory would be missing in the middle of the work.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::{Error, Result};

/// The address space that the program may come to need. Memory is reserved in advance for each thread and used by and by: with
/// less than this, a thread cannot start, or a large message ends the process.
const ADDRESS_SPACE: u64 = 1 << 30;

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

/// Refuses to start with a limit on the address space (`RLIMIT_AS`, `ulimit -v`) that the daemon would run into.
pub fn check_address_space() -> Result<()> {
    check_room(getrlimit(Resource::As).current)
}

fn check_room(limit: Option<u64>) -> Result<()> {
    match limit.filter(|limit| *limit < ADDRESS_SPACE) {
        None => Ok(()),
        Some(limit) => Err(Error::refused(format!(
            "the limit on the address space is {} MiB, and {} MiB must be free for what threads reserve and seldom use; raise it \
             (`ulimit -v`, `LimitAS=`), or limit the memory by a control group (`MemoryMax=`, `docker run --memory`)",
            limit >> 20,
            ADDRESS_SPACE >> 20
        ))),
    }
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
    fn a_limit_that_the_work_would_run_into_is_refused() {
        assert!(check_room(None).is_ok() && check_room(Some(ADDRESS_SPACE)).is_ok());
        let refused = check_room(Some(192 << 20)).unwrap_err();
        assert!(refused.is_refusal() && refused.to_string().contains("192 MiB"), "{refused}");
    }

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
