//! A database that can only be read when it is opened, because its disk is full or read-only, and that can be written later.
//!
//! Other programs are this very test program, asked for a test that is ignored otherwise: SQLite's locks belong to a process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the child tells its parent what it has done")]
#![expect(
    clippy::disallowed_methods,
    reason = "the test starts itself as a child and tells it where to write"
)]

mod common;

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use aethon_core::session::{SessionQuery, Transcripts, TurnLog};
use aethon_core::version::Expected;
use aethon_store::{OpenMode, Options, Store};
use common::*;
use tempfile::TempDir;

const S: &str = "webchat:default";
const FOLDER: &str = "AETHON_STORE_TEST_FOLDER";

/// A small disk of its own, unmounted on drop.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// Mounts it; `None` on machines on which this is not permitted.
    fn mount() -> Option<Self> {
        let disk = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(disk.path()).unwrap();
        std::fs::create_dir(disk.view()).unwrap();
        let is_mounted = mount(&["-t", "tmpfs", "-o", "size=6m,mode=700", "tmpfs"], &disk.path());
        if !is_mounted {
            eprintln!("left out on this machine: mounting is not permitted");
        }
        is_mounted.then_some(disk)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("disk")
    }

    /// Where the disk can only be read once [`Self::show`] was called.
    fn view(&self) -> PathBuf {
        self.0.path().join("view")
    }

    fn show(&self) {
        assert!(mount(&["--bind", self.path().to_str().unwrap()], &self.view()));
        self.remount_view("ro");
    }

    fn remount_view(&self, how: &str) {
        assert!(mount(&["-o", &format!("remount,bind,{how}")], &self.view()), "{how}");
    }

    fn remount(&self, how: &str) {
        assert!(mount(&["-o", &format!("remount,{how}")], &self.path()), "{how}");
    }

    /// Takes all room that is left. Returns the file that has it.
    fn fill(&self) -> PathBuf {
        let path = self.path().join("filling");
        let mut file = File::create(&path).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        for path in [self.view(), self.path()] {
            let _ = Command::new("umount").arg("--lazy").arg(path).output();
        }
    }
}

fn mount(how: &[&str], at: &Path) -> bool {
    Command::new("mount").args(how).arg(at).output().is_ok_and(|done| done.status.success())
}

/// Another program that has the database of a folder open for as long as it is wanted.
struct Guest(Child);

impl Guest {
    fn open(folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "has_it_open", "--ignored", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "@open"), "the child could not open it");
        Self(child)
    }

    /// Lets it write a turn and close the database.
    fn close(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait_with_output().unwrap().status.success());
    }
}

#[tokio::test]
#[ignore = "a child of the tests below"]
async fn has_it_open() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let store = Store::open(&folder.join("aethon.db"), Options::default()).unwrap();
    println!("\n@open");
    std::io::stdin().lines().for_each(drop);
    let turn = aethon_core::ids::TurnId::fresh();
    store.accept(&turn, &say("webchat:guest", "of a guest"), Some(begin("of a guest"))).await.unwrap();
    store.finish(finish(&turn, "webchat:guest", "fine")).await.unwrap();
    store.close().await;
}

/// The remains of a database with one turn after a crash: the file, and beside it a log that holds the turn.
async fn crashed(folder: &Path) {
    let home = Home::new();
    let reader = rusqlite::Connection::open(home.path()).unwrap();
    // It keeps the log from being emptied.
    reader.execute_batch("BEGIN; SELECT count(*) FROM messages;").unwrap();
    home.turn(S, "before", "fine").await;
    for name in ["aethon.db", "aethon.db-wal", "aethon.db-shm"] {
        std::fs::copy(home.folder.path().join(name), folder.join(name)).unwrap();
    }
}

/// Its files after an orderly end.
async fn closed(folder: &Path) {
    let home = Home::new();
    home.turn(S, "before", "fine").await;
    home.store.close().await;
    std::fs::copy(home.path(), folder.join("aethon.db")).unwrap();
}

/// Opens it as a daemon, which can only read it.
async fn only_read(folder: &Path) -> Store {
    let options = Options::default().with(|options| options.mode = OpenMode::Daemon);
    let store = Store::open(&folder.join("aethon.db"), options).unwrap();
    assert!(store.obstacle().is_some(), "it can be written");
    assert_eq!(texts(&store.window(&session(S), 9).await.unwrap()), ["before", "fine"]);
    assert!(
        store
            .patch(&session(S), &aethon_core::session::SessionPatch::title("x"), Expected::Anything)
            .await
            .unwrap_err()
            .is_unavailable()
    );
    store
}

/// Writes without a pause until it succeeds; the time limit is that of the test runner.
async fn until_written(store: &Store) {
    while let Err(error) =
        store.patch(&session(S), &aethon_core::session::SessionPatch::title("x"), Expected::Anything).await
    {
        assert!(error.is_unavailable(), "{error}");
    }
}

/// That other programs which come and go remove nothing that was written.
async fn assert_keeps_what_is_written(store: &Store, folder: &Path) {
    for name in ["one", "two"] {
        let id = format!("webchat:{name}");
        let turn = aethon_core::ids::TurnId::fresh();
        store.accept(&turn, &say(&id, name), Some(begin(name))).await.unwrap();
        store.finish(finish(&turn, &id, "fine")).await.unwrap();
        Guest::open(folder).close();
    }
    assert_eq!(store.sessions(SessionQuery::newest(9)).await.unwrap().count, 4);
    store.close().await;
    let store = Store::open(&folder.join("aethon.db"), Options::default()).unwrap();
    assert_eq!(store.sessions(SessionQuery::newest(9)).await.unwrap().count, 4);
    assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
    store.close().await;
}

#[tokio::test]
async fn writes_after_a_read_only_disk_is_remounted_are_kept() {
    for leave in [true, false] {
        let Some(disk) = SmallDisk::mount() else { return };
        match leave {
            true => crashed(&disk.path()).await,
            false => closed(&disk.path()).await,
        }
        disk.remount("ro");
        let store = only_read(&disk.path()).await;
        disk.remount("rw");
        until_written(&store).await;
        assert_keeps_what_is_written(&store, &disk.path()).await;
    }
}

#[tokio::test]
async fn writes_after_a_full_disk_has_room_are_kept() {
    let Some(disk) = SmallDisk::mount() else { return };
    closed(&disk.path()).await;
    let filling = disk.fill();
    let store = only_read(&disk.path()).await;
    std::fs::remove_file(filling).unwrap();
    until_written(&store).await;
    assert_keeps_what_is_written(&store, &disk.path()).await;
}

#[tokio::test]
async fn a_database_that_another_program_writes_is_read_in_its_current_state() {
    let Some(disk) = SmallDisk::mount() else { return };
    closed(&disk.path()).await;
    disk.show();
    let guest = Guest::open(&disk.path());
    let store = only_read(&disk.view()).await;
    guest.close();
    assert_eq!(store.sessions(SessionQuery::newest(9)).await.unwrap().count, 2);
    disk.remount_view("rw");
    until_written(&store).await;
    store.close().await;
}
