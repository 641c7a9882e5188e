//! The processes of one call: how they are started, and how all of them are made to end.
//!
//! A thread per call starts them, waits for them and reaps them, so that no worker of the runtime blocks.
//!
//! - The *leader* starts a session of its own (`setsid`), so that it has no terminal to prompt on and its group can be killed
//!   at once. It waits at a gate, a line on its stdin, and becomes the shell when the gate opens; if this program dies before,
//!   the leader exits.
//! - The *watcher* is a small shell in another session, whose stdin is a pipe held by this program. When the pipe closes,
//!   because the call is over or because this program died, however that happened, it kills the group. Then it kills processes that have
//!   left the group. If the kernel binds the two together ([`Confinement::bind_thread`]), "everything that I may signal" is
//!   exactly what the call started, and one signal ends it. Otherwise the watcher searches the environment of all processes
//!   for the call's mark, which is inherited across `setsid`, `nohup` and double forks; a process that leaves the group *and*
//!   clears its environment escapes there. (`PR_SET_PDEATHSIG` does not reach grandchildren.)
//!
//! The leader is reaped last. Until then its pid, which is also the group's id, cannot be reused, so no other process
//! can be hit.

use std::ffi::OsString;
use std::io::{self, PipeReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;

use aethon_core::turn::Trust;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use tokio::sync::oneshot;

use super::bounds;
use crate::confine::Confinement;

const SH: &str = "/bin/sh";

/// Waits at the gate, then becomes the shell, with empty input.
const LEADER: &str = r#"read -r _ && exec "$0" "$@" </dev/null"#;

/// The same for a program that is talked to: the input after the gate's line belongs to the program.
const TALKING_LEADER: &str = r#"read -r _ && exec "$0" "$@""#;

/// Waits for the end of the call or of this program, then kills; `$1` is the group, `$2` the mark. `$3` is the pid of
/// this program if the watcher is bound. The script verifies that first: a watcher that is not bound must never signal
/// everything.
const WATCHER: &str = r#"
trap '' HUP INT QUIT TERM
bound=$3
if [ -n "$bound" ] && kill -0 "$bound"; then bound=; fi
read -r _
kill -KILL "-$1"
if [ -n "$bound" ]; then
    kill -KILL -1
    exit 0
fi
rounds=0
while [ "$rounds" -lt 50 ]; do
    found=$(grep -lzsF -e "$2" /proc/[0-9]*/environ)
    [ -n "$found" ] || exit 0
    for file in $found; do
        process=${file#/proc/}
        kill -KILL "${process%/environ}"
    done
    rounds=$((rounds + 1))
done
"#;

/// The variable that carries the mark of a call. All child processes have it.
pub const MARK: &str = "SHELL_CALL_ID";

/// How a call's processes are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streams {
    /// They read nothing, and stdout and stderr are one stream.
    Output,
    /// They are talked to; stdout and stderr are separate.
    Conversation,
}

/// The command to run.
#[derive(Debug)]
pub(crate) struct Launch {
    /// How it is connected.
    pub(crate) streams: Streams,
    /// The shell and its arguments, including the command.
    pub(crate) shell: Vec<OsString>,
    /// The working directory.
    pub(crate) directory: PathBuf,
    /// The complete environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Path of `setsid`, if the machine has it.
    pub(crate) setsid: Option<PathBuf>,
    /// The walls around it.
    pub(crate) confinement: Arc<Confinement>,
    /// How far the turn that it belongs to may go.
    pub(crate) trust: Trust,
    /// Whether the words start with a sandbox that puts up its own walls, which it could not do from inside these.
    pub(crate) is_sandboxed: bool,
}

/// A running call.
pub(crate) struct Running {
    /// Its processes; dropping this kills them.
    pub(crate) group: Group,
    /// Their stdin, if they are talked to.
    pub(crate) input: Option<ChildStdin>,
    /// Their stdout; unless they are talked to, stdout and stderr in the order written.
    pub(crate) output: PipeReader,
    /// Their stderr, if they are talked to.
    pub(crate) errors: Option<PipeReader>,
    /// Yields how the command ended.
    pub(crate) ended: oneshot::Receiver<ExitKind>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitKind {
    /// It exited with this status.
    Status(i32),
    /// It was killed by this signal.
    Signal(i32),
    /// Unknown to the system.
    Unknown,
}

/// The processes of a call. Dropping it kills them.
pub(crate) struct Group {
    leader: Pid,
    /// Dropped after the kill, which lets the thread reap them.
    _held: mpsc::Sender<()>,
}

impl Group {
    /// Kills the group.
    pub(crate) fn kill(&self) {
        // Fails if they have ended, or if the leader has not created its group yet; then there is only the leader.
        let _ = kill_process_group(self.leader, Signal::KILL);
        let _ = kill_process(self.leader, Signal::KILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a call. Dropping this future, or its result, ends the call.
pub(crate) async fn start(launch: Launch) -> io::Result<Running> {
    let (started, starting) = oneshot::channel();
    thread::Builder::new().name("shell".into()).spawn(move || run_call(&launch, started))?;
    starting.await.unwrap_or_else(|_| Err(io::Error::other("the thread of the command ended early")))
}

/// Runs a call from start to end on its own thread.
fn run_call(launch: &Launch, started: oneshot::Sender<io::Result<Running>>) {
    let Spawned { mut leader, mut watcher, output, errors } = match spawn(launch) {
        Ok(spawned) => spawned,
        Err(error) => {
            // If the caller is gone, the result has no reader.
            let _ = started.send(Err(error));
            return;
        }
    };
    let pid = Pid::from_child(&leader);
    let (held, released) = mpsc::channel();
    let (exit_sender, ended) = oneshot::channel();
    let mut gate = leader.stdin.take();
    // In a conversation the pipe of the gate is passed on, so write the gate's line first.
    let input = (launch.streams == Streams::Conversation).then(|| open_gate(gate.take())).flatten();
    // If the caller is gone, the dropped value kills the leader at its gate.
    let group = Group { leader: pid, _held: held };
    let _ = started.send(Ok(Running { group, input, output, errors, ended }));
    drop(open_gate(gate));
    // The receiver is gone if the call was given up; the wait is needed all the same.
    let _ = exit_sender.send(wait(pid));
    // Nothing is ever sent: this returns when the group is dropped.
    let _ = released.recv();
    for (child, name) in [(&mut watcher, "watcher"), (&mut leader, "leader")] {
        if let Err(error) = child.wait() {
            tracing::warn!(%error, "the {name} of a command could not be waited for");
        }
    }
}

/// Opens the gate at which a leader waits.
fn open_gate(mut gate: Option<ChildStdin>) -> Option<ChildStdin> {
    if let Some(gate) = &mut gate {
        // Fails if the leader is already dead, which its exit will show.
        let _ = gate.write_all(b"\n");
    }
    gate
}

/// The processes of a call and their output.
struct Spawned {
    leader: Child,
    watcher: Child,
    output: PipeReader,
    errors: Option<PipeReader>,
}

fn spawn(launch: &Launch) -> io::Result<Spawned> {
    // From here on this thread, and so the watcher, can signal nothing but itself and its children. A sandbox is not
    // bound: it could no longer create its own view of the file system. It ends as a whole with its first process, the
    // leader.
    let is_bound = !launch.is_sandboxed && launch.confinement.bind_thread()?;
    let mark = uuid::Uuid::now_v7().to_string();
    let (output, writer) = io::pipe()?;
    let (errors, error_writer, leader) = match launch.streams {
        Streams::Output => (None, writer.try_clone()?, LEADER),
        Streams::Conversation => {
            let (errors, error_writer) = io::pipe()?;
            (Some(errors), error_writer, TALKING_LEADER)
        }
    };
    let mut command = in_own_session(launch.setsid.as_deref());
    command.arg("-c").arg(leader).args(&launch.shell);
    command.env_clear().envs(launch.environment.iter().map(|(name, value)| (name, value)));
    command.env(MARK, &mark).current_dir(&launch.directory);
    command.stdin(Stdio::piped()).stdout(writer).stderr(error_writer);
    let mut leader = if launch.is_sandboxed {
        command.spawn()?
    } else {
        launch.confinement.spawn(&mut command, launch.trust)?
    };
    bounds::apply(&leader);
    // The command holds the write ends; while it exists the output has no end.
    drop(command);
    match watch(launch, &leader, &mark, is_bound) {
        Ok(watcher) => Ok(Spawned { leader, watcher, output, errors }),
        Err(error) => {
            // Waiting closes its gate, so it exits without having done anything.
            leader.wait()?;
            Err(error)
        }
    }
}

fn watch(launch: &Launch, leader: &Child, mark: &str, is_bound: bool) -> io::Result<Child> {
    let mut command = in_own_session(launch.setsid.as_deref());
    command.arg("-c").arg(WATCHER).arg("watcher");
    command.arg(leader.id().to_string()).arg(format!("{MARK}={mark}"));
    if is_bound {
        command.arg(std::process::id().to_string());
    }
    command.env_clear().env("PATH", "/usr/bin:/bin").current_dir(Path::new("/"));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn()
}

/// Returns a command for `sh` in its own session, or in its own group if there is no `setsid`.
#[expect(clippy::disallowed_methods, reason = "this is the one place of the tools that starts processes")]
fn in_own_session(setsid: Option<&Path>) -> Command {
    if let Some(setsid) = setsid {
        // `setsid` does not fork here, because a new process is no group leader.
        let mut command = Command::new(setsid);
        command.arg(SH);
        return command;
    }
    let mut command = Command::new(SH);
    command.process_group(0);
    command
}

/// Waits for the end without reaping.
fn wait(pid: Pid) -> ExitKind {
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(Some(status)) => {
                let signal = status.terminating_signal().map(ExitKind::Signal);
                return status.exit_status().map(ExitKind::Status).or(signal).unwrap_or(ExitKind::Unknown);
            }
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return ExitKind::Unknown,
        }
    }
}
