//! `aethon-cli service`, with a service manager that writes down what it was asked for, and the daemon's own reports to one.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use aethon_tests::{eventually, home, program};

/// A home with a service manager.
struct Desk {
    home: Arc<tempfile::TempDir>,
    tools: tempfile::TempDir,
}

impl Desk {
    /// The manager answers with this status.
    fn new(status: i32) -> Self {
        let desk = Self { home: home(), tools: tempfile::tempdir().unwrap() };
        for name in ["systemctl", "loginctl"] {
            let log = desk.tools.path().join("log");
            let script = format!(
                "#!/bin/sh\necho \"{name} $*\" >> {log}\ncase \"$*\" in *is-active*) echo active;; *Linger*) echo no;; esac\n[ {status} = 0 ] || echo 'no manager here' >&2\nexit {status}\n",
                log = log.display()
            );
            let path = desk.tools.path().join(name);
            std::fs::write(&path, script).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        }
        desk
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program("aethon-cli", self.home.path());
        let path = format!("{}:/usr/bin:/bin", self.tools.path().display());
        command.env("PATH", path).env("XDG_CONFIG_HOME", self.tools.path().join("config"));
        command.env("OPENAI_API_KEY", "sk-of-this-shell").arg("service").args(arguments);
        command
    }

    fn unit(&self) -> PathBuf {
        self.tools.path().join("config/systemd/user/aethon.service")
    }

    fn asked(&self) -> String {
        std::fs::read_to_string(self.tools.path().join("log")).unwrap_or_default()
    }
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_service_is_installed_shown_and_removed() {
    let desk = Desk::new(0);
    let none = desk.run(&["uninstall"]);
    assert!(none.status.success() && words(&none).contains("no service is installed"), "{none:?}");
    let installed = desk.run(&["install"]);
    let said = words(&installed);
    assert!(installed.status.success(), "{said}");
    for part in [
        "wrote ",
        "ran systemctl --user daemon-reload",
        "loginctl enable-linger",
        "which the service does not see",
        "aethon-cli secrets set openai",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let unit = std::fs::read_to_string(desk.unit()).unwrap();
    assert!(
        unit.contains("/aethon-server --home ") && unit.contains("RestartPreventExitStatus=2\n"),
        "{unit}"
    );
    assert!(!unit.contains("sk-of-this-shell"), "{unit}");
    let asked = desk.asked();
    let order =
        ["daemon-reload", "enable aethon.service", "restart aethon.service"].map(|word| asked.find(word));
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{asked}");
    // Again is no different: the file is ours.
    assert!(desk.run(&["install", "--no-start"]).status.success());
    let status = desk.run(&["status", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!((&document["installed"], &document["state"]), (&true.into(), &"active".into()));
    assert_eq!((status.status.code(), &document["answers"]), (Some(1), &false.into()), "no daemon runs");
    let removed = desk.run(&["uninstall"]);
    assert!(removed.status.success() && !desk.unit().exists(), "{removed:?}");
    assert!(desk.asked().contains("disable --now aethon.service") && desk.home.path().exists());
}

#[test]
fn foreign_service_file_is_kept() {
    let desk = Desk::new(0);
    std::fs::create_dir_all(desk.unit().parent().unwrap()).unwrap();
    std::fs::write(desk.unit(), "[Service]\nExecStart=/opt/mine\n").unwrap();
    for command in ["install", "uninstall"] {
        let refused = desk.run(&[command]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(std::fs::read_to_string(desk.unit()).unwrap().contains("/opt/mine"));
    }
    assert_eq!(desk.asked(), "");
    assert!(desk.run(&["install", "--force"]).status.success());
    let kept = desk.unit().with_added_extension("bak");
    assert!(std::fs::read_to_string(kept).unwrap().contains("/opt/mine"));
}

#[test]
fn without_a_manager_the_commands_are_printed() {
    let desk = Desk::new(1);
    let failed = desk.run(&["install"]);
    let said = words(&failed);
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(
        said.contains("  systemctl --user enable aethon.service\n") && said.contains("no manager here"),
        "{said}"
    );
    assert!(desk.unit().exists(), "it is ready to be started");
    let refused = desk.run(&["install", "--set", "model.provider=fake"]);
    assert!(refused.status.code() == Some(2) && words(&refused).contains("config set"), "{refused:?}");
}

/// The reports to a service manager.
fn reports(socket: &UnixDatagram, wanted: &str) -> String {
    let mut bytes = [0; 500];
    eventually("a report", || {
        let length = socket.recv(&mut bytes).ok()?;
        let report = String::from_utf8_lossy(&bytes[..length]).into_owned();
        report.starts_with(wanted).then_some(report)
    })
}

#[test]
fn the_daemon_reports_to_the_service_manager() {
    let home = home();
    let path: &Path = &home.path().join("notify");
    let socket = UnixDatagram::bind(path).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut command = program("aethon-server", home.path());
    command.env("NOTIFY_SOCKET", path);
    command.args(["--set", "model.provider=fake", "--set", "channels.webchat.port=0"]);
    let mut server =
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    reports(&socket, "READY=1\n");
    let pid = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    assert!(reports(&socket, "RELOADING=1\n").contains("MONOTONIC_USEC="));
    reports(&socket, "READY=1\n");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    reports(&socket, "STOPPING=1\n");
    let ended = eventually("the end", || server.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
}
