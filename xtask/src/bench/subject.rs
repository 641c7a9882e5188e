//! A process under measurement: starts it, reads its CPU time and memory from `/proc`, and stops it.

use crate::process;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A running server, killed on drop.
pub(super) struct Subject {
    child: Child,
    /// The address it listens on.
    pub(super) address: SocketAddr,
}

impl Subject {
    /// Starts `aethon-server` with a home and settings; returns once it has printed its address.
    pub(super) fn server(program: &Path, home: &Path, settings: &[&str]) -> Result<Self> {
        let mut command = process::command(home, &program.display().to_string(), &server_arguments(settings));
        command.arg("--home").arg(home);
        Self::start(command, &home.join("bench.stderr"))
    }

    /// Starts the bare hyper server.
    pub(super) fn bare(home: &Path) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let command = process::command(home, &program.display().to_string(), &["bare"]);
        Self::start(command, &home.join("bare.stderr"))
    }

    /// Starts a process that has dashboards of a server open. A dashboard is normally open on another machine, so it takes
    /// only what the others leave of this one: `chrt`, a part of util-linux, gives it the idle policy.
    pub(super) fn dashboards(home: &Path, of: &Self, count: usize) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let (address, count) = (of.address.to_string(), count.to_string());
        let program = program.display().to_string();
        let command = process::command(home, "chrt", &["--idle", "0", &program, "watch", &address, &count]);
        Self::start(command, &home.join("watch.stderr"))
    }

    fn start(mut command: std::process::Command, log: &PathBuf) -> Result<Self> {
        let complaints = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(complaints)
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).context("cannot read the server's line")?;
        }
        let address = line.trim().rsplit_once("http://").and_then(|(_, address)| address.parse().ok());
        match address {
            Some(address) => Ok(Self { child, address }),
            None => {
                let status = child.wait()?;
                let complaints = fs::read_to_string(log).unwrap_or_default();
                bail!("the process printed no address (`{}`, {status}):\n{complaints}", line.trim());
            }
        }
    }

    /// The CPU time used so far, user and system, by all threads.
    pub(super) fn cpu(&self) -> Result<Duration> {
        cpu_of(self.child.id())
    }

    /// The resident memory in bytes.
    pub(super) fn resident(&self) -> Result<u64> {
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id()))?;
        let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:")).context("no Rss line")?;
        let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().context("Rss is no number")?;
        Ok(kib * 1024)
    }

    /// Asks the process to exit and returns how long that took.
    pub(super) fn stop(mut self) -> Result<Duration> {
        let pid = Pid::from_child(&self.child);
        let asked = Instant::now();
        rustix::process::kill_process(pid, Signal::TERM).context("cannot signal the server")?;
        let status = self.child.wait()?;
        let took = asked.elapsed();
        if !status.success() {
            bail!("the server ended with {status} when asked to stop");
        }
        Ok(took)
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        // Both fail if the process has already ended, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The CPU time that a process used so far, user and system, by all its threads.
pub(super) fn cpu_of(process: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let ticks = cpu_ticks(&stat).context("cannot read /proc/PID/stat")?;
    let per_second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_secs_f64(ticks as f64 / per_second as f64))
}

/// The arguments of every measured server: the `echo` model, and no logging to speak of.
fn server_arguments<'a>(settings: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["--set", "model.provider=echo", "--log-level", "warn"];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    arguments
}

/// Parses utime and stime from `/proc/PID/stat`, whose second field may contain blanks and brackets.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_past_a_name_with_brackets() {
        let stat = "12 (a) b) S 1 1 1 0 -1 4194560 100 0 0 0 7 5 0 0 20 0 3 0 100 1000 10";
        assert_eq!(cpu_ticks(stat), Some(12));
        assert_eq!(cpu_ticks("nonsense"), None);
    }

    #[test]
    fn every_server_runs_the_echo_model() {
        let arguments = server_arguments(&["a.b=c"]);
        assert!(arguments.contains(&"model.provider=echo") && arguments.ends_with(&["--set", "a.b=c"]));
    }
}
