//! Whatever lies in the place of a file, reading ends at once and names its type, and nothing from elsewhere is read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use aethon_files::{Directory, Subdirectory, read_given};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

const SECRET: &[u8] = b"a secret that lies outside";
const OWN: &[u8] = b"a page of the owner's";

/// A workspace, with a private file beside it.
fn stage() -> (TempDir, Directory) {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("secret"), SECRET).unwrap();
    fs::create_dir(home.path().join("workspace")).unwrap();
    let directory = Directory::open(&home.path().join("workspace")).unwrap();
    (home, directory)
}

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

fn socket(path: &Path) {
    drop(std::os::unix::net::UnixListener::bind(path).unwrap());
}

#[test]
fn anything_but_a_plain_file_is_named_and_never_read() {
    let (home, directory) = stage();
    let secret = home.path().join("secret");
    type Put<'s> = &'s dyn Fn(&Path);
    let rows: [(&str, Put<'_>, &str); 10] = [
        ("a FIFO", &fifo, "a FIFO"),
        ("a socket", &socket, "a socket"),
        ("a directory", &|path| fs::create_dir(path).unwrap(), "a directory"),
        ("a link to a private file", &|path| symlink(&secret, path).unwrap(), "a link"),
        ("a link to a device", &|path| symlink("/dev/zero", path).unwrap(), "a link"),
        (
            "a link to a FIFO",
            &|path| {
                fifo(&path.with_extension("fifo"));
                symlink(path.with_extension("fifo"), path).unwrap();
            },
            "a link",
        ),
        ("a link that leads nowhere", &|path| symlink("nowhere", path).unwrap(), "a link"),
        ("a link to itself", &|path| symlink(path, path).unwrap(), "a link"),
        (
            "a link to a file beside it",
            &|path| {
                fs::write(path.with_extension("beside"), OWN).unwrap();
                symlink(path.with_extension("beside"), path).unwrap();
            },
            "a link",
        ),
        (
            "a second name of a private file",
            &|path| fs::hard_link(&secret, path).unwrap(),
            "a file with a second name",
        ),
    ];
    for (number, (row, put, expected)) in rows.iter().enumerate() {
        let name = format!("{number}.md");
        put(&home.path().join("workspace").join(&name));
        let refusal = directory.read(&name, 1_000).unwrap_err();
        assert_eq!(refusal.kind(), *expected, "{row}: {refusal}");
    }
}

#[test]
fn a_plain_file_is_read_as_far_as_wanted() {
    let (home, directory) = stage();
    let path = home.path().join("workspace/page.md");
    assert_eq!(directory.read("page.md", 100).unwrap(), None, "it is not there yet");
    fs::write(&path, OWN).unwrap();
    for (limit, is_whole) in [(100, true), (OWN.len(), true), (OWN.len() - 1, false), (0, false)] {
        let contents = directory.read("page.md", limit).unwrap().unwrap();
        assert_eq!(
            (contents.bytes.as_slice(), contents.is_whole),
            (&OWN[..limit.min(OWN.len())], is_whole),
            "{limit}"
        );
        assert_eq!(directory.stamp_of("page.md"), Some(contents.stamp), "nothing has changed since");
    }
    // Twenty GiB that take no space.
    fs::File::options().write(true).open(&path).unwrap().set_len(20 << 30).unwrap();
    let contents = directory.read("page.md", 1_000).unwrap().unwrap();
    assert!(contents.bytes.len() == 1_000 && !contents.is_whole && contents.stamp.length() == 20 << 30);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let (_home, directory) = stage();
    for name in ["", ".", "..", "../secret", "/etc/hostname", "a/b"] {
        assert!(directory.read(name, 10).is_err(), "{name:?}");
        assert!(directory.inner(name).is_err(), "{name:?}");
        assert!(directory.write(name, b"x").is_err(), "{name:?}");
        assert!(directory.remove(name).is_err(), "{name:?}");
    }
}

#[test]
fn a_change_shows_in_the_stamp_even_if_the_time_is_put_back() {
    let (home, directory) = stage();
    let path = home.path().join("workspace/page.md");
    fs::write(&path, "one").unwrap();
    let before = directory.stamp_of("page.md");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(home.path().join("workspace/new.md"), "two").unwrap();
    fs::File::options()
        .write(true)
        .open(home.path().join("workspace/new.md"))
        .unwrap()
        .set_modified(modified)
        .unwrap();
    fs::rename(home.path().join("workspace/new.md"), &path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified);
    assert_ne!(directory.stamp_of("page.md"), before);
}

#[test]
fn an_inner_directory_is_never_a_link() {
    let home = tempfile::tempdir().unwrap();
    let outside = home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a.sop.md"), SECRET).unwrap();
    let sops = Subdirectory::new(home.path().join("workspace/sops"));
    assert!(sops.open().unwrap().is_none(), "not even the outer one is there");
    fs::create_dir(home.path().join("workspace")).unwrap();
    for (put, kind) in [
        (&(|| symlink(&outside, sops.path()).unwrap()) as &dyn Fn(), "a link"),
        (&|| symlink("nowhere", sops.path()).unwrap(), "a link"),
        (&|| fifo(sops.path()), "a FIFO"),
        (&|| fs::write(sops.path(), "x").unwrap(), "a file"),
    ] {
        put();
        assert_eq!(sops.open().unwrap_err().kind(), kind);
        assert_eq!(sops.open_or_new().unwrap_err().kind(), kind);
        fs::remove_file(sops.path()).unwrap();
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "nothing was written there");
    let made = sops.open_or_new().unwrap();
    made.write("a.sop.md", OWN).unwrap();
    assert_eq!(sops.open().unwrap().unwrap().read("a.sop.md", 100).unwrap().unwrap().bytes, OWN);
    // An open directory stays the same, whatever takes its name.
    fs::rename(sops.path(), home.path().join("workspace/moved")).unwrap();
    symlink(&outside, sops.path()).unwrap();
    assert_eq!(made.read("a.sop.md", 100).unwrap().unwrap().bytes, OWN);
}

#[test]
fn a_file_is_replaced_as_a_whole_and_a_link_is_not_written_through() {
    let (home, directory) = stage();
    let (secret, path) = (home.path().join("secret"), home.path().join("workspace/page.md"));
    symlink(&secret, &path).unwrap();
    directory.write("page.md", OWN).unwrap();
    assert_eq!(fs::read(&secret).unwrap(), SECRET);
    assert_eq!(fs::read(&path).unwrap(), OWN);
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::remove_file(&path).unwrap();
    symlink(&secret, &path).unwrap();
    assert!(directory.remove("page.md").unwrap() && !directory.remove("page.md").unwrap());
    assert_eq!(fs::read(&secret).unwrap(), SECRET);
    fs::create_dir(&path).unwrap();
    assert!(directory.write("page.md", OWN).is_err() && directory.remove("page.md").is_err());
    let left: Vec<_> = fs::read_dir(home.path().join("workspace")).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file is left: {left:?}");
}

#[test]
fn names_are_listed_by_their_ending_and_bounded() {
    let (home, directory) = stage();
    for name in ["b.sop.md", "a.sop.md", "c.sop.md", "notes.md"] {
        fs::write(home.path().join("workspace").join(name), "x").unwrap();
    }
    assert_eq!(directory.names(".sop.md", 10, 100).unwrap(), ["a.sop.md", "b.sop.md", "c.sop.md"]);
    assert_eq!(directory.names(".sop.md", 2, 100).unwrap().len(), 2);
    assert!(directory.names(".sop.md", 10, 2).unwrap().len() <= 2);
}

#[test]
fn swap_before_opening_never_reaches_an_outside_file() {
    let (home, directory) = stage();
    let workspace = home.path().join("workspace");
    let is_over = AtomicBool::new(false);
    let (mut own, mut refused) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let next = workspace.join("next");
            let puts: [&dyn Fn(); 4] = [
                &|| fs::write(&next, OWN).unwrap(),
                &|| symlink(home.path().join("secret"), &next).unwrap(),
                &|| fifo(&next),
                &|| symlink("/dev/zero", &next).unwrap(),
            ];
            for put in puts.iter().cycle() {
                put();
                fs::rename(&next, workspace.join("page.md")).unwrap();
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        while own < 300 || refused < 300 {
            match directory.read("page.md", 1_000) {
                // The file may have been opened in the moment before its first byte was written.
                Ok(Some(contents)) => {
                    assert!(
                        OWN.starts_with(&contents.bytes),
                        "{:?}",
                        String::from_utf8_lossy(&contents.bytes)
                    );
                    own += 1;
                }
                Ok(None) => {}
                Err(_) => refused += 1,
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_file_that_the_owner_named_may_be_linked_but_is_a_file() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    fs::write(path("real"), OWN).unwrap();
    symlink("real", path("linked")).unwrap();
    assert_eq!(read_given(&path("linked"), 100).unwrap().unwrap().bytes, OWN);
    assert!(!read_given(&path("real"), 3).unwrap().unwrap().is_whole);
    assert_eq!(read_given(&path("none"), 100).unwrap(), None);
    fifo(&path("fifo"));
    socket(&path("socket"));
    for (name, kind) in [("fifo", "a FIFO"), ("socket", "a socket"), (".", "a directory")] {
        assert_eq!(read_given(&path(name), 100).unwrap_err().kind(), kind);
    }
    assert_eq!(read_given(Path::new("/dev/zero"), 100).unwrap_err().kind(), "a device");
}

#[test]
fn next_writer_removes_the_file_of_a_killed_one_only() {
    let folder = tempfile::tempdir().unwrap();
    let directory = Directory::open(folder.path()).unwrap();
    std::fs::write(folder.path().join(".aethon-new-0123456789abcdef"), "half").unwrap();
    let (_file, living) = aethon_files::unfinished::create(
        std::fs::File::open(folder.path()).unwrap(),
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    std::fs::write(folder.path().join("aethon-new-of-mine"), "mine").unwrap();
    directory.write("page.md", b"text").unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [living.to_str().unwrap(), "aethon-new-of-mine", "page.md"]);
}

#[test]
fn a_lock_is_held_until_its_holder_lets_go() {
    let folder = tempfile::tempdir().unwrap();
    let count = std::sync::Arc::new(std::sync::Mutex::new(0));
    let writers: Vec<_> = (0..8)
        .map(|_| {
            let (path, count) = (folder.path().to_owned(), count.clone());
            std::thread::spawn(move || {
                for _ in 0..20 {
                    let _lock = aethon_files::Lock::take(&path, "config").unwrap();
                    // There is no other process, so the inner lock is always free.
                    *count.try_lock().unwrap() += 1;
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert_eq!(*count.lock().unwrap(), 160);
}

#[test]
fn fifo_in_place_of_a_lock_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.lock");
    fifo(&path);
    let (done, wait) = std::sync::mpsc::channel();
    let inside = folder.path().to_owned();
    std::thread::spawn(move || {
        let without_reader = aethon_files::Lock::take(&inside, "config").map(drop);
        let _reader =
            std::fs::File::options().read(true).write(true).open(inside.join("config.lock")).unwrap();
        done.send([without_reader, aethon_files::Lock::take(&inside, "config").map(drop)]).unwrap();
    });
    for refused in wait.recv_timeout(std::time::Duration::from_secs(20)).expect("it waits for the FIFO") {
        assert!(refused.unwrap_err().to_string().contains("not a plain file"));
    }
}
