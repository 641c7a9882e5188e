//! The container of `packaging/Dockerfile` on a real daemon: its instructions and its entrypoint, over a root file system of
//! this machine's libraries instead of the base that would come from a registry. Where no daemon can run, the test says so and
//! passes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use aethon_tests::dockerd::Dockerd;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::made::{real_programs, root};

const IMAGE: &str = "aethon-test:packaged";
/// The account of the Dockerfile.
const ACCOUNT: u32 = 10001;
/// How long a container may take to become healthy on a busy machine.
const HEALTHY: Duration = Duration::from_secs(120);

/// The instructions of the last stage that say how the image runs.
fn instructions(dockerfile: &str) -> Vec<&str> {
    let stage = dockerfile.rsplit("\nFROM ").next().unwrap();
    let kinds = ["ENV", "WORKDIR", "VOLUME", "EXPOSE", "USER", "HEALTHCHECK", "ENTRYPOINT"];
    let is_one = |line: &&str| line.split(' ').next().is_some_and(|word| kinds.contains(&word));
    stage.lines().filter(is_one).collect()
}

/// A root file system as the Dockerfile makes it: a shell with the usual programs, ours, and the account.
fn file_system() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for name in ["bin", "usr/bin", "tmp", "proc", "sys", "dev", "etc", "data"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(at("tmp"), Permissions::from_mode(0o1777)).unwrap();
    fs::set_permissions(at("data"), Permissions::from_mode(0o700)).unwrap();
    chown(at("data"), Some(ACCOUNT), Some(ACCOUNT)).unwrap();
    fs::write(at("etc/passwd"), format!("aethon:x:{ACCOUNT}:{ACCOUNT}::/data:/bin/sh\n")).unwrap();
    let busybox = ["/usr/bin/busybox", "/bin/busybox"].into_iter().find(|path| Path::new(path).is_file());
    fs::copy(busybox.expect("the daemon was started with one"), at("bin/busybox")).unwrap();
    for name in ["sh", "cat", "head", "id", "od", "touch", "tr", "wc", "sleep"] {
        symlink("busybox", at("bin").join(name)).unwrap();
    }
    let programs = real_programs();
    for name in ["aethon-server", "aethon-cli"] {
        fs::copy(programs.path().join(name), at("usr/bin").join(name)).unwrap();
        let libraries = Command::new("ldd").arg(programs.path().join(name)).output().unwrap();
        let libraries = String::from_utf8(libraries.stdout).unwrap();
        for library in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
            let inside = at(library.trim_start_matches('/'));
            fs::create_dir_all(inside.parent().unwrap()).unwrap();
            fs::copy(library, inside).unwrap();
        }
    }
    let entrypoint = at("usr/bin/container-entrypoint");
    fs::copy(root().join("packaging/container-entrypoint.sh"), &entrypoint).unwrap();
    fs::set_permissions(entrypoint, Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Starts a container as `packaging/compose.yaml` does, and waits until its own check says that it is well.
fn start(daemon: &Dockerd) -> String {
    let wish = json!({
        "Image": IMAGE,
        "Cmd": ["--demo"],
        "Healthcheck": {"Interval": 1_000_000_000, "StartPeriod": 0},
        "HostConfig": {
            "ReadonlyRootfs": true,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges:true"],
            "PidsLimit": 512,
            "Tmpfs": {"/tmp": "mode=1777,size=64m"},
            "NetworkMode": "none",
            "Mounts": [{"Type": "volume", "Source": "aethon-data", "Target": "/data"}],
        },
    });
    let (status, made) = daemon.call("POST", "/containers/create", &wish);
    assert_eq!(status, 201, "{made}");
    let id = made["Id"].as_str().unwrap().to_owned();
    let (status, answer) = daemon.call("POST", &format!("/containers/{id}/start"), &Value::Null);
    assert_eq!(status, 204, "{answer}");
    let end = Instant::now() + HEALTHY;
    loop {
        let state = state(daemon, &id);
        if state["Health"]["Status"] == "healthy" {
            return id;
        }
        let log = || daemon.call("GET", &format!("/containers/{id}/logs?stderr=1&stdout=1"), &Value::Null).1;
        assert!(state["Running"] == true && Instant::now() < end, "{state}\n{}", log());
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn state(daemon: &Dockerd, id: &str) -> Value {
    daemon.call("GET", &format!("/containers/{id}/json"), &Value::Null).1["State"].clone()
}

/// Stops and removes a container; it must have ended in order.
fn stop(daemon: &Dockerd, id: &str) {
    let (status, answer) = daemon.call("POST", &format!("/containers/{id}/stop?t=45"), &Value::Null);
    assert_eq!(status, 204, "{answer}");
    assert_eq!(state(daemon, id)["ExitCode"], 0, "it stopped by itself");
    let (status, answer) = daemon.call("DELETE", &format!("/containers/{id}"), &Value::Null);
    assert_eq!(status, 204, "{answer}");
}

#[test]
fn container_is_healthy_read_only_and_not_root_and_its_volume_outlives_it() {
    let Some(daemon) = Dockerd::start() else { return };
    let dockerfile = fs::read_to_string(root().join("packaging/Dockerfile")).unwrap();
    let instructions = instructions(&dockerfile);
    assert!(instructions.len() >= 10, "{instructions:?}");
    daemon.import_root(file_system().path(), IMAGE, &instructions).unwrap();

    let first = start(&daemon);
    let run = |container: &str, command: &[&str]| daemon.run_in(container, command);
    let said = |container: &str, command: &[&str]| {
        let (status, output) = run(container, command);
        assert_eq!(status, 0, "{command:?}: {output}");
        output
    };
    assert!(said(&first, &["aethon-server", "--health"]).contains("answers"));
    assert_eq!(said(&first, &["id", "-u"]).trim(), ACCOUNT.to_string());
    assert_ne!(run(&first, &["touch", "/usr/bin/made"]).0, 0, "the root is read-only");
    let token = said(&first, &["cat", "/data/credentials/dashboard-token"]);
    assert_eq!(token.trim().len(), 64, "{token}");
    // Orphans are collected by process 1, which is no shell any more.
    assert!(said(&first, &["cat", "/proc/1/cmdline"]).starts_with("aethon-server"));
    // The terminal finds the server and its token by itself.
    said(&first, &["aethon-cli", "ask", "--session", "kept", "Remember the colour green"]);
    stop(&daemon, &first);

    let second = start(&daemon);
    assert_eq!(said(&second, &["cat", "/data/credentials/dashboard-token"]), token, "made once");
    let kept = said(&second, &["aethon-cli", "sessions", "show", "kept"]);
    assert!(kept.contains("Remember the colour green"), "{kept}");
    stop(&daemon, &second);
}
