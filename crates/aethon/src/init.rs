//! The first process of a container.
//!
//! Processes whose parent has ended become children of process 1, and stay zombies until it collects them. A program started
//! as process 1 does not expect that, and cannot simply collect everything: it would take the status of children for which
//! it waits itself. So process 1 starts the program once more, passes signals on, collects whatever ends, and ends as the
//! program does.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use tokio::signal::unix::{SignalKind, signal};

/// The signals that are passed on, as both libraries name them.
const PASSED_ON: [(fn() -> SignalKind, Signal); 6] = [
    (SignalKind::hangup, Signal::HUP),
    (SignalKind::interrupt, Signal::INT),
    (SignalKind::quit, Signal::QUIT),
    (SignalKind::terminate, Signal::TERM),
    (SignalKind::user_defined1, Signal::USR1),
    (SignalKind::user_defined2, Signal::USR2),
];

/// If this is process 1, runs the program with these arguments (its own name first) in a child, manages everything that
/// ends, and returns the program's exit code. Call this early in `main`, with what [`crate::without_secrets`] returned: the
/// arguments in the list of processes no longer hold the secrets.
pub fn run_as_init(arguments: &[OsString]) -> Option<ExitCode> {
    (std::process::id() == 1).then(|| {
        supervise(arguments).unwrap_or_else(|error| {
            complain(&error);
            ExitCode::FAILURE
        })
    })
}

fn supervise(arguments: &[OsString]) -> io::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Watched before the program starts, so that no signal is missed.
        let mut ended = signal(SignalKind::child())?;
        let passed_on = PASSED_ON.map(|(kind, what)| (signal(kind()), what));
        let program = start(arguments)?;
        for (watched, what) in passed_on {
            let mut watched = watched?;
            tokio::spawn(async move {
                while watched.recv().await.is_some() {
                    // The program may be ending just now.
                    let _ = kill_process(program, what);
                }
            });
        }
        loop {
            if let Some(code) = collect(program)? {
                return Ok(code);
            }
            ended.recv().await;
        }
    })
}

/// Starts the program in a process group of its own: signals from a terminal to the group reach it once, through process 1.
#[expect(clippy::disallowed_methods, reason = "process 1 starts the very program that it is")]
fn start(arguments: &[OsString]) -> io::Result<Pid> {
    let mut command = Command::new("/proc/self/exe");
    if let Some((name, arguments)) = arguments.split_first() {
        command.arg0(name).args(arguments);
    }
    Ok(Pid::from_child(&command.process_group(0).spawn()?))
}

/// Collects all processes that have ended. Returns the exit code if the program is among them.
fn collect(program: Pid) -> io::Result<Option<ExitCode>> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((process, status))) if process == program => {
                let signal = status.terminating_signal().map(|signal| 128 + signal);
                let code = status.exit_status().or(signal).unwrap_or(1);
                return Ok(Some(ExitCode::from(u8::try_from(code).unwrap_or(1))));
            }
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

#[expect(clippy::print_stderr, reason = "there is no log yet, and process 1 has nobody else to tell")]
fn complain(error: &io::Error) {
    eprintln!("aethon: process 1 cannot manage its container: {error}");
}
