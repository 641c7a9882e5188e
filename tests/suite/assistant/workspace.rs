//! The bounds of `file_read`: the workspace and nothing else.

use std::os::unix::fs::symlink;
use std::path::Path;

use aethon_tests::socket::of_type;
use aethon_tests::{Server, Socket};
use serde_json::{Value, json};

const SECRET: &str = "s3cret-content";

struct Reader {
    server: Server,
    chat: Socket,
    count: usize,
}

impl Reader {
    fn new(settings: &[&str]) -> Self {
        let server = Server::start(settings);
        let chat = server.chat("default");
        Self { server, chat, count: 0 }
    }

    fn home(&self) -> std::path::PathBuf {
        self.server.home().path().to_owned()
    }

    /// The last tool frame of a turn that reads this path.
    fn read(&mut self, path: &str) -> Value {
        self.count += 1;
        let text = format!("!tool file_read {}", json!({ "path": path }));
        let frames = self.chat.say(&format!("m{}", self.count), &text);
        of_type(&frames, "tool").last().copied().cloned().expect("a tool frame")
    }

    fn refuses(&mut self, path: &str) {
        let result = self.read(path);
        assert!(result["state"] == "error" || result["state"] == "denied", "{path}: {result}");
        assert!(!result.to_string().contains(SECRET), "{path}: {result}");
        assert!(result["output"].as_str().unwrap().len() > 10, "the refusal says why: {result}");
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn files_of_the_workspace_can_be_read() {
    let mut reader = Reader::new(&[]);
    let workspace = reader.home().join("workspace");
    write(&workspace.join("notes.txt"), "milk");
    write(&workspace.join("deep/er/more notes.txt"), "honey \u{1f41d}");
    for (path, expected) in [
        ("notes.txt", "milk"),
        ("./notes.txt", "milk"),
        ("deep/../notes.txt", "milk"),
        ("deep/er/more notes.txt", "honey \u{1f41d}"),
        (workspace.join("notes.txt").to_str().unwrap(), "milk"),
    ] {
        let result = reader.read(path);
        assert_eq!(result["state"], "ok", "{path}: {result}");
        assert!(result["output"].as_str().unwrap().contains(expected), "{path}: {result}");
    }
}

#[test]
fn file_read_refuses_other_than_plain_files() {
    let mut reader = Reader::new(&[]);
    let workspace = reader.home().join("workspace");
    std::fs::create_dir(workspace.join("folder")).unwrap();
    rustix_fifo(&workspace.join("pipe"));
    for path in [
        "",
        ".",
        "folder",
        "missing.txt",
        "pipe",
        "a\u{0}b",
        "/dev/zero",
        "/dev/stdin",
        "/dev/tty",
        &"x/".repeat(3000),
    ] {
        reader.refuses(path);
    }
    write(&workspace.join("binary"), "");
    std::fs::write(workspace.join("binary"), [0_u8, 159, 146, 150]).unwrap();
    let result = reader.read("binary");
    assert!(result["state"].is_string(), "bytes that are no text bring nothing down: {result}");
}

fn rustix_fifo(path: &Path) {
    let made = std::process::Command::new("/usr/bin/mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn the_block_list_holds_without_workspace_only() {
    let mut reader = Reader::new(&[]);
    // In these tests the home is the person's home directory, too.
    let home = reader.home();
    for name in [
        ".ssh/id_rsa",
        ".gnupg/x",
        ".aws/credentials",
        ".netrc",
        ".config/gh/hosts.yml",
        ".bash_history",
        ".zsh_history",
    ] {
        write(&home.join(name), SECRET);
    }
    write(&home.join("config.toml"), &format!("# {SECRET}\n"));
    write(&home.join("credentials/name"), SECRET);
    let inside = home.display().to_string();
    for path in [
        "/etc/shadow",
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/self/root/etc/passwd",
        "/sys/kernel/notes",
        "/root/.bashrc",
        "../config.toml",
        "../credentials/name",
        "../aethon.db",
        "../.ssh/id_rsa",
        "../../../../../../etc/passwd",
        "~/.ssh/id_rsa",
        "~/.netrc",
    ] {
        reader.refuses(path);
    }
    for name in [
        "config.toml",
        "credentials/name",
        "aethon.db",
        ".ssh/id_rsa",
        ".gnupg/x",
        ".aws/credentials",
        ".netrc",
        ".config/gh/hosts.yml",
        ".bash_history",
        ".zsh_history",
        "workspace/../config.toml",
        "workspace/../.ssh/../.ssh/id_rsa",
        "./config.toml",
        "//config.toml",
    ] {
        reader.refuses(&format!("{inside}/{name}"));
    }
}

#[test]
fn links_out_of_the_workspace_are_refused() {
    let mut reader = Reader::new(&[]);
    let home = reader.home();
    let workspace = home.join("workspace");
    write(&home.join("credentials/name"), SECRET);
    write(&home.join(".ssh/id_rsa"), SECRET);
    symlink(home.join("credentials/name"), workspace.join("direct")).unwrap();
    symlink("../credentials", workspace.join("folder")).unwrap();
    symlink("direct", workspace.join("chain")).unwrap();
    symlink("nowhere", workspace.join("dangling")).unwrap();
    symlink("round", workspace.join("round")).unwrap();
    symlink("/etc/passwd", workspace.join("system")).unwrap();
    symlink("/proc/self/root", workspace.join("root")).unwrap();
    std::fs::hard_link(home.join(".ssh/id_rsa"), workspace.join("hard")).unwrap();
    for path in ["direct", "folder/name", "chain", "dangling", "round", "system", "root/etc/passwd", "hard"] {
        reader.refuses(path);
    }
}

#[test]
fn workspace_only_confines_to_the_workspace() {
    let mut reader = Reader::new(&["security.workspace_only=true"]);
    let home = reader.home();
    write(&home.join("workspace/notes.txt"), "milk");
    write(&home.join("Documents/letter.txt"), SECRET);
    symlink(home.join("Documents"), home.join("workspace/out")).unwrap();
    assert_eq!(reader.read("notes.txt")["state"], "ok");
    let outside = home.join("Documents/letter.txt").display().to_string();
    for path in
        [outside.as_str(), "../Documents/letter.txt", "out/letter.txt", "~/Documents/letter.txt", "/tmp"]
    {
        reader.refuses(path);
    }
}

#[test]
fn files_below_the_home_directory_are_readable_without_workspace_only() {
    let mut reader = Reader::new(&[]);
    let letter = reader.home().join("Documents/letter.txt");
    write(&letter, "dear reader");
    let result = reader.read(letter.to_str().unwrap());
    assert_eq!(result["state"], "ok", "{result}");
    assert!(result["output"].as_str().unwrap().contains("dear reader"));
}
