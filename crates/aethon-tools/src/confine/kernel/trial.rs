//! Tests whether the sandbox works on this machine, by trying it.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::ALONE;
use super::plan::Plan;
use super::step::without_mark;
use crate::confine::landlock;

/// Timeout of the trial.
const TRIAL: Duration = Duration::from_secs(20);

/// Succeeds if the list of processes in `/proc` is the sandbox's own.
const SCRIPT: &str = r#"read -r id rest < /proc/self/stat; [ "$id" = "$$" ] || exit 3"#;
/// Its exit status if the list is the machine's.
const OTHERS_ARE_SEEN: i32 = 3;

/// Tests whether the sandbox works on this machine. Returns notes for the owner; the error says which part does
/// not work.
pub(crate) fn trial(launcher: &Path, plan: &Plan) -> Result<Vec<String>, String> {
    let (files, _, _) = landlock::abilities();
    if !files {
        return Err("the kernel has no Landlock (Linux 5.19, turned on)".into());
    }
    let tried = || -> io::Result<(Option<i32>, String)> {
        let mut child = started(launcher, plan)?;
        let deadline = Instant::now() + TRIAL;
        while child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                child.kill()?;
                return Ok((None, "it took too long".into()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let output = child.wait_with_output()?;
        Ok((output.status.code(), String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    };
    match tried() {
        Ok((Some(0), _)) => Ok(Vec::new()),
        Ok((Some(OTHERS_ARE_SEEN), said)) if said.is_empty() => Ok(vec![
            "commands see the command lines of this machine's other processes, because what Aethon runs in permits no `/proc` \
             of their own (a container of docker: `--security-opt systempaths=unconfined`)"
                .to_owned(),
        ]),
        Ok((_, said)) => {
            Err(if said.is_empty() { "the trial failed without a word".into() } else { without_mark(&said).into() })
        }
        Err(error) => Err(format!("{} could not be started: {error}", launcher.display())),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the trial is a child of this program and runs nothing of a model's"
)]
fn started(launcher: &Path, plan: &Plan) -> io::Result<Child> {
    let mut command = Command::new(launcher);
    command.args(plan.words()).args(["/bin/sh", "-c", SCRIPT]);
    command
        .env_clear()
        .env(ALONE.0, ALONE.1)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
}
