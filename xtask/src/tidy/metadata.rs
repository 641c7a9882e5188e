//! The licences of the locked packages, which only cargo knows.

use super::manifest::Locked;
use crate::process;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
}

/// Returns the locked third-party packages for all platforms, from `cargo metadata`.
pub(crate) fn locked(root: &Path) -> Result<Vec<Locked>> {
    let output = process::output(root, "cargo", &["metadata", "--format-version", "1", "--locked"])?;
    let metadata: Metadata = serde_json::from_str(&output).context("cannot read `cargo metadata`")?;
    let others = metadata.packages.into_iter().filter(|package| package.source.is_some());
    Ok(others
        .map(|package| Locked {
            package: format!("{} {}", package.name, package.version),
            licence: package.license,
        })
        .collect())
}
