//! Backups of a home and their restoration (docs/backup.md).

use std::collections::BTreeSet;
use std::fs;
use std::io::{Cursor, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

use aethon_tests::socket::spoken;
use aethon_tests::{Server, eventually, program, run_cli, run_server};
use ring::digest::{SHA256, digest};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tempfile::TempDir;

mod damaged;
mod hostile;
mod scheduled;

const PASSPHRASE: &str = "correct horse battery";
const SECRET: &str = "a-secret-of-the-owner";

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a command that has to succeed; returns its output.
fn cli(home: &Path, arguments: &[&str], input: Option<&str>) -> String {
    let output = run_cli(home, arguments, input);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that has to be refused; why.
fn refused(home: &Path, arguments: &[&str], input: Option<&str>) -> String {
    let output = run_cli(home, arguments, input);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
    said(&output)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The files of a ZIP.
fn files(zip: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = zip::ZipArchive::new(Cursor::new(zip)).unwrap();
    (0..archive.len())
        .map(|at| {
            let mut file = archive.by_index(at).unwrap();
            let mut content = Vec::new();
            file.read_to_end(&mut content).unwrap();
            (file.name().unwrap().into_owned(), content)
        })
        .filter(|(name, _)| !name.ends_with('/'))
        .collect()
}

fn hex(content: &[u8]) -> String {
    digest(&SHA256, content).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A home with something of everything, and its folder.
fn furnished() -> std::sync::Arc<TempDir> {
    let server = Server::start(&[]);
    let home = server.home();
    assert_eq!(spoken(&server.chat("default").say("one", "!say remembered")), "remembered");
    assert_eq!(server.terminate().code(), Some(0));
    let config = "[model]\nprovider = \"fake\"\n[webhook]\nsecret = \"${credential:HOOK}\"\n[channels.webchat]\nport = 0\n";
    fs::write(home.path().join("config.toml"), config).unwrap();
    cli(home.path(), &["secrets", "set", "HOOK"], Some(SECRET));
    fs::create_dir_all(home.path().join("workspace/deep/empty")).unwrap();
    fs::write(home.path().join("workspace/notes.md"), "mine").unwrap();
    fs::write(home.path().join("workspace/run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(home.path().join("workspace/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(home.path().join("models.json"), "{}").unwrap();
    home
}

/// Asserts that a restored home has what [`furnished`] put there.
fn assert_furnished(home: &std::sync::Arc<TempDir>, at: &Path) {
    assert_eq!(fs::read_to_string(at.join("workspace/notes.md")).unwrap(), "mine");
    assert_eq!(mode(&at.join("workspace/run.sh")), 0o700);
    assert_eq!((mode(at), mode(&at.join("aethon.db")), mode(&at.join("workspace"))), (0o700, 0o600, 0o700));
    assert!(at.join("workspace/deep/empty").is_dir());
    let listed = cli(at, &["sessions", "show", "webchat:default"], None);
    assert!(listed.contains("remembered"), "{listed}");
    drop(home.clone());
}

#[test]
fn a_backup_holds_the_home_with_checksums_and_without_secrets() {
    let home = furnished();
    symlink("/etc/passwd", home.path().join("workspace/link")).unwrap();
    mknodat(CWD, home.path().join("workspace/pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let away = tempfile::tempdir().unwrap();
    let file = away.path().join("b.zip");
    let output = run_cli(home.path(), &["backup", text(&file), "--json"], None);
    assert!(output.status.success(), "{}", said(&output));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&printed["file"], &printed["encrypted"]), (&json!(file), &json!(false)));
    assert!(
        said(&output).contains("workspace/link is a link")
            && said(&output).contains("workspace/pipe is a pipe")
    );
    assert_eq!(mode(&file), 0o600);
    assert_eq!(fs::read_dir(away.path()).unwrap().count(), 1, "nothing is left beside it");

    let files = files(&fs::read(&file).unwrap());
    let names: BTreeSet<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    for name in
        ["manifest.json", "aethon.db", "config.toml", "models.json", "workspace/notes.md", "workspace/run.sh"]
    {
        assert!(names.contains(name), "{name} is not in {names:?}");
    }
    let foreign = ["credentials/", "run/", "logs/"];
    assert!(!names.iter().any(|name| foreign.iter().any(|folder| name.starts_with(folder))), "{names:?}");
    let all: Vec<u8> = files.iter().flat_map(|(_, content)| content.iter().copied()).collect();
    assert!(!all.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()), "the secret is in it");
    let (_, manifest) = files.iter().find(|(name, _)| name == "manifest.json").unwrap();
    let manifest: Value = serde_json::from_slice(manifest).unwrap();
    assert_eq!((&manifest["format_version"], &manifest["version"]), (&json!(1), &json!("0.3.0")));
    assert!(manifest["created_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(manifest["entries"].as_object().unwrap().len(), files.len() - 1);
    for (name, content) in files.iter().filter(|(name, _)| name != "manifest.json") {
        assert_eq!(manifest["entries"][name], json!(hex(content)), "{name}");
    }
    let audit = cli(home.path(), &["audit", "--json"], None);
    assert!(audit.contains("\"backup\"") && audit.contains("b.zip"), "{audit}");
}

#[test]
fn restored_home_is_complete_and_lists_missing_secrets() {
    let home = furnished();
    let away = tempfile::tempdir().unwrap();
    let (file, at) = (away.path().join("b.zip"), away.path().join("new/home"));
    cli(home.path(), &["backup", text(&file)], None);
    let planned = cli(&at, &["restore", text(&file), "--dry-run"], None);
    assert!(planned.contains("would be restored") && planned.contains("stored secrets"), "{planned}");
    assert!(!away.path().join("new").exists(), "a dry run writes nothing");
    let output = run_cli(&at, &["restore", text(&file)], None);
    assert!(output.status.success(), "{}", said(&output));
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("conversations") && printed.contains("not: browser sign-ins"), "{printed}");
    assert!(
        said(&output).contains("webhook.secret"),
        "the secret that is missing is named: {}",
        said(&output)
    );
    cli(&at, &["secrets", "set", "HOOK"], Some(SECRET));
    assert_furnished(&home, &at);
    let check = run_server(&at, &["--check"]);
    assert!(check.status.success(), "{}", said(&check));
}

#[test]
fn a_backup_with_secrets_is_encrypted_and_opens_with_its_key_only() {
    let home = furnished();
    let away = tempfile::tempdir().unwrap();
    let identity = age::x25519::Identity::generate();
    let recipient = identity.to_public().to_string();
    let key = away.path().join("key.txt");
    fs::write(&key, age::secrecy::ExposeSecret::expose_secret(&identity.to_string())).unwrap();

    let refusal = refused(home.path(), &["backup", text(&away.path().join("x.zip")), "--with-secrets"], None);
    assert!(refusal.contains("--passphrase") && refusal.contains("backup.recipient"), "{refusal}");
    let none = away.path().join("x.zip");
    let bad = ["backup", text(&none), "--recipient", "age1nobody"];
    assert!(refused(home.path(), &bad, None).contains("age1nobody"));

    let with_passphrase = away.path().join("p.zip.age");
    cli(home.path(), &["backup", text(&with_passphrase), "--with-secrets", "--passphrase"], Some(PASSPHRASE));
    let to_recipient = away.path().join("r.zip.age");
    cli(home.path(), &["backup", text(&to_recipient), "--with-secrets", "--recipient", &recipient], None);

    // The program `age` would open them.
    let sealed = fs::read(&with_passphrase).unwrap();
    let passphrase = age::scrypt::Identity::new(age::secrecy::SecretString::from(PASSPHRASE.to_owned()));
    let opened = [
        age::decrypt(&passphrase, &sealed).unwrap(),
        age::decrypt(&identity, &fs::read(&to_recipient).unwrap()).unwrap(),
    ];
    for zip in &opened {
        let files = files(zip);
        let secret = files.iter().find(|(name, _)| name == "credentials/HOOK").expect("the secret");
        assert_eq!(secret.1, SECRET.as_bytes());
    }
    for (file, arguments, input) in
        [(&with_passphrase, vec![], Some(PASSPHRASE)), (&to_recipient, vec!["--identity", text(&key)], None)]
    {
        let at = away.path().join(format!("home-of-{}", file.file_name().unwrap().to_str().unwrap()));
        let command = [&["restore", text(file)][..], &arguments[..]].concat();
        cli(&at, &command, input);
        assert_eq!(fs::read_to_string(at.join("credentials/HOOK")).unwrap().trim(), SECRET);
        assert_eq!((mode(&at.join("credentials")), mode(&at.join("credentials/HOOK"))), (0o700, 0o600));
        assert_furnished(&home, &at);
    }
    let nowhere = away.path().join("nowhere");
    assert!(refused(&nowhere, &["restore", text(&with_passphrase)], Some("wrong")).contains("passphrase"));
    assert!(refused(&nowhere, &["restore", text(&to_recipient)], None).contains("--identity"));
    let mut damaged = sealed;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&with_passphrase, damaged).unwrap();
    refused(&nowhere, &["restore", text(&with_passphrase)], Some(PASSPHRASE));
    assert!(!nowhere.exists());
}

#[test]
fn backup_into_an_unsafe_place_is_refused() {
    let home = furnished();
    let away = tempfile::tempdir().unwrap();
    let file = away.path().join("b.zip");
    fs::write(&file, "mine").unwrap();
    assert!(refused(home.path(), &["backup", text(&file)], None).contains("exists"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    for inside in ["workspace/b.zip", "workspace/deep/b.zip", "recordings/b.zip", "credentials/b.zip"] {
        let target = home.path().join(inside);
        assert!(
            refused(home.path(), &["backup", text(&target)], None).contains("part of every backup"),
            "{inside}"
        );
        assert!(!target.exists());
    }
    assert!(
        refused(home.path(), &["backup", text(&away.path().join("no/b.zip"))], None)
            .contains("cannot be used")
    );
    let nowhere = away.path().join("nowhere");
    assert!(refused(&nowhere, &["backup"], None).contains("no home"));
    assert!(!nowhere.exists());
    let connected = refused(home.path(), &["--connect", "http://127.0.0.1:1", "backup"], None);
    assert!(connected.contains("--connect"), "{connected}");
    // Without a file it goes into the folder of backups, also with a configuration that is broken.
    fs::write(home.path().join("config.toml"), "[model]\nprovider = 5\n").unwrap();
    let printed = cli(home.path(), &["backup"], None);
    assert!(printed.contains("/backups/aethon-"), "{printed}");
}

#[test]
fn restore_into_a_used_home_needs_consent_and_loses_nothing() {
    let home = furnished();
    let away = tempfile::tempdir().unwrap();
    let file = away.path().join("b.zip");
    cli(home.path(), &["backup", text(&file)], None);
    let target = aethon_tests::home();
    let server = Server::start_in(target.clone(), &[]);
    assert_eq!(spoken(&server.chat("default").say("one", "!say newer")), "newer");
    for arguments in [&["restore", text(&file)][..], &["restore", text(&file), "--replace"]] {
        assert!(refused(target.path(), arguments, None).contains("stop it first"));
    }
    assert_eq!(server.terminate().code(), Some(0));
    let why = refused(target.path(), &["restore", text(&file)], None);
    assert!(why.contains("not empty") && why.contains("--replace"), "{why}");

    // A server of an older version shows that it runs by this lock alone.
    let old = fs::File::options().write(true).open(target.path().join("run/server.lock")).unwrap();
    old.lock().unwrap();
    assert!(refused(target.path(), &["restore", text(&file), "--replace"], None).contains("stop it first"));
    drop(old);
    // An editor that runs the tools has the database open.
    let mut editor = program("aethon-cli", target.path());
    let editor = editor.arg("mcp").stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    let mut editor = editor.stderr(std::process::Stdio::null()).spawn().unwrap();
    eventually("the editor has the database open", || {
        target.path().join("aethon.db-shm").exists().then_some(())
    });
    assert!(refused(target.path(), &["restore", text(&file), "--replace"], None).contains("aethon-mcp"));
    editor.kill().unwrap();
    editor.wait().unwrap();

    let before: BTreeSet<_> = listing(target.path());
    let printed = cli(target.path(), &["restore", text(&file), "--replace", "--json"], None);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let aside = PathBuf::from(printed["moved_to"].as_str().unwrap());
    assert!(text(&aside).starts_with(&format!("{}.before-restore-", text(target.path()))), "{aside:?}");
    assert!(before.is_subset(&listing(&aside)), "{before:?}");
    let shown = cli(&aside, &["sessions", "show", "webchat:default"], None);
    assert!(shown.contains("newer"), "{shown}");
    cli(target.path(), &["secrets", "set", "HOOK"], Some(SECRET));
    assert_furnished(&home, target.path());
    fs::remove_dir_all(aside).unwrap();
}

/// The names of everything in a home but the files of a running server.
fn listing(home: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with("aethon.db-")).collect()
}
