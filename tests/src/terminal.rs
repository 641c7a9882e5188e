//! A pseudo-terminal with a program on it, for what programs do only where a person sits.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::eventually;
use crate::http::PATIENCE;

/// The question that a program asks to learn where the cursor is.
const WHERE: &str = "\u{1b}[6n";

/// A program on a terminal of 100 columns and 30 rows. Killed when dropped.
pub struct Terminal {
    child: Child,
    keys: File,
    screen: Arc<Mutex<String>>,
    /// How much of the output was looked at.
    looked: usize,
}

impl Terminal {
    /// Starts a command made with [`crate::program`].
    pub fn start(command: &mut Command) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&ours).expect("it can be granted");
        unlockpt(&ours).expect("it can be unlocked");
        let size = Winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&ours, size).expect("it has a size");
        let name = ptsname(&ours, Vec::new()).expect("it has a name").into_bytes();
        let theirs = || {
            let path = std::ffi::OsString::from_vec(name.clone());
            OpenOptions::new().read(true).write(true).open(path).expect("the other end opens")
        };
        command.stdin(theirs()).stdout(theirs()).stderr(theirs()).env("TERM", "xterm-256color");
        let child = command.spawn().expect("the program starts");
        let screen: Arc<Mutex<String>> = Arc::default();
        let keys = File::from(ours);
        let reader = keys.try_clone().expect("it can be read");
        let record = screen.clone();
        std::thread::spawn(move || watch(reader, &record));
        Self { child, keys, screen, looked: 0 }
    }

    /// Presses these keys.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys can be pressed");
    }

    /// Waits until this is shown, after what was waited for before; returns what came up to it.
    pub fn shows(&mut self, text: &str) -> String {
        let from = self.looked;
        let deadline = Instant::now() + PATIENCE;
        let at = loop {
            if let Some(at) = self.all()[from..].find(text) {
                break from + at + text.len();
            }
            assert!(Instant::now() < deadline, "{text:?} was not shown, but {:?}", self.rest());
            std::thread::sleep(Duration::from_millis(5));
        };
        self.looked = at;
        self.all()[from..at].to_owned()
    }

    /// What came since the last look.
    pub fn rest(&self) -> String {
        self.all()[self.looked..].to_owned()
    }

    /// Everything that was shown.
    pub fn all(&self) -> String {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Presses Ctrl-C as a terminal in its usual mode turns it into a signal.
    pub fn interrupt(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("the process is there");
    }

    /// Waits for the program's end.
    pub fn end(mut self) -> ExitStatus {
        eventually("the program has ended", || self.child.try_wait().expect("it can be waited for"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Keeps what is shown, and answers where the cursor is: always in the first column of the last row but one.
fn watch(mut terminal: File, screen: &Mutex<String>) {
    let mut bytes = [0; 4096];
    let mut pending = Vec::new();
    // Reading fails when the program is gone.
    while let Ok(length @ 1..) = terminal.read(&mut bytes) {
        pending.extend_from_slice(&bytes[..length]);
        let whole = match std::str::from_utf8(&pending) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = String::from_utf8_lossy(&pending[..whole]).into_owned();
        pending.drain(..whole);
        for _ in text.matches(WHERE) {
            let _ = terminal.write_all(b"\x1b[29;1R");
        }
        screen.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
    }
}
