//! `completions SHELL`.

use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;

use crate::args::Cli;

pub(crate) fn run(shell: clap_complete::Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "aethon-cli", &mut script);
    super::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
