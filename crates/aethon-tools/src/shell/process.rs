//! The processes of one call: how they are started, and how it is made sure that all of them end.
//!
//! A thread a call starts them, waits for them and reaps them, so that no worker of the runtime blocks.
//!
//! - The *leader* becomes a session of its own (`setsid`), so that it has no terminal to ask at and its group can be
//!   killed as one. It waits at a gate, a line on its stdin, and becomes the shell when that is opened; should this
//!   program die before, it ends.
//! - The *watcher* is a small shell in yet another session, whose stdin is a pipe that this program holds. When the pipe
//!   closes, because the call is over or because this program died, however that came about, it kills the group. Then it
//!   kills what left the group. Where the kernel binds the two together ([`Confinement::bind_thread`]), "everything that I
//!   may signal" is exactly what the call started, and one signal ends it. Elsewhere the watcher looks for the call's own
//!   mark in the environment of processes, which is inherited across `setsid`, `nohup` and double forks; a process that
//!   leaves the group *and* clears its environment escapes there. (`PR_SET_PDEATHSIG` reaches no grandchildren.)
//!
//! The leader is reaped last. Until then its number, which is the group's, cannot be given to another process, so nothing
//! else can be hit.

use std::ffi::OsString;
use std::io::{self, PipeReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use tokio::sync::oneshot;

use super::bounds;
use crate::confine::Confinement;

const SH: &str = "/bin/sh";

/// Waits for the gate, then becomes the shell with nothing to read.
const LEADER: &str = r#"read -r _ && exec "$0" "$@" </dev/null"#;

/// The same for a program that is talked to: what stands behind the line is for it.
const TALKING_LEADER: &str = r#"read -r _ && exec "$0" "$@""#;

/// Waits for the end of the call or of the program; `$1` is the group, `$2` the mark. `$3` is this program where the watcher
/// is bound, and that is tried first: a watcher that is not bound must never signal everything.
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

/// The variable that carries the mark of a call. Whatever the assistant starts has it.
pub const MARK: &str = "SHELL_CALL_ID";

/// What a call's processes read and write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streams {
    /// They read nothing, and what they write is one text.
    Output,
    /// They are talked to; what they say to their operator comes apart from what they answer.
    Conversation,
}

/// What is to be run.
#[derive(Debug)]
pub(crate) struct Launch {
    /// What it reads and writes.
    pub(crate) streams: Streams,
    /// The shell and its arguments, the command among them.
    pub(crate) shell: Vec<OsString>,
    /// Where.
    pub(crate) directory: PathBuf,
    /// The whole environment.
    pub(crate) environment: Vec<(String, String)>,
    /// `setsid`, where the machine has it.
    pub(crate) setsid: Option<PathBuf>,
    /// The walls round it.
    pub(crate) confinement: Arc<Confinement>,
    /// Whether the words begin with a sandbox that puts up walls of its own, and could not from within these.
    pub(crate) is_sandboxed: bool,
}

/// A call that runs.
pub(crate) struct Running {
    /// Its processes; they end when this is dropped.
    pub(crate) group: Group,
    /// What they read, if they are talked to.
    pub(crate) input: Option<ChildStdin>,
    /// What they write; without a conversation stdout and stderr in the order in which it was written.
    pub(crate) output: PipeReader,
    /// What they say to their operator in a conversation.
    pub(crate) errors: Option<PipeReader>,
    /// Yields how the command ended.
    pub(crate) ended: oneshot::Receiver<Ended>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By itself, with this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
    /// The system did not say.
    Unknown,
}

/// The processes of a call. Dropping it kills them.
pub(crate) struct Group {
    leader: Pid,
    /// Dropped after the kill, which lets the thread reap them.
    _held: mpsc::Sender<()>,
}

impl Group {
    /// Kills what is in the group.
    pub(crate) fn kill(&self) {
        // It fails when they have ended, or when the leader has not made its group yet; then there is only itself.
        let _ = kill_process_group(self.leader, Signal::KILL);
        let _ = kill_process(self.leader, Signal::KILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a call. Dropping this future, or what it yields, ends the call.
pub(crate) async fn start(launch: Launch) -> io::Result<Running> {
    let (started, starting) = oneshot::channel();
    thread::Builder::new().name("shell".into()).spawn(move || live(&launch, started))?;
    starting.await.unwrap_or_else(|_| Err(io::Error::other("the thread of the command ended early")))
}

/// The life of a call, on its own thread.
fn live(launch: &Launch, started: oneshot::Sender<io::Result<Running>>) {
    let Spawned { mut leader, mut watcher, output, errors } = match spawn(launch) {
        Ok(spawned) => spawned,
        Err(error) => {
            // Nobody waits any more: then nobody has to be told.
            let _ = started.send(Err(error));
            return;
        }
    };
    let pid = Pid::from_child(&leader);
    let (held, released) = mpsc::channel();
    let (tell, ended) = oneshot::channel();
    let mut gate = leader.stdin.take();
    // Whoever talks to a program gets the pipe behind the gate's line, so that line goes first.
    let input = (launch.streams == Streams::Conversation).then(|| opened(gate.take())).flatten();
    // When nobody waits any more, what is sent is dropped, and that kills the leader at its gate.
    let group = Group { leader: pid, _held: held };
    let _ = started.send(Ok(Running { group, input, output, errors, ended }));
    drop(opened(gate));
    // Nobody listens when the call was given up; the waiting still has to be done.
    let _ = tell.send(wait(pid));
    // Nothing is ever sent: this returns when the group is dropped.
    let _ = released.recv();
    for (child, name) in [(&mut watcher, "watcher"), (&mut leader, "leader")] {
        if let Err(error) = child.wait() {
            tracing::warn!(%error, "the {name} of a command could not be waited for");
        }
    }
}

/// Opens the gate at which a leader waits.
fn opened(mut gate: Option<ChildStdin>) -> Option<ChildStdin> {
    if let Some(gate) = &mut gate {
        // It fails when the leader is dead already, which its end tells.
        let _ = gate.write_all(b"\n");
    }
    gate
}

/// The processes of a call, and what they write.
struct Spawned {
    leader: Child,
    watcher: Child,
    output: PipeReader,
    errors: Option<PipeReader>,
}

fn spawn(launch: &Launch) -> io::Result<Spawned> {
    // From here on this thread, and so the watcher, may signal nothing but itself and what it starts. A sandbox is not bound: it
    // could not make a view of the files of its own any more. It ends as a whole with its first process, which is the leader.
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
    let mut leader =
        if launch.is_sandboxed { command.spawn()? } else { launch.confinement.spawn(&mut command)? };
    bounds::apply(&leader);
    // The command holds the writing ends; as long as it lives the output has no end.
    drop(command);
    match watch(launch, &leader, &mark, is_bound) {
        Ok(watcher) => Ok(Spawned { leader, watcher, output, errors }),
        Err(error) => {
            // Its gate closes with the wait, and it ends without having done anything.
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

/// `sh` in a session of its own; where there is no `setsid`, in a group of its own.
#[expect(clippy::disallowed_methods, reason = "this is the one place of the tools that starts processes")]
fn in_own_session(setsid: Option<&Path>) -> Command {
    if let Some(setsid) = setsid {
        // It does not fork, because a new process leads no group.
        let mut command = Command::new(setsid);
        command.arg(SH);
        return command;
    }
    let mut command = Command::new(SH);
    command.process_group(0);
    command
}

/// Waits for the end without reaping.
fn wait(pid: Pid) -> Ended {
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(Some(status)) => {
                let signal = status.terminating_signal().map(Ended::Signal);
                return status.exit_status().map(Ended::Status).or(signal).unwrap_or(Ended::Unknown);
            }
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return Ended::Unknown,
        }
    }
}
