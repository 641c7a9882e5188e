//! Reads a line from standard input, cancellably.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How often a wait checks whether it was cancelled.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Reads one line; `None` at the end of input. Dropping the future cancels the read without swallowing later input.
pub(super) async fn line() -> Option<String> {
    let wanted = Arc::new(AtomicBool::new(true));
    let _guard = Unwanted(wanted.clone());
    tokio::task::spawn_blocking(move || read_line(&wanted)).await.ok().flatten()
}

struct Unwanted(Arc<AtomicBool>);

impl Drop for Unwanted {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

fn read_line(wanted: &AtomicBool) -> Option<String> {
    // Unbuffered, because poll cannot see the content of a buffer.
    let stdin = std::io::stdin();
    let mut line = Vec::new();
    while wanted.load(Ordering::Relaxed) {
        let handle = stdin.as_fd();
        let ready = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&LOOK));
        if !matches!(ready, Ok(1..)) {
            continue;
        }
        let mut byte = [0];
        match rustix::io::read(handle, &mut byte) {
            Ok(0) | Err(_) => return (!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned()),
            Ok(_) if byte[0] == b'\n' => return Some(String::from_utf8_lossy(&line).into_owned()),
            Ok(_) => line.push(byte[0]),
        }
    }
    None
}
