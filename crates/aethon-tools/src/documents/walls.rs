//! The walls of a child that reads a document: limits on what it takes, no files, no network, no other processes, and no
//! system calls but those that memory and its two pipes need. It builds them itself, before it has read a byte.
//!
//! Where a kernel lacks some of them the others still stand; the limits exist everywhere.

use rustix::process::{Resource, Rlimit, setrlimit};

use super::{MEMORY, PROCESSOR};

/// Builds all walls that this machine knows.
pub(super) fn build() {
    close_files_and_limit();
    #[cfg(target_os = "linux")]
    crate::confine::filter_calls();
}

/// Landlock comes first, because it opens a file to describe its rules, and the limits allow no more files.
fn close_files_and_limit() {
    #[cfg(target_os = "linux")]
    crate::confine::close_files();
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
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::ErrorKind;
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::confine::Protection;

    const PLACE: &str = "PLACE_OF_A_WALLED_CHILD";

    #[test]
    fn landlock_is_in_force_beside_the_limits() {
        if !Protection::of_this_machine().files {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        #[expect(clippy::disallowed_methods, reason = "the walls are for a process of their own")]
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "documents::walls::tests::walled_child", "--ignored", "--test-threads=1"]);
        let output = child.env(PLACE, folder.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
        assert!(!folder.path().join("new").exists());
    }

    /// Creating a folder needs no open file, so that only Landlock refuses it.
    #[test]
    #[ignore = "the child of another test"]
    fn walled_child() {
        #[expect(clippy::disallowed_methods, reason = "the parent says where")]
        let Some(place) = std::env::var_os(PLACE) else { return };
        close_files_and_limit();
        let error = std::fs::create_dir(Path::new(&place).join("new")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    }
}
