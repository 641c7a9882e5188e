//! The programs, built here or elsewhere, and what they say about themselves.

use super::payload::Payload;
use crate::process;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// The packages of the programs.
pub(crate) const PACKAGES: [&str; 3] = ["aethon-server", "aethon-cli", "aethon-mcp-server"];

/// The programs.
const NAMES: [&str; 3] = ["aethon-server", "aethon-cli", "aethon-mcp"];

/// Builds the programs and returns the folder that they are in.
pub(crate) fn build(root: &Path, profile: &str) -> Result<PathBuf> {
    let packages = PACKAGES.iter().flat_map(|package| ["-p", package]);
    let arguments: Vec<&str> =
        ["build", "--locked", "--profile", profile].into_iter().chain(packages).collect();
    process::run(root, "cargo", &arguments)?;
    #[derive(Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let arguments = ["metadata", "--format-version", "1", "--locked", "--no-deps"];
    let metadata: Metadata = serde_json::from_str(&process::output(root, "cargo", &arguments)?)?;
    Ok(metadata.target_directory.join(if profile == "dev" { "debug" } else { profile }))
}

/// Adds the programs in a folder, and the pages, completions and units that they write.
pub(crate) fn add(payload: &mut Payload, folder: &Path) -> Result<()> {
    for name in NAMES {
        let path = folder.join(name);
        let content = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        payload.program(&format!("bin/{name}"), content);
    }
    let written = tempfile::tempdir()?;
    let share = written.path().to_str().context("the temporary folder has a name that is no text")?;
    ask(folder, "aethon-cli", &["package-files", share])?;
    payload.folder(written.path(), "share")?;
    for name in ["aethon-server", "aethon-mcp"] {
        payload.file(&format!("share/man/man1/{name}.1"), ask(folder, name, &["--manual-page"])?);
    }
    Ok(())
}

/// Checks that the programs are of one version, which their names in the package will promise.
pub(crate) fn check_version(folder: &Path, version: &str) -> Result<()> {
    for name in NAMES {
        let text = ask(folder, name, &["--version"])?;
        let shown = text.trim();
        let is_same = text.split_ascii_whitespace().nth(1) == Some(version);
        ensure!(is_same, "{} is not of version {version}: {shown}", folder.join(name).display());
    }
    Ok(())
}

fn ask(folder: &Path, name: &str, arguments: &[&str]) -> Result<String> {
    let program = folder.join(name);
    process::output(Path::new("."), &program.to_string_lossy(), arguments)
}
