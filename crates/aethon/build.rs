//! Names the revision that the program was built from, as `AETHON_REVISION`.
//!
//! The variable of that name decides if it is set when building. Otherwise a release build made in a clone says what is checked
//! out there, and every other build says `unknown`: one for development would be made anew after each commit. The same sources
//! give the same program, and git itself is not needed.

use std::fs;
use std::path::{Path, PathBuf};

/// The letters of a commit's name that are shown.
const LENGTH: usize = 12;

const VARIABLE: &str = "AETHON_REVISION";

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script its settings in the environment")]
fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    println!("cargo::rerun-if-changed=build.rs");
    let given = std::env::var(VARIABLE).ok().filter(|given| given.chars().all(|c| c.is_ascii_graphic()));
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let found = given.filter(|given| !given.is_empty()).or_else(|| is_release.then(checked_out).flatten());
    println!("cargo::rustc-env={VARIABLE}={}", found.as_deref().unwrap_or("unknown"));
}

/// What is checked out in the clone that holds this crate.
fn checked_out() -> Option<String> {
    let git = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.git");
    // In a linked worktree it is a file that names the folder.
    let folder = match fs::read_to_string(&git) {
        Ok(text) => PathBuf::from(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => git,
    };
    let common = match fs::read_to_string(folder.join("commondir")) {
        Ok(text) => folder.join(text.trim()),
        Err(_) => folder.clone(),
    };
    // The log of the head changes with every commit, also where the names of branches are packed.
    for path in [folder.join("HEAD"), folder.join("logs/HEAD")] {
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let head = fs::read_to_string(folder.join("HEAD")).ok()?;
    let commit = match head.trim().strip_prefix("ref: ") {
        None => head.trim().to_owned(),
        Some(branch) => {
            let loose = fs::read_to_string(common.join(branch)).map(|text| text.trim().to_owned());
            loose.ok().or_else(|| packed(&common, branch))?
        }
    };
    let is_name = commit.len() >= LENGTH && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then(|| commit.chars().take(LENGTH).collect())
}

fn packed(common: &Path, branch: &str) -> Option<String> {
    let all = fs::read_to_string(common.join("packed-refs")).ok()?;
    let line = all.lines().find(|line| line.split(' ').nth(1) == Some(branch))?;
    line.split(' ').next().map(str::to_owned)
}
