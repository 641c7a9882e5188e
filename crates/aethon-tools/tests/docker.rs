//! The sandbox of docker against a strict stand-in for the daemon, on a socket of its own: what is asked of it, to the letter, and
//! what becomes of containers. What a real daemon makes of it is in `docs/verification.md`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests and what they share"
)]

mod common;
mod daemon;

use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_core::hook::TurnContext;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::Inbound;
use aethon_core::sandbox::Sandbox;
use aethon_core::surface::Unattended;
use aethon_core::tool::{Tool, ToolContext};
use aethon_tools::{DockerSandbox, Options, SandboxLimits};
use daemon::{Daemon, HOME, OWNER};
use serde_json::{Value, json};
use tempfile::TempDir;

/// An assistant with a home and a workspace, whose commands run in docker.
struct Stage {
    daemon: Daemon,
    folder: TempDir,
    docker: DockerSandbox,
    shell: Arc<dyn Tool>,
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
        Self { shell: common::tool(&options, "shell"), daemon, folder, docker }
    }

    /// What the model is told of a command in this conversation.
    async fn run(&self, session: &str, command: &str) -> Result<String, String> {
        let input = json!({"command": command, "timeout_seconds": 2});
        let output = self.shell.call(&context(session), input).await;
        output.map(|output| output.to_text()).map_err(|error| error.to_string())
    }

    fn real(&self, path: &str) -> String {
        self.folder.path().canonicalize().unwrap().join(path).display().to_string()
    }
}

fn sandbox(daemon: &Daemon, folder: &TempDir) -> DockerSandbox {
    DockerSandbox::new(&daemon.host(), limits(), folder.path(), &folder.path().join("workspace"))
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
            "Tmpfs": {"/tmp": "rw,nosuid,nodev,mode=1777,size=67108864"},
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
        "AttachStdout": true, "AttachStderr": true, "Cmd": ["/bin/sh", "-c", "say"], "WorkingDir": workspace,
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
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    until_left(&stage.daemon, 0).await;
    // Stopping drops the call.
    let shell = stage.shell.clone();
    let call = tokio::spawn(async move { shell.call(&context("a"), json!({"command": "hang"})).await });
    let end = Instant::now() + Duration::from_secs(20);
    while stage.daemon.executed().iter().filter(|one| one["Cmd"][2] == "hang").count() < 2 {
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

#[tokio::test]
async fn what_a_command_leaves_running_holds_nothing_up_and_is_ended() {
    let stage = Stage::new();
    let told = stage.run("a", "leave").await.unwrap();
    assert_eq!(told, "done\n[exit status 0]");
    assert!(stage.daemon.executed().iter().any(|one| one["Cmd"][2] == "kill -KILL -1"), "it is swept");
    assert_eq!(stage.run("a", "say").await.unwrap(), "hello\nworse\nend\n[exit status 3]");
    assert_eq!(stage.daemon.containers(), 1, "the container is used again");
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
async fn a_container_that_has_gone_is_replaced_and_what_goes_wrong_is_said() {
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
    assert_eq!(stage.daemon.containers(), 0, "what cannot be started is not left there");

    let stage = Stage::new();
    stage.daemon.hang_up();
    let told = stage.run("a", "say").await.unwrap_err();
    assert!(told.contains("the docker daemon does not answer"), "{told}");
}
