//! Completion of command lines: `completions SHELL` prints a small script, which asks this program for what fits.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::CompleteEnv;
use clap_complete::env::Shells;

use crate::args::Cli;

/// The environment variable by which the script asks. It does not begin with `AETHON_`, as configuration keys do.
const VARIABLE: &str = "_AETHON_CLI_COMPLETE";

pub(crate) fn run(shell: clap_complete::Shell) -> Result<ExitCode> {
    super::print(&script(shell, &program())?)?;
    Ok(ExitCode::SUCCESS)
}

/// Answers a request of a completion script. `None` if this is not one.
pub(crate) fn answer(arguments: &[OsString]) -> Option<ExitCode> {
    let here = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(Cli::command).var(VARIABLE);
    match asked.try_complete(arguments.iter().cloned(), here.as_deref()) {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        Err(_) => Some(ExitCode::FAILURE),
    }
}

/// Returns the script for a shell, which asks this program.
pub(crate) fn script(shell: clap_complete::Shell, program: &str) -> Result<String> {
    let shells = Shells::builtins();
    let name = shell.to_string();
    let shell = shells.completer(&name).with_context(|| format!("there is no completion for {name}"))?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "aethon-cli", "aethon-cli", program, &mut script)?;
    Ok(String::from_utf8(script)?)
}

/// Returns the program that the script calls: the name, or the path if this program was called by one.
fn program() -> String {
    let called = std::env::args_os().next().unwrap_or_default();
    let by_path = Path::new(&called).components().count() > 1;
    let path = by_path.then(|| std::env::current_exe().ok()).flatten();
    path.map_or_else(|| "aethon-cli".to_owned(), |path| path.display().to_string())
}
