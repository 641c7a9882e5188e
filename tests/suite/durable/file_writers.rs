//! Several programs change the configuration at the same time, or are killed while they do. Every acknowledged
//! change is in the file, no older copy returns, and no temporary file is left.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use aethon_tests::http::Request;
use aethon_tests::{Server, home, program, run, run_cli};
use rustix::process::Signal;
use serde_json::json;

/// How many changes each writer makes one after the other.
const EACH: usize = 12;

const TOKEN: &str = "a-token-that-is-long-enough";

fn text(home: &Path) -> String {
    std::fs::read_to_string(home.join("config.toml")).unwrap_or_default()
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// `config edit` with a shell script as the editor.
fn edit(home: &Path, name: &str, script: &str) -> Output {
    let editor = home.join(name);
    std::fs::write(&editor, script).unwrap();
    let mut command = program("aethon-cli", home);
    command.args(["config", "edit"]).env("EDITOR", format!("sh {}", editor.display()));
    run(&mut command, None)
}

fn beside(home: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(home).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("config.toml") || name.starts_with(".aethon-new-"));
    names.sort();
    names
}

fn price(writer: usize, change: usize) -> String {
    format!("budget.pricing.w{writer}-{change}")
}

#[test]
fn concurrent_configuration_writers_lose_no_change() {
    let server = Server::start(&[&format!("dashboard.auth_token={TOKEN}")]);
    let (home, start, is_over) = (server.home(), Barrier::new(16), AtomicBool::new(false));
    let by_api = |writer: usize| {
        start.wait();
        for change in 0..EACH {
            let body = json!({ price(writer, change): {"input": 1, "output": 2} }).to_string();
            let request = Request::new("PATCH", "/api/config").header("Content-Type", "application/json");
            let request = request.bearer(TOKEN).header("X-Aethon-Confirm", TOKEN);
            let answer = server.send(&request.body(body));
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
    };
    let by_terminal = |writer: usize| {
        start.wait();
        for change in 0..EACH {
            let key = price(writer, change);
            let output = run_cli(home.path(), &["config", "set", &key, "{ input = 1, output = 2 }"], None);
            assert!(output.status.success(), "{}", words(&output));
        }
    };
    let by_editor = |writer: usize| {
        start.wait();
        for change in 0..EACH {
            let section = format!("[{}]\ninput = 1\noutput = 2\n", price(writer, change));
            let script = format!("cat >> \"$1\" <<'END'\n{section}END\n");
            let output = edit(home.path(), "editor.sh", &script);
            assert!(output.status.success(), "{}", words(&output));
        }
    };
    thread::scope(|scope| {
        let reloads = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                server.signal(Signal::HUP);
                thread::sleep(Duration::from_millis(20));
            }
        });
        let writers: Vec<_> = (0..16)
            .map(|writer| {
                let (by_api, by_terminal, by_editor) = (&by_api, &by_terminal, &by_editor);
                scope.spawn(move || match writer {
                    0..10 => by_api(writer),
                    10..15 => by_terminal(writer),
                    _ => by_editor(writer),
                })
            })
            .collect();
        let ended: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        reloads.join().unwrap();
        ended.into_iter().for_each(|ended| ended.unwrap());
    });
    let text = text(home.path());
    let lost: Vec<String> = (0..16 * EACH)
        .map(|number| price(number / EACH, number % EACH))
        .filter(|key| {
            let name = key.rsplit_once('.').unwrap().1;
            !text.contains(&format!("{name} = {{")) && !text.contains(&format!("[{key}]"))
        })
        .collect();
    assert!(lost.is_empty(), "{} of 192 are lost: {lost:?}", lost.len());
    assert_eq!(beside(home.path()), ["config.toml"]);
}

#[test]
fn killed_writer_leaves_no_lock_and_no_temporary_files() {
    let home = home();
    let home = home.path();
    assert!(run_cli(home, &["config", "set", "agent.loop_limit", "4"], None).status.success());
    for round in 0..24_u64 {
        let mut command = program("aethon-cli", home);
        command.args(["config", "set", &price(0, round as usize), "{ input = 1, output = 2 }"]);
        let mut writer = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The moment of the kill is random; the guarantee is not.
        thread::sleep(Duration::from_millis(2 * round));
        writer.kill().unwrap();
        writer.wait().unwrap();
        assert!(text(home).contains("loop_limit = 4"), "{}", text(home));
        let check = run_cli(home, &["config", "check"], None);
        assert!(check.status.success(), "{}", words(&check));
    }
    // The temporary file of a dead writer.
    std::fs::write(home.join(".aethon-new-0123456789abcdef"), "half a fi").unwrap();
    assert!(run_cli(home, &["config", "set", "agent.loop_limit", "5"], None).status.success());
    assert_eq!(beside(home), ["config.toml"]);
    assert!(text(home).contains("loop_limit = 5"));
}

#[test]
fn editor_keeps_values_set_while_it_was_open() {
    let home = home();
    let home = home.path();
    std::fs::write(home.join("config.toml"), "# mine\n[agent]\nloop_limit = 4 # not more\n").unwrap();
    let cli = program("aethon-cli", home);
    let set = |assignment: &str| {
        let program = cli.get_program().to_string_lossy().into_owned();
        format!("'{program}' --home '{}' config set {assignment} >&2 || exit 9\n", home.display())
    };
    let script = format!("{}sed -i 's/= 4/= 5/; s/mine/ours/' \"$1\"\n", set("approval.enabled true"));
    let output = edit(home, "editor.sh", &script);
    assert!(output.status.success(), "{}", words(&output));
    assert!(words(&output).contains("together with"), "{}", words(&output));
    assert_eq!(text(home), "# ours\n[agent]\nloop_limit = 5 # not more\n\n[approval]\nenabled = true\n");

    let script = format!("{}sed -i 's/= 5/= 6/' \"$1\"\n", set("agent.loop_limit 7"));
    let output = edit(home, "editor.sh", &script);
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    for word in ["agent.loop_limit", "config.toml.refused-1", "-loop_limit = 7", "+loop_limit = 6"] {
        assert!(words(&output).contains(word), "{word}: {}", words(&output));
    }
    assert!(text(home).contains("loop_limit = 7"), "{}", text(home));
    let refused = std::fs::read_to_string(home.join("config.toml.refused-1")).unwrap();
    assert!(refused.contains("loop_limit = 6"), "{refused}");
    assert_eq!(beside(home), ["config.toml", "config.toml.refused-1"]);
}

#[test]
fn editor_without_changes_restores_no_older_copy() {
    let home = home();
    let home = home.path();
    std::fs::write(home.join("config.toml"), "[agent]\nloop_limit = 4\n").unwrap();
    assert_eq!(edit(home, "editor.sh", "exit 3\n").status.code(), Some(1));
    assert_eq!(beside(home), ["config.toml"], "an editor that failed leaves nothing");
    // The refused change is applied the next time, with the values set since.
    let output = edit(home, "editor.sh", "sed -i 's/= 4/= \"many\"/' \"$1\"\n");
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(run_cli(home, &["config", "set", "budget.daily_usd", "7"], None).status.success());
    let output = edit(home, "editor.sh", "exit 0\n");
    assert!(words(&output).contains("nothing was changed"), "{}", words(&output));
    assert!(text(home).contains("daily_usd = 7") && text(home).contains("loop_limit = 4"), "{}", text(home));
    let output = edit(home, "editor.sh", "sed -i 's/\"many\"/9/' \"$1\"\n");
    assert!(output.status.success(), "{}", words(&output));
    assert!(text(home).contains("daily_usd = 7") && text(home).contains("loop_limit = 9"), "{}", text(home));
    assert_eq!(beside(home), ["config.toml"]);
    // A copy of an earlier version, of unknown origin.
    std::fs::write(home.join("config.toml.edit"), "[budget]\ndaily_usd = 0\n").unwrap();
    let output = edit(home, "editor.sh", "exit 0\n");
    assert!(words(&output).contains("config.toml.refused-1"), "{}", words(&output));
    assert!(text(home).contains("daily_usd = 7"), "{}", text(home));
}

#[test]
fn init_numbers_replaced_files() {
    let home = home();
    let home = home.path();
    for number in 1..=3 {
        std::fs::write(home.join("config.toml"), format!("# number {number}\n")).unwrap();
        let output = run_cli(home, &["init", "--force", "--provider", "fake"], None);
        assert!(output.status.success(), "{}", words(&output));
        assert!(words(&output).contains(&format!("config.toml.bak-{number}")), "{}", words(&output));
    }
    let kept = |number: usize| -> PathBuf { home.join(format!("config.toml.bak-{number}")) };
    for number in 1..=3 {
        assert_eq!(std::fs::read_to_string(kept(number)).unwrap(), format!("# number {number}\n"));
    }
}
