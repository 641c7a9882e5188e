//! The file tools on a real disk: writing, listing, finding, and resistance to attacks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests and what they share"
)]

mod common;

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aethon_core::document::{DocumentKind, DocumentReader, DocumentText, Unreadable};
use aethon_core::tool::{OutputBlock, Tool, ToolOutput};
use aethon_core::turn::Trust;
use aethon_tools::Options;
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use serde_json::{Value, json};
use tempfile::TempDir;

const SECRET: &str = "TOP SECRET";

/// A person's home with keys, and a workspace in it.
struct Disk {
    folder: TempDir,
    workspace_only: bool,
    tools: Vec<Arc<dyn Tool>>,
}

impl Disk {
    fn new(workspace_only: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("ada");
        for (path, text) in [
            (".aethon/workspace/notes.md", "one\ntwo\nthree\n"),
            (".aethon/config.toml", SECRET),
            (".aethon/models.json", "{}"),
            (".ssh/id_ed25519", SECRET),
            (".netrc", SECRET),
            ("project/readme.md", "the word is tulip\n"),
        ] {
            let path = home.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(folder.path().join("outside")).unwrap();
        let mut disk = Self { tools: Vec::new(), workspace_only, folder };
        disk.tools = common::all(&disk.options());
        disk
    }

    fn options(&self) -> Options {
        let home = self.home("");
        Options::default().with(|options| {
            options.home = Some(home.join(".aethon"));
            options.workspace = home.join(".aethon/workspace");
            options.user_home = Some(home.clone());
            options.workspace_only = self.workspace_only;
            options.own = vec![home.join(".aethon/config.toml")];
        })
    }

    fn home(&self, path: &str) -> PathBuf {
        self.folder.path().join("ada").join(path)
    }

    fn workspace(&self, path: &str) -> PathBuf {
        self.home(".aethon/workspace").join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.workspace(path)).unwrap()
    }

    async fn output(&self, name: &str, input: Value) -> Result<ToolOutput, String> {
        let tool = common::named(&self.tools, name);
        tool.call(&common::context(8_000), input).await.map_err(|error| error.to_string())
    }

    async fn call(&self, name: &str, input: Value) -> Result<String, String> {
        self.output(name, input).await.map(|output| output.to_text())
    }
}

#[tokio::test]
async fn a_file_is_written_whole_with_its_folders_and_the_difference_is_shown() {
    let disk = Disk::new(true);
    let made = disk.call("file_write", json!({"path": "a/b/c.txt", "content": "x\ny\n"})).await.unwrap();
    assert_eq!(made, "made a/b/c.txt (2 lines, 4 bytes)");
    assert_eq!(disk.text("a/b/c.txt"), "x\ny\n");
    let mode = |path: &str| fs::metadata(disk.workspace(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("a/b/c.txt"), mode("a/b")), (0o600, 0o700));
    fs::set_permissions(disk.workspace("a/b/c.txt"), fs::Permissions::from_mode(0o750)).unwrap();
    let replaced = disk.call("file_write", json!({"path": "a/b/c.txt", "content": "x\nz\n"})).await.unwrap();
    assert!(replaced.starts_with("replaced a/b/c.txt (2 lines, 4 bytes):\n--- a/a/b/c.txt\n"), "{replaced}");
    assert!(replaced.contains("\n-y\n+z\n"), "{replaced}");
    assert_eq!(mode("a/b/c.txt"), 0o750, "it keeps its mode");
    disk.call("file_write", json!({"path": "a/b/c.txt", "content": "end\n", "append": true})).await.unwrap();
    assert_eq!(disk.text("a/b/c.txt"), "x\nz\nend\n");
    let entries = fs::read_dir(disk.workspace("a/b")).unwrap().count();
    assert_eq!(entries, 1, "nothing is left beside it");
    let home =
        disk.call("file_write", json!({"path": "~/project/new.txt", "content": ""})).await.unwrap_err();
    assert!(home.contains("security.workspace_only"), "{home}");
    let free = Disk::new(false);
    free.call("file_write", json!({"path": "~/project/new/file.txt", "content": "x"})).await.unwrap();
    assert_eq!(fs::read_to_string(free.home("project/new/file.txt")).unwrap(), "x");
}

#[tokio::test]
async fn nothing_is_written_where_nothing_may_be() {
    for confined in [true, false] {
        let disk = Disk::new(confined);
        symlink(disk.home(".ssh"), disk.workspace("keys")).unwrap();
        symlink(disk.folder.path().join("outside"), disk.workspace("out")).unwrap();
        symlink(disk.folder.path().join("outside/new.txt"), disk.workspace("dangling")).unwrap();
        symlink(disk.home(".netrc"), disk.workspace("link")).unwrap();
        fs::hard_link(disk.home(".netrc"), disk.workspace("hard")).unwrap();
        mknodat(CWD, disk.workspace("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [
            "",
            "a\0b",
            ".",
            "folder/",
            "/etc/passwd",
            "/proc/self/root/tmp/x",
            "../config.toml",
            "../config.toml.bak",
            "../models.json",
            "../new.txt",
            "~/.ssh/authorized_keys",
            "~/.SSH/authorized_keys",
            "~/.\u{17f}sh/authorized_keys",
            "~/.netrc",
            "keys/authorized_keys",
            "keys/new/authorized_keys",
            "out/new.txt",
            "dangling",
            "link",
            "hard",
            "fifo",
            "notes.md/below",
            "absent/../../../../.ssh/config",
        ] {
            for (name, input) in [
                ("file_write", json!({"path": path, "content": "HACKED"})),
                ("file_edit", json!({"path": path, "old": "TOP", "new": "HACKED"})),
            ] {
                let refused = disk.call(name, input).await.unwrap_err();
                assert!(
                    !refused.contains("panick") && !refused.contains(SECRET),
                    "{name} {path:?}: {refused}"
                );
            }
        }
        assert_eq!(fs::read_to_string(disk.home(".netrc")).unwrap(), SECRET);
        assert_eq!(fs::read_to_string(disk.home(".aethon/config.toml")).unwrap(), SECRET);
        assert_eq!(fs::read_dir(disk.home(".ssh")).unwrap().count(), 1);
        assert_eq!(fs::read_dir(disk.folder.path().join("outside")).unwrap().count(), 0);
    }
}

/// Makes a bare repository without git, as far as git looks before it believes that a folder is one.
fn bare_repository(folder: &Path) {
    for inner in ["objects", "refs", "hooks"] {
        fs::create_dir_all(folder.join(inner)).unwrap();
    }
    fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(folder.join("config"), "[core]\n\tbare = true\n").unwrap();
}

#[tokio::test]
async fn files_that_git_executes_are_not_written() {
    let disk = Disk::new(false);
    let write = |path: String| {
        let disk = &disk;
        async move { disk.call("file_write", json!({"path": path, "content": "exec me"})).await }
    };
    for folder in ["repo/.git/hooks", "repo/.git/worktrees/side", "repo/src", "linked", "above"] {
        fs::create_dir_all(disk.workspace(folder)).unwrap();
    }
    fs::write(disk.workspace("repo/.git/config"), "[core]\n").unwrap();
    fs::write(disk.workspace("linked/.git"), "gitdir: ../repo/.git/worktrees/side\n").unwrap();
    symlink(disk.workspace("repo/.git/hooks"), disk.workspace("hooks")).unwrap();
    symlink(disk.workspace("repo/.git"), disk.workspace("plain")).unwrap();
    symlink(disk.home("project/gitconfig"), disk.home(".gitconfig")).unwrap();
    fs::write(disk.home("project/gitconfig"), "[user]\n").unwrap();
    bare_repository(&disk.workspace("bare.git"));
    bare_repository(&disk.home("project/cloned"));
    // One thing is missing, and the next write would make it a repository.
    bare_repository(&disk.workspace("nearly"));
    fs::remove_file(disk.workspace("nearly/HEAD")).unwrap();
    bare_repository(&disk.workspace("barely"));
    fs::remove_dir(disk.workspace("barely/refs")).unwrap();
    fs::write(disk.workspace("above/HEAD"), "ref: refs/heads/main\n").unwrap();
    for path in [
        "repo/.git/hooks/pre-commit",
        "repo/.git/config",
        "repo/.git/info/attributes",
        "repo/.git/worktrees/side/config.worktree",
        "repo/.GIT/hooks/pre-commit",
        "repo/.giT/x",
        "repo/git~1/config",
        "repo/.g\u{200c}it/config",
        "repo/src/../.git/config",
        "new/.git/hooks/post-checkout",
        "new/.git",
        "linked/.git",
        "hooks/pre-commit",
        "plain/config",
        "bare.git/hooks/post-receive",
        "bare.git/config",
        "bare.git/deep/er/file",
        "~/project/cloned/hooks/update",
        "nearly/HEAD",
        "barely/refs/heads/main",
        "above/commondir",
        "~/.gitconfig",
        "~/project/gitconfig",
        "~/.config/git/config",
    ] {
        let refused = write(path.to_owned()).await.expect_err(path);
        assert!(refused.contains("git") && refused.contains("security.allowed_paths"), "{path}: {refused}");
        assert!(refused.contains("runs"), "{path}: {refused}");
    }
    let edit = json!({"path": "repo/.git/config", "old": "[core]", "new": "[core]\n\tfsmonitor = exec me"});
    assert!(disk.call("file_edit", edit).await.unwrap_err().contains("security.allowed_paths"));
    for made in ["new", "barely/refs", "repo/git~1", "repo/.GIT"] {
        assert!(!disk.workspace(made).exists(), "{made} was made on the way to a refusal");
    }
    assert_eq!(disk.text("repo/.git/config"), "[core]\n");
    for path in [
        "repo/.gitignore",
        "repo/.gitattributes",
        "repo/.gitmodules",
        "repo/.github/workflows/ci.yml",
        "repo/git/notes.md",
        "repo/x.git.md",
        "repo/HEAD",
        "repo/objects/cube.obj",
        "nearly/config",
        "~/project/.gitkeep",
    ] {
        write(path.to_owned()).await.unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    // A file that was read stays unchanged.
    assert!(disk.call("file_read", json!({"path": "repo/.git/config"})).await.unwrap().contains("[core]"));
}

#[tokio::test]
async fn git_directory_is_opened_by_its_own_name_only() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().canonicalize().unwrap().join(path);
    for path in ["space/mine/.git/hooks", "space/other/.git/hooks"] {
        fs::create_dir_all(at(path)).unwrap();
    }
    let options = Options::default().with(|options| {
        options.workspace = at("space");
        options.user_home = Some(at(""));
        options.places.allowed = ["~/space/mine/.git/hooks", "~/space/other"].map(str::to_owned).into();
    });
    let tool = common::tool(&options, "file_write");
    let write = |path: &'static str| {
        let (tool, context) = (tool.clone(), common::context(8_000));
        async move { tool.call(&context, json!({"path": path, "content": "x"})).await.is_ok() }
    };
    assert!(write("mine/.git/hooks/pre-commit").await);
    assert!(!write("mine/.git/config").await);
    assert!(!write("other/.git/hooks/pre-commit").await);
}

#[tokio::test]
async fn an_edit_says_exactly_what_it_replaces() {
    let disk = Disk::new(true);
    let changed =
        disk.call("file_edit", json!({"path": "notes.md", "old": "two", "new": "2"})).await.unwrap();
    assert!(changed.starts_with("changed notes.md:\n") && changed.contains("\n-two\n+2\n"), "{changed}");
    assert_eq!(disk.text("notes.md"), "one\n2\nthree\n");
    let check = async |input: Value, expected: &str| {
        let refused = disk.call("file_edit", input.clone()).await.unwrap_err();
        assert!(refused.contains(expected), "{input}: {refused}");
        assert_eq!(disk.text("notes.md"), "one\n2\nthree\n");
    };
    check(json!({"path": "notes.md", "old": "e", "new": "E"}), "occurs 3 times").await;
    check(json!({"path": "notes.md", "old": "four", "new": "4"}), "not in it").await;
    check(json!({"path": "absent.md", "old": "a", "new": "b"}), "there is no file").await;
    disk.call("file_edit", json!({"path": "notes.md", "old": "e", "new": "E", "replace_all": true}))
        .await
        .unwrap();
    disk.call("file_edit", json!({"path": "notes.md", "old": "", "new": "zero", "line": 1})).await.unwrap();
    assert_eq!(disk.text("notes.md"), "zero\nonE\n2\nthrEE\n");
}

#[tokio::test]
async fn listing_and_search_skip_ignored_and_closed_files() {
    let disk = Disk::new(false);
    for (path, text) in [
        ("src/main.rs", "fn main() { tulip(); }\n"),
        ("src/deep/lib.rs", "// a Tulip\n"),
        ("target/out.rs", "tulip\n"),
        (".gitignore", "target/\n*.log\n"),
        ("a.log", "tulip\n"),
        ("picture.bin", "tulip\0\n"),
    ] {
        let path = disk.workspace(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    mknodat(CWD, disk.workspace("src/.ignore"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    symlink(disk.home(".ssh"), disk.workspace("src/keys")).unwrap();
    let listed = disk.call("file_list", json!({"depth": 3})).await.unwrap();
    assert!(listed.contains("  src/\n    deep/\n      lib.rs  11 bytes\n"), "{listed}");
    assert!(
        !listed.contains("target") && !listed.contains("a.log") && listed.contains("keys (a link)"),
        "{listed}"
    );
    let found = disk.call("file_search", json!({"pattern": "tulip"})).await.unwrap();
    assert_eq!(found, "src/main.rs:1: fn main() { tulip(); }\n");
    let found = disk
        .call("file_search", json!({"pattern": "tulip", "ignore_case": true, "glob": "*.rs", "all": true}));
    let found = found.await.unwrap();
    assert_eq!(found.lines().count(), 3, "{found}");
    let names = disk.call("file_search", json!({"glob": "*.rs"})).await.unwrap();
    assert_eq!(names, "src/deep/lib.rs\nsrc/main.rs\n");
    let secrets =
        disk.call("file_search", json!({"path": "~", "pattern": SECRET, "all": true})).await.unwrap();
    assert_eq!(secrets, "nothing was found\n");
    let home = disk.call("file_list", json!({"path": "~", "all": true, "depth": 3})).await.unwrap();
    assert!(home.contains(".ssh (closed to tools)") && !home.contains("id_ed25519"), "{home}");
    for (input, expected) in [
        (json!({"pattern": "("}), "cannot be used"),
        (json!({"pattern": "(a{1000}){1000}"}), "cannot be used"),
        (json!({}), "give a `pattern`"),
        (json!({"pattern": "x", "path": "/etc"}), "outside the home directory"),
        (json!({"pattern": "x", "path": "~/.ssh"}), "which tools do not open"),
        (json!({"pattern": "x", "path": "absent"}), "there is no file"),
    ] {
        let refused = disk.call("file_search", input.clone()).await.unwrap_err();
        assert!(refused.contains(expected), "{input}: {refused}");
    }
    let one = disk.call("file_search", json!({"pattern": "tulip", "path": "src/main.rs"})).await.unwrap();
    assert!(one.starts_with("src/main.rs:1:"), "{one}");
}

#[tokio::test]
async fn a_large_file_and_a_deep_tree_cost_bounded_memory() {
    let disk = Disk::new(true);
    // Ten gigabytes that take no room on the disk.
    File::create(disk.workspace("large")).unwrap().set_len(10_000_000_000).unwrap();
    let refused = disk.call("file_read", json!({"path": "large"})).await.unwrap_err();
    assert!(refused.contains("10000000000 bytes"), "{refused}");
    disk.call("file_read", json!({"path": "large", "offset": 5_000_000})).await.unwrap_err();
    disk.call("file_write", json!({"path": "large", "content": "x", "append": true})).await.unwrap_err();
    disk.call("file_edit", json!({"path": "large", "old": "x", "new": "y"})).await.unwrap_err();
    disk.call("file_search", json!({"pattern": "x"})).await.unwrap();
    let deep = (0..200).fold(disk.workspace("deep"), |path, _| path.join("d"));
    fs::create_dir_all(deep).unwrap();
    disk.call("file_search", json!({"pattern": "x", "path": "deep"})).await.unwrap();
    for number in 0..2_000 {
        File::create(disk.workspace(&format!("many-{number}.txt"))).unwrap();
    }
    let listed = disk.call("file_list", json!({})).await.unwrap();
    assert!(listed.contains("not all is listed") && listed.len() < 9_000, "{}", listed.len());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak: u64 = peak.map_or(0, |peak| peak.trim().trim_end_matches(" kB").parse().unwrap());
    assert!(peak < 120_000, "{peak} KiB");
}

#[tokio::test]
async fn a_picture_comes_back_as_one_and_lines_of_a_file_are_found() {
    let disk = Disk::new(true);
    fs::write(disk.workspace("dot.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    let output = disk.output("file_read", json!({"path": "dot.png"})).await.unwrap();
    assert!(
        matches!(&output.blocks[1], OutputBlock::Image { mime, .. } if mime == "image/png"),
        "{output:?}"
    );
    let long: String = (1..=300).map(|number| format!("line {number}\n")).collect();
    fs::write(disk.workspace("long.txt"), long).unwrap();
    let found = disk.call("file_read", json!({"path": "long.txt", "search": "line 2\\d0$"})).await.unwrap();
    assert!(found.starts_with("199- line 199\n200: line 200\n201- line 201\n"), "{found}");
    let later =
        disk.call("file_read", json!({"path": "long.txt", "search": "5$", "offset": 290})).await.unwrap();
    assert!(later.contains("295: line 295") && !later.contains("285"), "{later}");
}

/// Swaps a folder with a link to somewhere else, over and over and each time at once, while tools work in it.
fn swapping(disk: &Disk, to: &Path) -> (Arc<AtomicBool>, std::thread::JoinHandle<()>) {
    let (name, spare) = (disk.workspace("swapped"), disk.workspace("spare"));
    fs::create_dir(&name).unwrap();
    fs::write(name.join("file.txt"), "harmless\n").unwrap();
    symlink(to, &spare).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let is_done = done.clone();
    let thread = std::thread::spawn(move || {
        while !is_done.load(Ordering::Relaxed) {
            renameat_with(CWD, &name, CWD, &spare, RenameFlags::EXCHANGE).unwrap();
        }
    });
    (done, thread)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_swap_while_tools_write_list_and_search_wins_nothing() {
    for target in ["outside", "ada/.ssh"] {
        let disk = Disk::new(false);
        let target = disk.folder.path().join(target);
        fs::write(target.join("file.txt"), SECRET).unwrap();
        let (done, thread) = swapping(&disk, &target);
        for round in 0..15 {
            for (name, input) in [
                ("file_write", json!({"path": "swapped/file.txt", "content": format!("harmless {round}\n")})),
                ("file_write", json!({"path": format!("swapped/new-{round}/x.txt"), "content": "x"})),
                ("file_edit", json!({"path": "swapped/file.txt", "old": "harmless", "new": "harmless"})),
                ("file_list", json!({"path": "swapped", "depth": 2})),
                ("file_search", json!({"pattern": "SECRET", "path": "swapped"})),
                ("file_read", json!({"path": "swapped/file.txt"})),
            ] {
                // Whether a call gets through is chance; that it never escapes is not.
                if let Ok(told) = disk.call(name, input).await {
                    assert!(!told.contains("SECRET"), "{name}: {told}");
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        thread.join().unwrap();
        assert_eq!(fs::read_to_string(target.join("file.txt")).unwrap(), SECRET);
        let new = fs::read_dir(&target).unwrap().flatten().filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with("new-") || name.starts_with(".aethon-new-")
        });
        assert_eq!(new.count(), 0, "nothing was made in {}", target.display());
    }
}

/// A reader that repeats what it was given.
struct Repeats;

#[async_trait::async_trait]
impl DocumentReader for Repeats {
    async fn read(&self, kind: DocumentKind, bytes: Vec<u8>, _: Trust) -> Result<DocumentText, Unreadable> {
        if bytes.ends_with(b"locked") {
            return Err(Unreadable::Refused("it needs a password".into()));
        }
        let text = format!("{}\nsecond line of {} bytes\n", kind.as_str(), bytes.len());
        Ok(DocumentText { text, notes: vec!["1 of 2 pages has no text.".into()] })
    }
}

#[tokio::test]
async fn documents_are_shown_as_their_reader_returns_them() {
    let mut disk = Disk::new(true);
    disk.tools = common::all_with(&disk.options(), |needs| needs.documents = Arc::new(Repeats));
    for (name, bytes, expected) in [
        ("a.pdf", b"%PDF-1.7".as_slice(), "[1 of 2 pages has no text.]\n\npdf\nsecond line of 8 bytes\n"),
        ("b", b"PK\x03\x04word/", "package"),
        ("c.rtf", b"{\\rtf1}", "rtf"),
        ("d.csv", b"a;\xff", "csv"),
        ("e.txt", b"\xff\xfea\0", "plain"),
        ("f.csv", b"a;b", "a;b"),
        ("g.html", b"<p>source</p>", "<p>source</p>"),
        ("h.pdf", b"no PDF", "no PDF"),
    ] {
        fs::write(disk.workspace(name), bytes).unwrap();
        let text = disk.call("file_read", json!({"path": name})).await.unwrap();
        assert!(text.contains(expected), "{name}: {text}");
    }
    let found = disk.call("file_read", json!({"path": "a.pdf", "search": "line"})).await.unwrap();
    assert!(found.contains("2: second line of 8 bytes"), "{found}");
    fs::write(disk.workspace("locked.pdf"), b"%PDF-1.7 locked").unwrap();
    let told = disk.call("file_read", json!({"path": "locked.pdf"})).await.unwrap_err();
    assert!(told.contains("the text of \"locked.pdf\" cannot be read: it needs a password"), "{told}");
    fs::write(disk.workspace("odd.txt"), b"\x7fELF\xff locked").unwrap();
    let told = disk.call("file_read", json!({"path": "odd.txt"})).await.unwrap_err();
    assert!(told.contains("is not a UTF-8 text file") && told.contains("7f 45 4c 46"), "{told}");
}

#[tokio::test]
async fn tools_use_the_name_that_looks_alike_and_say_so() {
    let disk = Disk::new(false);
    let real = "Tom’s\u{202f}list.md";
    fs::write(disk.home(&format!(".aethon/workspace/{real}")), "milk\n").unwrap();
    fs::create_dir_all(disk.home(".aethon/workspace/U\u{308}ber")).unwrap();
    fs::write(disk.home(".aethon/workspace/U\u{308}ber/tea.md"), "tulip\n").unwrap();
    let read = disk.call("file_read", json!({"path": "tom's list.md"})).await.unwrap();
    assert!(read.contains("milk") && read.contains("Tom’s") && read.contains("looks like"), "{read}");
    let edited =
        disk.call("file_edit", json!({"path": "Tom's list.md", "old": "milk", "new": "tea"})).await.unwrap();
    assert!(edited.contains("Tom’s"), "{edited}");
    assert_eq!(fs::read_to_string(disk.home(&format!(".aethon/workspace/{real}"))).unwrap(), "tea\n");
    assert!(!disk.home(".aethon/workspace/Tom's list.md").exists());
    let listed = disk.call("file_list", json!({"path": "Über"})).await.unwrap();
    assert!(listed.contains("tea.md") && listed.contains("looks like"), "{listed}");
    let found = disk.call("file_search", json!({"path": "Über", "pattern": "tulip"})).await.unwrap();
    assert!(found.contains("tea.md") && found.contains("looks like"), "{found}");
    let found = disk.call("file_search", json!({"path": "über/TEA.md", "pattern": "tulip"})).await.unwrap();
    assert!(found.contains("tulip") && found.contains("looks like"), "{found}");
    // Writing makes the file that was named, and says that there is another.
    let written =
        disk.call("file_write", json!({"path": "Tom's list.md", "content": "new\n"})).await.unwrap();
    assert!(written.contains("made Tom's list.md") && written.contains("looks the same"), "{written}");
    assert_eq!(fs::read_to_string(disk.home(&format!(".aethon/workspace/{real}"))).unwrap(), "tea\n");
    let again =
        disk.call("file_write", json!({"path": "Tom's list.md", "content": "newer\n"})).await.unwrap();
    assert!(again.contains("replaced") && !again.contains("looks the same"), "{again}");
    let near = disk.call("file_read", json!({"path": "nodes.md"})).await.unwrap_err();
    assert!(near.contains("\"notes.md\""), "{near}");
    // What the model reads as instructions is changed under its own name only.
    fs::write(disk.home(".aethon/workspace/SOUL.md"), "kind\n").unwrap();
    let soul = disk
        .call("file_edit", json!({"path": "ＳＯＵＬ.md", "old": "kind", "new": "evil"}))
        .await
        .unwrap_err();
    assert!(soul.contains("its own name only"), "{soul}");
    assert_eq!(fs::read_to_string(disk.home(".aethon/workspace/SOUL.md")).unwrap(), "kind\n");
}
