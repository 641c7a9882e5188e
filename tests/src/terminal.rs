//! A pseudo-terminal with a program on it, for behaviour that programs show only to people.
//!
//! The output is recorded twice: as raw bytes ([`Terminal::all`]), and as a window shows it ([`Terminal::screen`]), computed by
//! an emulator. The emulator answers cursor position queries, which line editors send, and rewraps its lines when the window's
//! width changes, as most terminals do.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::unix::ffi::OsStringExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::eventually;
use crate::http::TIMEOUT;

/// The cursor position query.
const WHERE: &[u8] = b"\x1b[6n";

/// A program on a terminal, killed on drop.
pub struct Terminal {
    child: Child,
    keys: File,
    window: Arc<Mutex<Window>>,
    /// How much of the output has been examined.
    looked: usize,
}

struct Window {
    emulator: vt100::Parser,
    all: String,
    /// The last bytes, for matches across two reads.
    tail: Vec<u8>,
    /// Bytes of an incomplete character.
    partial: Vec<u8>,
}

impl Terminal {
    /// Starts a command made with [`crate::program`] in a window of 100 columns and 30 rows.
    pub fn start(command: &mut Command) -> Self {
        Self::start_sized(command, 100, 30)
    }

    /// The same, in a window of this size.
    pub fn start_sized(command: &mut Command, columns: u16, rows: u16) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&ours).expect("it can be granted");
        unlockpt(&ours).expect("it can be unlocked");
        tcsetwinsize(&ours, winsize(columns, rows)).expect("it has a size");
        let name = ptsname(&ours, Vec::new()).expect("it has a name").into_bytes();
        let theirs = || {
            let path = std::ffi::OsString::from_vec(name.clone());
            OpenOptions::new().read(true).write(true).open(path).expect("the other end opens")
        };
        command.stdin(theirs()).stdout(theirs()).stderr(theirs()).env("TERM", "xterm-256color");
        let child = command.spawn().expect("the program starts");
        let window = Arc::new(Mutex::new(Window {
            emulator: emulator(columns, rows),
            all: String::new(),
            tail: Vec::new(),
            partial: Vec::new(),
        }));
        let keys = File::from(ours);
        let reader = keys.try_clone().expect("it can be read");
        let shared = window.clone();
        std::thread::spawn(move || watch(reader, &shared));
        Self { child, keys, window, looked: 0 }
    }

    /// Types these keys.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys can be pressed");
    }

    /// Types a line at the prompt and submits it once it is echoed, so that the next empty prompt is the following one.
    pub fn enter(&mut self, line: &str) {
        self.press(line);
        self.wait_for_screen("the line that was typed", |screen| !ends_with_prompt(screen));
        self.press("\r");
    }

    /// Pastes a text, bracketed if the program asked for that.
    pub fn paste(&mut self, text: &str) {
        let text = text.replace('\n', "\r");
        let is_marked = self.window().emulator.screen().bracketed_paste();
        self.press(&if is_marked { format!("\u{1b}[200~{text}\u{1b}[201~") } else { text });
    }

    /// Waits until this appears after the last match; returns the output up to it.
    pub fn wait_for_text(&mut self, text: &str) -> String {
        let from = self.looked;
        let deadline = Instant::now() + TIMEOUT;
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

    /// Waits until the window matches; returns it.
    pub fn wait_for_screen(&mut self, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        self.wait_for_screen_within(what, TIMEOUT, is_it)
    }

    /// The same, with a longer time limit.
    pub fn wait_for_screen_within(
        &mut self,
        what: &str,
        limit: Duration,
        is_it: impl Fn(&str) -> bool,
    ) -> String {
        let deadline = Instant::now() + limit;
        loop {
            let screen = self.screen();
            if is_it(&screen) {
                self.looked = self.all().len();
                return screen;
            }
            assert!(Instant::now() < deadline, "{what} was not seen, but\n{screen}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the last line is an empty prompt.
    pub fn wait_for_prompt(&mut self) -> String {
        self.wait_for_screen("an empty prompt", ends_with_prompt)
    }

    /// The current window: its lines without trailing blanks, and without trailing empty lines.
    pub fn screen(&self) -> String {
        let window = self.window();
        let columns = window.emulator.screen().size().1.get();
        let rows: Vec<String> = window.emulator.screen().rows(0, columns).collect();
        let rows: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
        rows.join("\n").trim_end_matches('\n').to_owned()
    }

    /// The output since the last match.
    pub fn rest(&self) -> String {
        self.all()[self.looked..].to_owned()
    }

    /// All output.
    pub fn all(&self) -> String {
        self.window().all.clone()
    }

    /// The number of bytes of output.
    pub fn length(&self) -> usize {
        self.window().all.len()
    }

    /// The lines of output after this many bytes, as printed and not as they are on the screen: a single print may exceed any
    /// screen.
    pub fn lines_since(&self, length: usize) -> Vec<String> {
        self.window().all[length..].lines().map(|line| plain(line).trim().to_owned()).collect()
    }

    /// Resizes the window.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.window().resize(columns, rows);
        tcsetwinsize(&self.keys, winsize(columns, rows)).expect("it has a size");
        // The system signals only the processes whose controlling terminal it is; this program was started without one.
        self.signal(Signal::WINCH);
    }

    /// Presses Ctrl-C, as the signal into which a terminal in its usual mode turns it.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("the process is there");
    }

    /// Waits for the program to exit.
    pub fn end(mut self) -> ExitStatus {
        eventually("the program has ended", || self.child.try_wait().expect("it can be waited for"))
    }

    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Window {
    /// Processes output; returns the terminal's answers.
    fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut answers = Vec::new();
        for byte in bytes {
            self.emulator.process(&[*byte]);
            self.tail.push(*byte);
            if self.tail.ends_with(WHERE) {
                let (row, column) = self.emulator.screen().cursor_position();
                answers.extend(format!("\u{1b}[{};{}R", row + 1, column + 1).into_bytes());
            }
        }
        let surplus = self.tail.len().saturating_sub(WHERE.len());
        self.tail.drain(..surplus);
        self.partial.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.partial) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text: Vec<u8> = self.partial.drain(..whole).collect();
        self.all.push_str(&String::from_utf8_lossy(&text));
        answers
    }

    /// Rewraps the lines. The cursor keeps its place after the text before it; colours are lost.
    fn resize(&mut self, columns: u16, rows: u16) {
        let screen = self.emulator.screen();
        let (row, column) = screen.cursor_position();
        let mut before = String::new();
        for (number, text) in (0..row).zip(screen.rows(0, screen.size().1.get())) {
            let is_wrapped = screen.row_wrapped(number);
            before.push_str(if is_wrapped { &text } else { text.trim_end() });
            before.push_str(if is_wrapped { "" } else { "\r\n" });
        }
        let line = screen.rows(0, screen.size().1.get()).nth(row.into()).unwrap_or_default();
        before.extend(line.chars().take(column.into()));
        let is_marking = screen.bracketed_paste();
        self.emulator = emulator(columns, rows);
        self.emulator.process(before.as_bytes());
        if is_marking {
            self.emulator.process(b"\x1b[?2004h");
        }
    }
}

/// Strips the codes that move the cursor and set colours.
pub fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character == '\u{1b}' {
            // A sequence ends with a letter, or consists of a single digit.
            for (at, code) in rest.by_ref().enumerate() {
                if code.is_ascii_alphabetic() || at == 0 && code.is_ascii_digit() {
                    break;
                }
            }
        } else {
            out.push(character);
        }
    }
    out
}

fn ends_with_prompt(screen: &str) -> bool {
    screen.lines().last().is_some_and(|line| line.trim_end().ends_with('>'))
}

fn emulator(columns: u16, rows: u16) -> vt100::Parser {
    let size = |number| NonZeroU16::new(number).expect("a window is not empty");
    vt100::Parser::new(size(rows), size(columns), 0)
}

fn winsize(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// Feeds the window with output, and answers cursor position queries.
fn watch(mut terminal: File, window: &Mutex<Window>) {
    let mut bytes = [0; 4096];
    // Reading fails once the program is gone.
    while let Ok(length @ 1..) = terminal.read(&mut bytes) {
        let answers = window.lock().unwrap_or_else(PoisonError::into_inner).take(&bytes[..length]);
        if !answers.is_empty() {
            let _ = terminal.write_all(&answers);
        }
    }
}
