//! Starts a child for a document, feeds it, takes its answer, and ends it: at the latest when the turn that asked is gone.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Pipe;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use aethon_core::document::{DocumentKind, DocumentReader, DocumentText, MAX_DOCUMENT, Unreadable};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::{MEMORY, STEP, answer};
use crate::slots::SharedSlots;

/// How many documents are read at once, for all turns together: each may take as much memory as a child has.
const AT_ONCE: usize = 2;
/// How long a child may take.
const TIME: Duration = Duration::from_secs(20);
/// How long after a failed start the next one is tried: processes and open files may be short for a moment.
const AGAIN: Duration = Duration::from_millis(200);
/// The most bytes of an answer: the text that a reader writes, and its notes.
const MAX_ANSWER: u64 = (8 << 20) + (64 << 10);
/// Keeps the allocator of a child from starting a thread, which the walls forbid.
const ALONE: (&str, &str) = ("_RJEM_MALLOC_CONF", "background_thread:false");
/// The running program, whatever has become of its file.
const ITSELF: &str = "/proc/self/exe";
/// Signals that end a child: by the limits of its memory or its nesting, and of its processor time.
const ABORTED: i32 = 6;
const TOO_LONG: [i32; 2] = [9, 24];

/// Reads documents, each in a child of this program.
#[derive(Debug, Clone)]
pub struct DocumentChildren {
    launcher: Option<Launcher>,
}

/// The program that is started.
#[derive(Debug, Clone)]
struct Launcher {
    /// What it is called.
    name: PathBuf,
    /// From where it is started.
    program: PathBuf,
}

impl Launcher {
    /// The running program itself is reached by way of the kernel where that is possible: an update may replace or remove
    /// its file while it runs.
    fn of(name: PathBuf) -> Self {
        let is_itself = cfg!(target_os = "linux")
            && std::env::current_exe().is_ok_and(|own| is_same_program(&own, &name));
        let program = if is_itself { PathBuf::from(ITSELF) } else { name.clone() };
        Self { name, program }
    }
}

/// `own` is how the kernel calls the running program: with an addition, once its file was replaced or removed.
fn is_same_program(own: &Path, name: &Path) -> bool {
    let is_replaced = || own.to_str().and_then(|own| own.strip_suffix(" (deleted)")) == name.to_str();
    let is_linked = || own.canonicalize().ok().zip(name.canonicalize().ok()).is_some_and(|(a, b)| a == b);
    own == name || is_replaced() || is_linked()
}

impl DocumentChildren {
    /// Creates the reader. `launcher` is this program, whose `main` calls [`document_step`](super::document_step) first; an
    /// embedder may have none.
    pub fn new(launcher: Option<PathBuf>) -> Self {
        Self { launcher: launcher.map(Launcher::of) }
    }
}

#[async_trait]
impl DocumentReader for DocumentChildren {
    async fn read(
        &self,
        kind: DocumentKind,
        bytes: Vec<u8>,
        trust: Trust,
    ) -> Result<DocumentText, Unreadable> {
        if bytes.len() > MAX_DOCUMENT {
            return Err(Unreadable::Refused(format!("it is larger than {} MiB", MAX_DOCUMENT >> 20)));
        }
        let Some(launcher) = &self.launcher else {
            return Err(Unreadable::Refused(
                "the program that embeds Aethon has named no launcher, which reading documents needs"
                    .to_owned(),
            ));
        };
        static SLOTS: LazyLock<SharedSlots> = LazyLock::new(|| SharedSlots::of(AT_ONCE));
        let _slot = SLOTS.take(trust).await;
        let (pipe, child) = match start(launcher, kind).await {
            Ok(started) => started,
            Err(error) => {
                tracing::warn!(%error, "the reader of a document could not be started; trying once more");
                tokio::time::sleep(AGAIN).await;
                start(launcher, kind).await.map_err(not_started)?
            }
        };
        let mut answer = Vec::new();
        let talked = tokio::time::timeout(TIME, talk(pipe, bytes, &mut answer)).await;
        let is_late = talked.is_err();
        talked.unwrap_or(Ok(())).map_err(not_started)?;
        let status = child.end().await;
        answer::parse(answer, &words(status, is_late))
    }
}

fn not_started(error: io::Error) -> Unreadable {
    Unreadable::NotStarted(format!("its reader could not be started ({error})"))
}

/// Starts a child, and returns our end of its pipe.
async fn start(launcher: &Launcher, kind: DocumentKind) -> io::Result<(Pipe, Running)> {
    let (ours, theirs) = Pipe::pair()?;
    let launcher = launcher.clone();
    // The guard is made before the child leaves the closure: if the turn is stopped meanwhile, the child is only there.
    let spawn = move || spawn(&launcher, kind, theirs).map(|child| Running(Some(child)));
    let started =
        tokio::task::spawn_blocking(spawn).await.unwrap_or_else(|_| Err(io::Error::other("a fault")));
    Ok((ours, started?))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a child that is this very program, and builds its walls itself"
)]
fn spawn(launcher: &Launcher, kind: DocumentKind, pipe: Pipe) -> io::Result<Child> {
    let (input, output) = (OwnedFd::from(pipe.try_clone()?), OwnedFd::from(pipe));
    let mut command = Command::new(&launcher.program);
    command.arg0(&launcher.name);
    command.args([STEP, kind.as_str()]).env_clear().env(ALONE.0, ALONE.1).current_dir("/");
    command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::null()).spawn()
}

/// Sends the document and takes the answer at the same time: a reader may answer before it has read all.
async fn talk(pipe: Pipe, bytes: Vec<u8>, answer: &mut Vec<u8>) -> io::Result<()> {
    pipe.set_nonblocking(true)?;
    let (mut from, mut to) = UnixStream::from_std(pipe)?.into_split();
    let send = async move {
        // A child that ends early is judged by its answer.
        if to.write_all(&bytes).await.is_ok() {
            let _ = to.shutdown().await;
        }
    };
    let receive = async move {
        // A child that was killed resets the connection; what it said before counts.
        let _ = (&mut from).take(MAX_ANSWER).read_to_end(answer).await;
    };
    tokio::join!(receive, send);
    Ok(())
}

fn words(status: Option<ExitStatus>, is_late: bool) -> String {
    match status.and_then(|status| status.signal()) {
        _ if is_late => format!("it took longer than {} s", TIME.as_secs()),
        Some(signal) if TOO_LONG.contains(&signal) => "it took too much processor time".to_owned(),
        Some(ABORTED) => {
            format!("it takes more than {} MiB of memory, or is nested too deeply", MEMORY >> 20)
        }
        _ => "it broke its reader".to_owned(),
    }
}

/// A child that is killed when nothing waits for it any more. It is waited for in any case, so that none stays as a zombie.
struct Running(Option<Child>);

impl Running {
    /// Ends the child and returns how it ended.
    async fn end(mut self) -> Option<ExitStatus> {
        let wait = move || {
            let child = self.0.as_mut()?;
            // It has closed its end of the pipe, so it has ended or is about to, unless it took too long.
            if let Ok(Some(status)) = child.try_wait() {
                self.0 = None;
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(20));
            let mut child = self.0.take()?;
            let _ = child.kill();
            child.wait().ok()
        };
        tokio::task::spawn_blocking(wait).await.ok().flatten()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else { return };
        let _ = child.kill();
        let mut wait = move || drop(child.wait());
        // Killed, it ends soon, but the tasks of this thread need not wait for that.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(wait)),
            Err(_) => wait(),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn missing_launchers_are_not_blamed_on_the_document() {
        let reader = DocumentChildren::new(Some("/nonexistent/program".into()));
        let read = reader.read(DocumentKind::Plain, b"hi".to_vec(), Trust::Owner).await;
        assert!(matches!(read, Err(Unreadable::NotStarted(_))), "{read:?}");
    }

    #[test]
    fn running_program_is_started_whatever_becomes_of_its_file() {
        let own = std::env::current_exe().unwrap();
        let launcher = Launcher::of(own.clone());
        assert_eq!((launcher.program.as_path(), launcher.name), (Path::new(ITSELF), own));
        assert_eq!(Launcher::of("/bin/sh".into()).program, Path::new("/bin/sh"));
        assert!(is_same_program(Path::new("/opt/aethon (deleted)"), Path::new("/opt/aethon")));
        assert!(!is_same_program(Path::new("/opt/aethon (deleted)"), Path::new("/opt/other")));
    }

    #[expect(clippy::disallowed_methods, reason = "a child to drop")]
    #[tokio::test]
    async fn dropped_children_are_waited_for() {
        let child = Command::new("/bin/sh").args(["-c", "exec sleep 600"]).spawn().unwrap();
        let place = PathBuf::from(format!("/proc/{}", child.id()));
        assert!(place.exists());
        drop(Running(Some(child)));
        // A zombie would stay there for as long as this process.
        let gone = async {
            while place.exists() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap();
    }
}
