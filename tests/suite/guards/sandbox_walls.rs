//! Walls that every way of running code keeps: the own port with the machine's network, sockets beyond the internet, temporary
//! files within the memory limit, orphaned processes, time zones without a database, and the report of a missing wall
//! (docs/sandboxes.md).

use std::fs;
use std::process::Command;

use aethon_tests::server::{program, run, server_command};
use aethon_tests::socket::of_type;
use aethon_tests::{Server, Socket, eventually, home, run_cli};
use serde_json::json;

const KERNEL: &str = "security.sandbox=kernel";

fn has_kernel() -> bool {
    let told = run_cli(home().path(), &["--set", KERNEL, "doctor", "--json"], None);
    let works = String::from_utf8_lossy(&told.stdout).contains("it works here");
    if !works {
        eprintln!("left out on this machine: there is no sandbox of the kernel");
    }
    works
}

fn ran(chat: &mut Socket, id: &str, command: &str) -> String {
    let input = json!({"command": command, "timeout_seconds": 30});
    let frames = chat.say(id, &format!("!tool shell {input}"));
    let tools = of_type(&frames, "tool");
    let output = tools.last().expect("a tool frame")["output"].as_str();
    output.expect("an output").to_owned()
}

/// Runs a shell script as root in new namespaces, with a program as its arguments.
fn unshared(kinds: &[&str], script: &str, usual: &Command) -> Command {
    let mut command = Command::new("unshare");
    command.args(kinds).args(["sh", "-c", script]).arg(usual.get_program()).args(usual.get_args());
    command.env_clear().envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

fn can_unshare(kinds: &[&str]) -> bool {
    let tried = Command::new("unshare").args(kinds).arg("true").output();
    let can = tried.is_ok_and(|tried| tried.status.success());
    if !can {
        eprintln!("left out on this machine: unshare {kinds:?} is not permitted");
    }
    can
}

#[test]
fn command_with_host_network_cannot_reach_the_own_port() {
    if !has_kernel() {
        return;
    }
    let server = Server::start(&[KERNEL, "security.sandbox_network=host"]);
    // In a file, because the danger list would refuse the words.
    let port = server.address.port();
    let reach = format!(
        "for at in 127.0.0.1 localhost; do (exec 3<>/dev/tcp/$at/{port}) && echo reached; done; echo tried\n"
    );
    fs::write(server.home().path().join("workspace/reach.sh"), reach).unwrap();
    let told = ran(&mut server.chat("default"), "m1", "bash reach.sh");
    assert!(told.contains("tried") && !told.contains("reached"), "{told}");
}

#[test]
fn sandboxed_command_has_internet_sockets_only() {
    if !has_kernel() || Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    let server = Server::start(&[KERNEL]);
    let script = "import socket\nfor family in [1, 2, 10, 16, 17, 31, 38, 40]:\n    try:\n        socket.socket(family, 3 if \
                  family in (16, 17) else 1 if family != 38 else 5)\n        print(family, 'made')\n    except OSError as \
                  error:\n        print(family, error.errno)\n";
    fs::write(server.home().path().join("workspace/sockets.py"), script).unwrap();
    let told = ran(&mut server.chat("default"), "m1", "python3 sockets.py");
    for family in ["1 made", "2 made", "10 made", "16 made", "17 97", "31 97", "38 97", "40 97"] {
        assert!(told.lines().any(|line| line == family), "{family}: {told}");
    }
}

#[test]
fn temporary_files_of_a_command_share_one_limit() {
    if !has_kernel() {
        return;
    }
    let server = Server::start(&[KERNEL, "security.sandbox_memory=64m"]);
    let fill = "for at in /tmp /var/tmp /dev/shm; do head -c 50000000 /dev/zero > $at/full; done; \
                cat /tmp/full /var/tmp/full /dev/shm/full | wc -c";
    let told = ran(&mut server.chat("default"), "m1", fill);
    let total = told.lines().find_map(|line| line.trim().parse::<u64>().ok());
    let total = total.unwrap_or_else(|| panic!("{told}"));
    assert!((40_000_000..=64 << 20).contains(&total) && told.contains("No space left"), "{total}: {told}");
    let told =
        ran(&mut server.chat("default"), "m2", "ls /tmp; echo x > /dev/shm/x && cat /dev/shm/x; ls /dev/shm");
    assert!(told.starts_with("x\nx\n"), "empty and writable at each call: {told}");
}

#[test]
fn missing_memory_limit_is_reported() {
    if !has_kernel() {
        return;
    }
    let home = home();
    let told = run_cli(home.path(), &["--set", KERNEL, "doctor"], None);
    let doctor = String::from_utf8_lossy(&told.stdout).into_owned();
    let checked = run(server_command(home.path(), &[KERNEL]).arg("--check"), None);
    let check = String::from_utf8_lossy(&checked.stdout).into_owned();
    // With a control group of its own, a service binds everything and has nothing to say.
    let is_delegated = fs::read_to_string("/proc/self/cgroup").is_ok_and(|text| text.contains("0::/"))
        && fs::read_to_string("/sys/fs/cgroup/cgroup.controllers").is_ok_and(|text| text.contains("memory"));
    if !is_delegated {
        assert!(doctor.contains("neither shared memory nor"), "{doctor}");
        assert!(check.contains("neither shared memory nor"), "{check}");
    }
}

#[test]
fn commands_run_without_seccomp_and_its_absence_is_reported() {
    if cfg!(not(target_os = "linux")) {
        return;
    }
    let home = home();
    let lacking = |usual: &Command| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_without"));
        command.arg("seccomp").arg(usual.get_program()).args(usual.get_args());
        command.env_clear().envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    };
    let checked = run(lacking(&server_command(home.path(), &[])).arg("--check"), None);
    let words = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(words.contains("connect to the assistant's own port"), "{words}");
    let server = Server::start_command(home.clone(), lacking(&server_command(home.path(), &[])));
    assert!(server.stderr().contains("connect to the assistant's own port"), "{}", server.stderr());
    let told = ran(&mut server.chat("default"), "m1", "echo it runs");
    assert!(told.contains("it runs\n[exit status 0"), "{told}");
}

/// The processes of the same pid namespace as this one, by state.
fn states(init: u32) -> Vec<(u32, char)> {
    let namespace = fs::read_link(format!("/proc/{init}/ns/pid")).expect("it runs");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let mut rest = stat.rsplit_once(')')?.1.split_whitespace();
        let (state, parent) = (rest.next()?.chars().next()?, rest.next()?.parse::<u32>().ok()?);
        // The namespace of a zombie cannot be read, but its parent is known.
        let is_inside = fs::read_link(format!("/proc/{id}/ns/pid")).is_ok_and(|own| own == namespace);
        (is_inside || parent == init).then_some((id, state))
    })
    .collect()
}

#[test]
fn process_1_reaps_orphans_and_forwards_signals_and_status() {
    let kinds = ["--fork", "--pid", "--mount-proc"];
    if !can_unshare(&kinds) {
        return;
    }
    let home = home();
    let command = unshared(&kinds, "exec \"$0\" \"$@\"", &server_command(home.path(), &[]));
    let server = Server::start_command(home, command);
    let outer = server.id();
    let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children")).unwrap();
    let init: u32 = children.trim().parse().expect("process 1 of the namespace");
    let mut chat = server.chat("default");
    for id in ["m1", "m2", "m3"] {
        // A child whose parent ends before it becomes a child of process 1.
        let told = ran(&mut chat, id, "(sleep 0.1 &) ; (setsid sleep 0.2 &) ; echo left");
        assert!(told.contains("left"), "{told}");
    }
    eventually("no zombies", || states(init).iter().all(|(_, state)| *state != 'Z').then_some(()));
    let id = rustix::process::Pid::from_raw(i32::try_from(init).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert_eq!(server.wait().0.code(), Some(0), "it stops cleanly, and says so");

    // A refusal keeps its status as well.
    let refusing = server_command(aethon_tests::home().path(), &["channels.webchat.host=0.0.0.0"]);
    let outcome = run(&mut unshared(&kinds, "exec \"$0\" \"$@\"", &refusing), None);
    assert_eq!(outcome.status.code(), Some(2));
}

#[test]
fn time_zones_work_without_the_system_database() {
    let kinds = ["--mount"];
    if !can_unshare(&kinds) {
        return;
    }
    let home = home();
    let hide = "for at in /usr/share/zoneinfo /usr/lib/zoneinfo /etc/zoneinfo; do [ ! -d $at ] || mount -t tmpfs none $at; done; \
                exec \"$0\" \"$@\"";
    let mut check = program("aethon-server", home.path());
    let job = "scheduler.jobs.morning={cron = \"0 7 * * *\", prompt = \"x\", timezone = \"Europe/Berlin\"}";
    check.args(["--set", "model.provider=fake", "--set", job, "--check"]);
    let outcome = run(&mut unshared(&kinds, hide, &check), None);
    let words = String::from_utf8_lossy(&[outcome.stdout, outcome.stderr].concat()).into_owned();
    assert!(outcome.status.success(), "{words}");
}
