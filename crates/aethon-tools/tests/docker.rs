//! The sandbox of docker against a strict stand-in for the daemon, on a socket of its own: the requests, to the letter, and
//! the fate of containers. Tests with a real daemon are in `docs/verification.md`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests and what they share"
)]

mod common;
mod daemon;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_core::hook::TurnContext;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::Inbound;
use aethon_core::person::Person;
use aethon_core::sandbox::Sandbox;
use aethon_core::surface::Unattended;
use aethon_core::tool::{Tool, ToolContext};
use aethon_tools::{DockerSandbox, Options, PullPolicy, SandboxLimits};
use daemon::{Daemon, HOME, OWNER};
use serde_json::{Value, json};
use tempfile::TempDir;

/// An assistant with a home and a workspace, whose commands run in docker.
struct Stage {
    daemon: Daemon,
    folder: TempDir,
    docker: DockerSandbox,
    shell: Arc<dyn Tool>,
    background: Arc<dyn Tool>,
}

fn limits() -> SandboxLimits {
    SandboxLimits {
        image: "registry:5000/busy".into(),
        memory: 64 << 20,
        cpus: 0.5,
        processes: 30,
        network: "none".into(),
    }
}

impl Stage {
    fn new() -> Self {
        let (daemon, folder) = (Daemon::start(), tempfile::tempdir().unwrap());
        std::fs::create_dir(folder.path().join("workspace")).unwrap();
        let docker = sandbox(&daemon, &folder);
        let options = Options::default().with(|options| {
            options.home = Some(folder.path().into());
            options.workspace = folder.path().join("workspace");
            options.shell.sandbox = Sandbox::Docker;
            options.docker = Some(docker.clone());
        });
        let tools = common::all(&options);
        let named = |name: &str| common::named(&tools, name);
        Self { shell: named("shell"), background: named("background_commands"), daemon, folder, docker }
    }

    /// The result of a command in this conversation, as the model reads it.
    async fn run(&self, name: &str, command: &str) -> Result<String, String> {
        self.run_for(&Inbound::say(session(name), "use it"), command).await
    }

    /// The same in a turn that this message began.
    async fn run_for(&self, message: &Inbound, command: &str) -> Result<String, String> {
        let input = json!({"command": command, "timeout_seconds": 2});
        let turn = TurnContext::of(TurnId::fresh(), message);
        let output = self.shell.call(&ToolContext::of(&turn, Arc::new(Unattended), 8_000), input).await;
        output.map(|output| output.to_text()).map_err(|error| error.to_string())
    }

    fn real(&self, path: &str) -> String {
        self.folder.path().canonicalize().unwrap().join(path).display().to_string()
    }
}

fn sandbox(daemon: &Daemon, folder: &TempDir) -> DockerSandbox {
    sandbox_at(&daemon.host(), folder.path(), &folder.path().join("workspace"))
}

fn sandbox_at(host: &str, home: &Path, workspace: &Path) -> DockerSandbox {
    let options = Options::default().with(|options| {
        options.home = Some(home.into());
        options.workspace = workspace.into();
        options.shell.limits = limits();
    });
    DockerSandbox::new(host, &options)
}

fn session(name: &str) -> SessionId {
    SessionId::of("webchat", name).unwrap()
}

fn context(name: &str) -> ToolContext {
    let turn = TurnContext::of(TurnId::fresh(), &Inbound::say(session(name), "use it"));
    ToolContext::of(&turn, Arc::new(Unattended), 8_000)
}

/// Waits until the daemon has only so many containers.
async fn until_left(daemon: &Daemon, count: usize) {
    let end = Instant::now() + Duration::from_secs(20);
    while daemon.containers() != count {
        assert!(Instant::now() < end, "{} containers are left, not {count}", daemon.containers());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_container_is_asked_for_with_every_cap_and_nothing_else() {
    let stage = Stage::new();
    assert_eq!(
        stage.run("a", "say").await.unwrap(),
        "hello\nworse\nend\n[exit status 3]",
        "output and errors in their order, without their frames"
    );
    let (made, workspace) = (stage.daemon.made(), stage.real("workspace"));
    let user = made[0]["User"].as_str().unwrap();
    assert!(!user.starts_with("0:") && user.split(':').count() == 2, "{user}");
    let owner = made[0]["Labels"][OWNER].as_str().unwrap();
    assert!(owner.starts_with(&format!("{}:", std::process::id())), "{owner}");
    let expected = json!({
        "Image": "registry:5000/busy",
        "Entrypoint": ["/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"],
        "Cmd": [],
        "User": user,
        "WorkingDir": workspace,
        "Env": ["TERM=dumb", "LANG=C.UTF-8", "HOME=/tmp"],
        "Labels": {HOME: stage.real(""). trim_end_matches('/'), OWNER: owner},
        "NetworkDisabled": true,
        "HostConfig": {
            "Mounts": [{"Type": "bind", "Source": workspace, "Target": workspace}],
            "ReadonlyRootfs": true,
            "Tmpfs": {"/tmp": "rw,exec,nosuid,nodev,mode=1777,size=33554432"},
            "ShmSize": 8 << 20,
            "NetworkMode": "none",
            "Memory": 64 << 20,
            "MemorySwap": 64 << 20,
            "NanoCpus": 500_000_000,
            "PidsLimit": 30,
            "Ulimits": [{"Name": "fsize", "Soft": 16_u64 << 30, "Hard": 16_u64 << 30}],
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
            "IpcMode": "private",
            "LogConfig": {"Type": "none"},
            "AutoRemove": true,
        },
    });
    assert_eq!(made[0], expected);
    let command = json!({
        "AttachStdout": true, "AttachStderr": true, "WorkingDir": workspace,
        "Cmd": ["/bin/sh", "-c", r#"echo '[aethon: begun]'; exec "$@""#, "sh", "/bin/sh", "-c", "say"],
    });
    assert_eq!(stage.daemon.executed()[0], command);
    stage.daemon.assert_sound();
}

#[tokio::test]
async fn a_conversation_has_one_container_until_it_is_over() {
    let stage = Stage::new();
    for _ in 0..3 {
        stage.run("a", "say").await.unwrap();
    }
    stage.run("b", "say").await.unwrap();
    assert_eq!(stage.daemon.containers(), 2, "one for each conversation");
    let log = stage.daemon.log();
    assert!(
        log.contains(&"POST /images/create?fromImage=registry%3A5000%2Fbusy&tag=latest".into()),
        "{log:?}"
    );
    assert_eq!(log.iter().filter(|line| line.contains("/images/create")).count(), 1, "fetched once");
    stage.docker.forget(&session("a")).await;
    stage.docker.forget(&session("nobody")).await;
    assert_eq!(stage.daemon.containers(), 1);
    // Two at a time in one conversation: a container each, and one of them stays.
    let both = tokio::join!(stage.run("c", "say"), stage.run("c", "say"));
    assert!(both.0.is_ok() && both.1.is_ok());
    until_left(&stage.daemon, 2).await;
    stage.docker.close().await;
    assert_eq!(stage.daemon.containers(), 0, "at the end of the program");
    stage.daemon.assert_sound();
}

#[tokio::test]
async fn a_command_that_is_cut_off_takes_its_container_along() {
    let stage = Stage::new();
    stage.run("a", "say").await.unwrap();
    let begun = Instant::now();
    let told = stage.run("a", "hang").await.unwrap_err();
    assert!(told.starts_with("begun\n[not done after 2 s"), "{told}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    until_left(&stage.daemon, 0).await;
    // Stopping drops the call.
    let shell = stage.shell.clone();
    let call = tokio::spawn(async move { shell.call(&context("a"), json!({"command": "hang"})).await });
    let end = Instant::now() + Duration::from_secs(20);
    while stage.daemon.executed().iter().filter(|one| one["Cmd"][6] == "hang").count() < 2 {
        assert!(Instant::now() < end, "it never ran");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    call.abort();
    until_left(&stage.daemon, 0).await;
    let removals = stage.daemon.log().into_iter().filter(|line| line.starts_with("DELETE"));
    assert!(
        removals.clone().all(|line| line.ends_with("?force=1&v=1")),
        "{:?}",
        removals.collect::<Vec<_>>()
    );
    stage.daemon.assert_sound();
}

fn is_sweep(executed: &Value) -> bool {
    executed["Cmd"][2].as_str().is_some_and(|script| script.starts_with("kill -KILL -1"))
}

#[tokio::test]
async fn background_processes_delay_nothing_and_are_ended() {
    let stage = Stage::new();
    let told = stage.run("a", "leave").await.unwrap();
    assert_eq!(told, "done\n[exit status 0]");
    assert!(stage.daemon.executed().iter().any(is_sweep), "it is swept");
    assert_eq!(stage.run("a", "say").await.unwrap(), "hello\nworse\nend\n[exit status 3]");
    assert_eq!(stage.daemon.containers(), 1, "the container is used again");
    stage.daemon.assert_sound();
}

#[tokio::test]
async fn command_in_the_background_has_a_container_of_its_own() {
    let stage = Stage::new();
    stage.run("a", "say").await.unwrap();
    let call = async |tool: &Arc<dyn Tool>, input: Value| {
        let output = tool.call(&context("a"), input).await;
        output.map(|output| output.to_text()).map_err(|error| error.to_string())
    };
    let told = call(&stage.shell, json!({"command": "hang", "background": true})).await.unwrap();
    assert!(told.starts_with("begun\n[command 1 runs in the background"), "{told}");
    assert_eq!(stage.daemon.containers(), 2, "its own beside that of the conversation");
    let told = stage.run("a", "say").await.unwrap();
    assert_eq!(told, "hello\nworse\nend\n[exit status 3]", "the other one is swept, and this one is not");
    assert_eq!(stage.daemon.made().len(), 2, "and it is used again");
    let list = call(&stage.background, json!({"action": "list"})).await.unwrap();
    assert!(list.starts_with("command 1 (hang), started ") && list.ends_with(": running"), "{list}");
    let told = call(&stage.background, json!({"action": "stop", "id": 1})).await.unwrap();
    assert!(told.contains("[command 1 was stopped by the assistant after"), "{told}");
    until_left(&stage.daemon, 1).await;
    let told = call(&stage.shell, json!({"command": "say", "background": true})).await.unwrap();
    assert!(told.starts_with("hello\nworse\nend\n[exit status 3 after"), "{told}");
    until_left(&stage.daemon, 1).await;
    let told = call(&stage.shell, json!({"command": "never", "background": true})).await.unwrap_err();
    assert!(told.contains("docker could not run the command"), "{told}");
    let list = call(&stage.background, json!({"action": "list"})).await.unwrap();
    assert!(!list.contains("never"), "what never began is no command: {list}");
    stage.daemon.assert_sound();
}

#[tokio::test]
async fn leftovers_of_a_program_that_died_are_removed_and_others_stay() {
    let stage = Stage::new();
    stage.run("a", "say").await.unwrap();
    let home = stage.real("").trim_end_matches('/').to_owned();
    let leave = |home: &str, owner: &str| stage.daemon.leave(json!({"Labels": {HOME: home, OWNER: owner}}));
    leave(&home, "4194304:17");
    leave(&home, "");
    leave(&home, &format!("{}:1", std::process::id()));
    leave("/home/of/another", "4194304:17");
    // As the next start does.
    assert_eq!(sandbox(&stage.daemon, &stage.folder).reap().await, Ok(3));
    assert_eq!(stage.daemon.containers(), 2, "that of this program, and that of another home");
    stage.daemon.assert_sound();
}

#[tokio::test]
async fn lost_containers_are_replaced_and_failures_are_explained() {
    let stage = Stage::new();
    stage.run("a", "say").await.unwrap();
    stage.daemon.forget_everything();
    assert_eq!(stage.run("a", "say").await.unwrap(), "hello\nworse\nend\n[exit status 3]");
    assert_eq!(stage.daemon.containers(), 1);
    stage.daemon.assert_sound();

    let said = |answer: Value| {
        let stage = Stage::new();
        stage.daemon.refuse("/containers/create", 500, answer);
        async move { stage.run("a", "say").await.unwrap_err() }
    };
    let told = said(json!({"message": "no space left on device"})).await;
    assert!(told.contains("no space left on device (500)"), "{told}");
    let told = said(json!("not an object")).await;
    assert!(told.contains("500"), "{told}");

    let stage = Stage::new();
    stage.daemon.refuse("/images/create", 404, json!({"message": "pull access denied"}));
    let told = stage.run("a", "say").await.unwrap_err();
    assert!(told.contains("security.sandbox_image") && told.contains("pull access denied"), "{told}");

    let stage = Stage::new();
    stage.daemon.refuse("/start", 400, json!({"message": "exec: \"/bin/sh\": not found"}));
    let told = stage.run("a", "say").await.unwrap_err();
    assert!(told.contains("not found"), "{told}");
    // What cannot be started is not left there.
    until_left(&stage.daemon, 0).await;

    let stage = Stage::new();
    stage.daemon.hang_up();
    let told = stage.run("a", "say").await.unwrap_err();
    assert!(told.contains("the docker daemon does not answer"), "{told}");
    assert!(stage.docker.fault().is_some_and(|fault| fault.contains("does not answer")), "it is remembered");
}

#[tokio::test]
async fn command_that_never_began_is_retried_in_a_new_container() {
    let stage = Stage::new();
    stage.run("a", "say").await.unwrap();
    stage.daemon.stop_everything();
    assert_eq!(stage.run("a", "say").await.unwrap(), "hello\nworse\nend\n[exit status 3]");
    let told = stage.run("a", "never").await.unwrap_err();
    assert!(told.contains("docker could not run the command: OCI runtime exec failed"), "{told}");
    let tries = stage.daemon.executed().iter().filter(|one| one["Cmd"][6] == "never").count();
    assert_eq!(tries, 2, "once more, and no further");
    stage.daemon.assert_sound();
}

#[tokio::test]
async fn a_container_whose_sweep_does_not_prove_itself_is_replaced() {
    let stage = Stage::new();
    assert_eq!(stage.run("a", "fill").await.unwrap(), "some\n[exit status 0]");
    until_left(&stage.daemon, 0).await;
    assert_eq!(stage.run("a", "say").await.unwrap(), "hello\nworse\nend\n[exit status 3]");
    assert_eq!(stage.daemon.made().len(), 2);
    stage.daemon.assert_sound();
}

#[tokio::test]
async fn memory_exhaustion_is_named_and_ends_the_container() {
    let stage = Stage::new();
    let told = stage.run("a", "exhaust").await.unwrap();
    assert!(told.contains("more memory than security.sandbox_memory (64m)"), "{told}");
    assert!(told.ends_with("[exit status 137]"), "{told}");
    until_left(&stage.daemon, 0).await;
    assert_eq!(stage.run("a", "say").await.unwrap(), "hello\nworse\nend\n[exit status 3]");
    stage.daemon.assert_sound();
}

#[tokio::test]
async fn the_end_of_a_stream_is_not_the_end_of_a_command() {
    let stage = Stage::new();
    assert_eq!(stage.run("a", "close its output").await.unwrap(), "some\n[exit status 5]");
    let told = stage.run("a", "vanish").await.unwrap();
    assert!(told.contains("some\n") && told.contains("its container has ended"), "{told}");
    assert_eq!(stage.run("a", "say").await.unwrap(), "hello\nworse\nend\n[exit status 3]");
    stage.daemon.assert_sound();
}

#[tokio::test]
async fn command_timeout_covers_delays_of_the_daemon() {
    for end in ["/info", "/containers/create", "/start", "/exec"] {
        let stage = Stage::new();
        if end == "/exec" {
            stage.run("a", "say").await.unwrap();
        }
        stage.daemon.stall(end);
        let begun = Instant::now();
        let told = stage.run("a", "say").await.unwrap_err();
        // The limit is two seconds.
        assert!(begun.elapsed() < Duration::from_secs(10), "{end}: {:?}", begun.elapsed());
        assert!(told.contains("not done after 2 s"), "{end}: {told}");
    }
}

#[tokio::test]
async fn idle_containers_are_capped_and_those_of_strangers_go_first() {
    let stage = Stage::new();
    for number in 0..12 {
        let message = Inbound::say(session(&format!("hook-{number}")), "x").via("webhook");
        stage.run_for(&message, "say").await.unwrap();
    }
    until_left(&stage.daemon, 2).await;
    for number in 0..12 {
        stage.run(&format!("own-{number}"), "say").await.unwrap();
    }
    until_left(&stage.daemon, 8).await;
    stage.daemon.assert_sound();
}

#[tokio::test]
async fn stranger_containers_cannot_change_places_that_act_later() {
    let stage = Stage::new();
    let at = |name: &str| stage.real("workspace") + name;
    for path in ["/sops", "/work", "/app/.git", "/app/src"] {
        std::fs::create_dir_all(at(path)).unwrap();
    }
    for path in ["/SOUL.md", "/notes.md", "/app/main.rs"] {
        std::fs::write(at(path), "x").unwrap();
    }
    let bind = |name: &str| json!({"Type": "bind", "Source": at(name), "Target": at(name)});
    let part = |name: &str| {
        let mut part = bind(name);
        part["BindOptions"] = json!({"NonRecursive": true});
        part
    };
    let mut whole = part("");
    whole["ReadOnly"] = json!(true);
    let of_strangers =
        [whole, part("/app/src"), part("/work"), part("/app/main.rs"), part("/notes.md")].to_vec();
    let ben = Person::member("ben").unwrap();
    for (message, expected) in [
        (Inbound::say(session("a"), "x"), vec![bind("")]),
        (Inbound::say(session("a"), "x").via("webhook"), of_strangers.clone()),
        (Inbound::say(session("a"), "x").for_person(ben), of_strangers),
    ] {
        stage.run_for(&message, "say").await.unwrap();
        let made = stage.daemon.made();
        assert_eq!(made.last().unwrap()["HostConfig"]["Mounts"], json!(expected));
    }
    assert_eq!(stage.daemon.containers(), 3, "one for each trust, in one conversation");
    // A container is replaced when the parts that may be changed are no longer those that it mounts.
    std::fs::create_dir_all(at("/new")).unwrap();
    stage.run_for(&Inbound::say(session("a"), "x").via("webhook"), "say").await.unwrap();
    let made = stage.daemon.made();
    assert!(made.last().unwrap()["HostConfig"]["Mounts"].as_array().unwrap().contains(&part("/new")));
    stage.docker.forget(&session("a")).await;
    until_left(&stage.daemon, 0).await;
    stage.daemon.assert_sound();
}

#[tokio::test]
async fn the_trial_proves_the_sandbox_or_says_what_is_wrong() {
    let trial = |change: fn(&Stage)| {
        let stage = Stage::new();
        change(&stage);
        async move {
            let tried = stage.docker.try_out(PullPolicy::Missing).await;
            until_left(&stage.daemon, 0).await;
            let left = std::fs::read_dir(stage.real("workspace")).unwrap().count();
            assert_eq!(left, 0, "nothing is left in the workspace");
            stage.daemon.assert_sound();
            tried
        }
    };
    let proved = trial(|_| {}).await.unwrap();
    assert!(proved.proved.contains("every wall and limit") && proved.concerns.is_empty(), "{proved:?}");
    let concern = trial(|stage| stage.daemon.describe(json!({"SwapLimit": false}))).await.unwrap();
    assert!(concern.concerns[0].contains("swap"), "{concern:?}");
    type Change = fn(&Stage);
    let cases: [(Change, &str); 8] = [
        (|stage| stage.daemon.move_elsewhere(), "not this workspace"),
        (|stage| stage.daemon.describe(json!({"PidsLimit": false})), "security.sandbox_pids_limit"),
        (|stage| stage.daemon.describe(json!({"MemTotal": 1 << 20})), "security.sandbox_memory"),
        (|stage| stage.daemon.describe(json!({"ServerVersion": ""})), "no docker daemon"),
        (|stage| stage.daemon.refuse("/info", 404, json!("nginx")), "no docker daemon"),
        (
            |stage| stage.daemon.refuse("/images/create", 404, json!({"message": "denied"})),
            "security.sandbox_image",
        ),
        (
            |stage| stage.daemon.refuse("/start", 404, json!({"message": "network x not found"})),
            "security.sandbox_network",
        ),
        (|stage| stage.daemon.hang_up(), "does not answer"),
    ];
    for (change, expected) in cases {
        let told = trial(change).await.unwrap_err();
        assert!(told.contains(expected), "{expected}: {told}");
    }
}

#[tokio::test]
async fn a_full_queue_of_the_daemon_is_reported_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docker.sock");
    // It accepts nothing; what does not fit into its queue is refused for the moment.
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let flags = (rustix::net::AddressFamily::UNIX, rustix::net::SocketType::STREAM);
    let address = rustix::net::SocketAddrUnix::new(&path).unwrap();
    let mut waiting = Vec::new();
    loop {
        let flag = rustix::net::SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(flags.0, flags.1, flag, None).unwrap();
        if rustix::net::connect(&socket, &address).is_err() {
            break;
        }
        waiting.push(socket);
    }
    let host = format!("unix://{}", path.display());
    let docker = sandbox_at(&host, folder.path(), folder.path());
    let told = docker.survey().await.unwrap_err();
    assert!(told.contains("accepts no connections"), "{told}");
    drop((listener, waiting));
    // In pieces, a right answer is right.
    let stage = Stage::new();
    stage.daemon.dribble();
    stage.docker.survey().await.unwrap();
}
