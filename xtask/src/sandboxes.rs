//! Reports which sandboxes this machine supports. Tests that need one pass without it, so `ci` says which parts they proved
//! and which they skipped: a green run on a kernel without Landlock is not the same as one with it.

use crate::{process, test};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How long a docker daemon may take to start.
const DAEMON: Duration = Duration::from_secs(60);

/// The sandboxes that `doctor` reports on, and the tests that need them.
const SANDBOXES: [(&str, &str, &str); 2] = [
    ("sandbox", "the sandbox of the kernel", "tests/suite/guards/sandboxes.rs and those of `dynamic` tools"),
    (
        "self-protection",
        "the walls round commands without a sandbox",
        "parts of tests/suite/guards/self_protection.rs, tests/suite/guards/canary.rs and crates/aethon-tools/tests/confine.rs",
    ),
];

/// Builds the programs and prints what `doctor` reports about the sandboxes.
pub(crate) fn run(root: &Path) -> Result<()> {
    test::build(root)?;
    let cli = std::env::current_exe()?.with_file_name("aethon-cli");
    // A home that does not exist: `doctor` inspects it and writes nothing.
    let home = std::env::temp_dir().join(format!("aethon-ci-{}", std::process::id()));
    let (cli, home) = (cli.to_string_lossy(), home.to_string_lossy());
    let settings = ["--set", "model.provider=fake", "--set", "security.sandbox=kernel"];
    let arguments = [&["--home", &home], &settings[..], &["doctor", "--json"]].concat();
    // `doctor` fails if anything is wrong, such as the sandbox, so its status is ignored.
    let told = process::command(root, &cli, &arguments).output().context("aethon-cli does not start")?;
    let report: Value =
        serde_json::from_slice(&told.stdout).context("`aethon-cli doctor --json` tells no JSON")?;
    for line in lines(&report) {
        println!("{line}");
    }
    println!("{}", daemon_line(daemon()));
    Ok(())
}

fn daemon_line(outcome: Result<(), String>) -> String {
    match outcome {
        Ok(()) => "ci: this machine has a docker daemon: it starts".to_owned(),
        Err(why) => format!(
            "ci: THIS MACHINE LACKS a docker daemon: {why}. LEFT OUT, so not proved: tests/suite/guards/docker_daemon.rs; the strict \
             stand-in of crates/aethon-tools/tests/docker.rs is asked instead"
        ),
    }
}

/// Starts a docker daemon as the tests do, and stops it again.
fn daemon() -> Result<(), String> {
    for program in ["dockerd", "busybox"] {
        let places = ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/bin"];
        if !places.iter().any(|place| Path::new(place).join(program).is_file()) {
            return Err(format!("there is no {program} (Debian: docker.io, busybox-static)"));
        }
    }
    let folder = std::env::temp_dir().join(format!("aethon-ci-docker-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let path = |name: &str| folder.join(name).display().to_string();
    let log = std::fs::File::create(folder.join("log")).map_err(|error| error.to_string())?;
    let (data, exec, pid, host) =
        (path("data"), path("exec"), path("pid"), format!("unix://{}", path("docker.sock")));
    let arguments = ["--data-root", &data, "--exec-root", &exec, "--pidfile", &pid, "-H", &host];
    let quiet = ["--storage-driver", "vfs", "--iptables=false", "--ip6tables=false", "--bridge=none"];
    let mut daemon = process::command(&folder, "dockerd", &[&arguments[..], &quiet].concat())
        .env("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|error| error.to_string())?;
    let end = Instant::now() + DAEMON;
    let said = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
    let mut has_ended = false;
    while !said().contains("API listen on") && Instant::now() < end && !has_ended {
        has_ended = daemon.try_wait().is_ok_and(|ended| ended.is_some());
        std::thread::sleep(Duration::from_millis(100));
    }
    let outcome = match said() {
        log if log.contains("API listen on") => Ok(()),
        log => Err(log.lines().last().unwrap_or("it says nothing").to_owned()),
    };
    // A signal to end, so that it ends its containerd; `kill` is the one that every machine has.
    let _ = process::command(&folder, "kill", &[&daemon.id().to_string()]).status();
    let _ = daemon.wait();
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

fn lines(report: &Value) -> Vec<String> {
    let empty = Vec::new();
    let findings = report["findings"].as_array().unwrap_or(&empty);
    let line = |(area, name, tests): (&str, &str, &str)| {
        let finding = findings.iter().find(|finding| finding["area"] == area);
        let words =
            finding.and_then(|finding| finding["message"].as_str()).unwrap_or("`doctor` says nothing of it");
        match finding.is_some_and(|finding| finding["health"] == "ok") {
            true => format!("ci: this machine has {name}: {words}"),
            false => format!("ci: THIS MACHINE LACKS {name}: {words}. LEFT OUT, so not proved: {tests}"),
        }
    };
    SANDBOXES.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn missing_sandboxes_are_reported() {
        let report = json!({"findings": [
            {"area": "sandbox", "health": "broken", "message": "no Landlock"},
            {"area": "self-protection", "health": "ok", "message": "it stands"},
        ]});
        let told = lines(&report);
        assert!(told[0].contains("LACKS the sandbox of the kernel: no Landlock. LEFT OUT"), "{told:?}");
        assert!(told[1].contains("has the walls") && told[1].ends_with("it stands"), "{told:?}");
        assert!(
            daemon_line(Err("no dockerd".into())).contains("LACKS a docker daemon: no dockerd. LEFT OUT")
        );
        assert!(lines(&json!({})).iter().all(|line| line.contains("LACKS")), "silence is not health");
    }
}
