//! Upgrades: homes of released formats, who may upgrade them, and the way back.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;

use aethon_tests::{Server, eventually, home, program, run_cli, run_server};
use flate2::read::GzDecoder;
use serde_json::Value;
use tempfile::TempDir;

/// The formats of which a home is kept in `tests/homes`.
pub(crate) const FORMATS: [u32; 2] = [5, 17];

/// The format of this version.
const CURRENT: u32 = 22;

/// A home as the release with this format left it.
pub(crate) fn released(format: u32) -> Arc<TempDir> {
    let home = home();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("homes/format{format}.db.gz"));
    let mut database = Vec::new();
    GzDecoder::new(File::open(packed).unwrap()).read_to_end(&mut database).unwrap();
    fs::write(database_of(&home), database).unwrap();
    home
}

fn database_of(home: &TempDir) -> PathBuf {
    home.path().join("aethon.db")
}

fn cli(home: &TempDir, arguments: &[&str]) -> Output {
    run_cli(home.path(), arguments, Some(""))
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[track_caller]
fn json_of(home: &TempDir, arguments: &[&str]) -> Value {
    let output = cli(home, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The format of a home, as `upgrade --dry-run` sees it.
#[track_caller]
fn format_of(home: &TempDir) -> u64 {
    let plan = json_of(home, &["upgrade", "--dry-run", "--json"]);
    plan["plan"]["from"].as_u64().unwrap_or(CURRENT.into())
}

/// Checks that everything is there that the home of a format held, and nothing else.
#[track_caller]
fn assert_complete(home: &TempDir, format: u32) {
    let sessions = json_of(home, &["sessions", "list", "--json"]);
    assert_eq!(sessions["count"], 3, "{sessions}");
    assert_kept(home, format);
}

/// Checks that everything is there that the home of a format held.
#[track_caller]
pub(crate) fn assert_kept(home: &TempDir, format: u32) {
    let shown = text(&cli(home, &["sessions", "show", "webchat:default"]));
    for words in ["an armadillo", "It has a shell.", "and where?", "In the south."] {
        assert!(shown.contains(words), "{words} is not in {shown}");
    }
    assert!(text(&cli(home, &["sessions", "show", "webhook:release-5"])).contains("answered"));
    if format >= 17 {
        let memories = text(&cli(home, &["memory", "search", "tea"]));
        assert!(memories.contains("The owner drinks green tea"), "{memories}");
        assert!(text(&cli(home, &["jobs", "list"])).contains("morning"));
        assert!(text(&cli(home, &["audit"])).contains("sessions/webchat:removed"));
    }
}

#[test]
fn home_of_every_format_is_upgraded_completely() {
    for format in FORMATS {
        let home = released(format);
        let done = json_of(&home, &["upgrade", "--json"]);
        assert_eq!(
            (done["upgraded"]["from"].as_u64(), done["upgraded"]["to"].as_u64()),
            (Some(format.into()), Some(CURRENT.into()))
        );
        assert!(home.path().join(format!("aethon.db.bak-v{format}")).exists());
        assert_complete(&home, format);
        assert!(text(&cli(&home, &["upgrade"])).contains("nothing to do"));
    }
}

#[test]
fn server_start_upgrades_and_runs_queued_messages() {
    for format in FORMATS {
        let server = Server::start_in(released(format), &[]);
        // It was acknowledged days ago, and never begun.
        eventually("the waiting message is answered", || {
            let said = server.said("webchat:waiting");
            said.iter().any(|(_, text)| text == "it only waited").then_some(())
        });
        let home = server.home();
        assert_complete(&home, format);
        let log = server.stderr();
        let first = log.lines().next().unwrap_or_default();
        assert!(
            first.contains("aethon-server starts") && first.contains(&format!("database_format={CURRENT}")),
            "{first}"
        );
        let beside_the_server = text(&cli(&home, &["doctor"]));
        assert!(beside_the_server.contains("--remove-copies"), "{beside_the_server}");
        server.terminate();
        let doctor = text(&cli(&home, &["doctor"]));
        assert!(doctor.contains("default limits hold that came with the upgrade"), "{doctor}");
        assert!(doctor.contains("--remove-copies"), "{doctor}");
    }
}

#[test]
fn other_commands_leave_an_old_home_unchanged_and_name_the_remedy() {
    let home = released(5);
    let before = fs::read(database_of(&home)).unwrap();
    for arguments in [
        &["sessions", "list"][..],
        &["usage"],
        &["memory", "list"],
        &["jobs", "list"],
        &["recordings", "list"],
        &["tasks", "list"],
        &["outbox", "list"],
        &["sop", "list"],
        &["audit"],
        &["channels", "pairings"],
        &["model", "test"],
        &["mcp"],
        &["ask", "hello"],
        &["chat"],
    ] {
        let output = cli(&home, arguments);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        for words in ["format 5", "format 22", "aethon-cli upgrade", "0.3.0", "revision"] {
            assert!(said.contains(words), "{words} is not in what {arguments:?} says: {said}");
        }
    }
    let mcp = program("aethon-mcp", home.path()).stdin(Stdio::null()).output().unwrap();
    assert_eq!(mcp.status.code(), Some(2), "{}", text(&mcp));
    assert!(text(&mcp).contains("aethon-cli upgrade"));
    let doctor = text(&cli(&home, &["doctor"]));
    let check = text(&run_server(home.path(), &["--check"]));
    for said in [&doctor, &check] {
        for words in [
            "has format 5; this program needs format 22",
            "aethon.db.bak-v5",
            "MiB are free",
            "new: long-term memory",
        ] {
            assert!(said.contains(words), "{words} is not in {said}");
        }
    }
    assert_eq!(fs::read(database_of(&home)).unwrap(), before);
    assert!(!home.path().join("aethon.db.bak-v5").exists());
}

#[test]
fn home_held_by_an_older_server_is_not_upgraded() {
    let home = released(5);
    fs::create_dir_all(home.path().join("run")).unwrap();
    // All that such a server holds.
    let lock = File::create(home.path().join("run/server.lock")).unwrap();
    lock.lock().unwrap();
    for output in [cli(&home, &["upgrade"]), run_server(home.path(), &[])] {
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains("another aethon-server is running"), "{}", text(&output));
    }
    let mcp = program("aethon-mcp", home.path()).stdin(Stdio::null()).output().unwrap();
    assert_eq!(mcp.status.code(), Some(2));
    assert_eq!(format_of(&home), 5);
    drop(lock);
    assert!(cli(&home, &["upgrade"]).status.success());
}

#[test]
fn an_upgrade_killed_at_any_point_leaves_a_home_that_upgrades() {
    // The files made from that moment on; the home itself exists at once.
    for moment in ["", "run/server.lock", "aethon.db.bak-v5.partial", "aethon.db.bak-v5", "aethon.db-wal"] {
        let home = released(5);
        let mut child =
            program("aethon-cli", home.path()).arg("upgrade").stdout(Stdio::null()).spawn().unwrap();
        while !home.path().join(moment).exists() && child.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
        let _ = child.kill();
        child.wait().unwrap();
        assert!([5, u64::from(CURRENT)].contains(&format_of(&home)), "{moment}");
        assert!(cli(&home, &["upgrade"]).status.success(), "{moment}");
        assert!(!home.path().join("aethon.db.bak-v5.partial").exists(), "{moment}");
        assert_complete(&home, 5);
    }
}

#[test]
fn the_way_back_works_after_any_end_and_not_under_a_server() {
    let server = Server::start_in(released(17), &[]);
    let home = server.home();
    let copy = home.path().join("aethon.db.bak-v17");
    let restore = |home: &TempDir| cli(home, &["restore", copy.to_str().unwrap(), "--replace"]);
    let refused = restore(&home);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    let (mut chat, mut count) = (server.chat("default"), 0);
    // An idle moment may empty the log; then there is something to put into it again.
    eventually("there is a log at the kill", || {
        count += 1;
        chat.say(&format!("after-{count}"), "!say after the upgrade");
        home.path().join("aethon.db-wal").metadata().is_ok_and(|log| log.len() > 0).then_some(())
    });
    drop(server.kill());
    let restored = restore(&home);
    assert!(restored.status.success(), "{}", text(&restored));
    assert_eq!(format_of(&home), 17);
    assert!(!home.path().join("aethon.db-wal").exists());
    // And forward again, with the data of the copy.
    assert!(cli(&home, &["upgrade"]).status.success());
    assert_complete(&home, 17);
}

#[test]
fn copies_are_removed_only_on_request() {
    let home = released(5);
    let refused = cli(&home, &["upgrade", "--remove-copies", "--yes"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(cli(&home, &["upgrade"]).status.success());
    let copy = home.path().join("aethon.db.bak-v5");
    assert_eq!(cli(&home, &["upgrade", "--remove-copies"]).status.code(), Some(1), "nobody can be asked");
    assert!(copy.exists());
    let removed = json_of(&home, &["upgrade", "--remove-copies", "--yes", "--json"]);
    assert_eq!(removed["removed"].as_array().map(Vec::len), Some(1));
    assert!(!copy.exists());
}

#[test]
fn an_incomplete_copy_and_a_disk_without_room_are_named() {
    let home = released(5);
    let partial = home.path().join("aethon.db.bak-v5.partial");
    fs::write(&partial, "half").unwrap();
    // More than any disk has, and without using any of it.
    File::options().write(true).open(database_of(&home)).unwrap().set_len(1 << 42).unwrap();
    let output = run_server(home.path(), &[]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for words in ["format 5 to 22", "4194320 MiB", "are free", "Nothing was changed"] {
        assert!(said.contains(words), "{words} is not in {said}");
    }
    assert!(!partial.exists());
    let doctor = cli(&home, &["doctor"]);
    assert_eq!(doctor.status.code(), Some(1), "{}", text(&doctor));
    assert!(text(&doctor).contains("free some space"), "{}", text(&doctor));
}

#[test]
fn a_person_at_a_terminal_is_asked() {
    let home = released(5);
    let mut command = program("aethon-cli", home.path());
    let mut terminal = aethon_tests::Terminal::start(command.args(["sessions", "list"]));
    terminal.wait_for_screen("the question", |screen| screen.contains("upgrade it now?"));
    terminal.press("no\r");
    assert_eq!(terminal.end().code(), Some(2));
    assert_eq!(format_of(&home), 5);
    let mut terminal = aethon_tests::Terminal::start(command.args(["--limit", "5"]));
    terminal.wait_for_screen("the question", |screen| screen.contains("upgrade it now?"));
    terminal.press("yes\r");
    assert_eq!(terminal.end().code(), Some(0));
    assert_eq!(format_of(&home), u64::from(CURRENT));
}

#[test]
fn every_program_names_its_format_and_revision() {
    let home = home();
    for name in ["aethon-server", "aethon-cli", "aethon-mcp"] {
        let output = program(name, home.path()).arg("--version").output().unwrap();
        let said = text(&output);
        assert!(said.starts_with(&format!("{name} 0.3.0 (database format {CURRENT}, revision ")), "{said}");
    }
}
