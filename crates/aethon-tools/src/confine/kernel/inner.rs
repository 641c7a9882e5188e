//! The inner step: the first process of the pid namespace. It sets up everything that applies to the command and its
//! descendants, drops all rights over the namespaces, starts the command, and reaps children until the command has
//! ended. Then it exits, and the kernel kills whatever is left.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::mount::{MountFlags, mount};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, set_parent_process_death_signal, setrlimit, wait,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities,
};

use super::super::{filter as port_filter, landlock};
use super::plan::Plan;
use super::{ALONE, filter};

/// What stays writable besides the workspace; the folders among them are private by now.
const WRITABLE: [&str; 9] = [
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// The two steps themselves count as processes.
const STEPS: u64 = 2;

pub(super) fn run(plan: &Plan, command: &[OsString]) -> io::Result<ExitCode> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Some containers forbid this; then the old `/proc` stays, and Landlock protects other processes.
    let _ = mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None);
    limit(plan)?;
    give_up_rights()?;
    let home = plan.home.clone().into_iter();
    let writable: Vec<PathBuf> =
        WRITABLE.iter().map(PathBuf::from).chain(home).chain([plan.workspace.clone()]).collect();
    landlock::sandbox(&writable)?;
    if plan.network && !plan.ports.is_empty() {
        port_filter::apply()?;
        landlock::Ports::default().close(&plan.ports)?;
    }
    filter::apply()?;
    reap(start(command)?)
}

fn limit(plan: &Plan) -> io::Result<()> {
    let at_most = |value: u64| Rlimit { current: Some(value), maximum: Some(value) };
    // Limits the memory that a process writes to, not its reservations: runtimes reserve far more than they use.
    setrlimit(Resource::Data, at_most(plan.memory))?;
    setrlimit(Resource::Nproc, at_most(plan.processes.saturating_add(STEPS)))?;
    setrlimit(Resource::Core, at_most(0))?;
    Ok(())
}

/// Drops every capability for good: none can be regained by starting a program.
fn give_up_rights() -> io::Result<()> {
    clear_ambient_capability_set()?;
    for one in (0..64).map(|bit| CapabilitySet::from_bits_retain(1 << bit)) {
        // An error means that the kernel knows no further capabilities.
        if remove_capability_from_bounding_set(one).is_err() {
            break;
        }
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "this is where a command starts, with every wall round it")]
fn start(command: &[OsString]) -> io::Result<Pid> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::other("there is no command"))?;
    let child = Command::new(program).args(arguments).env_remove(ALONE.0).spawn().map_err(|error| {
        io::Error::other(format!("{} cannot be started: {error}", Path::new(program).display()))
    })?;
    Ok(Pid::from_child(&child))
}

/// Waits for the command, and reaps the orphans that the first process inherits.
fn reap(command: Pid) -> io::Result<ExitCode> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => {
                let signal = status.terminating_signal().map(|signal| 128 + signal);
                let code = status.exit_status().or(signal).unwrap_or(1);
                return Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
