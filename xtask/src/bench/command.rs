//! The command line of `bench`: builds the programs and starts the measuring process.

use crate::process;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The rows to measure and the file of the results.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Write the table, the machine and the method to docs/performance.md
    #[arg(long)]
    pub(crate) write: bool,
    /// Measure this program instead of building the server
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) server: Option<PathBuf>,
    /// The engine's example `turn_cost`, built already
    #[arg(long, value_name = "PROGRAM", hide = true)]
    pub(crate) engine: Option<PathBuf>,
    /// Only the groups named: health, start, memory, sockets, turns, session, engine, recorder, dashboards, recall, mcp, channels, instances, size
    #[arg(long, value_name = "GROUP")]
    pub(crate) only: Vec<String>,
    /// How long each load lasts
    #[arg(long, value_name = "SECONDS", default_value_t = 4.0)]
    pub(crate) seconds: f64,
}

#[derive(Deserialize)]
struct Metadata {
    target_directory: PathBuf,
}

/// Builds the release programs and runs the measurements.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let metadata = process::output(root, "cargo", &["metadata", "--format-version", "1", "--no-deps"])?;
    let metadata: Metadata = serde_json::from_str(&metadata).context("cannot read `cargo metadata`")?;
    let release = metadata.target_directory.join("release");
    let build = ["build", "--release", "--locked", "--package"];
    if options.server.is_none() {
        process::run(root, "cargo", &[&build[..], &["aethon-server"]].concat())?;
    }
    let others: [&[&str]; 6] = [
        &["xtask", "--features", "bench"],
        &["aethon-mcp-server"],
        &["aethon-agent", "--example", "turn_cost"],
        &["aethon-store", "--example", "memory"],
        &["aethon-tests", "--bin", "fake-messengers"],
        &["aethon-tests", "--bin", "own-postgres"],
    ];
    for other in others {
        process::run(root, "cargo", &[&build[..], other].concat())?;
    }

    let server = options.server.clone().unwrap_or_else(|| release.join("aethon-server"));
    let mut arguments = vec!["measure".to_owned(), "--server".to_owned(), server.display().to_string()];
    let engine = release.join("examples/turn_cost");
    arguments.extend(["--engine".to_owned(), engine.display().to_string()]);
    arguments.extend(["--seconds".to_owned(), options.seconds.to_string()]);
    arguments.extend(options.only.iter().flat_map(|group| ["--only".to_owned(), group.clone()]));
    if options.write {
        arguments.push("--write".to_owned());
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    process::run(root, &release.join("xtask").display().to_string(), &arguments)
}
