//! The home directory: its layout, file modes, lock and versions.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use aethon_tests::server::server_command;
use aethon_tests::{Server, home, run, run_cli};

/// Everything below a folder, the folder included.
fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut at = 0;
    while let Some(path) = found.get(at).cloned() {
        at += 1;
        if path.is_dir() {
            found.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found
}

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn assert_private(home: &Path) {
    for path in all(home) {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{} has mode {:o}", path.display(), mode(&path));
    }
}

/// Runs a program's command under `umask 000`.
fn with_open_umask(command: &std::process::Command) -> std::process::Command {
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", "umask 000; exec \"$0\" \"$@\""]).arg(command.get_program()).args(command.get_args());
    shell.env_clear();
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    shell.stdin(std::process::Stdio::null());
    shell
}

#[test]
fn home_layout_is_private_under_any_umask() {
    let root = home();
    let inner = root.path().join("deep/home");
    let command = with_open_umask(&server_command(&inner, &["logging.level=debug"]));
    let server = Server::start_command(root.clone(), command);
    let mut chat = server.chat("default");
    chat.say("m1", "!tool current_time {}");
    for folder in ["credentials", "workspace", "workspace/sops", "recordings", "logs", "run"] {
        assert!(inner.join(folder).is_dir(), "{folder}");
    }
    assert!(inner.join("aethon.db").is_file());
    assert_private(&inner);
    drop(chat);
    server.terminate();
    assert_private(&inner);

    let secret =
        with_open_umask(aethon_tests::program("aethon-cli", &inner).args(["secrets", "set", "name"]));
    let mut secret = secret;
    assert_eq!(run(&mut secret, Some("value\n")).status.code(), Some(0));
    let mut init =
        with_open_umask(aethon_tests::program("aethon-cli", &inner).args(["init", "--provider", "fake"]));
    assert_eq!(run(&mut init, None).status.code(), Some(0));
    assert!(inner.join("credentials/name").is_file() && inner.join("config.toml").is_file());
    assert_private(&inner);
}

#[test]
fn world_readable_home_is_made_private() {
    let home = home();
    std::fs::set_permissions(home.path(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::create_dir(home.path().join("logs")).unwrap();
    std::fs::set_permissions(home.path().join("logs"), PermissionsExt::from_mode(0o755)).unwrap();
    let server = Server::start_in(home.clone(), &[]);
    assert_eq!(server.get("/health").status, 200);
    assert_private(home.path());
}

#[test]
fn logs_are_kept_in_the_home() {
    let server = Server::start(&[]);
    let home = server.home();
    assert_eq!(server.get("/health").status, 200);
    server.terminate();
    let logs: Vec<PathBuf> =
        all(&home.path().join("logs")).into_iter().filter(|path| path.is_file()).collect();
    assert!(!logs.is_empty());
    let text: String = logs.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert!(text.lines().count() > 0, "something is logged");
}

#[test]
fn a_home_that_cannot_be_used_is_refused() {
    let home = home();
    let file = home.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    let output = run(&mut server_command(&file, &[]), None);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains(&file.display().to_string()), "{words}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "not a folder");
}

#[test]
fn missing_home_is_reported() {
    let parent = home();
    let looks: [&[&str]; 10] = [
        &["sessions", "list"],
        &["sop", "list"],
        &["usage"],
        &["audit"],
        &["memory", "list"],
        &["jobs", "list"],
        &["outbox", "list"],
        &["tasks", "list"],
        &["recordings", "list"],
        &["channels", "pairings"],
    ];
    for (number, arguments) in looks.into_iter().enumerate() {
        let typo = parent.path().join(number.to_string());
        let made = run_cli(&typo, arguments, None);
        let words = String::from_utf8_lossy(&made.stderr);
        assert_eq!(made.status.code(), Some(0), "{arguments:?}: {words}");
        assert!(words.contains("there is no home at"), "{arguments:?}: {words}");
        assert!(words.contains("an empty home was made at"), "{arguments:?}: {words}");
        let words = String::from_utf8_lossy(&run_cli(&typo, arguments, None).stderr).into_owned();
        assert!(!words.contains("no home"), "{arguments:?}: {words}");
    }
    let typo = parent.path().join("typo");
    for arguments in [&["doctor"][..], &["config", "check"], &["secrets", "list"], &["channels", "list"]] {
        run_cli(&typo, arguments, None);
    }
    assert!(!typo.exists(), "it was made");
}

#[test]
fn conversations_survive_a_restart() {
    let server = Server::start(&[]);
    server.chat("default").say("m1", "!say kept");
    let home = server.home();
    server.terminate();
    let server = Server::start_in(home, &[]);
    let expected = [("user".to_owned(), "!say kept".to_owned()), ("assistant".to_owned(), "kept".to_owned())];
    assert_eq!(server.said("webchat:default"), expected);
}

#[test]
fn database_of_a_newer_version_is_refused_unchanged() {
    let server = Server::start(&[]);
    server.chat("default").say("m1", "!say kept");
    let home = server.home();
    server.terminate();
    let database = home.path().join("aethon.db");
    // The version is SQLite's user_version: four bytes, big-endian, at offset 60 of the file.
    let mut bytes = std::fs::read(&database).unwrap();
    bytes[60..64].copy_from_slice(&4_000_000_u32.to_be_bytes());
    std::fs::write(&database, &bytes).unwrap();

    let output = run(&mut server_command(home.path(), &[]), None);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("aethon.db") && words.contains("newer"), "{words}");
    let output = run_cli(home.path(), &["--set", "model.provider=fake", "ask", "hello"], None);
    assert_ne!(output.status.code(), Some(0), "the terminal refuses as well");
    assert!(bytes == std::fs::read(&database).unwrap(), "not a byte has changed");
}

#[test]
fn file_other_than_a_database_is_refused_unchanged() {
    let home = home();
    let database = home.path().join("aethon.db");
    std::fs::write(&database, "these are my notes\n".repeat(300)).unwrap();
    let output = run(&mut server_command(home.path(), &[]), None);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("aethon.db") && !words.contains("panicked"), "{words}");
    assert_eq!(std::fs::read_to_string(&database).unwrap(), "these are my notes\n".repeat(300));
}

#[test]
fn the_home_may_come_from_the_environment() {
    let root = home();
    let elsewhere = root.path().join("elsewhere");
    let mut command = std::process::Command::new(server_command(root.path(), &[]).get_program());
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", root.path()).env("AETHON_HOME", &elsewhere);
    command.args(["--set", "channels.webchat.port=0", "--set", "model.provider=fake"]);
    let server = Server::start_command(root.clone(), command);
    assert_eq!(server.get("/health").status, 200);
    assert!(elsewhere.join("aethon.db").exists());
    server.terminate();

    let mut command = std::process::Command::new(server_command(root.path(), &[]).get_program());
    command.env_clear().env("HOME", root.path());
    command.args(["--set", "channels.webchat.port=0", "--set", "model.provider=fake"]);
    let server = Server::start_command(root.clone(), command);
    assert_eq!(server.get("/health").status, 200);
    assert!(root.path().join(".aethon/aethon.db").exists(), "the default is ~/.aethon");
}

#[test]
fn storage_can_be_set_to_survive_a_power_cut() {
    let server = Server::start(&["storage.synchronous=full"]);
    server.chat("default").say("m1", "!say kept");
    let server = Server::start_in(server.kill(), &["storage.synchronous=full"]);
    assert_eq!(server.said("webchat:default")[1].1, "kept");
}

#[test]
fn log_level_filters_records() {
    let lines = |level: &str| {
        let server = Server::start(&[&format!("logging.level={level}")]);
        server.chat("default").say("m1", "!say hello");
        server.signal(rustix::process::Signal::TERM);
        server.wait().1.lines().count()
    };
    assert_eq!(lines("error"), 0, "nothing failed");
    assert!(lines("debug") > lines("info"));
}
