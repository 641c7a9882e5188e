//! `cargo xtask test`: builds everything once, then runs every test of the workspace.
//!
//! The black-box and browser tests drive the built programs, so those are built first, with the same features and into the
//! same folder. cargo-nextest runs the tests if it is installed, else `cargo test`.

use crate::process;
use anyhow::Result;
use std::path::Path;

/// Enables this package's optional part, so that it is linted and tested with the rest.
pub(crate) const FEATURES: [&str; 2] = ["--features", "xtask/bench"];

/// Builds the programs and the tests.
pub(crate) fn build(root: &Path) -> Result<()> {
    let arguments = [&["build", "--locked", "--workspace"], &FEATURES[..], &["--all-targets"]].concat();
    process::run(root, "cargo", &arguments)
}

/// Builds everything and runs the tests whose names contain one of `filter`, or all if it is empty.
pub(crate) fn run(root: &Path, filter: &[String]) -> Result<()> {
    let cargo = |arguments: &[&str], then: &[&str]| {
        let arguments = [arguments, &["--locked", "--workspace"], &FEATURES, then].concat();
        process::run(root, "cargo", &arguments)
    };
    let filter: Vec<&str> = filter.iter().map(String::as_str).collect();
    build(root)?;
    if process::is_installed("cargo-nextest", &["nextest", "--version"]) {
        // nextest does not run documentation tests, so cargo does; first, so that nextest's summary is the last line.
        if filter.is_empty() {
            cargo(&["test"], &["--doc", "--quiet"])?;
        }
        let then = [&["--no-fail-fast", "--no-tests=pass"], filter.as_slice()].concat();
        return cargo(&["nextest", "run"], &then);
    }
    let mut then = vec!["--no-fail-fast"];
    if !filter.is_empty() {
        then.push("--");
        then.extend(filter);
    }
    cargo(&["test"], &then)
}

/// The tests that are about the file of SQLite, about disks under it or room in it, or about how long it takes until another process
/// takes over, which takes no lease there; and those that start a server of their own, which are the same in every run.
const ABOUT_THE_FILE: [&str; 20] = [
    "change_succeeds_although_its_audit_row_fails",
    "reached_limit_is_named_instead_of_a_full_disk",
    "storage_filled_by_strangers_still_serves_the_owner",
    "a_broken_doctor_exits_1_with_a_fix_for_each_finding",
    "broken_storage_delays_the_shutdown_briefly",
    // The key of sign-ins is there, too, and a restart with an emptied home does not lose it.
    "a_cookie_under_a_lost_key_is_cleared_with_its_401",
    // Its shells do not know where the data of the test is.
    "tab_completes_commands_options_and_values_in_each_shell",
    // In the database a code outlives the instance that made it.
    "sign_in_code_needs_a_sign_in_and_ends_with_a_restart",
    "durable::instances",
    "durable::pooler",
    "durable::postgres",
    "database_of_a_newer_version_is_refused_unchanged",
    "file_other_than_a_database_is_refused_unchanged",
    "home_layout_is_private_under_any_umask",
    "durable::backup",
    "durable::bad_disks",
    "durable::damaged",
    "durable::failing_storage",
    "durable::upgrade",
    "through_kills",
];

/// Builds the programs and runs the black-box tests whose names contain one of `filter`, or all, with PostgreSQL as the storage.
pub(crate) fn on_postgres(root: &Path, filter: &[String]) -> Result<()> {
    process::run(root, "cargo", &["build", "--locked", "--workspace", "--bins"])?;
    let variables = [("AETHON_TESTS_STORAGE", "postgres")];
    let runner: &[&str] = match process::is_installed("cargo-nextest", &["nextest", "--version"]) {
        true => &["nextest", "run"],
        false => &["test"],
    };
    let suite = ["--no-fail-fast", "--locked", "--package", "aethon-tests", "--test", "suite", "--"];
    let skipped = ABOUT_THE_FILE.iter().flat_map(|name| ["--skip", *name]);
    let arguments: Vec<&str> =
        runner.iter().copied().chain(suite).chain(skipped).chain(filter.iter().map(String::as_str)).collect();
    process::run_with(root, "cargo", &arguments, &variables)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn texts(folder: &Path) -> String {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries
            .map(
                |path| {
                    if path.is_dir() { texts(&path) } else { fs::read_to_string(path).unwrap_or_default() }
                },
            )
            .collect()
    }

    /// A test with a new name would otherwise run where it cannot pass.
    #[test]
    fn every_test_that_is_left_out_exists() {
        let suite = texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/suite"));
        for name in ABOUT_THE_FILE {
            let last = name.rsplit("::").next().unwrap();
            let is_module = name.contains("::");
            let is_there = suite.lines().any(|line| match is_module {
                true => line == format!("mod {last};"),
                false => line.strip_prefix("fn ").is_some_and(|rest| rest.contains(last)),
            });
            assert!(is_there, "{name}");
        }
    }
}
