//! Changes by terminal and signals are in the audit, by name and never by value.

use std::path::Path;

use aethon_tests::{Server, eventually, home, program, run, run_cli};
use rustix::process::Signal;
use serde_json::Value;

const VALUE: &str = "a-value-that-nobody-may-read";

/// Runs a command that has to succeed; returns its output.
fn cli(home: &Path, arguments: &[&str], input: Option<&str>) -> String {
    let output = run_cli(home, arguments, input);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    assert!(!errors.contains("not in the audit"), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The rows as action, subject, outcome and by whom, the newest first.
fn rows(home: &Path) -> Vec<[String; 4]> {
    let printed = cli(home, &["audit", "--json", "--limit", "1000"], None);
    assert!(!printed.contains(VALUE), "{printed}");
    words_of(&serde_json::from_str(&printed).unwrap())
}

fn words_of(audit: &Value) -> Vec<[String; 4]> {
    let words =
        |row: &Value| ["action", "subject", "outcome", "by"].map(|key| row[key].as_str().unwrap().to_owned());
    audit["audit"].as_array().unwrap().iter().map(words).collect()
}

fn newest(home: &Path) -> [String; 4] {
    rows(home).into_iter().next().expect("a row")
}

/// The files of the home, changed beside a daemon or without one.
fn change_files(home: &Path) {
    cli(home, &["config", "set", "webhook.secret", VALUE], None);
    assert_eq!(newest(home), ["config", "webhook.secret", "set", "terminal"]);
    cli(home, &["config", "unset", "webhook.secret"], None);
    assert_eq!(newest(home), ["config", "webhook.secret", "unset", "terminal"]);
    let script = home.join("editor.sh");
    std::fs::write(
        &script,
        format!("printf '[model]\\nprovider = \"fake\"\\n[webhook]\\nsecret = \"{VALUE}\"\\n' > \"$1\"\n"),
    )
    .unwrap();
    let mut edit = program("aethon-cli", home);
    let edited = run(edit.args(["config", "edit"]).env("EDITOR", format!("sh {}", script.display())), None);
    assert!(edited.status.success(), "{edited:?}");
    assert_eq!(newest(home), ["config", "webhook.secret", "edited", "terminal"]);
    cli(home, &["config", "unset", "webhook.secret"], None);
    cli(home, &["secrets", "set", "garden"], Some(VALUE));
    assert_eq!(newest(home), ["secret", "garden", "stored", "terminal"]);
    cli(home, &["secrets", "rm", "garden", "--yes"], None);
    assert_eq!(newest(home), ["secret", "garden", "removed", "terminal"]);
}

#[test]
fn audit_has_terminal_changes_with_and_without_a_daemon() {
    let home = home();
    let path = home.path();
    // Nothing is kept here yet, and a setting alone makes no database.
    cli(path, &["config", "set", "model.provider", "fake"], None);
    assert!(!path.join("aethon.db").exists());

    let server = Server::start_in(home.clone(), &[]);
    change_files(path);
    drop(server);
    change_files(path);

    let ask = ["--set", "model.provider=fake", "ask", "hello", "--session", "gone"];
    cli(path, &ask, None);
    cli(path, &["sessions", "rm", "gone", "--yes"], None);
    assert_eq!(newest(path), ["deletion", "sessions/webchat:gone", "done", "terminal"]);
    let added = cli(path, &["memory", "add", "Ada likes tea.", "--json"], None);
    let added: Value = serde_json::from_str(&added).unwrap();
    let id = added["id"].as_str().or(added["memory"]["id"].as_str()).expect("an id");
    cli(path, &["memory", "rm", id, "--yes"], None);
    assert_eq!(newest(path)[..3], ["deletion".to_owned(), format!("memory/{id}"), "done".to_owned()]);
    cli(path, &["jobs", "add", "--id", "news", "--cron", "@yearly", "--prompt", "hello"], None);
    cli(path, &["jobs", "rm", "news", "--yes"], None);
    assert_eq!(newest(path), ["deletion", "scheduler/jobs/news", "done", "terminal"]);
    let telegram = ["channels.telegram.enabled=true", "channels.telegram.token=1:abc"];
    let sets = telegram.iter().flat_map(|set| ["--set", set]);
    let pair: Vec<&str> = sets.chain(["channels", "pair", "telegram", "--json"]).collect();
    let code: Value = serde_json::from_str(&cli(path, &pair, None)).unwrap();
    assert_eq!(newest(path), ["pairing", "telegram", "code_made", "terminal"]);
    let all = format!("{:?}", rows(path));
    assert!(!all.contains(code["code"].as_str().unwrap()), "a code lets somebody in: {all}");
}

#[test]
fn change_succeeds_although_its_audit_row_fails() {
    let home = home();
    std::fs::write(home.path().join("aethon.db"), "this is no database, and long enough to be read as one")
        .unwrap();
    let output = run_cli(home.path(), &["config", "set", "webhook.secret", VALUE], None);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.contains("not in the audit"), "{errors}");
    assert!(!errors.contains(VALUE), "{errors}");
    let file = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    assert!(file.contains(VALUE), "{file}");
}

#[test]
fn a_reload_by_a_signal_is_in_the_audit_and_in_the_log() {
    let home = home();
    let write = |rest: &str| {
        let text = format!("[channels.webchat]\nport = 0\n[model]\nprovider = \"fake\"\n{rest}");
        std::fs::write(home.path().join("config.toml"), text).unwrap();
    };
    write("");
    let server = Server::start_command(home.clone(), program("aethon-server", home.path()));
    let reload = |rest: &str, expected: [&str; 4]| {
        write(rest);
        server.signal(Signal::HUP);
        eventually("the row", || {
            let audit = server.get("/api/audit").json();
            assert!(!audit.to_string().contains(VALUE), "{audit}");
            words_of(&audit).iter().any(|row| *row == expected).then_some(())
        });
    };
    reload(
        &format!("[webhook]\nsecret = \"{VALUE}\"\n"),
        ["config", "webhook.secret", "taken_over", "signal"],
    );
    reload(&format!("[webhook]\nsecret = {VALUE}\n"), ["config", "config.toml", "refused", "signal"]);
    let log = server.stderr();
    let is_row = |line: &&str| line.contains("INFO") && line.contains("audit") && line.contains("signal");
    assert_eq!(log.lines().filter(is_row).count(), 2, "{log}");
}
