//! Commands as real processes: their environment, their reports, and that all of them end.
//!
//! For the crash of the program the test program itself is the program: it is started again for one of the tests that
//! are ignored otherwise, and killed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]
#![expect(
    clippy::disallowed_methods,
    reason = "the test starts itself as a child and tells it where to write"
)]

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aethon_core::ids::TurnId;
use aethon_core::message::ToolCall;
use aethon_core::sandbox::Sandbox;
use aethon_core::surface::{Surface, ToolState, TurnEvent};
use aethon_core::tool::{Tool, ToolContext, ToolError};
use aethon_tools::{CommandSlots, Options, ShellOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

const FOLDER: &str = "SHELL_TEST_FOLDER";
/// Long enough that a process which ends by itself cannot pass for one that was ended.
const LONG: &str = "1000";

/// The output shown of running calls.
#[derive(Default)]
struct Recorded(Mutex<Vec<ToolState>>);

impl Surface for Recorded {
    fn emit(&self, _turn: &TurnId, event: TurnEvent) {
        if let TurnEvent::Tool(state) = event {
            self.0.lock().unwrap().push(state);
        }
    }

    fn is_attended(&self) -> bool {
        false
    }
}

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
        let shell = shell(folder.path(), change);
        Self { folder, shell }
    }

    async fn call(&self, input: Value) -> Result<String, ToolError> {
        self.shell.call(&context(), input).await.map(|output| output.to_text())
    }

    async fn run(&self, command: &str) -> String {
        self.call(json!({"command": command})).await.unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn shell(folder: &Path, change: impl FnOnce(&mut Options)) -> Arc<dyn Tool> {
    let path = std::env::var("PATH").ok();
    let shell = ShellOptions::default().with(|options| {
        options.path = path;
        options.home = Some(folder.into());
    });
    let mut options = Options::default().with(|options| {
        options.workspace = folder.into();
        options.shell = shell;
    });
    change(&mut options);
    common::tool(&options, "shell")
}

fn context() -> ToolContext {
    common::context(12_000)
}

/// Looks until there is something to see, with a deadline.
fn eventually<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(begun.elapsed() < limit, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The processes whose numbers stand in the file, once there are so many.
fn processes(file: &Path, count: usize) -> Vec<u32> {
    eventually("the processes have started", Duration::from_secs(20), || {
        let text = std::fs::read_to_string(file).ok()?;
        let numbers: Vec<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
        (numbers.len() >= count).then_some(numbers)
    })
}

/// Whether a process runs; one that only waits to be reaped does not.
fn runs(pid: u32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !status.rsplit(')').next().unwrap_or_default().trim_start().starts_with(['Z', 'X'])
}

fn assert_gone(pids: &[u32], limit: Duration) {
    eventually("all processes are gone", limit, || pids.iter().all(|pid| !runs(*pid)).then_some(()));
}

/// A command whose processes write their numbers into the file `pids`: the shell, a child, a grandchild in a subshell, one
/// in a session of its own, and one that was forked twice and left its group.
fn family() -> String {
    format!(
        "echo $$ >> pids; sleep {LONG} & echo $! >> pids; (sleep {LONG} & echo $! >> pids; wait) & \
         setsid sh -c 'echo $$ >> pids; exec sleep {LONG}' & \
         (setsid sh -c 'trap \"\" HUP TERM; sleep {LONG} & echo $! >> pids; echo $$ >> pids; wait' >/dev/null 2>&1 &) ; "
    )
}

const FAMILY: usize = 6;

#[tokio::test]
async fn output_and_exit_status_are_reported() {
    let stage = Stage::new();
    for (command, expected) in [
        ("echo hi", "hi\n[exit status 0]"),
        ("true", "[no output]\n[exit status 0]"),
        ("echo out; echo err >&2; echo more; exit 7", "out\nerr\nmore\n[exit status 7]"),
        ("printf 'no end'", "no end\n[exit status 0]"),
        ("kill -TERM $$", "[no output]\n[killed by signal 15]"),
        ("printf 'a\\0b and so on'", "a\\x00b and so on\n[exit status 0]"),
        ("printf '\\033[1mbold\\033[0m'", "bold\n[exit status 0]"),
        ("cat <<END\n$((1 + 1))\nEND", "2\n[exit status 0]"),
        ("sleep 1.1", "[no output]\n[exit status 0 after 1 s]"),
    ] {
        assert_eq!(stage.run(command).await, expected, "{command}");
    }
    let absent = stage.run("surely-no-such-program").await;
    assert!(absent.contains("not found") && absent.ends_with("[exit status 127]"), "{absent}");
    assert!(stage.run("head -c 100000 /dev/urandom").await.contains("that are no text"));
}

#[tokio::test]
async fn commands_run_in_the_workspace_or_a_given_folder() {
    let stage = Stage::new();
    let root = stage.folder.path().canonicalize().unwrap();
    std::fs::create_dir(stage.path("below")).unwrap();
    std::fs::write(stage.path("file"), "").unwrap();
    assert_eq!(stage.run("pwd").await, format!("{}\n[exit status 0]", root.display()));
    let below = stage.call(json!({"command": "pwd -P", "cwd": "below"})).await.unwrap();
    assert_eq!(below, format!("{}/below\n[exit status 0]", root.display()));
    assert!(stage.call(json!({"command": "pwd", "cwd": "/"})).await.unwrap().starts_with("/\n"));
    for cwd in ["absent", "file", "a\0b"] {
        assert!(stage.call(json!({"command": "pwd", "cwd": cwd})).await.is_err(), "{cwd:?}");
    }
    let confined = Stage::with(|options| options.workspace_only = true);
    let refusal = confined.call(json!({"command": "pwd", "cwd": "/"})).await.unwrap_err();
    assert!(refusal.is_denied() && refusal.to_string().contains("security.workspace_only"), "{refusal}");
}

#[tokio::test]
async fn commands_get_an_environment_of_their_own() {
    let stage = Stage::with(|options| options.shell.tmpdir = Some("/tmp".into()));
    let told = stage.run("env; tr '\\0' '\\n' < /proc/self/environ").await;
    let names: BTreeSet<&str> =
        told.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    let expected = ["HOME", "LANG", "PATH", "PWD", "SHELL_CALL_ID", "SHLVL", "TERM", "TMPDIR", "_", "OLDPWD"];
    for name in &names {
        assert!(expected.contains(name), "{name} came from somewhere: {told}");
    }
    assert!(told.contains("TERM=dumb\n") && told.contains("LANG=C.UTF-8\n"), "{told}");
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "this process has something to leak");
}

#[tokio::test]
async fn there_is_nothing_to_read_and_no_terminal() {
    let stage = Stage::new();
    assert_eq!(stage.run("cat; echo done").await, "done\n[exit status 0]");
    assert!(stage.run("echo x > /dev/tty || echo none").await.contains("none\n"));
    std::fs::write(stage.path("secret.txt"), "").unwrap();
    let _open = std::fs::File::open(stage.path("secret.txt")).unwrap();
    let told = stage.run("ps -o pid=,pgid=,sid= -p $$ | tr -s ' '; ls -l /proc/self/fd").await;
    let numbers: Vec<&str> = told.lines().next().unwrap().split_whitespace().collect();
    assert!(numbers.iter().all(|number| *number == numbers[0]), "a session of its own: {told}");
    assert!(!told.contains("secret.txt"), "no file of the program is handed down: {told}");
}

#[tokio::test]
async fn those_who_watch_see_the_output_while_it_comes_and_no_secret() {
    let stage = Stage::with(|_| {});
    let surface = Arc::new(Recorded::default());
    let call = ToolCall { id: "c1".into(), name: "shell".into(), input: json!({}), opaque: None };
    let context = common::watched(12_000, surface.clone()).for_call(&call);
    // It ends when the test has seen the earlier output.
    let gate = stage.path("gate");
    let command = format!(
        "echo begun; echo token=sk-abcdefghijklmnopqrstuvwxyz012345; until [ -e '{}' ]; do sleep 0.02; done; echo ended",
        gate.display()
    );
    let running = tokio::spawn(async move {
        stage.shell.call(&context, json!({"command": command})).await.map(|output| output.to_text())
    });
    let seen = tokio::task::spawn_blocking(move || {
        eventually("the output is shown", Duration::from_secs(20), || {
            surface.0.lock().unwrap().first().cloned()
        })
    });
    let seen = seen.await.unwrap();
    assert_eq!((seen.call.as_str(), seen.name.as_str()), ("c1", "shell"));
    let output = seen.output.unwrap();
    assert!(
        output.starts_with("begun\n") && !output.contains("sk-abc") && !output.contains("ended"),
        "{output}"
    );
    std::fs::write(gate, "").unwrap();
    assert!(running.await.unwrap().unwrap().contains("ended\n[exit status 0"));
}

#[tokio::test]
async fn an_endless_output_is_kept_in_bounds() {
    let stage = Stage::new();
    let told = stage.run("echo first; yes | head -c 100000000; echo last").await;
    assert!(told.starts_with("first\ny\n") && told.contains("y\nlast\n[exit status 0"), "{told}");
    assert!(told.contains("bytes were left out here") && told.len() < (4 << 20) + 1_000, "{}", told.len());
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 80_000, "{peak} KiB");
}

#[tokio::test]
async fn background_processes_do_not_delay_the_call_and_end_with_it() {
    let stage = Stage::new();
    let begun = Instant::now();
    let told = stage.run(&format!("{} echo started", family())).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(told.contains("started\n[its background processes were ended]\n"), "{told}");
    let pids = processes(&stage.path("pids"), 1);
    assert_gone(&pids, Duration::from_secs(2));
    // One that writes without end into the pipe is no reason to wait either.
    let told = stage.run("yes & echo over >&2").await;
    assert!(told.ends_with("[exit status 0]") && begun.elapsed() < Duration::from_secs(10), "{told}");
}

#[tokio::test]
async fn when_its_time_is_up_everything_is_killed() {
    let stage = Stage::new();
    let begun = Instant::now();
    let command = format!("{} echo waiting; wait", family());
    let error = stage.call(json!({"command": command, "timeout_seconds": 1})).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let told = error.to_string();
    assert!(told.starts_with("waiting\n[not done after 1 s") && !error.is_denied(), "{told}");
    assert_gone(&processes(&stage.path("pids"), FAMILY), Duration::from_secs(2));
}

#[tokio::test]
async fn the_longest_time_is_set_by_the_owner() {
    let stage = Stage::with(|options| options.shell.max_timeout = Duration::from_secs(1));
    let begun = Instant::now();
    let error = stage.call(json!({"command": "sleep 60", "timeout_seconds": 3600})).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(4) && error.to_string().contains("after 1 s"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_kills_all_within_a_second() {
    let stage = Stage::new();
    let tool = stage.shell.clone();
    let command = format!("{} wait", family());
    let call = tokio::spawn(async move { tool.call(&context(), json!({"command": command})).await });
    let file = stage.path("pids");
    let pids = tokio::task::spawn_blocking(move || processes(&file, FAMILY)).await.unwrap();
    assert!(pids.iter().all(|pid| runs(*pid)), "{pids:?}");
    call.abort();
    assert_gone(&pids, Duration::from_secs(1));
}

#[tokio::test]
async fn a_call_that_is_dropped_at_once_starts_nothing() {
    let stage = Stage::new();
    for number in 0..20 {
        let command = json!({"command": format!("sleep 0.3; echo ran > ran{number}")});
        let call = stage.call(command);
        let _ = tokio::time::timeout(Duration::from_micros(number * 300), call).await;
    }
    let told = stage.run("sleep 1; ls").await;
    assert!(told.starts_with("[no output]"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resources_of_commands_are_bounded() {
    let stage = Stage::new();
    if !cfg!(target_os = "linux") {
        return;
    }
    // So much more than there are, of everything but the memory.
    let told = stage.run("cat /proc/self/limits; echo score $(cat /proc/self/oom_score_adj)").await;
    let limit = |name: &str| -> u64 {
        let line =
            told.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {told}"));
        line[name.len()..].split_whitespace().next().unwrap().parse().unwrap_or(u64::MAX)
    };
    assert_eq!(limit("Max file size"), 16 << 30, "{told}");
    assert!(limit("Max processes") < 1 << 22, "{told}");
    assert!(told.contains("score 500"), "{told}");
}

#[tokio::test]
async fn so_many_at_once_do_not_wait_for_each_other() {
    let stage = Arc::new(Stage::with(|options| options.commands = CommandSlots::of(20)));
    let begun = Instant::now();
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let stage = stage.clone();
            tokio::spawn(async move { stage.run(&format!("sleep 1; echo {number}")).await })
        })
        .collect();
    for (number, call) in calls.into_iter().enumerate() {
        assert!(call.await.unwrap().starts_with(&format!("{number}\n")));
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn nothing_runs_outside_of_the_sandbox_when_there_is_to_be_one() {
    let stage = Stage::with(|options| options.shell.sandbox = Sandbox::Docker);
    let refusal = stage.call(json!({"command": "echo ran > ran"})).await.unwrap_err();
    assert!(refusal.to_string().contains("security.sandbox"), "{refusal}");
    assert!(!stage.path("ran").exists());
}

#[tokio::test]
async fn invalid_arguments_are_explained() {
    let stage = Stage::new();
    for input in [
        json!({"command": "  "}),
        json!({"command": "a\0b"}),
        json!({"command": 7}),
        json!({"command": "true", "timeout_seconds": "soon"}),
        json!({"command": "x".repeat(200_000)}),
    ] {
        let error = stage.call(input).await.unwrap_err();
        assert!(error.to_string().contains("command") || error.to_string().contains("arguments"), "{error}");
    }
}

#[tokio::test]
#[ignore = "a child of the test below"]
async fn runs_a_family_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let shell = shell(&folder, |_| {});
    let _ = shell.call(&context(), json!({"command": format!("{} wait", family())})).await;
}

#[test]
fn a_crash_of_the_program_ends_its_commands() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "runs_a_family_until_it_is_killed", "--ignored", "--test-threads=1"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pids = processes(&folder.path().join("pids"), FAMILY);
    assert!(pids.iter().all(|pid| runs(*pid)), "{pids:?}");
    // `kill` sends SIGKILL.
    program.kill().unwrap();
    program.wait().unwrap();
    assert_gone(&pids, Duration::from_secs(2));
}
