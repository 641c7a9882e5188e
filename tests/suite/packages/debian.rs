//! The Debian package: installed with `dpkg` into a folder, used as its unit starts it, upgraded and removed. Needs root and
//! `dpkg`; where they are missing, the test says so and passes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use aethon_tests::{Server, home};
use serde_json::Value;
use tempfile::TempDir;

use super::made::{PROGRAMS, has, light_programs, packages, result};

/// A folder that `dpkg` takes for a system.
struct System(TempDir);

impl System {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["updates", "info"] {
            fs::create_dir_all(folder.path().join("var/lib/dpkg").join(name)).unwrap();
        }
        fs::write(folder.path().join("var/lib/dpkg/status"), "").unwrap();
        Self(folder)
    }

    fn path(&self, inside: &str) -> std::path::PathBuf {
        self.0.path().join(inside)
    }

    fn dpkg(&self, arguments: &[&str]) -> Output {
        // The C library of the machine is not in the folder.
        Command::new("dpkg")
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .arg(format!("--root={}", self.0.path().display()))
            .arg("--force-depends")
            .args(arguments)
            .output()
            .unwrap()
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.dpkg(arguments);
        let words = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{arguments:?}: {words}");
        words
    }

    fn version(&self) -> String {
        let told = Command::new("dpkg-query")
            .arg(format!("--admindir={}", self.path("var/lib/dpkg").display()))
            .args(["--show", "--showformat=${Version} ${db:Status-Status}", "aethon"])
            .output()
            .unwrap();
        String::from_utf8(told.stdout).unwrap()
    }

    /// Starts the daemon by the command line of its unit, for the account whose folder this is.
    fn start(&self, account: &Arc<TempDir>) -> Server {
        let unit = fs::read_to_string(self.path("usr/lib/systemd/user/aethon.service")).unwrap();
        let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command line");
        let mut words = line.split(' ');
        let program = words.next().unwrap().strip_prefix('/').expect("a full path");
        let mut command = Command::new(self.path(program));
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", account.path());
        command.env("AETHON_CHANNELS__WEBCHAT__PORT", "0").args(words).arg("--demo");
        Server::start_command(account.clone(), command)
    }
}

#[test]
fn package_is_installed_upgraded_and_removed_and_conversations_stay() {
    if !has("dpkg") || !rustix::process::geteuid().is_root() {
        eprintln!("left out on this machine: installing a package needs dpkg and root");
        return;
    }
    let programs = light_programs();
    let (older, newer) = (packages(programs.path(), "0.2.0"), packages(programs.path(), "0.3.0"));
    let (system, account) = (System::new(), home());

    system.done(&["--install", &result(older.path(), ".deb").to_string_lossy()]);
    assert_eq!(system.version(), "0.2.0 installed");
    for file in [
        "usr/share/man/man1/aethon-server.1.gz",
        "usr/share/man/man1/aethon-mcp.1.gz",
        "usr/share/man/man1/aethon-cli-sessions-list.1.gz",
        "usr/share/bash-completion/completions/aethon-cli",
        "usr/share/zsh/vendor-completions/_aethon-cli",
        "usr/share/fish/vendor_completions.d/aethon-cli.fish",
        "usr/lib/systemd/system/aethon@.service",
        "usr/share/doc/aethon/copyright",
        "usr/share/doc/aethon/sbom.cdx.json",
    ] {
        assert!(system.path(file).is_file(), "{file}");
    }
    let third = fs::read_to_string(system.path("usr/share/doc/aethon/THIRD-PARTY.txt")).unwrap();
    for part in ["tokio", "rusqlite", "katex", "@fontsource-variable/inter"] {
        assert!(third.contains(&format!("\n{part} ")), "{part} is in no list");
    }

    let server = system.start(&account);
    assert_eq!(server.get("/health").status, 200);
    let frames = server.chat("default").say("m1", "Remember the colour green");
    assert_eq!(frames.last().unwrap()["type"], "done", "{frames:?}");
    assert!(server.terminate().success());

    system.done(&["--install", &result(newer.path(), ".deb").to_string_lossy()]);
    assert_eq!(system.version(), "0.3.0 installed");
    assert_eq!(system.done(&["--verify", "aethon"]), "", "files are as they were packed");
    let server = system.start(&account);
    let said = server.said("webchat:default");
    assert_eq!(said[0], ("user".to_owned(), "Remember the colour green".to_owned()));
    let frames = server.chat("default").say("m2", "!tool current_time {}");
    assert_eq!(frames.last().unwrap()["type"], "done", "{frames:?}");
    assert!(server.terminate().success());

    system.done(&["--remove", "aethon"]);
    for name in PROGRAMS {
        assert!(!system.path("usr/bin").join(name).exists(), "{name}");
    }
    assert!(!system.path("usr/share/doc/aethon").exists(), "nothing of the package is left");
    assert!(account.path().join(".aethon/aethon.db").is_file(), "conversations are the account's");
}

#[test]
fn same_programs_give_the_same_bytes_and_sums_of_them() {
    let programs = light_programs();
    let (one, other) = (packages(programs.path(), "0.3.0"), packages(programs.path(), "0.3.0"));
    let mut names: Vec<_> =
        fs::read_dir(one.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names.len(), 4, "{names:?}");
    for name in &names {
        let bytes = |folder: &Path| fs::read(folder.join(name)).unwrap();
        assert!(bytes(one.path()) == bytes(other.path()), "{name:?} differs");
    }
    let mut check = Command::new("sha256sum");
    let checked = output(check.args(["--check", "--strict", "SHA256SUMS"]).current_dir(one.path()));
    assert_eq!(checked.matches(": OK").count(), 3, "{checked}");
    let list: Value = serde_json::from_slice(&fs::read(result(one.path(), ".cdx.json")).unwrap()).unwrap();
    let components = list["components"].as_array().unwrap();
    assert!(components.len() > 200, "{}", components.len());
    for absent in ["syn", "proptest", "ar"] {
        assert!(components.iter().all(|one| one["name"] != absent), "{absent} is in no program");
    }
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
