//! Runs other programs; no other module of the chores starts any.

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// A command that runs in `folder`.
#[expect(clippy::disallowed_methods, reason = "this is the one place of the chores that starts programs")]
pub(crate) fn command(folder: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).args(arguments);
    command
}

/// Runs a program on the current terminal; fails if it fails.
pub(crate) fn run(folder: &Path, program: &str, arguments: &[&str]) -> Result<()> {
    run_with(folder, program, arguments, &[])
}

/// The same with additional environment variables.
pub(crate) fn run_with(
    folder: &Path,
    program: &str,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<()> {
    println!("$ {program} {}", arguments.join(" "));
    let status = command(folder, program, arguments)
        .envs(variables.iter().copied())
        .status()
        .with_context(|| format!("cannot start `{program}`"))?;
    if !status.success() {
        bail!("`{program} {}` failed: {status}", arguments.join(" "));
    }
    Ok(())
}

/// Runs a program and returns its standard output. Its errors go to the terminal, and so does its output if it fails.
pub(crate) fn output(folder: &Path, program: &str, arguments: &[&str]) -> Result<String> {
    output_with(folder, program, arguments, &[])
}

/// The same with additional environment variables.
pub(crate) fn output_with(
    folder: &Path,
    program: &str,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<String> {
    let output = command(folder, program, arguments)
        .envs(variables.iter().copied())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{program}`"))?;
    if !output.status.success() {
        print!("{}", String::from_utf8_lossy(&output.stdout));
        bail!("`{program} {}` failed: {}", arguments.join(" "), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{program}` printed something else than text"))
}

/// Returns whether a program is installed, that is, whether `program arguments` succeeds.
pub(crate) fn is_installed(program: &str, arguments: &[&str]) -> bool {
    command(Path::new("."), program, arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_or_is_missing_is_an_error() {
        let here = Path::new(".");
        assert!(run(here, "cargo", &["--version"]).is_ok());
        assert!(run(here, "cargo", &["no-such-command"]).is_err());
        assert!(output(here, "no-such-program", &[]).is_err());
        assert!(!is_installed("no-such-program", &[]));
    }
}
