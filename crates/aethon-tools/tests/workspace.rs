//! What file tools may open, on a real disk: the row "workspace" of the security rules, case by case.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests and what they share"
)]

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aethon_tools::{Options, Workspace};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

/// A home directory with a workspace in it, keys, and the assistant's own files; and a file outside.
struct Disk {
    dir: TempDir,
}

const SECRET: &str = "TOP SECRET";

impl Disk {
    fn new() -> Self {
        let disk = Self { dir: tempfile::tempdir().unwrap() };
        for (path, text) in [
            ("home/.aethon/workspace/notes.md", "notes"),
            ("home/.aethon/workspace/deep/er/file.txt", "deep"),
            ("home/.aethon/config.toml", SECRET),
            ("home/.aethon/aethon.db", SECRET),
            ("home/.aethon/aethon.db-wal", SECRET),
            ("home/.aethon/credentials/openai", SECRET),
            ("home/.ssh/id_ed25519", SECRET),
            ("home/.ssh/deep/key", SECRET),
            ("home/.netrc", SECRET),
            ("home/.bash_history", SECRET),
            ("home/.config/gh/hosts.yml", SECRET),
            ("home/project/readme.md", "readme"),
            ("outside/file.txt", SECRET),
        ] {
            let path = disk.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        disk
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn in_workspace(&self, path: &str) -> PathBuf {
        self.path("home/.aethon/workspace").join(path)
    }

    fn workspace(&self, workspace_only: bool) -> Workspace {
        let own = ["config.toml", "aethon.db", "credentials", "run", "recordings"];
        Workspace::new(&Options::default().with(|options| {
            options.workspace = self.in_workspace("");
            options.user_home = Some(self.path("home"));
            options.workspace_only = workspace_only;
            options.own = own.map(|name| self.path("home/.aethon").join(name)).into();
        }))
    }
}

fn text_of(workspace: &Workspace, path: impl AsRef<Path>) -> Result<String, String> {
    let mut opened = workspace.open(path.as_ref().to_str().unwrap()).map_err(|error| error.to_string())?;
    let mut text = String::new();
    opened.file.read_to_string(&mut text).unwrap();
    Ok(text)
}

#[track_caller]
fn refused(workspace: &Workspace, path: impl AsRef<Path>) {
    let path = path.as_ref();
    if let Ok(text) = text_of(workspace, path) {
        panic!("{} was opened: {text}", path.display());
    }
}

#[track_caller]
fn refused_both_ways(disk: &Disk, path: impl AsRef<Path>) {
    refused(&disk.workspace(true), &path);
    refused(&disk.workspace(false), &path);
}

#[test]
fn files_of_the_workspace_are_open() {
    let disk = Disk::new();
    for workspace in [disk.workspace(true), disk.workspace(false)] {
        assert_eq!(text_of(&workspace, "notes.md").unwrap(), "notes");
        assert_eq!(text_of(&workspace, "./deep/../deep/er/file.txt").unwrap(), "deep");
        assert_eq!(text_of(&workspace, disk.in_workspace("notes.md")).unwrap(), "notes");
        assert!(text_of(&workspace, "absent.md").unwrap_err().contains("there is no file"));
        let absent = text_of(&workspace, "~/.ssh/absent").unwrap_err();
        assert!(
            !absent.contains("there is no file"),
            "what is closed is closed, whether it is there or not: {absent}"
        );
    }
}

#[test]
fn the_home_directory_is_open_unless_tools_are_confined() {
    let disk = Disk::new();
    let free = disk.workspace(false);
    assert_eq!(text_of(&free, disk.path("home/project/readme.md")).unwrap(), "readme");
    assert_eq!(text_of(&free, "~/project/readme.md").unwrap(), "readme");
    assert_eq!(text_of(&free, "../../project/readme.md").unwrap(), "readme");
    let confined = disk.workspace(true);
    for path in ["~/project/readme.md", "../../project/readme.md"] {
        assert!(text_of(&confined, path).unwrap_err().contains("security.workspace_only"));
    }
}

#[test]
fn nothing_else_is_open() {
    let disk = Disk::new();
    for path in [
        "",
        " ",
        "a\0b",
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/self/root/etc/passwd",
        "/dev/null",
        "../../../outside/file.txt",
        "deep/../../../../outside/file.txt",
        "~root/.profile",
        "~",
    ] {
        refused_both_ways(&disk, path);
    }
    let long_way = format!("/proc/self/root{}", disk.in_workspace("notes.md").display());
    refused_both_ways(&disk, long_way);
    refused_both_ways(&disk, disk.path("outside/file.txt"));
}

#[test]
fn keys_credentials_and_own_files_are_closed() {
    let disk = Disk::new();
    for path in [
        "~/.ssh/id_ed25519",
        "~/.ssh/deep/key",
        "~/project/../.ssh/id_ed25519",
        "~/.SSH/id_ed25519",
        "~/.\u{17f}sh/id_ed25519",
        "~/.netrc",
        "~/.bash_history",
        "~/.config/gh/hosts.yml",
        "../config.toml",
        "../aethon.db",
        "../aethon.db-wal",
        "../credentials/openai",
    ] {
        refused_both_ways(&disk, path);
    }
}

#[test]
fn links_lead_nowhere_else() {
    let disk = Disk::new();
    let link = |target: PathBuf, name: &str| {
        symlink(target, disk.in_workspace(name)).unwrap();
        refused_both_ways(&disk, name);
    };
    link(disk.path("outside/file.txt"), "to-outside");
    link(disk.path("home/.ssh/id_ed25519"), "to-key");
    link("../aethon.db".into(), "to-database");
    link("absent".into(), "dangling");
    link("/proc/self/environ".into(), "to-environment");
    link("loop".into(), "loop");
    symlink(disk.path("home/.ssh"), disk.in_workspace("keys")).unwrap();
    refused_both_ways(&disk, "keys/id_ed25519");
    symlink(disk.path("outside"), disk.in_workspace("out")).unwrap();
    refused_both_ways(&disk, "out/file.txt");
    refused_both_ways(&disk, "out/../outside/file.txt");

    symlink("deep/er/file.txt", disk.in_workspace("within")).unwrap();
    assert_eq!(text_of(&disk.workspace(true), "within").unwrap(), "deep");
    symlink(disk.in_workspace("notes.md"), disk.in_workspace("absolute")).unwrap();
    assert_eq!(text_of(&disk.workspace(true), "absolute").unwrap(), "notes");
}

#[test]
fn another_name_of_the_same_file_is_no_way_round() {
    let disk = Disk::new();
    for (target, name) in [
        ("home/.ssh/id_ed25519", "hard-key"),
        ("home/.ssh/deep/key", "hard-deep-key"),
        ("home/.aethon/aethon.db", "hard-database"),
        ("home/.netrc", "hard-netrc"),
    ] {
        fs::hard_link(disk.path(target), disk.in_workspace(name)).unwrap();
        refused_both_ways(&disk, name);
    }
    fs::hard_link(disk.path("outside/file.txt"), disk.in_workspace("hard-outside")).unwrap();
    refused(&disk.workspace(true), "hard-outside");

    let workspace = disk.workspace(false);
    fs::rename(disk.path("home/.ssh"), disk.in_workspace("renamed")).unwrap();
    refused(&workspace, "renamed/id_ed25519");
}

#[test]
fn devices_and_pipes_are_not_opened_and_nothing_hangs() {
    let disk = Disk::new();
    let fifo = disk.in_workspace("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let socket = disk.in_workspace("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    symlink("/dev/zero", disk.in_workspace("zero")).unwrap();
    for path in ["fifo", "socket", "zero", "deep", ".", "notes.md/x"] {
        refused_both_ways(&disk, path);
    }
    assert!(text_of(&disk.workspace(true), "fifo").unwrap_err().contains("a FIFO"));
    assert!(text_of(&disk.workspace(true), "deep").unwrap_err().contains("a directory"));
}

#[test]
fn a_swap_between_check_and_use_wins_nothing() {
    let disk = Disk::new();
    let (name, spare) = (disk.in_workspace("swapped"), disk.in_workspace("spare"));
    fs::create_dir(&name).unwrap();
    fs::write(name.join("file.txt"), "harmless").unwrap();
    symlink(disk.path("outside"), &spare).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let (done, third) = (done.clone(), disk.in_workspace("third"));
        move || {
            while !done.load(Ordering::Relaxed) {
                fs::rename(&name, &third).unwrap();
                fs::rename(&spare, &name).unwrap();
                fs::rename(&third, &spare).unwrap();
            }
        }
    });
    let (confined, free) = (disk.workspace(true), disk.workspace(false));
    for _ in 0..2_000 {
        for workspace in [&confined, &free] {
            if let Ok(text) = text_of(workspace, "swapped/file.txt") {
                assert_eq!(text, "harmless");
            }
        }
    }
    done.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
}

/// Opens a path and returns its text and whether it has another name; or the message.
fn alike(workspace: &Workspace, path: &str) -> Result<(String, bool), String> {
    let mut opened = workspace.open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    opened.file.read_to_string(&mut text).unwrap();
    Ok((text, opened.is_alike))
}

#[test]
fn a_file_is_found_under_a_name_that_looks_alike() {
    let disk = Disk::new();
    let workspace = disk.workspace(false);
    let rows = [
        ("Screenshot 2026-11-26 at 3.15.10\u{202f}PM.txt", "Screenshot 2026-11-26 at 3.15.10 PM.txt"),
        ("no\u{a0}break.txt", "no break.txt"),
        ("U\u{308}bersicht fu\u{308}r Ma\u{308}rz.txt", "Übersicht für März.txt"),
        ("Caf\u{e9}.txt", "Cafe\u{301}.txt"),
        ("カ\u{3099}イト\u{3099}.txt", "ガイド.txt"),
        ("Ada’s plan.txt", "Ada's plan.txt"),
        ("it's.txt", "it’s.txt"),
        ("“quoted”.txt", "\"quoted\".txt"),
        ("2020–2021.txt", "2020-2021.txt"),
        ("ReadMe.TXT", "readme.txt"),
        ("ＡＢＣ.txt", "abc.txt"),
        ("ZERO\u{200b}WIDTH.txt", "zerowidth.txt"),
    ];
    for (name, asked) in rows {
        fs::write(disk.in_workspace(name), name).unwrap();
        assert_eq!(alike(&workspace, asked), Ok((name.to_owned(), true)), "{asked:?}");
        assert_eq!(alike(&workspace, name), Ok((name.to_owned(), false)), "{name:?}");
    }
    // Folders on the way, too.
    fs::create_dir_all(disk.in_workspace("U\u{308}bersicht/Tom’s")).unwrap();
    fs::write(disk.in_workspace("U\u{308}bersicht/Tom’s/a\u{202f}b.txt"), "deep").unwrap();
    assert_eq!(alike(&workspace, "Übersicht/tom's/A b.txt"), Ok(("deep".into(), true)));
    assert_eq!(alike(&workspace, "./deep/../Übersicht/Tom's/a b.txt"), Ok(("deep".into(), true)));
    // Composed or not, the exact name wins.
    fs::write(disk.in_workspace("ma\u{308}rz.md"), "apart").unwrap();
    fs::write(disk.in_workspace("märz.md"), "together").unwrap();
    assert_eq!(alike(&workspace, "märz.md"), Ok(("together".into(), false)));
    let several = alike(&workspace, "März.md").unwrap_err();
    assert!(several.contains("several names") && several.contains("märz.md"), "{several}");
}

#[test]
fn near_names_are_offered_and_closed_ones_are_not() {
    let disk = Disk::new();
    let workspace = disk.workspace(false);
    fs::write(disk.in_workspace("report.txt"), "x").unwrap();
    let error = alike(&workspace, "reprot.txt").unwrap_err();
    assert!(error.contains("there is no file") && error.contains("\"report.txt\""), "{error}");
    let error = alike(&workspace, "quite another.txt").unwrap_err();
    assert!(!error.contains("report"), "{error}");
    let error = alike(&workspace, "deep/err/file.txt").unwrap_err();
    assert!(error.contains("no folder \"err\"") && error.contains("\"er\""), "{error}");
    for number in 0..30 {
        fs::write(disk.in_workspace(&format!("page-{number:02}.md")), "x").unwrap();
    }
    let error = alike(&workspace, "page-xx.md").unwrap_err();
    assert!(error.matches("page-").count() <= 6, "{error}");
    // Closed names are neither followed nor offered, and links lead nowhere else than under their own name.
    for closed in [
        "../.SSH/id_ed25519",
        "../.ssh/ID_ED25519",
        "~/.SSH/id_ed25519",
        "~/.Netrc",
        "~/.netrC",
        "../Config.toml",
        "../aethon\u{2010}db",
        "~/.ssh/id\u{ff3f}ed25519",
        "~/.ssh/id_ed2551",
        "~/.netr",
    ] {
        let error = alike(&workspace, closed).unwrap_err();
        assert!(
            !error.contains(SECRET) && !error.contains("\"id_ed25519\"") && !error.contains("\".netrc\""),
            "{error}"
        );
    }
    symlink(disk.path("home/.ssh/id_ed25519"), disk.in_workspace("Key’s.txt")).unwrap();
    symlink(disk.path("outside"), disk.in_workspace("Out’s")).unwrap();
    assert!(alike(&workspace, "key's.txt").is_err());
    assert!(alike(&workspace, "out's/file.txt").is_err());
    mknodat(CWD, disk.in_workspace("Pipe’s.txt"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert!(alike(&workspace, "pipe's.txt").unwrap_err().contains("a FIFO"));
}
