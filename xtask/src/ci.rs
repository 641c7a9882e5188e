//! `cargo xtask ci`: everything that a change must pass, cheapest first, each step timed.
//!
//! The tests come last, so that their summary ends a green run.

use crate::{docs, howto, packages, process, proof, sandboxes, test, tidy};
use anyhow::{Context, Result};
use std::path::Path;
use std::time::Instant;

type Step = (&'static str, fn(&Path) -> Result<()>);

const STEPS: &[Step] = &[
    ("formatting", formatting),
    ("tidy", |root| tidy::run(root, &tidy::TidyOptions::default())),
    ("lints", lints),
    ("documents", docs::run),
    ("licences", licences),
    ("scripts", scripts),
    ("packages", packages::run),
    ("how-tos", how_tos),
    ("simulation", proof::simulation),
    ("walls", sandboxes::run),
    ("tests", |root| test::run(root, &[])),
];

/// Runs every step in order, up to the first failure.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut times = Vec::new();
    for (name, step) in STEPS {
        if !times.is_empty() {
            println!("ci: so far {}", times.join(", "));
        }
        println!("ci: {name}");
        let started = Instant::now();
        let outcome = step(root);
        times.push(format!("{name} {:.0} s", started.elapsed().as_secs_f64()));
        outcome.with_context(|| format!("{name} ({})", times.join(", ")))?;
    }
    Ok(())
}

/// Follows the how-tos, and frees their build: it takes gigabytes, of which machines that only run the checks have few.
fn how_tos(root: &Path) -> Result<()> {
    howto::run(root)?;
    howto::remove_build(root)
}

fn formatting(root: &Path) -> Result<()> {
    process::run(root, "cargo", &["fmt", "--all", "--check"])
}

fn lints(root: &Path) -> Result<()> {
    let mut arguments = vec!["clippy", "--locked", "--workspace", "--all-targets"];
    arguments.extend(test::FEATURES);
    arguments.extend(["--", "-D", "warnings"]);
    process::run(root, "cargo", &arguments)
}

/// Runs cargo-deny, if installed, for advisories and sources; `tidy` checks the licences of the lock everywhere.
fn licences(root: &Path) -> Result<()> {
    if !process::is_installed("cargo-deny", &["--version"]) {
        println!("cargo-deny is not installed: licences were checked by tidy, advisories were not");
        return Ok(());
    }
    process::run(root, "cargo", &["deny", "check", "--hide-inclusion-graph"])
}

/// Tests the pure modules of the pages. Everything that users see of them is also tested in a browser, so a machine without
/// node misses detail but no behaviour.
fn scripts(root: &Path) -> Result<()> {
    if !process::is_installed("node", &["--version"]) {
        println!("node is not installed: the pages are tested in the browser only");
        return Ok(());
    }
    let folder = root.join("web/tests");
    let mut arguments = vec!["--test".to_owned()];
    for entry in std::fs::read_dir(&folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".test.mjs") {
            arguments.push(path.display().to_string());
        }
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    process::run(root, "node", &arguments)
}
