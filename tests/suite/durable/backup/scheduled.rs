//! Backups while the server runs: scheduled ones, those on request, and those made under load.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use aethon_tests::socket::spoken;
use aethon_tests::{Server, eventually, home, run_cli, run_server};
use serde_json::{Value, json};

use super::{SECRET, assert_furnished, cli, furnished, mode, said, text};

#[test]
fn scheduled_backups_are_made_and_pruned_and_reported() {
    let home = furnished();
    let backups = home.path().join("backups");
    let first = cli(home.path(), &["backup", "--json"], None);
    let first: Value = serde_json::from_str(&first).unwrap();
    let made = PathBuf::from(first["file"].as_str().unwrap());
    for year in ["2020", "2021", "2022"] {
        fs::copy(&made, backups.join(format!("aethon-{year}1127T030000Z.zip"))).unwrap();
    }
    fs::remove_file(&made).unwrap();
    fs::write(backups.join("notes.txt"), "mine").unwrap();
    let settings = ["backup.schedule=@daily", "backup.keep=2"];
    let doctor = run_cli(home.path(), &["doctor", "--json", "--set", settings[0]], None);
    let doctor: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let finding =
        doctor["findings"].as_array().unwrap().iter().find(|finding| finding["area"] == "backup").unwrap();
    assert_eq!(finding["health"], "warning", "{finding}");
    assert!(finding["message"].as_str().unwrap().contains("2022-11-27"), "{finding}");

    // The last one is years old, so one is due at the start.
    let server = Server::start_in(home.clone(), &settings);
    let list = || server.get("/api/backups").json();
    let listed = eventually("the backup that was missed is made", || {
        let listed = list();
        (listed["running"] == false && listed["backups"].as_array()?.len() == 2).then_some(listed)
    });
    assert_eq!(listed["backups"][1]["name"], "aethon-20221127T030000Z.zip", "{listed}");
    assert_eq!((&listed["backups"][0]["ok"], &listed["last_error"]), (&json!(true), &Value::Null));
    assert_eq!(listed["last_good"], listed["backups"][0]);
    assert!(listed["next_at"].as_str().unwrap() > listed["last_good"]["created_at"].as_str().unwrap());
    assert!(backups.join("notes.txt").exists());
    let row = eventually("the row tells of it", || {
        Some(server.feature("backup")).filter(|row| row["state"] == "on")
    });
    assert!(row["detail"].as_str().unwrap().contains("@daily"), "{row}");

    // One on request.
    let started = server.post("/api/backups", &json!({}));
    assert_eq!(started.status, 202, "{}", started.text());
    eventually("the backup that was wanted is made", || {
        let listed = list();
        let is_new =
            !listed["backups"].as_array()?.iter().any(|one| one["name"] == "aethon-20221127T030000Z.zip");
        (is_new && listed["running"] == false).then_some(())
    });
    eventually("the audit names who made them", || {
        let audit = server.get("/api/audit?action=backup").json();
        let rows = audit["audit"].as_array()?.iter();
        let by: Vec<&str> = rows.filter_map(|row| row["by"].as_str()).collect();
        (by.contains(&"the schedule") && by.contains(&"127.0.0.1")).then_some(())
    });
    let newest = backups.join(list()["backups"][0]["name"].as_str().unwrap());
    assert_eq!(mode(&newest), 0o600);
    assert_eq!(server.terminate().code(), Some(0));
    let away = tempfile::tempdir().unwrap();
    let at = away.path().join("home");
    cli(&at, &["restore", text(&newest)], None);
    cli(&at, &["secrets", "set", "HOOK"], Some(SECRET));
    assert_furnished(&home, &at);
}

#[test]
fn a_scheduled_backup_that_fails_is_reported() {
    let home = furnished();
    fs::write(home.path().join("in-the-way"), "a file").unwrap();
    let server = Server::start_in(home, &["backup.schedule=@daily", "backup.dir=in-the-way/backups"]);
    let row = eventually("the failure is printed", || {
        Some(server.feature("backup")).filter(|row| row["state"] == "degraded")
    });
    assert!(row["detail"].as_str().unwrap().contains("in-the-way"), "{row}");
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn invalid_backup_keys_are_refused_at_start() {
    let rows = [
        (&["backup.schedule=every night"][..], "backup.schedule"),
        (&["backup.keep=0"], "backup.keep"),
        (&["backup.recipient=age1nobody"], "backup.recipient"),
        (&["backup.with_secrets=true"], "backup.with_secrets"),
    ];
    for (settings, words) in rows {
        let home = home();
        let sets: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        let output = run_server(home.path(), &[&["--check"], &sets[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{settings:?}: {}", said(&output));
        assert!(said(&output).contains(words), "{settings:?}: {}", said(&output));
    }
}

/// Backs a home up while clients write, restores it, and looks for everything that was acknowledged before. So many times.
fn rounds(count: usize) {
    const WRITERS: usize = 3;
    let server = Server::start(&[]);
    let away = tempfile::tempdir().unwrap();
    let (is_over, next, acknowledged) = (AtomicBool::new(false), AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        let (server, is_over, next, acknowledged) = (&server, &is_over, &next, &acknowledged);
        for writer in 0..WRITERS {
            scope.spawn(move || {
                let mut chat = server.chat(&format!("w{writer}"));
                while !is_over.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let words = format!("answer-{number}.");
                    assert_eq!(
                        spoken(&chat.say(&format!("m{number}"), &format!("!sleep 100\n!say {words}"))),
                        words
                    );
                    acknowledged.lock().unwrap().push((format!("webchat:w{writer}"), words));
                }
            });
        }
        for round in 0..count {
            eventually("something is written meanwhile", || {
                (acknowledged.lock().unwrap().len() > round * 3).then_some(())
            });
            let before = acknowledged.lock().unwrap().clone();
            let (file, at) = (away.path().join("b.zip"), away.path().join("home"));
            cli(server.home().path(), &["backup", text(&file)], None);
            cli(&at, &["restore", text(&file)], None);
            for writer in 0..WRITERS {
                let session = format!("webchat:w{writer}");
                let wanted: Vec<&String> =
                    before.iter().filter(|(of, _)| *of == session).map(|(_, words)| words).collect();
                if wanted.is_empty() {
                    continue;
                }
                let kept = cli(&at, &["sessions", "export", &session], None);
                let lost: Vec<_> = wanted.iter().filter(|words| !kept.contains(words.as_str())).collect();
                assert!(lost.is_empty(), "round {round}: {lost:?} is not in the restored {session}");
            }
            fs::remove_file(&file).unwrap();
            fs::remove_dir_all(&at).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn backup_under_load_holds_everything_acknowledged_before() {
    rounds(3);
}

#[test]
#[ignore = "many rounds: `cargo xtask backups`"]
fn many_backups_under_load() {
    let count = std::env::var("AETHON_BACKUP_ROUNDS").ok().and_then(|count| count.parse().ok());
    rounds(count.unwrap_or(50));
}
