//! The same assistant on a PostgreSQL server: `storage.url`.

use std::process::Output;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_postgres::testkit;
use aethon_tests::server::server_command;
use aethon_tests::{Server, eventually, home, program, run, run_cli, run_server};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A home whose data is on a server, and the address of its database.
fn on_server() -> (Arc<TempDir>, String) {
    let url = testkit::database_blocking();
    let home = home();
    configure(&home, &url);
    (home, url)
}

fn configure(home: &TempDir, url: &str) {
    let config = format!("[model]\nprovider = \"fake\"\n[storage]\nurl = \"{url}\"\n");
    std::fs::write(home.path().join("config.toml"), config).expect("the configuration is written");
}

fn said(server: &Server, session: &str) -> Vec<String> {
    server.said(session).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn command_that_changes_a_file_is_in_the_audit_on_the_server() {
    let (home, _) = on_server();
    let stored =
        run_cli(home.path(), &["secrets", "set", "garden"], Some("a-word-that-only-the-garden-knows"));
    assert!(stored.status.success(), "{stored:?}");
    let audit = run_cli(home.path(), &["audit", "--json"], None);
    let audit: Value =
        serde_json::from_slice(&audit.stdout).unwrap_or_else(|error| panic!("{error}: {audit:?}"));
    let newest = &audit["audit"][0];
    assert_eq!((&newest["subject"], &newest["outcome"]), (&json!("garden"), &json!("stored")), "{audit}");
}

#[test]
fn assistant_runs_on_a_server_and_keeps_its_data_over_a_restart() {
    let (home, _) = on_server();
    let server = Server::start_in(home, &[]);
    assert_eq!(server.get("/api/ready").status, 200);
    server.chat("default").say("m1", "!say one");
    server.chat("other").say("m1", "!say two");
    let memory = json!({"content": "The rent is paid on the 5th.", "category": "money"});
    assert_eq!(server.post("/api/memory", &memory).status, 201);
    let job = json!({"job_id": "tea", "cron": "0 8 * * *", "prompt": "!say tea", "channel": "webchat", "recipient": "default"});
    let made = server.post("/api/scheduler/jobs", &job);
    assert_eq!(made.status, 201, "{}", made.text());
    // A command beside the daemon sees the same.
    let asked = run_cli(server.home().path(), &["ask", "--session", "default", "!say three"], None);
    assert!(asked.status.success(), "{asked:?}");
    let home = server.home();
    assert!(server.terminate().success());
    assert!(!home.path().join("aethon.db").exists(), "nothing of it is in the home");

    let server = Server::start_in(home, &[]);
    assert_eq!(said(&server, "webchat:default"), ["!say one", "one", "!say three", "three"]);
    assert_eq!(said(&server, "webchat:other"), ["!say two", "two"]);
    let found = server.get("/api/memory?q=rent").json();
    assert_eq!(found["entries"][0]["content"], "The rent is paid on the 5th.", "{found}");
    assert_eq!(server.get("/api/scheduler/jobs").json()["jobs"].as_array().map(Vec::len), Some(1));
    let hits = server.get("/api/search?q=thr").json();
    assert_eq!(hits["hits"].as_array().or(hits["results"].as_array()).map(Vec::len), Some(2), "{hits}");
    assert_eq!(server.feature("storage")["state"], "on");
}

#[test]
fn turn_that_a_kill_interrupted_is_answered_after_the_restart() {
    let (home, _) = on_server();
    let server = Server::start_in(home, &[]);
    let mut chat = server.chat("default");
    chat.say("m1", "!say before");
    chat.send_json(&json!({"type": "message", "id": "m2", "text": "!sleep 4000\n!say begun"}));
    chat.until("ack");
    eventually("the question is stored", || (said(&server, "webchat:default").len() >= 3).then_some(()));
    // Its own lease does not hold it up: it comes back at once.
    let begun = Instant::now();
    let server = Server::start_in(server.kill(), &[]);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    // It had said nothing yet, so it is begun again.
    let replied = || said(&server, "webchat:default").last().is_some_and(|last| last == "begun");
    eventually("the turn is answered", || replied().then_some(()));
    server.chat("default").say("m3", "!say after");
    let said = said(&server, "webchat:default");
    assert_eq!(said.last().map(String::as_str), Some("after"), "{said:?}");
}

#[test]
fn dead_address_is_refused_without_its_password() {
    let (home, url) = on_server();
    let check = |url: &str, words: &str| {
        configure(&home, url);
        let refused = run_server(home.path(), &["--set", "channels.webchat.port=0"]);
        let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{errors}");
        assert!(errors.contains(words) && !errors.contains("sesame"), "{errors}");
    };
    check(&url.replace("sesame", "sesame2"), "refused the sign-in");
    check("mysql://ada:sesame@host/x", "storage.url");
    configure(&home, &url.replace("sesame", "sesame2"));
    let doctor = run_cli(home.path(), &["doctor", "--json"], None);
    let report = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(report.contains("refused the sign-in") && !report.contains("sesame"), "{report}");
    configure(&home, &url);
    let doctor = run_cli(home.path(), &["doctor", "--json"], None);
    let report = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(report.contains("the database postgres on 127.0.0.1, format 3"), "{report}");
}

#[test]
fn two_instances_serve_one_assistant_and_a_kill_leaves_everything_to_the_other() {
    let (one, url) = on_server();
    let two = home();
    configure(&two, &url);
    let (one, two) = (Server::start_in(one, &[]), Server::start_in(two, &[]));
    let names = |server: &Server| -> Vec<(String, bool)> {
        let listed = server.get("/api/instances").json();
        let listed = listed["instances"].as_array().cloned().unwrap_or_default();
        let one = |one: &Value| (one["name"].to_string(), one["this"] == json!(true));
        listed.iter().map(one).collect()
    };
    assert_eq!(names(&one).iter().map(|(_, this)| *this).collect::<Vec<_>>(), [true, false]);
    assert_eq!(names(&two).iter().map(|(_, this)| *this).collect::<Vec<_>>(), [false, true]);
    one.chat("default").say("m1", "!say from one");
    two.chat("default").say("m2", "!say from two");
    for server in [&one, &two] {
        assert_eq!(
            said(server, "webchat:default"),
            ["!say from one", "from one", "!say from two", "from two"]
        );
    }
    // A job that the second one is asked for is run by the first, which holds them.
    let job = json!({"job_id": "tea", "cron": "0 8 1 1 *", "prompt": "!say tea", "channel": "webchat", "recipient": "tea"});
    let made = two.post("/api/scheduler/jobs", &job);
    assert_eq!(made.status, 201, "{}", made.text());
    let ended = |server: &Server| {
        let runs = server.get("/api/scheduler/jobs/tea/runs").json();
        let runs = runs["runs"].as_array().cloned().unwrap_or_default();
        runs.iter().filter(|run| run["status"] == "ok").count()
    };
    let asked = two.post("/api/scheduler/jobs/tea/run", &json!({}));
    assert!(asked.status < 300, "{}", asked.text());
    eventually("the job has run", || (ended(&two) == 1).then_some(()));

    // The first one is killed in the middle of a turn.
    let mut chat = one.chat("slow");
    chat.send_json(&json!({"type": "message", "id": "m3", "text": "!sleep 3000\n!say goes on"}));
    chat.until("ack");
    eventually("the question is stored", || (!said(&two, "webchat:slow").is_empty()).then_some(()));
    let killed = Instant::now();
    one.kill();
    let is_answered = || said(&two, "webchat:slow").last().is_some_and(|last| last == "goes on");
    eventually("the turn goes on at the other", || is_answered().then_some(()));
    assert!(killed.elapsed() < Duration::from_secs(20 + 3), "{:?}", killed.elapsed());
    assert_eq!(said(&two, "webchat:slow"), ["!sleep 3000\n!say goes on", "goes on"]);
    assert_eq!(names(&two).len(), 1);
    // It has the jobs now.
    assert!(two.post("/api/scheduler/jobs/tea/run", &json!({})).status < 300);
    eventually("the job has run again", || (ended(&two) == 2).then_some(()));
}

/// Runs `aethon-cli` with the address of a database in a variable.
fn cli_with(home: &TempDir, url: &str, arguments: &[&str]) -> Output {
    run(program("aethon-cli", home.path()).env("DATABASE", url).args(arguments), None)
}

#[test]
fn data_moves_to_a_server_and_back_by_one_command() {
    let server = Server::start(&[]);
    server.chat("default").say("m1", "!say one");
    let memory = json!({"content": "The rent is paid on the 5th.", "category": "money"});
    assert_eq!(server.post("/api/memory", &memory).status, 201);
    let home = server.home();
    let at_home = home.path().display().to_string();
    let url = testkit::database_blocking();
    let copy = |arguments: &[&str]| cli_with(&home, &url, &[&["storage", "copy"], arguments].concat());
    let refused = copy(&["--from", &at_home, "--to", "env:DATABASE"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("stop it first"), "{refused:?}");
    assert!(server.terminate().success());
    let copied = copy(&["--from", &at_home, "--to", "env:DATABASE", "--verify", "--json"]);
    assert!(copied.status.success(), "{copied:?}");
    let copied: Value = serde_json::from_slice(&copied.stdout).expect("JSON");
    assert_eq!((&copied["verified"], &copied["resumed"]), (&json!(true), &json!(false)), "{copied}");

    let elsewhere = self::home();
    configure(&elsewhere, &url);
    let server = Server::start_in(elsewhere, &[]);
    assert_eq!(said(&server, "webchat:default"), ["!say one", "one"]);
    let found = server.get("/api/memory?q=rent").json();
    assert_eq!(found["entries"][0]["content"], "The rent is paid on the 5th.", "{found}");
    assert_eq!(server.get("/api/search?q=one").json()["hits"].as_array().map(Vec::len), Some(2));
    server.chat("default").say("m2", "!say two");
    assert!(server.terminate().success());

    let again = copy(&["--from", "env:DATABASE", "--to", &at_home]);
    assert_eq!(again.status.code(), Some(2), "{again:?}");
    assert!(String::from_utf8_lossy(&again.stderr).contains("is there already"), "{again:?}");
    std::fs::remove_file(home.path().join("aethon.db")).expect("the old database goes");
    let back = copy(&["--from", "env:DATABASE", "--to", &at_home, "--verify"]);
    assert!(back.status.success(), "{back:?}");
    let server = Server::start_in(home.clone(), &[]);
    assert_eq!(said(&server, "webchat:default"), ["!say one", "one", "!say two", "two"]);
    let found = server.get("/api/memory?q=rent").json();
    assert_eq!(found["entries"].as_array().map(Vec::len), Some(1), "{found}");
}

#[test]
fn backup_of_a_home_on_a_server_holds_its_rows_and_a_restore_puts_them_back() {
    let url = testkit::database_blocking();
    let home = self::home();
    configure(&home, "${DATABASE}");
    let mut command = server_command(home.path(), &[]);
    command.env("DATABASE", &url);
    let server = Server::start_command(home.clone(), command);
    server.chat("default").say("m1", "!say kept");
    let file = home.path().join("x.zip").display().to_string();
    // While it runs.
    let made = cli_with(&home, &url, &["backup", &file]);
    assert!(made.status.success(), "{made:?}");
    let words = String::from_utf8_lossy(&made.stdout).into_owned();
    assert!(words.contains("conversations, memories, jobs and usage"), "{words}");
    server.chat("default").say("m2", "!say too late");

    // Its own database is in use, and not empty: nothing is lost, and the command says what to do.
    let restored = self::home();
    let refused = cli_with(&restored, &url, &["restore", &file]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(errors.contains("storage.jsonl") && errors.contains("in use by"), "{errors}");
    assert!(restored.path().join("storage.jsonl").exists());

    // Into an empty one it goes by itself.
    let (restored, empty) = (self::home(), testkit::database_blocking());
    let done = cli_with(&restored, &empty, &["restore", &file]);
    assert!(done.status.success(), "{done:?}");
    assert!(!restored.path().join("storage.jsonl").exists());
    let mut command = server_command(restored.path(), &[]);
    command.env("DATABASE", &empty);
    let server = Server::start_command(restored, command);
    assert_eq!(said(&server, "webchat:default"), ["!say kept", "kept"]);
}
