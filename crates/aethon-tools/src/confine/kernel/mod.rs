//! The sandbox of the kernel: namespaces, Landlock, a filter of system calls and limits, without a daemon.
//!
//! It is put round a command by this very program, started once more as a *step* (decision 0056): making namespaces takes a
//! process of one thread that lets go of its old surroundings, which the service cannot. The *outer* step makes the
//! namespaces and covers what must not be seen; the *inner* one, the first process of the new pid namespace, puts up the walls
//! that hold for whatever runs, and starts the command. When the inner step ends, for whatever reason, the kernel ends
//! everything that the command started.
//!
//! `plan` is what the steps are told; `hand_over` gives the workspace to the user that commands run as where the service is root.

mod filter;
mod hand_over;
mod inner;
mod outer;
mod plan;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

pub(crate) use hand_over::hand_over;
pub(crate) use plan::{Plan, nobody};

/// The first argument of a step.
const STEP: &str = "__sandbox";
const OUTER: &str = "outer";
const INNER: &str = "inner";
/// The exit status of a step that could not do its work.
const FAILED: u8 = 125;

/// Keeps the allocator of the service from starting a thread of its own: a step must have one thread, or the kernel refuses to
/// make namespaces.
pub(crate) const ALONE: (&str, &str) = ("_RJEM_MALLOC_CONF", "background_thread:false");

/// How long the trial may take.
const TRIAL: Duration = Duration::from_secs(20);

/// Runs a step when the program was started as one, and says how it ended. Call this first thing in `main`: a step must be
/// alone in its process.
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
    eprintln!("[the sandbox could not be set up: {error}]");
}

/// Whether this machine can do it, found out by doing it. The error says what it cannot.
pub(crate) fn trial(launcher: &Path, plan: &Plan) -> Result<(), String> {
    let (files, _, _) = super::landlock::abilities();
    if !files {
        return Err("the kernel has no Landlock (Linux 5.19, turned on)".into());
    }
    let tried = || -> io::Result<(bool, String)> {
        let mut child = started(launcher, plan)?;
        let deadline = Instant::now() + TRIAL;
        while child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                child.kill()?;
                return Ok((false, "it took too long".into()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let output = child.wait_with_output()?;
        Ok((output.status.success(), String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    };
    match tried() {
        Ok((true, _)) => Ok(()),
        Ok((false, said)) => {
            Err(if said.is_empty() { "the trial failed without a word".into() } else { said })
        }
        Err(error) => Err(format!("{} could not be started: {error}", launcher.display())),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the trial is a child of this program and runs nothing of a model's"
)]
fn started(launcher: &Path, plan: &Plan) -> io::Result<std::process::Child> {
    let mut command = Command::new(launcher);
    command.args(plan.words()).args(["/bin/sh", "-c", "exit 0"]);
    command
        .env_clear()
        .env(ALONE.0, ALONE.1)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
}
