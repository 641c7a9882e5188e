//! Processes of their own: one that is killed, one with an open umask, one whose disk refuses to grow.
//!
//! The child is this very test program, asked for one of the tests that are ignored otherwise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "the child tells its parent what was acknowledged")]
#![expect(
    clippy::disallowed_methods,
    reason = "the test starts itself as a child and tells it where to write"
)]

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use aethon_core::ids::TurnId;
use aethon_core::session::{Accepted, Transcripts, TurnLog, TurnPhase};
use aethon_store::{OpenMode, Options, Store};
use common::*;

const FOLDER: &str = "AETHON_STORE_TEST_FOLDER";

/// Starts the ignored test `name` of this program, after some shell commands.
fn child(name: &str, first: &str, folder: &Path) -> Child {
    let program = std::env::current_exe().unwrap();
    Command::new("sh")
        .args(["-c", &format!("{first}exec \"$0\" \"$@\"")])
        .arg(program)
        .args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Where a child is to write; none when the ignored tests are run by hand.
fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

fn say_aloud(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n@{line}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a child of the test below"]
async fn writes_until_it_is_killed() {
    let Some(folder) = folder() else { return };
    let options = Options::default().with(|options| options.mode = OpenMode::Daemon);
    let store = Store::open(&folder.join("aethon.db"), options).unwrap();
    take_over_everything(&store).await;
    let tasks: Vec<_> = (0..8)
        .map(|caller| {
            let store = store.clone();
            tokio::spawn(async move {
                let id = format!("webchat:s{caller}");
                for n in 0..100_000 {
                    let key = format!("{caller}-{n}-{}", std::process::id());
                    let turn = TurnId::fresh();
                    store.accept(&turn, &say_as(&id, &key, &key, None), Some(begin(&key))).await.unwrap();
                    say_aloud(&format!("accepted {key}"));
                    store.finish(finish(&turn, &id, &format!("re {key}"))).await.unwrap();
                    say_aloud(&format!("finished {key}"));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_or_doubled_when_the_process_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aethon.db");
    let mut acknowledged: BTreeMap<String, bool> = BTreeMap::new();
    // Killed after so many acknowledgements; the database of one run is the start of the next.
    for limit in [1, 40, 333, 1500] {
        let mut child = child("writes_until_it_is_killed", "", folder.path());
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = 0;
        for line in lines {
            let line = line.unwrap();
            let Some((what, key)) = line.strip_prefix('@').and_then(|line| line.split_once(' ')) else {
                continue;
            };
            *acknowledged.entry(key.to_owned()).or_default() |= what == "finished";
            seen += 1;
            if seen == limit {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(seen >= limit, "the child ended by itself");
    }

    let store = Store::open(&path, Options::default()).unwrap();
    assert!(store.check().await.unwrap().problems.is_empty());
    let mut said: BTreeMap<String, usize> = BTreeMap::new();
    for caller in 0..8 {
        for message in
            store.messages(&session(&format!("webchat:s{caller}")), None, usize::MAX).await.unwrap()
        {
            *said.entry(message.text()).or_default() += 1;
        }
    }
    for (key, finished) in &acknowledged {
        assert_eq!(said.get(key), Some(&1), "{key}");
        let id = format!("webchat:s{}", key.split('-').next().unwrap());
        let accepted = store.accept(&TurnId::fresh(), &say_as(&id, key, key, None), None).await.unwrap();
        let Accepted::Known(record) = accepted else { panic!("{key} was forgotten") };
        if *finished {
            assert_eq!(record.phase, TurnPhase::Done);
            assert_eq!(said.get(&format!("re {key}")), Some(&1), "{key}");
        }
    }
    assert!(said.values().all(|&times| times == 1));
    store.close().await;
}

#[tokio::test]
#[ignore = "a child of the test below"]
async fn creates_a_database() {
    let Some(folder) = folder() else { return };
    let store = Store::open(&folder.join("home/aethon.db"), Options::default()).unwrap();
    store.accept(&TurnId::fresh(), &say("webchat:x", "x"), Some(begin("x"))).await.unwrap();
    say_aloud("written now");
    std::thread::park_timeout(Duration::from_secs(60));
}

#[test]
fn files_are_private_whatever_the_umask() {
    for umask in ["000", "022", "077", "027"] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = child("creates_a_database", &format!("umask {umask}; "), folder.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "@written now"), "the child could not write");
        let mode = |name: &str| folder.path().join(name).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("home"), 0o700, "umask {umask}");
        for name in ["home/aethon.db", "home/aethon.db-wal", "home/aethon.db-shm"] {
            assert_eq!(mode(name), 0o600, "{name}, umask {umask}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a child of the test below"]
async fn writes_until_the_log_cannot_grow() {
    let Some(folder) = folder() else { return };
    let store = Store::open(&folder.join("aethon.db"), Options::default()).unwrap();
    let text = "x".repeat(20_000);
    let mut stored = 0;
    let mut failed = 0;
    while failed == 0 {
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let (store, inbound, begin) = (store.clone(), say("webchat:x", ""), begin(&text));
                tokio::spawn(
                    async move { store.accept(&TurnId::fresh(), &inbound, Some(begin)).await.is_ok() },
                )
            })
            .collect();
        for task in tasks {
            *if task.await.unwrap() { &mut stored } else { &mut failed } += 1;
        }
        assert!(stored < 10_000, "the limit does not hold");
    }
    assert_eq!(store.window(&session("webchat:x"), 99_999).await.unwrap().len(), stored);
    // The next idle moment empties the log, and the writer is still there.
    let deadline = Instant::now() + Duration::from_secs(30);
    while store.accept(&TurnId::fresh(), &say("webchat:x", ""), Some(begin("short"))).await.is_err() {
        assert!(Instant::now() < deadline, "the writer does not recover");
        tokio::task::yield_now().await;
    }
    store.close().await;
    say_aloud(&format!("stored {}", stored + 1));
}

#[tokio::test]
async fn a_commit_that_fails_fails_its_jobs_and_the_writer_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    // No file of the child may grow beyond 4 MiB; it gets an error, not a signal.
    let limit = "trap '' XFSZ; ulimit -f 8192; ";
    let mut child = child("writes_until_the_log_cannot_grow", limit, folder.path());
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let stored = lines.filter_map(|line| line.unwrap().strip_prefix("@stored ").map(str::to_owned)).last();
    assert!(child.wait().unwrap().success());
    let store = Store::open(&folder.path().join("aethon.db"), Options::default()).unwrap();
    assert!(store.check().await.unwrap().problems.is_empty());
    let count = store.session(&session("webchat:x")).await.unwrap().unwrap().message_count;
    assert_eq!(Some(count.to_string()), stored);
}
