//! A clock that is wrong and right again, under a program that runs on and under one that is killed meanwhile: what waits is
//! answered, and the job of every minute keeps running.
//!
//! The clock is that of `libfaketime` (Debian: faketime), which reads its offset from a file; the monotonic clock stays true.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_tests::server::server_command;
use aethon_tests::{Server, home, program};
use serde_json::json;
use tempfile::TempDir;

use super::{jobs, tell};

/// The longest wait for the job of every minute once the clock is right.
const MINUTE: Duration = Duration::from_secs(90);
/// The longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(30);
/// A turn that is running when its program is killed.
const CUT: &str = "!sleep 8000\n!say cut.";

/// What happens to the program while the clock is wrong.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// It sees the clock come back.
    RunsOn,
    /// It is killed in the middle of a turn.
    Killed,
    /// A terminal without a server is killed in the middle of a turn.
    TerminalKilled,
}

/// Where Debian and its relatives install the library.
fn library() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").expect("/usr/lib can be read").flatten();
    folders
        .map(|folder| folder.path().join("faketime/libfaketime.so.1"))
        .find(|library| library.exists())
        .expect("libfaketime is installed (on Debian: apt-get install faketime)")
}

/// A home, and the clock of the programs that run on it.
struct HomeWithClock {
    home: Arc<TempDir>,
    /// The folder of the file with the offset, which no program of ours looks into.
    aside: TempDir,
}

impl HomeWithClock {
    fn new() -> Self {
        let clocked = Self { home: home(), aside: tempfile::tempdir().expect("a folder for the clock") };
        clocked.set("+0");
        clocked
    }

    /// The offset from now on, as `+10y` or `-1d`.
    fn set(&self, offset: &str) {
        let (next, file) = (self.aside.path().join("next"), self.offset());
        fs::write(&next, offset).expect("the offset can be written");
        fs::rename(next, file).expect("the offset can be put in place");
    }

    fn offset(&self) -> PathBuf {
        self.aside.path().join("offset")
    }

    fn clock(&self, command: &mut Command, library: &Path) {
        command
            .env("LD_PRELOAD", library)
            .env("FAKETIME_TIMESTAMP_FILE", self.offset())
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }

    fn start(&self) -> Server {
        let mut command = server_command(self.home.path(), &[jobs::EVERY_MINUTE]);
        self.clock(&mut command, &library());
        Server::start_command(self.home.clone(), command)
    }

    /// Leaps to an offset and back; messages on either side are answered, and the job of every minute keeps running.
    fn leap(&self, mut server: Server, offset: &str, fate: Fate) -> Server {
        let begun = Instant::now();
        self.set(offset);
        answered(&server, &format!("wrong{offset}{fate:?}"));
        match fate {
            Fate::RunsOn => self.set("+0"),
            Fate::Killed => {
                let mut chat = server.chat("default");
                chat.send_json(&json!({"type": "message", "id": format!("cut{offset}"), "text": CUT}));
                until("the turn runs", ANSWER, || is_busy(&server));
                server.kill();
                self.set("+0");
                server = self.start();
            }
            Fate::TerminalKilled => {
                assert!(server.terminate().success());
                self.cut_terminal();
                self.set("+0");
                server = self.start();
            }
        }
        answered(&server, &format!("right{offset}{fate:?}"));
        let before = minutes(&server);
        until("the job of every minute comes", MINUTE, || minutes(&server) > before);
        tell(&format!("{offset}, {fate:?}: answered, and the job goes on, {:.0?}", begun.elapsed()));
        server
    }

    /// Kills a terminal in the middle of its turn.
    fn cut_terminal(&self) {
        let mut ask = program("aethon-cli", self.home.path());
        self.clock(&mut ask, &library());
        ask.args(["--set", "model.provider=fake", "ask", "--session", "default", CUT]);
        let mut running = ask.spawn().expect("aethon-cli starts");
        // A terminal has no API; its lock on the log shows that it works.
        let log = self.home.path().join("aethon.db-wal");
        until("the terminal has stored its message", ANSWER, || {
            fs::metadata(&log).is_ok_and(|log| log.len() > 0)
        });
        std::thread::sleep(Duration::from_millis(500));
        running.kill().expect("it can be killed");
        running.wait().expect("it has ended");
    }
}

/// How often the job of every minute has spoken.
fn minutes(server: &Server) -> usize {
    let answer = server.get("/api/scheduler/jobs/minute/runs");
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["runs"].as_array().expect("a list").iter().filter(|run| run["status"] == "ok").count()
}

fn is_busy(server: &Server) -> bool {
    server.get("/api/sessions/webchat:default?limit=1").json()["busy"] == true
}

fn until(what: &str, time: Duration, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + time;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Says something in the session that all of this happens in, and waits for the answer.
fn answered(server: &Server, word: &str) {
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": word, "text": format!("!say {word}")}));
    chat.until("ack");
    until(&format!("{word} is answered"), ANSWER, || {
        let said = server.exported("webchat:default");
        said.iter().any(|(role, text)| role == "assistant" && text.trim_end() == word)
    });
}

/// `cargo xtask torture` runs this.
#[test]
#[ignore = "a chore that runs for minutes and needs libfaketime: cargo xtask torture"]
fn clock_leaps_lose_no_message_and_stop_no_job() {
    let clocked = HomeWithClock::new();
    let mut server = clocked.start();
    answered(&server, "first");
    for offset in ["-10y", "+1d", "+10y", "-1d"] {
        for fate in [Fate::RunsOn, Fate::Killed, Fate::TerminalKilled] {
            server = clocked.leap(server, offset, fate);
        }
    }
    assert!(server.terminate().success());
}
