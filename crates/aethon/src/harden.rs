//! What a program does first for its own protection: its memory is nobody else's affair.

use rustix::process::{Resource, Rlimit, setrlimit};

/// Keeps other processes of the same user from reading this one's memory, environment and open files, and a crash from
/// writing its memory to a file. Call it first thing in `main`. What it starts may be looked at again.
pub fn harden_process() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // It cannot fail on a kernel that Rust supports; a program that runs without it still runs rightly.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    // Lowering a limit is always permitted.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::{DumpableBehavior, dumpable_behavior, getrlimit};

    use super::*;

    #[test]
    fn the_memory_is_closed_to_others_and_written_nowhere() {
        harden_process();
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
        assert_eq!(getrlimit(Resource::Core).current, Some(0));
    }
}
