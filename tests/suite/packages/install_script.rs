//! `packaging/install.sh`: from a folder and over HTTP, with a right sum and with a wrong one.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::made::{PROGRAMS, has, light_programs, packages, result, root};

fn install(base: &str, prefix: &Path, arguments: &[&str]) -> Output {
    Command::new("sh")
        .arg(root().join("packaging/install.sh"))
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", prefix)
        .env("AETHON_PREFIX", prefix)
        .env("AETHON_BASE", base)
        .output()
        .unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

#[test]
fn archive_with_its_sum_is_installed_replaced_and_removed() {
    let made = packages(light_programs().path(), "0.3.0");
    let base = made.path().to_string_lossy().into_owned();
    let prefix = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let installed = install(&base, prefix.path(), &[]);
        assert!(installed.status.success(), "{}", words(&installed));
        assert!(words(&installed).contains("is not in your PATH"), "{}", words(&installed));
    }
    for name in PROGRAMS {
        let told = Command::new(prefix.path().join("bin").join(name)).arg("--version").output().unwrap();
        assert!(words(&told).contains("0.3.0"), "{}", words(&told));
    }
    let unit = fs::read_to_string(prefix.path().join("share/systemd/user/aethon.service")).unwrap();
    let line = format!("ExecStart={}/bin/aethon-server\n", prefix.path().display());
    assert!(unit.contains(&line), "{unit}");
    // What another version had installed is gone after the next one.
    let list = prefix.path().join("share/doc/aethon/installed-files");
    fs::write(prefix.path().join("bin/aethon-former"), "").unwrap();
    fs::write(&list, fs::read_to_string(&list).unwrap() + "bin/aethon-former\n").unwrap();
    assert!(install(&base, prefix.path(), &[]).status.success());
    assert!(!prefix.path().join("bin/aethon-former").exists());

    fs::create_dir(prefix.path().join(".aethon")).unwrap();
    fs::write(prefix.path().join(".aethon/aethon.db"), "conversations").unwrap();
    let removed = install(&base, prefix.path(), &["--uninstall"]);
    assert!(removed.status.success(), "{}", words(&removed));
    assert_eq!(files(prefix.path()), [prefix.path().join(".aethon/aethon.db")]);
    let again = install(&base, prefix.path(), &["--uninstall"]);
    assert!(!again.status.success() && words(&again).contains("nothing was installed"), "{}", words(&again));
}

#[test]
fn archive_with_another_sum_is_refused_and_nothing_changes() {
    let made = packages(light_programs().path(), "0.3.0");
    let base = made.path().to_string_lossy().into_owned();
    let prefix = tempfile::tempdir().unwrap();
    let archive = result(made.path(), ".tar.gz");
    let right = fs::read(&archive).unwrap();
    let refused = |expected: &str| {
        let outcome = install(&base, prefix.path(), &[]);
        assert_eq!(outcome.status.code(), Some(1), "{}", words(&outcome));
        assert!(words(&outcome).contains(expected), "{}", words(&outcome));
        assert_eq!(files(prefix.path()), Vec::<PathBuf>::new());
    };
    fs::write(&archive, [&right[..], b"one more"].concat()).unwrap();
    refused("damaged or was changed");
    fs::remove_file(&archive).unwrap();
    refused("there is no ");
    fs::write(&archive, &right).unwrap();
    let sums = made.path().join("SHA256SUMS");
    let listed = fs::read_to_string(&sums).unwrap();
    fs::write(&sums, listed.replace("linux.tar.gz", "other.tar.gz")).unwrap();
    refused("names no archive for this machine");
    fs::remove_file(&sums).unwrap();
    refused("there is no ");
    // What was installed before stays in use.
    fs::write(&sums, listed).unwrap();
    assert!(install(&base, prefix.path(), &[]).status.success());
    fs::write(&archive, &right[..right.len() / 2]).unwrap();
    assert!(!install(&base, prefix.path(), &[]).status.success());
    let told = Command::new(prefix.path().join("bin/aethon-cli")).arg("--version").output().unwrap();
    assert!(words(&told).contains("aethon-cli 0.3.0"), "{}", words(&told));
}

#[test]
fn archive_is_installed_over_http() {
    if !has("curl") && !has("wget") {
        return;
    }
    let made = packages(light_programs().path(), "0.3.0");
    let folder = made.path().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // It ends with the test.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let line = lines.next().unwrap().unwrap();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let name = line.split(' ').nth(1).unwrap().trim_start_matches("/release/");
            let (status, body) = match fs::read(folder.join(name)) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let length = body.len();
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")
                .unwrap();
            stream.write_all(&body).unwrap();
        }
    });
    let prefix = tempfile::tempdir().unwrap();
    let missing = install(&format!("http://{address}"), prefix.path(), &[]);
    assert!(words(&missing).contains("SHA256SUMS could not be downloaded"), "{}", words(&missing));
    let installed = install(&format!("http://{address}/release"), prefix.path(), &[]);
    assert!(installed.status.success(), "{}", words(&installed));
    assert!(prefix.path().join("bin/aethon-server").is_file());
}

#[test]
fn scripts_of_the_packages_are_clean() {
    if !has("shellcheck") {
        return;
    }
    let folder = root().join("packaging");
    let scripts = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let scripts: Vec<_> = scripts.filter(|path| path.extension().is_some_and(|kind| kind == "sh")).collect();
    assert!(scripts.len() > 1, "{scripts:?}");
    let checked = Command::new("shellcheck").args(["--shell", "sh"]).args(&scripts).output().unwrap();
    assert!(checked.status.success(), "{}", words(&checked));
}
