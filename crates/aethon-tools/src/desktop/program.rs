//! Finds and runs the programs of the desktop.
//!
//! Each starts inside the walls, in a process group of its own, with an environment that gives access to the desktop
//! and contains nothing of the assistant's. Arguments are passed directly, without a shell. Every program has a
//! deadline, and its output is bounded. A program that keeps serving (the owner of a clipboard has to serve it) is left
//! running unless it fails at once.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use aethon_core::tool::ToolError;
use aethon_core::turn::Trust;
use aethon_core::untrusted::shortened_between_words;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::confine::Confinement;
use crate::options::{DesktopOptions, Options, USUAL_PATH};

/// Maximum bytes read of a program's output.
const MAX_SAID: u64 = 1 << 20;
/// Timeout of a program that answers. The system may ask the person first, for example for access to a calendar.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long a program that keeps serving is watched for a failure.
const FIRST_MOMENT: Duration = Duration::from_millis(1500);

/// The programs of this desktop.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    options: DesktopOptions,
    environment: Vec<(String, String)>,
    confinement: Arc<Confinement>,
}

/// The event that ends the wait for a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// Its answer.
    Answer,
    /// Its start; it keeps serving and does not answer.
    Started,
}

impl Programs {
    pub(crate) fn new(options: &Options) -> Self {
        let environment = options.shell.environment().into_iter().filter(|(name, _)| name != "TERM");
        Self {
            environment: environment.chain(options.desktop.variables.iter().cloned()).collect(),
            options: options.desktop.clone(),
            confinement: Arc::new(Confinement::new(options)),
        }
    }

    pub(crate) fn is_mac(&self) -> bool {
        self.options.is_mac
    }

    /// Returns whether an environment variable is set and not empty.
    pub(crate) fn has_variable(&self, name: &str) -> bool {
        self.options.variables.iter().any(|(known, value)| known == name && !value.is_empty())
    }

    /// Finds a program on the search path.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        let path = self.options.path.as_deref().unwrap_or(USUAL_PATH);
        let folders = path.split(':').map(Path::new).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(name)).find(|file| file.is_file())
    }

    /// Runs a program with these arguments and this input. Dropping the future ends it.
    pub(super) async fn run(
        &self,
        program: &Path,
        arguments: Vec<OsString>,
        input: Option<String>,
        until: Until,
    ) -> Result<String, ToolError> {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let running = self.start(program, &arguments, input, until);
        let running =
            running.map_err(|error| ToolError::failed(format!("{name} could not be started: {error}")))?;
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let pid = Pid::from_child(&running.child);
        let watcher = thread::Builder::new().name("desktop".into()).spawn(move || {
            // The receiver is gone if the call was given up; the process must be reaped all the same.
            let _ = sender.send(running.end());
        });
        watcher.map_err(|error| ToolError::failed(format!("{name} could not be watched: {error}")))?;
        let mut ending = EndOnDrop(Some(pid));
        let patience = if until == Until::Answer { TIMEOUT } else { FIRST_MOMENT };
        let ended = tokio::time::timeout(patience, receiver).await;
        match ended {
            Ok(outcome) => {
                ending.0 = None;
                outcome.unwrap_or_else(|_| Err("it could not be watched".into()))
            }
            Err(_) if until == Until::Started => {
                ending.0 = None;
                Ok(String::new())
            }
            Err(_) => Err(format!("it did not end within {} s", TIMEOUT.as_secs())),
        }
        .map_err(|why| ToolError::failed(format!("{name} failed: {why}")))
    }

    #[expect(clippy::disallowed_methods, reason = "the desktop's programs start here, inside the walls")]
    fn start(
        &self,
        program: &Path,
        arguments: &[OsString],
        input: Option<String>,
        until: Until,
    ) -> io::Result<Running> {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().current_dir("/").process_group(0);
        command.envs(self.environment.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value))));
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        // A program that keeps serving would hold a pipe open all that time.
        let said = || if until == Until::Answer { Stdio::piped() } else { Stdio::null() };
        command.stdout(said()).stderr(said());
        let mut child = self.confinement.spawn(&mut command, Trust::Owner)?;
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
            // The program may read slowly or not at all; when it ends, the pipe breaks.
            thread::Builder::new().name("desktop".into()).spawn(move || stdin.write_all(input.as_bytes()))?;
        }
        Ok(Running { child })
    }
}

/// A running program.
struct Running {
    child: Child,
}

impl Running {
    /// Waits for the end and returns the output, or why it failed. Blocks.
    fn end(mut self) -> Result<String, String> {
        let (sender, receiver) = mpsc::channel();
        let errors = self.child.stderr.take();
        let reading = errors.map(|errors| thread::spawn(move || sender.send(read(errors))));
        let said = self.child.stdout.take().map(read).unwrap_or_default();
        let status = self.child.wait().map_err(|error| error.to_string())?;
        let errors = reading.and_then(|_| receiver.recv_timeout(FIRST_MOMENT).ok()).unwrap_or_default();
        if status.success() {
            return Ok(said);
        }
        let why = errors.trim();
        Err(if why.is_empty() { status.to_string() } else { shortened_between_words(why.to_owned(), 500) })
    }
}

fn read(from: impl Read) -> String {
    let mut bytes = Vec::new();
    // On an error, the bytes read so far count.
    let _ = from.take(MAX_SAID).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Kills the process group of a call that was given up.
struct EndOnDrop(Option<Pid>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        if let Some(group) = self.0.take() {
            // Fails if all of it has ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
