//! The command line of `bench`.

use anyhow::Result;
use std::path::Path;

/// What to measure and where to write it.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Write the table to docs/performance.md
    #[arg(long)]
    write: bool,
}

/// Measures.
pub(crate) fn run(_root: &Path, options: &Options) -> Result<()> {
    anyhow::bail!("not yet: {}", options.write)
}
