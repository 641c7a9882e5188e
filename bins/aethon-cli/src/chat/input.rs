//! Reads a line from standard input, cancellably.

use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How often a wait checks whether it was cancelled.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Reads one line; `None` at the end of input. Dropping the future cancels the read without swallowing later input.
pub(super) async fn line() -> Option<String> {
    let wanted = Wanted::default();
    let _guard = Unwanted(wanted.clone());
    tokio::task::spawn_blocking(move || read_line(std::io::stdin(), &wanted)).await.ok().flatten()
}

/// Whether the line is still wanted. Held while a byte is read, so that none is read for a line that is not.
#[derive(Clone)]
struct Wanted(Arc<Mutex<bool>>);

impl Default for Wanted {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(true)))
    }
}

impl Wanted {
    fn held(&self) -> MutexGuard<'_, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Unwanted(Wanted);

impl Drop for Unwanted {
    fn drop(&mut self) {
        *self.0.held() = false;
    }
}

fn read_line(input: impl AsFd, wanted: &Wanted) -> Option<String> {
    // Unbuffered, because poll cannot see the content of a buffer.
    let is_ready =
        |within: &Timespec| matches!(poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(within)), Ok(1..));
    let mut line = Vec::new();
    loop {
        is_ready(&LOOK);
        let held = wanted.held();
        if !*held {
            return None;
        }
        if !is_ready(&NOW) {
            continue;
        }
        let mut byte = [0];
        match rustix::io::read(&input, &mut byte) {
            Ok(0) | Err(_) => return (!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned()),
            Ok(_) if byte[0] == b'\n' => return Some(String::from_utf8_lossy(&line).into_owned()),
            Ok(_) => line.push(byte[0]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _, pipe};

    #[test]
    fn a_line_is_read_and_nothing_after_it() {
        let (mut from, mut to) = pipe().unwrap();
        to.write_all(b"yes\nno").unwrap();
        assert_eq!(read_line(&from, &Wanted::default()).as_deref(), Some("yes"));
        drop(to);
        let mut rest = String::new();
        from.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "no");
    }

    #[test]
    fn input_that_comes_after_the_line_is_not_wanted_any_more_is_left_for_others() {
        let (mut from, mut to) = pipe().unwrap();
        let wanted = Wanted::default();
        let reading = std::thread::spawn({
            let (from, wanted) = (from.try_clone().unwrap(), wanted.clone());
            move || read_line(&from, &wanted)
        });
        // It waits by now, and for a while longer.
        std::thread::sleep(std::time::Duration::from_millis(30));
        drop(Unwanted(wanted));
        to.write_all(b"\x1b[41;1R").unwrap();
        assert_eq!(reading.join().unwrap(), None);
        drop(to);
        let mut rest = Vec::new();
        from.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"\x1b[41;1R");
    }
}
