//! Entry point of a sandbox step.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::ExitCode;

use super::plan::Plan;
use super::{INNER, OUTER, STEP, inner, outer};

/// Exit status of a step that failed.
const FAILED: u8 = 125;

/// How a complaint begins; it ends with a bracket. Readers of a command's output see by both that it is not the command's.
const COMPLAINT: &str = "[the sandbox could not be set up: ";

/// Runs a step if the program was started as one, and returns its exit code. Call this first in `main`: a step must be
/// the only thread of its process.
pub(crate) fn step(arguments: &[OsString]) -> Option<ExitCode> {
    let (first, rest) = arguments.split_first()?;
    if first != STEP {
        return None;
    }
    let outcome = match rest {
        [which, plan, command @ ..] if !command.is_empty() => run(which, plan, command),
        _ => Err(io::Error::other("a step takes a plan and a command")),
    };
    Some(outcome.unwrap_or_else(|error| {
        complain(&error);
        ExitCode::from(FAILED)
    }))
}

fn run(which: &OsStr, plan: &OsStr, command: &[OsString]) -> io::Result<ExitCode> {
    let plan = Plan::parse(plan)?;
    match which.to_str() {
        Some(OUTER) => outer::run(&plan, command),
        Some(INNER) => inner::run(&plan, command),
        _ => Err(io::Error::other("there is no such step")),
    }
}

#[expect(
    clippy::print_stderr,
    reason = "a step is a process of its own, and this is how it tells the caller"
)]
fn complain(error: &io::Error) {
    eprintln!("{COMPLAINT}{error}]");
}

/// Returns what a complaint says, without what marks it as one.
pub(super) fn without_mark(said: &str) -> &str {
    said.strip_prefix(COMPLAINT).and_then(|rest| rest.strip_suffix(']')).unwrap_or(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaint_is_read_without_its_mark() {
        let check = |said: &str, expected: &str| assert_eq!(without_mark(said), expected);
        check(&format!("{COMPLAINT}Operation not permitted]"), "Operation not permitted");
        check("sh: not found", "sh: not found");
    }
}
