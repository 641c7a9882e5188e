//! What those who run the server need: the health check of the program itself, lines for the journal, secrets in files.

use std::fs;
use std::process::{Command, Output};

use aethon_tests::server::server_command;
use aethon_tests::{Server, eventually, home, program, run};
use serde_json::json;

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn health_of_a_server_is_asked_by_the_program_itself() {
    let home = home();
    let ask = || run(program("aethon-server", home.path()).arg("--health"), None);
    let none = ask();
    assert_eq!(none.status.code(), Some(1));
    assert!(words(&none).contains("no server runs on the home"), "{}", words(&none));
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "asking makes no home");
    for settings in [
        &["dashboard.auth_token=the-token-of-health-01"][..],
        &["server.base_path=/aethon"],
        &["channels.webchat.port=-1", "channels.webchat.socket=aethon.sock"],
    ] {
        let server = Server::start_in(home.clone(), settings);
        let asked = ask();
        assert!(asked.status.success(), "{settings:?}: {}", words(&asked));
        assert!(words(&asked).contains(" answers"), "{}", words(&asked));
        // A file that was broken since says nothing about the server that runs.
        fs::write(home.path().join("config.toml"), "[broken").unwrap();
        assert!(ask().status.success());
        fs::remove_file(home.path().join("config.toml")).unwrap();
        server.kill();
        let gone = ask();
        assert_eq!(gone.status.code(), Some(1), "{settings:?}: {}", words(&gone));
    }
}

#[test]
fn lines_for_the_journal_have_priorities_and_no_time() {
    let home = home();
    let usual = server_command(home.path(), &["dashboard.auth_token=short"]);
    let mut shell = Command::new("/bin/sh");
    let script = "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec \"$0\" \"$@\"";
    shell.args(["-c", script]).arg(usual.get_program()).args(usual.get_args());
    shell.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home.path());
    let server = Server::start_command(home.clone(), shell);
    let lines = eventually("it has logged", || {
        let text = server.stderr();
        text.contains("aethon-server starts").then_some(text)
    });
    for line in lines.lines() {
        assert!(["<3>", "<4>", "<6>"].iter().any(|priority| line.starts_with(priority)), "{line}");
        assert!(line[3..].starts_with("aethon"), "the time is the journal's: {line}");
    }
    assert!(lines.lines().any(|line| line.starts_with("<4>")), "a short token is warned about: {lines}");
    let folder = fs::read_dir(home.path().join("logs")).unwrap();
    let file = fs::read_to_string(folder.map(|entry| entry.unwrap().path()).next().unwrap()).unwrap();
    assert!(file.lines().all(|line| line.starts_with("20")), "files keep their time: {file}");
}

#[test]
fn stderr_that_is_not_the_journal_keeps_its_time() {
    let home = home();
    let mut command = server_command(home.path(), &[]);
    command.env("JOURNAL_STREAM", "8:1");
    let server = Server::start_command(home, command);
    let line = eventually("it has logged", || server.stderr().lines().next().map(str::to_owned));
    assert!(line.starts_with("20"), "{line}");
}

#[test]
fn token_in_a_file_protects_and_an_empty_file_is_refused() {
    let (home, secrets) = (home(), tempfile::tempdir().unwrap());
    let file = secrets.path().join("token");
    fs::write(&file, "the-token-of-a-file-01\n").unwrap();
    let setting = format!("dashboard.auth_token=${{file:{}}}", file.display());
    let server = Server::start_in(home.clone(), &[&setting]);
    assert_eq!(server.get("/api/status").status, 401);
    let request = aethon_tests::Request::get("/api/config");
    let answer = server.send(&request.header("Authorization", "Bearer the-token-of-a-file-01"));
    assert_eq!((answer.status, &answer.json()["dashboard"]["auth_token"]), (200, &json!("***")));
    server.kill();
    for (content, expected) in [(Some("\n"), "the file is empty"), (None, "cannot be read")] {
        match content {
            Some(content) => fs::write(&file, content).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let outcome = run(&mut server_command(home.path(), &[&setting]), None);
        assert_eq!(outcome.status.code(), Some(2), "{}", words(&outcome));
        for word in ["dashboard.auth_token", "${file:", expected] {
            assert!(words(&outcome).contains(word), "{word}: {}", words(&outcome));
        }
    }
}
