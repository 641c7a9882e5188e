//! A database beside a log of another one, and a database that is damaged.

use std::fs;

use aethon_tests::socket::spoken;
use aethon_tests::{Server, eventually, run_cli, run_server};
use serde_json::Value;
use tempfile::TempDir;

use super::{cli, furnished, refused, said, text};

/// Kills a server in the middle of its work, so that its log is left with something in it.
fn killed_with_a_log(home: &std::sync::Arc<TempDir>) -> Vec<u8> {
    eventually("a log is left by a kill", || {
        let server = Server::start_in(home.clone(), &[]);
        let mut chat = server.chat("default");
        // With this the database continues from the copy, with a new log.
        chat.say("k", "!say newer");
        let log = home.path().join("aethon.db-wal");
        eventually("the log is emptied", || fs::metadata(&log).is_ok_and(|log| log.len() == 0).then_some(()));
        for number in 0..3 {
            chat.say(&format!("k{number}"), &format!("!say killed {number}"));
        }
        server.kill();
        let log = fs::read(&log).unwrap_or_default();
        (log.len() > 4096).then_some(log)
    })
}

#[test]
fn database_with_a_foreign_log_is_refused_and_can_be_restored() {
    let server = Server::start(&[]);
    assert_eq!(spoken(&server.chat("default").say("one", "!say older")), "older");
    let home = server.home();
    assert_eq!(server.terminate().code(), Some(0));
    let database = home.path().join("aethon.db");
    let older = home.path().join("older.db");
    fs::copy(&database, &older).unwrap();
    let log = killed_with_a_log(&home);
    let newer = fs::read(&database).unwrap();
    // As an owner would put a copy back.
    fs::copy(&older, &database).unwrap();
    let start =
        run_server(home.path(), &["--set", "channels.webchat.port=0", "--set", "model.provider=fake"]);
    assert_eq!(start.status.code(), Some(2), "{}", said(&start));
    assert!(said(&start).contains("aethon.db-wal") && said(&start).contains("restore"), "{}", said(&start));
    assert_eq!(fs::read(home.path().join("aethon.db-wal")).unwrap(), log, "nothing is changed");
    assert_eq!(fs::read(&database).unwrap(), fs::read(&older).unwrap());
    assert!(refused(home.path(), &["backup"], None).contains("aethon.db-wal"));

    // The way back, whatever lies there.
    for (what, content) in
        [("the copy with a foreign log", fs::read(&older).unwrap()), ("the newer one", newer)]
    {
        fs::write(&database, content).unwrap();
        fs::write(home.path().join("aethon.db-wal"), &log).unwrap();
        assert!(refused(home.path(), &["restore", text(&older)], None).contains("--replace"), "{what}");
        let printed = cli(home.path(), &["restore", text(&older), "--replace", "--json"], None);
        let printed: Value = serde_json::from_str(&printed).unwrap();
        let aside = printed["moved_to"].as_str().unwrap().to_owned();
        assert_eq!(
            fs::read(format!("{aside}-wal")).unwrap(),
            log,
            "{what}: the log is kept beside its database"
        );
        let server = Server::start_in(home.clone(), &[]);
        let words: Vec<String> = server.said("webchat:default").into_iter().map(|(_, text)| text).collect();
        assert_eq!(words, ["!say older", "older"], "{what}");
        assert_eq!(server.terminate().code(), Some(0));
    }
    // A home that was killed and nothing else starts as always.
    killed_with_a_log(&home);
    Server::start_in(home, &[]).terminate();
}

#[test]
fn damaged_database_is_repaired_and_the_damaged_file_kept() {
    let home = furnished();
    let database = home.path().join("aethon.db");
    let printed = cli(home.path(), &["doctor", "--repair"], None);
    assert!(printed.contains("intact"), "{printed}");
    // A page in the middle, of whatever it is.
    let mut bytes = fs::read(&database).unwrap();
    let middle = bytes.len() / 4096 / 2;
    bytes[middle * 4096..(middle + 1) * 4096].fill(0x5a);
    fs::write(&database, &bytes).unwrap();
    let output = run_cli(home.path(), &["backup"], None);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("damaged"), "{}", said(&output));
    let output = run_cli(home.path(), &["doctor", "--repair", "--json"], None);
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = printed["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["area"] == "database").unwrap();
    assert_eq!(finding["health"], "ok", "{printed}");
    if let Some(aside) = printed["repair"]["moved_to"].as_str() {
        assert_eq!(fs::read(aside).unwrap(), bytes);
    }
    let server = Server::start_in(home.clone(), &[]);
    assert!(refused(home.path(), &["doctor", "--repair"], None).contains("stop it first"));
    assert_eq!(spoken(&server.chat("default").say("two", "!say goes on")), "goes on");
}
