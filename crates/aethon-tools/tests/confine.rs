//! The walls round commands, tried by commands: attacks of an approved command on the assistant.
//!
//! Each test says first what this machine's kernel can do. Where it can, the attempt must be refused by the kernel; where
//! it cannot, the words that are shown to the owner must say so. For attempts that no shell can make, the test program
//! itself is the attacker: it is started again by the command, for one of the tests that are ignored otherwise.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;
#[path = "confine/keys.rs"]
mod keys;

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::Inbound;
use aethon_core::person::Person;
use aethon_core::surface::Unattended;
use aethon_core::tool::{Tool, ToolContext};
use aethon_core::turn::{Trust, TurnContext};
use aethon_tools::{Options, Protection, ShellOptions, SocketProtection};
use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket};
use serde_json::json;
use tempfile::TempDir;

const SECRET: &str = "TOP SECRET";

/// A person's home with an assistant's home in it.
struct Stage {
    folder: TempDir,
    shell: Arc<dyn Tool>,
}

impl Stage {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Options)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ada = folder.path().join("ada");
        for (path, text) in [
            (".aethon/workspace/notes.md", "notes\n"),
            (".aethon/config.toml", SECRET),
            (".aethon/aethon.db", SECRET),
            (".aethon/credentials/openai", SECRET),
            (".ssh/id_ed25519", SECRET),
            (".config/gh/hosts.yml", SECRET),
            (".config/app/settings", "open\n"),
            ("project/readme.md", "open\n"),
        ] {
            let path = ada.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let home = ada.join(".aethon");
        let mut shell = ShellOptions::default();
        shell.home = Some(ada.clone());
        let mut options = Options::default();
        options.home = Some(home.clone());
        options.workspace = home.join("workspace");
        options.user_home = Some(ada);
        options.own = vec![home.join("config.toml"), home.join("aethon.db")];
        options.shell = shell;
        change(&mut options);
        let shell = common::tool(&options, "shell");
        Self { folder, shell }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("ada").join(name)
    }

    async fn run(&self, command: &str) -> String {
        match self.shell.call(&common::context(12_000), json!({"command": command})).await {
            Ok(output) => output.to_text(),
            Err(error) => panic!("{command}: {error}"),
        }
    }
}

/// Whether the kernel has this wall; if not, asserts that the report for the owner says so.
fn stands(name: &str, wall: impl Fn(&Protection) -> bool, words: &str) -> bool {
    let protection = Protection::of_this_machine();
    let stands = wall(&protection);
    eprintln!("{name}: {}", if stands { "this kernel refuses it" } else { "this kernel cannot refuse it" });
    let is_told = protection.missing().iter().any(|gap| gap.contains(words));
    assert_eq!(stands, !is_told, "{}", protection.describe());
    stands
}

/// A command that runs the test program as an attacker.
fn attacker(name: &str, argument: &str) -> String {
    let program = std::env::current_exe().unwrap();
    format!(
        "ATTACK='{argument}' '{}' --exact {name} --ignored --nocapture --test-threads=1",
        program.display()
    )
}

#[expect(clippy::disallowed_methods, reason = "the command tells the attacker what to attack")]
fn target() -> String {
    std::env::var("ATTACK").unwrap_or_default()
}

#[tokio::test]
async fn the_home_and_the_places_of_keys_are_closed_and_the_workspace_is_open() {
    if !stands("files", |it| it.files, "files") {
        return;
    }
    let stage = Stage::new();
    symlink(stage.path(".aethon"), stage.path("project/link")).unwrap();
    for attempt in [
        "cat ~/.aethon/config.toml",
        "cat ../config.toml",
        "cat ~/project/link/aethon.db",
        "cat /proc/self/root$HOME/.aethon/aethon.db",
        "cat /proc/self/cwd/../aethon.db",
        "cat ~/.aethon/credentials/openai",
        "cp ~/.aethon/aethon.db here",
        "ln ~/.aethon/config.toml here",
        "mv ~/.aethon/config.toml here",
        "mv ~/.aethon ~/project/moved",
        "rm ~/.aethon/config.toml",
        "echo x > ~/.aethon/config.toml",
        "echo x > ~/.aethon/new",
        "truncate -s 0 ~/.aethon/aethon.db",
        "cat ~/.ssh/id_ed25519",
        "cat ~/.config/gh/hosts.yml",
        "echo x > ~/.ssh/authorized_keys",
        "unshare -Urm cat ~/.aethon/config.toml",
        "setsid -w env -i cat ~/.aethon/config.toml",
    ] {
        let text = stage.run(&format!("HOME={}; {attempt}", stage.path("").display())).await;
        assert!(!text.contains(SECRET) && !text.contains("[exit status 0]"), "{attempt}: {text}");
    }
    for name in [".aethon/config.toml", ".aethon/aethon.db"] {
        assert_eq!(fs::read_to_string(stage.path(name)).unwrap(), SECRET, "{name}");
    }
    for (allowed, expected) in [
        ("cat notes.md; echo more > new; mkdir deep; mv new deep/; cat deep/new; rm -r deep", "notes\nmore"),
        ("cat ~/project/readme.md; echo x > ~/project/new; mv ~/project/new .; ls new", "open\nnew"),
        // Builds link their results into another directory.
        ("echo linked > one; mkdir a; ln one a/two && cat a/two && rm -r one a", "linked"),
        ("cat ~/.config/app/settings; ls ~ >/dev/null && echo listed; pwd", "open\nlisted"),
        (
            "echo hi | cat; cat <(echo inner); echo err >/dev/null; ls /proc/self >/dev/null && echo proc",
            "hi\ninner\nproc",
        ),
    ] {
        let text = stage.run(allowed).await;
        assert!(text.contains(expected) && text.contains("[exit status 0]"), "{allowed}: {text}");
    }
}

#[tokio::test]
async fn the_owner_opens_and_closes_places_for_commands_too() {
    if !stands("files", |it| it.files, "files") {
        return;
    }
    let stage = Stage::with(|options| {
        options.places.allowed = vec!["~/.ssh".into()];
        options.places.blocked = vec!["~/project".into()];
    });
    assert!(stage.run("cat ~/.ssh/id_ed25519").await.contains(SECRET));
    assert!(stage.run("cat ~/project/readme.md").await.contains("denied"));
}

#[tokio::test]
async fn a_place_that_is_made_between_two_commands_is_closed_to_the_second() {
    if !stands("files", |it| it.files, "files") {
        return;
    }
    let stage = Stage::new();
    for name in [".cache/huggingface/token", "snap/firefox/cookies", ".netrc", ".config/rclone/rclone.conf"] {
        let path = stage.path(name);
        fs::create_dir_all(path.parent().unwrap().parent().unwrap()).unwrap();
        assert!(stage.run("echo first").await.contains("first"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(stage.run("echo again").await.contains("again"));
        fs::write(&path, SECRET).unwrap();
        let text = stage.run(&format!("cat '{}'", path.display())).await;
        assert!(text.contains("denied"), "{name}: {text}");
    }
}

#[tokio::test]
async fn the_own_port_is_closed_and_others_are_open() {
    if !stands("ports", |it| it.ports, "port") {
        return;
    }
    let (own, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    // Where the daemon writes it: in the home, which is closed.
    let stage = Stage::with(|options| {
        let published = options.home.as_ref().unwrap().join("server.address");
        fs::write(&published, format!("http://127.0.0.1:{}\n", port(&own))).unwrap();
        options.port = Some(0);
        options.address_file = Some(published);
    });
    let connect = |port: u16| format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    for attempt in [connect(port(&own)), format!("setsid env -i bash -c '{}'", connect(port(&own)))] {
        let text = stage.run(&attempt).await;
        assert!(text.contains("denied") && !text.contains("connected"), "{attempt}: {text}");
    }
    let text = stage.run(&connect(port(&other))).await;
    assert!(text.contains("connected"), "{text}");
    // This wall is not about files.
    let text = stage.run("echo linked > one; mkdir a; ln one a/two && cat a/two").await;
    assert!(text.contains("linked"), "{text}");
    let text = stage.run(&attacker("connects_in_other_ways", &port(&own).to_string())).await;
    assert!(text.contains("1 passed"), "{text}");
}

#[tokio::test]
async fn the_ports_of_other_assistants_of_the_person_are_closed_while_they_run() {
    if !stands("ports", |it| it.ports, "port") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let stage = Stage::new();
    let home = stage.path(".aethon-work");
    for folder in ["run", "credentials"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    fs::write(home.join("aethon.db"), "").unwrap();
    fs::write(home.join("run/server.address"), format!("http://127.0.0.1:{port}\n")).unwrap();
    let alive = fs::File::create(home.join("run/server.alive")).unwrap();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    assert!(stage.run(&connect).await.contains("connected"), "what a crash leaves behind closes nothing");
    alive.lock().unwrap();
    let text = stage.run(&connect).await;
    assert!(text.contains("denied") && !text.contains("connected"), "{text}");
}

/// Every way to a port that the rule about ports alone lets through.
#[test]
#[ignore = "runs inside the walls, started by a command"]
fn connects_in_other_ways() {
    let address: std::net::SocketAddr = format!("127.0.0.1:{}", target()).parse().unwrap();
    let family = AddressFamily::INET;
    let multipath = socket(family, SocketType::STREAM, Some(ipproto::MPTCP));
    assert_eq!(multipath.unwrap_err(), rustix::io::Errno::PROTONOSUPPORT);
    let plain = socket(family, SocketType::STREAM, None).unwrap();
    let fast_open = SendFlags::from_bits_retain(0x2000_0000);
    let sent = sendto(&plain, b"GET", fast_open, &address);
    assert_eq!(sent.unwrap_err(), rustix::io::Errno::OPNOTSUPP);
    let plain = socket(family, SocketType::STREAM, None).unwrap();
    assert_eq!(rustix::net::connect(&plain, &address).unwrap_err(), rustix::io::Errno::ACCESS);
    // A page on the same port of another loopback address would pass for the assistant's.
    let listen = |host: &str| TcpListener::bind(format!("{host}:{}", target()));
    assert_eq!(listen("127.0.0.2").unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    assert!(listen("[::1]").is_err(), "closed, or a machine without that family");
    TcpListener::bind("127.0.0.1:0").expect("any other port can be listened on");
}

#[tokio::test]
async fn limits_are_set_on_nothing_outside() {
    if !stands("ports", |it| it.ports, "port") {
        return;
    }
    let me = std::process::id();
    let text = Stage::new().run(&attacker("limits_another_process", &me.to_string())).await;
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "runs inside the walls, started by a command"]
fn limits_another_process() {
    use rustix::process::{Pid, Resource, getrlimit, prlimit, setrlimit};
    let mine = getrlimit(Resource::Core);
    let victim = Pid::from_raw(target().parse().unwrap());
    assert_eq!(prlimit(victim, Resource::Core, mine).unwrap_err(), rustix::io::Errno::PERM);
    setrlimit(Resource::Core, mine).expect("its own limits can be set");
}

#[tokio::test]
async fn the_process_can_neither_be_signalled_nor_read() {
    let stage = Stage::new();
    let me = std::process::id();
    if stands("memory", |it| it.files, "memory") {
        for name in ["mem", "environ", "fd/0", "root/etc/hostname", "cwd/Cargo.toml", "maps"] {
            let text = stage.run(&format!("head -c 1 /proc/{me}/{name} && echo read")).await;
            assert!(text.contains("denied") && !text.contains("read\n"), "{name}: {text}");
        }
    }
    if stands("signals", |it| it.signals, "signal") {
        for signal in ["KILL", "STOP", "TERM", "0"] {
            // A signal to any thread is one to the process.
            let command =
                format!("for it in {me} $(ls /proc/{me}/task); do kill -{signal} $it && echo sent; done");
            let text = stage.run(&command).await;
            assert!(text.contains("not permitted") && !text.contains("sent"), "{signal}: {text}");
        }
    }
}

#[tokio::test]
async fn abstract_sockets_of_others_are_closed() {
    if !stands("abstract sockets", |it| it.signals, "signal") {
        return;
    }
    let name = format!("aethon-test-{}", std::process::id());
    let address = UnixAddress::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    UnixStream::connect_addr(&address).expect("outside the walls it is open");
    let text = Stage::new().run(&attacker("connects_to_an_abstract_socket", &name)).await;
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "runs inside the walls, started by a command"]
fn connects_to_an_abstract_socket() {
    let address = UnixAddress::from_abstract_name(target()).unwrap();
    let error = UnixStream::connect_addr(&address).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
}

/// Starts a process that nothing ties to the call: another session, no environment, forked twice; its number is in `pid`.
const ESCAPE: &str = "setsid env -i sh -c '(sh -c \"echo \\$\\$ > pid; exec sleep 1000\" </dev/null >/dev/null 2>&1 &)'; \
     until [ -s pid ]; do sleep 0.01; done";

#[tokio::test]
async fn nothing_outlives_its_call() {
    if !stands("escape", |it| it.signals, "leave a process behind") {
        return;
    }
    let stage = Stage::new();
    stage.run(ESCAPE).await;
    assert_gone(&stage);
    // The same when the call is given up.
    fs::remove_file(stage.path(".aethon/workspace/pid")).unwrap();
    let command = format!("{ESCAPE}; sleep 1000");
    let call = stage.run(&command);
    let given_up = async {
        let file = stage.path(".aethon/workspace/pid");
        while !fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        text = call => panic!("{text}"),
        () = given_up => {}
    }
    assert_gone(&stage);
}

/// Waits for the end of the process whose number is in `pid`, with a deadline.
fn assert_gone(stage: &Stage) {
    let pid = fs::read_to_string(stage.path(".aethon/workspace/pid")).unwrap();
    let stat = format!("/proc/{}/stat", pid.trim());
    let runs = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z") && !stat.contains(") X"));
    let begun = Instant::now();
    while runs() {
        assert!(begun.elapsed() < Duration::from_secs(20), "process {pid} outlived its call");
        std::thread::yield_now();
    }
}

/// A call in a turn that a stranger's words began.
fn context_of(trust: Trust) -> ToolContext {
    let inbound = Inbound::say(SessionId::of("webchat", "a").unwrap(), "use it");
    let inbound = match trust {
        Trust::Owner => inbound,
        Trust::Outside => inbound.with_untrusted(true),
        Trust::Guest => inbound.for_person(Person::guest("telegram", "1")),
    };
    let context = ToolContext::of(&TurnContext::of(TurnId::fresh(), &inbound), Arc::new(Unattended), 12_000);
    assert_eq!(context.trust(), trust);
    context
}

async fn run_as(stage: &Stage, trust: Trust, command: &str) -> String {
    let output = stage.shell.call(&context_of(trust), json!({"command": command})).await;
    output.unwrap_or_else(|error| panic!("{command}: {error}")).to_text()
}

#[tokio::test]
async fn shaping_files_are_closed_to_commands_of_strangers() {
    if !stands("files", |it| it.files, "files") {
        return;
    }
    let stage = Stage::new();
    let at = |name: &str| stage.path(".aethon/workspace").join(name);
    for (name, text) in
        [("SOUL.md", "mine"), ("sops/a.sop.md", "mine"), ("skills/x/SKILL.md", "mine"), ("work/there", "")]
    {
        fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        fs::write(at(name), text).unwrap();
    }
    for trust in [Trust::Outside, Trust::Guest] {
        for attempt in [
            "echo evil > SOUL.md",
            "echo evil > TOOLS.md",
            "echo evil > CONTEXT.md",
            "echo evil > LEARNINGS.md",
            "echo evil > work/page; mv work/page SOUL.md",
            "echo evil > work/page; ln work/page LEARNINGS.md",
            "ln -s work TOOLS.md",
            "rm SOUL.md",
            "mv SOUL.md work/",
            "echo evil > sops/a.sop.md",
            "echo evil > sops/new.sop.md",
            "rm -r sops",
            "mv sops work/",
            "mkdir agents",
            "mkdir work/agents; mv work/agents .",
            "echo evil > skills/x/SKILL.md",
            "cp /bin/true SOUL.md",
        ] {
            let text = run_as(&stage, trust, attempt).await;
            assert!(!text.contains("[exit status 0]"), "{trust:?} {attempt}: {text}");
        }
        for (name, expected) in
            [("SOUL.md", "mine"), ("sops/a.sop.md", "mine"), ("skills/x/SKILL.md", "mine")]
        {
            assert_eq!(fs::read_to_string(at(name)).unwrap(), expected, "{trust:?} {name}");
        }
        for missing in ["TOOLS.md", "CONTEXT.md", "LEARNINGS.md", "agents", "sops/new.sop.md"] {
            assert!(at(missing).symlink_metadata().is_err(), "{trust:?} {missing}");
        }
        let text =
            run_as(&stage, trust, "cat SOUL.md; echo x > work/mine && mkdir work/deep && rm -r work/deep")
                .await;
        assert!(text.contains("mine\n") && text.contains("[exit status 0]"), "{trust:?}: {text}");
    }
    let text =
        run_as(&stage, Trust::Owner, "echo more > TOOLS.md; mkdir agents; echo x > sops/b.sop.md").await;
    assert!(text.contains("[exit status 0]"), "{text}");
}

#[tokio::test]
async fn a_flood_of_folders_opens_no_project_to_the_next_command_of_a_stranger() {
    if !stands("files", |it| it.files, "files") {
        return;
    }
    let stage = Stage::new();
    let hooks = stage.path(".aethon/workspace/clients/acme/app/.git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    fs::create_dir(stage.path(".aethon/workspace/notes")).unwrap();
    let flood = "chmod 0 clients/acme; seq -f notes/x%g 4000 | xargs mkdir";
    assert!(run_as(&stage, Trust::Outside, flood).await.contains("[exit status 0]"));
    let attempt = "chmod 755 clients/acme; echo x > clients/acme/app/.git/hooks/post-checkout";
    let text = run_as(&stage, Trust::Outside, attempt).await;
    assert!(!text.contains("[exit status 0]") && !hooks.join("post-checkout").exists(), "{text}");
}

#[tokio::test]
async fn guest_command_reaches_the_workspace_only() {
    if !stands("files", |it| it.files, "files") {
        return;
    }
    let stage = Stage::with(|options| options.places.allowed = vec!["~/project".into()]);
    for attempt in ["cat ~/project/readme.md", "cat ~/.config/app/settings", "echo x > ~/project/new"] {
        let text = run_as(&stage, Trust::Guest, attempt).await;
        assert!(!text.contains("open") && !text.contains("[exit status 0]"), "{attempt}: {text}");
        let text = run_as(&stage, Trust::Outside, attempt).await;
        assert!(text.contains("[exit status 0]"), "{attempt}: {text}");
    }
    let text = run_as(&stage, Trust::Guest, "cat notes.md && ls /usr > /dev/null").await;
    assert!(text.contains("notes\n") && text.contains("[exit status 0]"), "{text}");
}

#[tokio::test]
async fn keys_by_their_names_and_copies_of_the_home_are_closed_to_commands() {
    if !stands("files", |it| it.files, "files") {
        return;
    }
    let stage = Stage::new();
    for name in [
        ".env",
        "keys/id_rsa",
        "keys/old/id_ed25519_work",
        "Documents/all.kdbx",
        "Downloads/office.ovpn",
        "backup/cookies.sqlite",
        ".aethon.bak/config.toml",
        ".aethon-old/config.toml",
        "aethon-backup-2026/config.toml",
        "backups/monday/config.toml",
    ] {
        let path = stage.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, SECRET).unwrap();
        if name.ends_with("config.toml") {
            fs::write(path.with_file_name("aethon.db"), SECRET).unwrap();
            fs::create_dir(path.with_file_name("credentials")).unwrap();
        }
        let text = stage.run(&format!("cat '{}'", path.display())).await;
        assert!(!text.contains(SECRET) && text.contains("denied"), "{name}: {text}");
    }
    // Neighbours of the home with a longer name, and the files of a project.
    for name in [".aethon.mjs", ".aethon-notes.txt", "app/.env", "keys/readme.md"] {
        let path = stage.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "open").unwrap();
        if name == "app/.env" {
            fs::write(path.with_file_name("package.json"), "{}").unwrap();
        }
        let text = stage.run(&format!("cat '{}'", path.display())).await;
        assert!(text.contains("open"), "{name}: {text}");
    }
}

#[tokio::test]
async fn the_home_of_the_account_is_protected_whatever_the_environment_says() {
    if !stands("files", |it| it.files, "files") {
        return;
    }
    for name_of_home in [None, Some("service")] {
        let stage = Stage::with(|options| {
            options.places.account_home = options.user_home.clone();
            options.user_home = name_of_home.map(|name| options.workspace.with_file_name(name));
        });
        let home = stage.path("").display().to_string();
        for attempt in [
            "cat HOME.ssh/id_ed25519",
            "cat HOME.config/gh/hosts.yml",
            "echo x > HOME.bashrc",
            "touch HOME.zshenv",
        ] {
            let attempt = attempt.replace("HOME", &home);
            let text = stage.run(&attempt).await;
            assert!(!text.contains(SECRET) && !text.contains("[exit status 0]"), "{attempt}: {text}");
        }
        let text = stage.run(&format!("cat {home}project/readme.md")).await;
        assert!(text.contains("open"), "{text}");
    }
    // With neither, the homes of the machine are closed, and only the workspace can be changed.
    let stage = Stage::with(|options| options.user_home = None);
    for attempt in ["touch /usr/made", "touch /opt/made", "touch /root/made", "touch /home/made"] {
        let text = stage.run(attempt).await;
        assert!(!text.contains("[exit status 0]"), "{attempt}: {text}");
    }
    let text = stage.run("echo x > made && cat made && echo y > /dev/null && ls /usr").await;
    assert!(text.contains("[exit status 0]"), "{text}");
}

#[tokio::test]
async fn key_sockets_are_closed_to_commands_until_opened() {
    let how = SocketProtection::of_this_machine();
    eprintln!("sockets: {how:?}");
    let runtime = tempfile::tempdir().unwrap();
    let at = |name: &str| runtime.path().canonicalize().unwrap().join(name);
    let _listeners: Vec<UnixListener> = ["bus", "docker.sock", "agent", "wayland-0", "other"]
        .iter()
        .map(|name| UnixListener::bind(at(name)).unwrap())
        .collect();
    let stage = |allowed: &[&str]| {
        Stage::with(|options| {
            options.places.socket_variables = vec![
                ("XDG_RUNTIME_DIR".into(), at("").display().to_string()),
                ("SSH_AUTH_SOCK".into(), at("agent").display().to_string()),
            ];
            options.places.allowed_sockets = allowed.iter().map(|entry| (*entry).to_owned()).collect();
        })
    };
    let path = at("docker.sock").display().to_string();
    for (allowed, open, closed) in [
        (&[][..], &["other"][..], &["bus", "docker.sock", "agent", "wayland-0"][..]),
        (&["dbus", "ssh-agent"], &["other", "bus", "agent"], &["docker.sock", "wayland-0"]),
        (&[path.as_str()], &["other", "docker.sock"], &["bus", "agent", "wayland-0"]),
    ] {
        let stage = stage(allowed);
        for trust in [Trust::Owner, Trust::Outside] {
            let connects = async |name: &str| {
                let attack = attacker("connects_to_a_socket", &at(name).display().to_string());
                run_as(&stage, trust, &attack).await.contains("connected")
            };
            let is_closed = match how {
                SocketProtection::Rule | SocketProtection::Cover => true,
                SocketProtection::Strangers => trust == Trust::Outside && allowed.is_empty(),
                SocketProtection::None => false,
            };
            for name in closed {
                assert_eq!(connects(name).await, !is_closed, "{trust:?} {name} with {allowed:?}");
            }
            for name in open {
                let is_open = how != SocketProtection::Strangers || !is_closed;
                assert_eq!(connects(name).await, is_open, "{trust:?} {name} with {allowed:?}");
            }
        }
    }
}

#[test]
#[ignore = "runs inside the walls, started by a command"]
fn connects_to_a_socket() {
    println!("{}", if UnixStream::connect(target()).is_ok() { "connected" } else { "refused" });
}
