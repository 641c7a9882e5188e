//! Starts a child for a document, feeds it, takes its answer, and ends it: at the latest when the turn that asked is gone.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Pipe;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
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
/// The most bytes of an answer: the text that a reader writes, and its notes.
const MAX_ANSWER: u64 = (8 << 20) + (64 << 10);
/// Keeps the allocator of a child from starting a thread, which the walls forbid.
const ALONE: (&str, &str) = ("_RJEM_MALLOC_CONF", "background_thread:false");
/// Signals that end a child: by the limits of its memory or its nesting, and of its processor time.
const ABORTED: i32 = 6;
const TOO_LONG: [i32; 2] = [9, 24];

/// Reads documents, each in a child of this program.
#[derive(Debug, Clone)]
pub struct DocumentChildren {
    launcher: Option<PathBuf>,
}

impl DocumentChildren {
    /// Creates the reader. `launcher` is this program, whose `main` calls [`document_step`](super::document_step) first; an
    /// embedder may have none.
    pub fn new(launcher: Option<PathBuf>) -> Self {
        Self { launcher }
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
            return Err(Unreadable(format!("it is larger than {} MiB", MAX_DOCUMENT >> 20)));
        }
        let Some(launcher) = self.launcher.clone() else {
            return Err(Unreadable(
                "the program that embeds Aethon has named no launcher, which reading documents needs"
                    .to_owned(),
            ));
        };
        static SLOTS: LazyLock<SharedSlots> = LazyLock::new(|| SharedSlots::of(AT_ONCE));
        let _slot = SLOTS.take(trust).await;
        let cannot = |error: io::Error| Unreadable(format!("its reader could not be started ({error})"));
        let (ours, theirs) = Pipe::pair().map_err(cannot)?;
        let start = move || start(&launcher, kind, theirs);
        let started =
            tokio::task::spawn_blocking(start).await.unwrap_or_else(|_| Err(io::Error::other("a fault")));
        let mut child = Running(Some(started.map_err(cannot)?));
        let mut answer = Vec::new();
        let talked = tokio::time::timeout(TIME, talk(ours, bytes, &mut answer)).await;
        let is_late = talked.is_err();
        talked.unwrap_or(Ok(())).map_err(cannot)?;
        let status = child.end().await;
        answer::parse(answer, &words(status, is_late))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a child that is this very program, and builds its walls itself"
)]
fn start(launcher: &PathBuf, kind: DocumentKind, pipe: Pipe) -> io::Result<Child> {
    let (input, output) = (OwnedFd::from(pipe.try_clone()?), OwnedFd::from(pipe));
    let mut command = Command::new(launcher);
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

/// A child that is killed when nobody waits for it any more.
struct Running(Option<Child>);

impl Running {
    /// Ends the child and returns how it ended.
    async fn end(&mut self) -> Option<ExitStatus> {
        let mut child = self.0.take()?;
        let wait = move || {
            // It has closed its end of the pipe, so it has ended or is about to, unless it took too long.
            if let Ok(Some(status)) = child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(20));
            let _ = child.kill();
            child.wait().ok()
        };
        tokio::task::spawn_blocking(wait).await.ok().flatten()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // Killed, it ends at once, so that waiting for it takes no time.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
