//! `cargo xtask fuzz-shell`: runs the ignored test that compares the shell rules with bash, for any length of time.

use crate::process;
use anyhow::Result;
use std::path::Path;

/// How long, and from which seed on.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Minutes with bash; a tenth of that goes to bytes that mean nothing, at the same time
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// The first seed; each command line has the next one
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the test.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let (minutes, seed) = (options.minutes.to_string(), options.seed.to_string());
    let test = ["test", "--locked", "-p", "aethon-agent", "--test", "shell", "--"];
    let name = ["what_bash_runs_is_seen_for_minutes", "--ignored", "--nocapture"];
    let variables = [("FUZZ_MINUTES", minutes.as_str()), ("FUZZ_SEED", seed.as_str())];
    process::run_with(root, "cargo", &[test.as_slice(), &name].concat(), &variables)
}
