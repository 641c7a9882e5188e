//! The docker sandbox on a real daemon: limits, and a disposable container per session (docs/sandboxes.md). Where no daemon can
//! run, these tests say so and pass; the strict fake of `crates/aethon-tools/tests/docker.rs` knows the same cases.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_tests::dockerd::{Dockerd, IMAGE, IMAGE_WITHOUT_SHELL, Users};
use aethon_tests::server::{program, run, server_command};
use aethon_tests::socket::of_type;
use aethon_tests::{Server, Socket, eventually, home};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server whose commands run in this daemon.
fn command(daemon: &Dockerd, home: &Arc<TempDir>, more: &[&str]) -> Command {
    let image = format!("security.sandbox_image={IMAGE}");
    let usual =
        ["security.sandbox=docker", &image, "security.sandbox_memory=64m", "security.sandbox_pids_limit=40"];
    let mut command = server_command(home.path(), &[&usual[..], more].concat());
    command.env("DOCKER_HOST", daemon.host());
    command
}

fn start(daemon: &Dockerd, more: &[&str]) -> Server {
    let home = home();
    let command = command(daemon, &home, more);
    Server::start_command(home, command)
}

fn ran(chat: &mut Socket, id: &str, command: &str, seconds: u64) -> String {
    let input = json!({"command": command, "timeout_seconds": seconds});
    let frames = chat.say(id, &format!("!tool shell {input}"));
    let tools = of_type(&frames, "tool");
    let output = tools.last().expect("a tool frame")["output"].as_str();
    output.expect("an output").to_owned()
}

/// The message of a program that refuses to start.
fn refused(mut command: Command) -> String {
    let outcome = run(&mut command, None);
    let words = String::from_utf8_lossy(&[outcome.stdout, outcome.stderr].concat()).into_owned();
    assert_eq!(outcome.status.code(), Some(2), "{command:?}: {words}");
    words
}

#[test]
fn conversation_survives_full_tmp_memory_limit_and_killed_container() {
    let Some(daemon) = Dockerd::start() else { return };
    let server = start(&daemon, &[]);
    assert_eq!(daemon.containers(), Vec::<String>::new(), "nothing is left of the trial");
    let mut chat = server.chat("default");
    let told =
        ran(&mut chat, "m1", "echo made > made.txt; touch /bin/x; id -u; cat /proc/net/route | wc -l", 20);
    assert!(told.contains("Read-only") && told.contains("65534\n1\n"), "{told}");
    let made = server.home().path().join("workspace/made.txt");
    assert_eq!(std::fs::read_to_string(made).unwrap(), "made\n");
    let told = ran(
        &mut chat,
        "m2",
        "echo '#!/bin/sh' > /tmp/x; echo echo started >> /tmp/x; busybox chmod +x /tmp/x; /tmp/x",
        20,
    );
    assert!(told.contains("started"), "what is installed below the home starts: {told}");

    // Files in /tmp count as memory, so they end before it does.
    let told = ran(&mut chat, "m3", "dd if=/dev/zero of=/tmp/full bs=1000000 count=100; echo over", 30);
    assert!(told.contains("No space left") && told.contains("over"), "{told}");
    let told = ran(&mut chat, "m4", "ls /tmp; echo still here", 30);
    assert!(told.contains("full") && told.contains("still here\n[exit status 0"), "{told}");

    // What stands at the end of the pipe has to hold all of it.
    let hold = "head -c 90000000 /dev/zero | tail -n 1 | wc -c";
    let told = ran(&mut chat, "m5", hold, 30);
    assert!(told.contains("more memory than security.sandbox_memory (64m)"), "{told}");
    for id in ["m6", "m7"] {
        let told = ran(&mut chat, id, "ls /tmp; echo fresh", 30);
        assert_eq!(told, "fresh\n[exit status 0]", "a new container");
    }
    for id in daemon.containers() {
        daemon.kill(&id);
    }
    assert_eq!(ran(&mut chat, "m8", "echo replaced", 30), "replaced\n[exit status 0]");
    let told = ran(&mut chat, "m9", "exec >/dev/null 2>&1 >&- 2>&-; sleep 1; exit 5", 30);
    assert!(told.contains("exit status 5"), "a closed output is not the end: {told}");
    assert_eq!(server.terminate().code(), Some(0));
    eventually("an end of every container", || daemon.containers().is_empty().then_some(()));
}

#[test]
fn start_with_an_unproven_sandbox_is_refused_with_the_key() {
    let Some(daemon) = Dockerd::start() else { return };
    let bare = format!("security.sandbox_image={IMAGE_WITHOUT_SHELL}");
    for (setting, expected) in [
        ("security.sandbox_memory=1m", "security.sandbox_memory"),
        ("security.sandbox_memory=99999g", "security.sandbox_memory"),
        ("security.sandbox_cpus=1000", "security.sandbox_cpus"),
        ("security.sandbox_cpus=0.001", "security.sandbox_cpus"),
        ("security.sandbox_pids_limit=1", "security.sandbox_pids_limit"),
        ("security.sandbox_network=no-such-network", "security.sandbox_network"),
        (&bare, "security.sandbox_image"),
        ("security.sandbox_network=host", "dashboard.auth_token"),
    ] {
        let home = home();
        let words = refused(command(&daemon, &home, &[setting]));
        assert!(words.contains(expected), "{setting}: {words}");
        let mut doctor = program("aethon-cli", home.path());
        let image = format!("security.sandbox_image={IMAGE}");
        doctor.args([
            "--set",
            "security.sandbox=docker",
            "--set",
            &image,
            "--set",
            setting,
            "doctor",
            "--json",
        ]);
        doctor.env("DOCKER_HOST", daemon.host());
        let told = run(&mut doctor, None);
        let told: Value = serde_json::from_slice(&told.stdout).expect("doctor tells JSON");
        let findings = told["findings"].as_array().expect("findings").iter();
        let mut broken = findings.filter(|finding| finding["health"] == "broken");
        assert!(broken.any(|finding| finding["message"].to_string().contains(expected)), "{setting}: {told}");
    }
    // With a token, the machine's network is worth a warning.
    let home = home();
    let with_token = ["security.sandbox_network=host", "dashboard.auth_token=0123456789abcdef"];
    let checked = run(command(&daemon, &home, &with_token).arg("--check"), None);
    let words = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success() && words.contains("only dashboard.auth_token keeps"), "{words}");
    let checked = run(command(&daemon, &home, &[]).arg("--check"), None);
    let words = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(words.contains("every wall and limit in force"), "{words}");
    assert_eq!(daemon.containers(), Vec::<String>::new(), "nothing is left of the trials");
}

#[test]
fn folder_on_the_docker_host_is_not_taken_for_the_workspace() {
    let Some(daemon) = Dockerd::start() else { return };
    let home = home();
    std::fs::create_dir(home.path().join("workspace")).unwrap();
    let usual = command(&daemon, &home, &[]);
    // The server sees another folder under that name, as in a container of its own.
    let mut elsewhere = Command::new("unshare");
    let script = "mount -t tmpfs none \"$0\" && exec \"$@\"";
    elsewhere.args(["--mount", "sh", "-c", script]).arg(home.path().join("workspace"));
    elsewhere.arg(usual.get_program()).args(usual.get_args());
    elsewhere.env_clear().envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    elsewhere.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let words = refused(elsewhere);
    assert!(words.contains("not this workspace") || words.contains("not writable"), "{words}");
    assert_eq!(
        std::fs::read_dir(home.path().join("workspace")).unwrap().count(),
        0,
        "no marker is left there"
    );
}

#[test]
fn commands_of_strangers_persist_nothing_and_leave_few_containers() {
    let Some(daemon) = Dockerd::start() else { return };
    let server = start(&daemon, &[]);
    let workspace = server.home().path().join("workspace");
    for folder in ["sops", "work/app/.git/hooks", "work/app/src"] {
        std::fs::create_dir_all(workspace.join(folder)).unwrap();
    }
    for page in ["SOUL.md", "result.txt", "work/app/.envrc", "work/app/main.rs"] {
        std::fs::write(workspace.join(page), "kind\n").unwrap();
    }
    let ask = |path: &str, command: &str| {
        let text = format!("!tool shell {}", json!({"command": command}));
        server.post(path, &json!({"text": text})).text()
    };
    let attempt = "echo evil > SOUL.md; rm SOUL.md; echo x > LEARNINGS.md; mkdir sops/evil; busybox mv sops s; mkdir agents; \
                   echo fine > result.txt; mkdir work/new && echo fine > work/new/x; cd work/app; echo x > .envrc; \
                   echo x > .mcp.json; echo x > .git/hooks/pre-commit; busybox mv .git .hg; cd ..; busybox mv app new/app; \
                   echo fine > app/src/x; echo fine > app/main.rs; cat ../SOUL.md";
    let told = ask("/webhook/trigger", attempt);
    assert!(told.contains("Read-only") && told.contains("kind"), "{told}");
    let read = |name: &str| std::fs::read_to_string(workspace.join(name)).unwrap_or_default();
    for (name, expected) in [
        ("SOUL.md", "kind\n"),
        ("LEARNINGS.md", ""),
        ("work/app/.envrc", "kind\n"),
        ("work/app/.mcp.json", ""),
        ("work/app/.git/hooks/pre-commit", ""),
        ("result.txt", "fine\n"),
        ("work/app/src/x", "fine\n"),
        ("work/app/main.rs", "fine\n"),
    ] {
        assert_eq!(read(name), expected, "{name}: {told}");
    }
    assert!(!workspace.join("agents").exists() && !workspace.join("sops/evil").exists());
    // The owner's own words may change them.
    let mut chat = server.chat("default");
    let command = "echo kinder > SOUL.md; echo mine > work/app/.envrc; mkdir free; echo done";
    let told = ran(&mut chat, "m1", command, 20);
    assert!(told.contains("done") && read("SOUL.md") == "kinder\n", "{told}");
    assert_eq!(read("work/app/.envrc"), "mine\n");
    // Files made since can be changed, in a container of the same conversation.
    ask("/webhook/trigger", "echo fine > free/x");
    assert_eq!(read("free/x"), "fine\n");
    for number in 0..5 {
        ask(&format!("/webhook/hook-{number}"), "echo hello");
    }
    eventually("few containers", || (daemon.containers().len() <= 3).then_some(()));
}

#[test]
fn page_replaced_during_a_strangers_command_stays_read_only() {
    let Some(daemon) = Dockerd::start() else { return };
    let server = start(&daemon, &[]);
    let workspace = server.home().path().join("workspace");
    for folder in ["work", "sops"] {
        std::fs::create_dir_all(workspace.join(folder)).unwrap();
    }
    std::fs::write(workspace.join("SOUL.md"), "kind\n").unwrap();
    let command = "echo x > work/begun; while ! [ -e work/go ]; do sleep 0.1; done; \
                   echo evil > SOUL.md; echo evil > sops/evil.sop.md; echo over > work/over; cat SOUL.md";
    let text = format!("!tool shell {}", json!({"command": command, "timeout_seconds": 60}));
    let told = std::thread::scope(|scope| {
        let asked = scope.spawn(|| server.post("/webhook/trigger", &json!({"text": text})).text());
        eventually("the command", || workspace.join("work/begun").exists().then_some(()));
        // As file tools and editors write: a new file, or folder, takes the name of the old one.
        std::fs::write(workspace.join("SOUL.new"), "kindest\n").unwrap();
        std::fs::rename(workspace.join("SOUL.new"), workspace.join("SOUL.md")).unwrap();
        std::fs::create_dir(workspace.join("sops.new")).unwrap();
        std::fs::rename(workspace.join("sops.new"), workspace.join("sops")).unwrap();
        std::fs::write(workspace.join("work/go"), "").unwrap();
        asked.join().unwrap()
    });
    assert!(workspace.join("work/over").exists() && told.contains("kindest"), "{told}");
    assert_eq!(std::fs::read_to_string(workspace.join("SOUL.md")).unwrap(), "kindest\n", "{told}");
    assert_eq!(std::fs::read_dir(workspace.join("sops")).unwrap().count(), 0, "{told}");
}

/// A file system in memory, mounted here until it is dropped.
struct MountedTmpfs(PathBuf);

impl MountedTmpfs {
    fn at(place: PathBuf) -> Self {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&place).status();
        assert!(mounted.expect("mount runs").success());
        Self(place)
    }
}

impl Drop for MountedTmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn workspace_path_may_contain_blanks_and_mounts() {
    let Some(daemon) = Dockerd::start() else { return };
    let home = Arc::new(tempfile::Builder::new().prefix("a home ").tempdir().unwrap());
    let workspace = home.path().join("workspace");
    for folder in ["work/data", "work/free"] {
        std::fs::create_dir_all(workspace.join(folder)).unwrap();
    }
    let mounted = MountedTmpfs::at(workspace.join("work/data"));
    std::fs::write(workspace.join("work/data/kept"), "kept\n").unwrap();
    let checked = run(command(&daemon, &home, &[]).arg("--check"), None);
    let words = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success() && words.contains("is an empty folder"), "{words}");
    let command = command(&daemon, &home, &[]);
    let server = Server::start_command(home.clone(), command);
    let attempt =
        "echo fine > work/free/x; echo lost > work/data/x; ls work/data; cat work/data/kept; echo over";
    let text = format!("!tool shell {}", json!({"command": attempt}));
    let told = server.post("/webhook/trigger", &json!({"text": text})).text();
    assert!(told.contains("Read-only") && told.contains("over"), "{told}");
    assert_eq!(std::fs::read_to_string(workspace.join("work/free/x")).unwrap(), "fine\n", "{told}");
    assert!(!workspace.join("work/data/x").exists(), "{told}");
    // The owner's own commands see the mounts.
    let told = ran(&mut server.chat("default"), "m1", "cat work/data/kept", 20);
    assert!(told.contains("kept"), "{told}");
    drop(server);
    drop(mounted);
    let beneath = std::fs::read_dir(workspace.join("work/data"));
    assert!(beneath.is_ok_and(|entries| entries.count() == 0), "nothing is lost beneath it");
}

#[test]
fn docker_with_user_mapping_writes_to_the_workspace() {
    let Some(daemon) = Dockerd::start_as(Users::Remapped) else { return };
    let server = start(&daemon, &[]);
    let workspace = server.home().path().join("workspace");
    std::fs::create_dir(workspace.join("work")).unwrap();
    let mut chat = server.chat("default");
    let told = ran(&mut chat, "m1", "id -u; echo made > made.txt; cat /sys/fs/cgroup/memory.max", 20);
    assert!(told.contains("65534\n") && !told.contains("denied"), "{told}");
    assert_eq!(std::fs::read_to_string(workspace.join("made.txt")).unwrap(), "made\n");
    let text = format!("!tool shell {}", json!({"command": "echo x > work/x; echo x > SOUL.md"}));
    let told = server.post("/webhook/trigger", &json!({"text": text})).text();
    assert!(workspace.join("work/x").exists() && told.contains("Read-only"), "{told}");
    assert!(!workspace.join("SOUL.md").exists());
}

#[test]
fn hanging_docker_daemon_is_reported_within_the_call_limit() {
    let Some(daemon) = Dockerd::start() else { return };
    let server = start(&daemon, &[]);
    let mut chat = server.chat("default");
    assert!(ran(&mut chat, "m1", "echo before", 20).contains("before"));
    daemon.freeze(true);
    let begun = Instant::now();
    let told = ran(&mut chat, "m2", "echo during", 3);
    assert!(begun.elapsed() < Duration::from_secs(20) && told.contains("not done after 3 s"), "{told}");
    daemon.freeze(false);
    assert!(ran(&mut chat, "m3", "echo after", 30).contains("after\n[exit status 0"), "it recovers");
    drop(daemon);
    let told = ran(&mut chat, "m4", "echo gone", 5);
    assert!(told.contains("docker daemon"), "{told}");
    let feature = server.feature("shell_sandbox");
    assert!(
        feature["state"] == "degraded" && feature["detail"].to_string().contains("docker daemon"),
        "{feature}"
    );
}
