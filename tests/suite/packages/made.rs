//! Packages made by `cargo xtask dist`, of the programs that were built for the tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use aethon_tests::server::binaries;
use tempfile::TempDir;

/// The programs of a package.
pub(super) const PROGRAMS: [&str; 3] = ["aethon-server", "aethon-cli", "aethon-mcp"];

/// The root of the checkout.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Programs of a few bytes, each of which starts the built one: packing those of the tests, with all they carry for a
/// debugger, would take minutes.
pub(super) fn light_programs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in PROGRAMS {
        let path = folder.path().join(name);
        let built = binaries().join(name);
        fs::write(&path, format!("#!/bin/sh\nexec '{}' \"$@\"\n", built.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// The built programs themselves, without what they carry for a debugger.
pub(super) fn real_programs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in PROGRAMS {
        let (built, path) = (binaries().join(name), folder.path().join(name));
        let stripped = Command::new("strip").arg("-o").arg(&path).arg(&built).status();
        if !stripped.is_ok_and(|status| status.success()) {
            fs::copy(&built, &path).unwrap();
        }
    }
    folder
}

/// Packs the programs in a folder as this version, and returns the folder of the results.
pub(super) fn packages(programs: &Path, version: &str) -> TempDir {
    let out = tempfile::tempdir().unwrap();
    let xtask = binaries().join("xtask");
    assert!(xtask.exists(), "{} is not built; `cargo xtask test` builds it", xtask.display());
    let made = Command::new(xtask)
        .args(["dist", "--level", "0", "--package-version", version, "--out"])
        .arg(out.path())
        .arg("--programs")
        .arg(programs)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    out
}

/// The result whose name ends so.
pub(super) fn result(out: &Path, end: &str) -> PathBuf {
    let mut found = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    found.find(|path| path.to_string_lossy().ends_with(end)).unwrap_or_else(|| panic!("no {end} in {out:?}"))
}

/// Returns whether a program is installed; says so if it is not.
pub(super) fn has(name: &str) -> bool {
    let is_there = ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/bin"]
        .iter()
        .any(|folder| Path::new(folder).join(name).is_file());
    if !is_there {
        eprintln!("left out on this machine, because there is no {name}");
    }
    is_there
}
