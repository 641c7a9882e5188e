//! The trial of the sandbox: one container, created like every other, in which a script looks at the walls from inside.
//!
//! A daemon does not always do what it accepts: a rootless one ignores limits without a word, another machine mounts its
//! own folder of the workspace's name, a mapped user cannot write. So the trial believes only the container.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use aethon_core::turn::Trust;
use rustix::fs::{AtFlags, Mode, OFlags};
use serde_json::Value;
use tokio::time::timeout;

use super::container::nano_cpus;
use super::containers::{Created, PullPolicy};
use super::exec::Room;
use super::machine::{Machine, not_in_force};
use super::pool::{ContainerLease, DockerSandbox};
use crate::run_as::RunAs;
use crate::sandbox_limits::SandboxLimits;
use crate::strangers::mounted_below;

/// How long the trial may take, apart from pulling the image.
const TRIAL: Duration = Duration::from_secs(30);
/// How long the script may take.
const PROBE: Duration = Duration::from_secs(15);

/// Writes facts about a container from inside, one to a line. `$1` is a file to write in the workspace, `$2` its content.
const SCRIPT: &str = r#"one() { if [ -r "$2" ] && read -r value rest < "$2"; then echo "$1 $value $rest"; fi; }
while read -r key value rest; do
  case $key in Uid:|Gid:|CapBnd:|CapEff:|NoNewPrivs:) echo "$key $value";; esac
done < /proc/self/status
while read -r device place kind options rest; do
  case $place in /) echo "root $options";; /tmp) echo "tmp $kind";; esac
done < /proc/mounts
[ -r /sys/fs/cgroup/cgroup.controllers ] && echo unified yes
one memory /sys/fs/cgroup/memory.max
one pids /sys/fs/cgroup/pids.max
one cpu /sys/fs/cgroup/cpu.max
one memory /sys/fs/cgroup/memory/memory.limit_in_bytes
one pids /sys/fs/cgroup/pids/pids.max
one quota /sys/fs/cgroup/cpu/cpu.cfs_quota_us
one period /sys/fs/cgroup/cpu/cpu.cfs_period_us
[ -r /proc/net/route ] && while read -r device rest; do echo "route $device"; done < /proc/net/route
command -v sleep >/dev/null || echo sleepless yes
[ -z "$1" ] || { echo "$2" > "$1" && echo written yes; }
echo done yes"#;

/// A trial that succeeded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trial {
    /// The facts that were proved, in a clause.
    pub proved: String,
    /// Notes for the owner.
    pub concerns: Vec<String>,
}

impl DockerSandbox {
    /// Asks the daemon for its abilities and its machine's, and compares them with the limits. Starts nothing. The error
    /// contains every problem, each naming its key and the remedy.
    pub async fn survey(&self) -> Result<(), String> {
        let machine = self.0.containers.machine().await?;
        let problems = machine.problems(&self.0.limits);
        if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
    }

    /// Returns whether a container of this daemon reaches what listens on this machine's loopback addresses, whatever its
    /// network.
    pub async fn reaches_loopback(&self) -> bool {
        self.0.containers.machine().await.is_ok_and(|machine| machine.reaches_loopback())
    }

    /// Creates one container like those of commands, and proves from inside that every wall and every limit is in force
    /// and that the workspace is this machine's and writable. The error contains every problem.
    pub async fn try_out(&self, pull: PullPolicy) -> Result<Trial, String> {
        self.survey().await?;
        let machine = self.0.containers.machine().await?;
        if let Some(absent) = self.0.containers.provide_image(&self.0.limits.image, pull).await? {
            return Ok(Trial { proved: absent, concerns: machine.concerns() });
        }
        match timeout(TRIAL, self.tried(&machine)).await {
            Ok(tried) => tried,
            Err(_) => Err(format!("the trial container was not done within {} s", TRIAL.as_secs())),
        }
    }

    async fn tried(&self, machine: &Machine) -> Result<Trial, String> {
        let (pool, limits) = (&self.0, &self.0.limits);
        let workspace = pool.workspace().filter(|path| path.is_dir());
        if workspace.is_some() {
            self.hand_over().await?;
        }
        let document = pool.document(limits, workspace.as_deref(), None).await?;
        let Created { id, warnings } =
            pool.containers.create(&document).await.map_err(|error| explain(&error, limits))?;
        // From here on, any early exit removes the container.
        let lease = ContainerLease::new(pool, id.clone());
        pool.containers.begin(&id).await.map_err(|error| explain(&error, limits))?;
        let room = Room { client: &pool.containers.client, id: &id };
        let directory = workspace.clone().unwrap_or_else(|| "/".into());
        let marker = workspace.as_deref().map(Marker::new);
        let arguments = marker.as_ref().map(|marker| (marker.path.as_str(), marker.content.as_str()));
        let (path, content) = arguments.unwrap_or_default();
        let (said, errors) = room
            .probe(SCRIPT, &[path, content], &directory, PROBE)
            .await
            .map_err(|error| explain(&error, limits))?;
        let seen = Seen::parse(&said);
        let inspected = self.inspected(&id).await?;
        let mut problems = seen.problems(limits, machine.user(), &inspected);
        if let Some(marker) = &marker
            && let Err(problem) = marker.check(&seen, &errors)
        {
            problems.push(problem);
            // On another machine it would stay for good.
            let _ = room.probe(r#"rm -f "$1""#, &[path], &directory, PROBE).await;
        }
        if room.sweep(&directory).await.is_none() {
            problems.push(format!(
                "processes that a command leaves behind cannot be ended in the image {}, security.sandbox_image",
                limits.image
            ));
        }
        lease.remove().await;
        if workspace.is_some() && problems.is_empty() {
            match pool.clone().make(Trust::Outside).await {
                Ok(lease) => lease.remove().await,
                Err(error) => problems.push(format!(
                    "what acts later cannot be protected from commands of turns that your own words did not begin: {error}"
                )),
            }
        }
        if !problems.is_empty() {
            return Err(problems.join("; "));
        }
        let mut trial = Trial { proved: proved(limits, workspace.is_some()), concerns: machine.concerns() };
        trial.concerns.extend(warnings);
        trial.concerns.extend(workspace.as_deref().and_then(unseen));
        trial.concerns.dedup();
        Ok(trial)
    }

    async fn inspected(&self, id: &str) -> Result<Value, String> {
        let path = format!("/containers/{id}/json");
        Ok(self.0.containers.client.ask("GET", &path, None, PROBE).await?.ok()?.json())
    }
}

fn proved(limits: &SandboxLimits, has_workspace: bool) -> String {
    let workspace = if has_workspace { "" } else { "; there is no workspace yet, so that was not tried" };
    format!("a trial container of {} had every wall and limit in force{workspace}", limits.image)
}

/// Says what strangers' commands do not see of a workspace.
fn unseen(workspace: &Path) -> Option<String> {
    let mounted = mounted_below(workspace);
    let names: Vec<String> = mounted.iter().map(|path| path.display().to_string()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "what is mounted in the workspace ({}) is an empty folder to commands of turns that your own words did not begin",
            names.join(", ")
        )
    })
}

/// Adds to an error of the daemon which key it is about.
fn explain(error: &str, limits: &SandboxLimits) -> String {
    let lower = error.to_lowercase();
    let (image, network) = (&limits.image, &limits.network);
    let is_about_shell = lower.contains("/bin/sh") || lower.contains("executable file not found");
    let remedy = if is_about_shell {
        format!("the image {image} (security.sandbox_image) has no /bin/sh that works")
    } else if lower.contains("bind source path") || lower.contains("mount source") {
        "the daemon does not find the workspace: it runs on another machine, or sees other files than Aethon (Aethon itself \
         in a container needs the workspace mounted under the same path)"
            .into()
    } else if lower.contains("network") {
        format!("change security.sandbox_network, which is {network:?}")
    } else if lower.contains("memory") {
        "change security.sandbox_memory".into()
    } else if lower.contains("cpu") {
        "change security.sandbox_cpus".into()
    } else if lower.contains("pids") || lower.contains("resource temporarily unavailable") {
        "change security.sandbox_pids_limit".into()
    } else {
        return format!("the trial container failed: {error}");
    };
    format!("{remedy}: {error}")
}

/// A file by which a container proves that its workspace is ours and writable.
struct Marker<'m> {
    workspace: &'m Path,
    name: String,
    path: String,
    content: String,
}

impl<'m> Marker<'m> {
    fn new(workspace: &'m Path) -> Self {
        let name = format!(".aethon-trial-{}", uuid::Uuid::now_v7().simple());
        let path = workspace.join(&name).display().to_string();
        Self { workspace, name, path, content: uuid::Uuid::now_v7().simple().to_string() }
    }

    fn check(&self, seen: &Seen, errors: &str) -> Result<(), String> {
        if !seen.has("written") {
            return Err(format!(
                "the workspace is not writable in the container ({}): give it to the user of the container, or use a daemon \
                 that does not map users",
                errors.trim()
            ));
        }
        if self.read().as_deref().map(str::trim) == Some(&*self.content) {
            return Ok(());
        }
        Err(format!(
            "the daemon has a folder {} of its own, which is not this workspace: it runs on another machine, or sees other \
             files than Aethon (Aethon itself in a container needs the workspace mounted under the same path)",
            self.workspace.display()
        ))
    }

    fn read(&self) -> Option<String> {
        let folder = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = rustix::fs::open(self.workspace, folder, Mode::empty()).ok()?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&root, &*self.name, flags, Mode::empty()).ok()?;
        let mut text = String::new();
        File::from(file).take(64).read_to_string(&mut text).ok()?;
        Some(text)
    }
}

impl Drop for Marker<'_> {
    fn drop(&mut self) {
        if let Ok(root) = rustix::fs::open(self.workspace, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        {
            // It is absent if the container could not write it.
            let _ = rustix::fs::unlinkat(&root, &*self.name, AtFlags::empty());
        }
    }
}

/// The container's report.
#[derive(Debug, Default)]
struct Seen {
    facts: BTreeMap<String, String>,
    routes: BTreeSet<String>,
}

impl Seen {
    fn parse(text: &str) -> Self {
        let mut seen = Self::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            if key == "route" {
                seen.routes.insert(value.to_owned());
            } else {
                // The first of two files wins, and the last of two mounts.
                let value = value.trim().to_owned();
                match key {
                    "root" | "tmp" => drop(seen.facts.insert(key.to_owned(), value)),
                    _ => drop(seen.facts.entry(key.trim_end_matches(':').to_owned()).or_insert(value)),
                }
            }
        }
        seen
    }

    fn has(&self, key: &str) -> bool {
        self.facts.contains_key(key)
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.facts.get(key).map(String::as_str)
    }

    /// Returns every wall and limit that does not stand.
    fn problems(&self, limits: &SandboxLimits, user: RunAs, inspected: &Value) -> Vec<String> {
        if !self.has("done") {
            return vec!["the trial in the container ended early".to_owned()];
        }
        let mut problems = Vec::new();
        let wall =
            |stands: bool, what: &str| (!stands).then(|| format!("the daemon did not apply it: {what}"));
        let expects = |key: &str, expected: &str| self.get(key).is_none_or(|found| found == expected);
        let is_zero = |key: &str| self.get(key).is_none_or(|mask| mask.trim_matches('0').is_empty());
        let is_read_only = |options: &str| options.split(',').any(|option| option == "ro");
        let has_route = self.routes.iter().any(|device| device != "Iface" && device != "lo");
        let user_is = expects("Uid", &user.user.to_string()) && expects("Gid", &user.group.to_string());
        problems.extend(wall(user_is, "the user of commands"));
        problems.extend(wall(is_zero("CapBnd") && is_zero("CapEff"), "no capabilities"));
        problems.extend(wall(expects("NoNewPrivs", "1"), "no new privileges"));
        problems.extend(wall(self.get("root").is_none_or(is_read_only), "a read-only root"));
        problems.extend(wall(expects("tmp", "tmpfs"), "a /tmp in memory"));
        let is_closed = limits.network != "none" || !has_route;
        problems.extend(wall(is_closed, "no network (security.sandbox_network)"));
        if self.has("sleepless") {
            problems.push(format!("the image {} (security.sandbox_image) has no `sleep`", limits.image));
        }
        let host = &inspected["HostConfig"];
        let cpus = nano_cpus(limits.cpus);
        let mut idle = Vec::new();
        for (key, seen, set, limit) in [
            ("security.sandbox_memory", self.number("memory"), host["Memory"].as_i64(), limits.memory as f64),
            (
                "security.sandbox_pids_limit",
                self.number("pids"),
                host["PidsLimit"].as_i64(),
                limits.processes.into(),
            ),
            ("security.sandbox_cpus", self.nano_cpus(), host["NanoCpus"].as_i64(), cpus as f64),
        ] {
            let acts = match seen {
                Some(seen) => seen <= limit * 1.01,
                // On the unified hierarchy the file is there whenever the limit is.
                None if self.has("unified") => false,
                None => set.is_none_or(|set| set > 0 && set as f64 <= limit * 1.01),
            };
            if !acts {
                idle.push(key);
            }
        }
        problems.extend(not_in_force(&idle));
        problems
    }

    /// Returns a limit; infinite if there is none.
    fn number(&self, key: &str) -> Option<f64> {
        let text = self.get(key)?;
        if text == "max" { Some(f64::INFINITY) } else { text.parse().ok() }
    }

    /// Returns the limit of processors in billionths.
    fn nano_cpus(&self) -> Option<f64> {
        let (quota, period) = match self.get("cpu").and_then(|text| text.split_once(' ')) {
            Some((quota, period)) => (quota, period),
            None => (self.get("quota")?, self.get("period")?),
        };
        if matches!(quota, "max" | "-1") {
            return Some(f64::INFINITY);
        }
        let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
        Some(quota / period * 1e9)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const UNIFIED: &str = "Uid: 1000\nGid: 1000\nCapBnd: 0000000000000000\nCapEff: 0000000000000000\nNoNewPrivs: 1\n\
                           root ro,relatime\ntmp tmpfs\nunified yes\nmemory 536870912 \npids 256 \ncpu 100000 100000\n\
                           route Iface\nwritten yes\ndone yes\n";

    fn problems(change: (&str, &str), network: &str) -> Vec<String> {
        let text = UNIFIED.replace(change.0, change.1);
        let limits = SandboxLimits { network: network.into(), ..SandboxLimits::default() };
        Seen::parse(&text).problems(&limits, RunAs { user: 1000, group: 1000 }, &json!({}))
    }

    #[test]
    fn every_wall_and_limit_that_does_not_stand_is_named() {
        assert_eq!(problems(("", ""), "none"), Vec::<String>::new());
        for (from, to, expected) in [
            ("Uid: 1000", "Uid: 0", "user"),
            ("CapBnd: 0000000000000000", "CapBnd: 00000000a80425fb", "capabilities"),
            ("NoNewPrivs: 1", "NoNewPrivs: 0", "no new privileges"),
            ("root ro", "root rw", "read-only root"),
            ("tmp tmpfs", "tmp overlay", "/tmp"),
            ("route Iface", "route Iface\nroute eth0", "security.sandbox_network"),
            ("memory 536870912", "memory max", "security.sandbox_memory"),
            ("memory 536870912 \n", "", "security.sandbox_memory"),
            ("pids 256", "pids max", "security.sandbox_pids_limit"),
            ("pids 256 \n", "", "security.sandbox_pids_limit"),
            ("cpu 100000", "cpu max", "security.sandbox_cpus"),
            ("cpu 100000 100000\n", "", "security.sandbox_cpus"),
            ("done yes", "sleepless yes\ndone yes", "`sleep`"),
            ("done yes\n", "", "ended early"),
        ] {
            let found = problems((from, to), "none");
            assert!(found.len() == 1 && found[0].contains(expected), "{from} -> {to}: {found:?}");
        }
        assert_eq!(problems(("route Iface", "route Iface\nroute eth0"), "bridge"), Vec::<String>::new());
    }

    #[test]
    fn without_control_groups_to_look_at_the_daemons_word_counts() {
        let text = UNIFIED.replace("unified yes\nmemory 536870912 \npids 256 \ncpu 100000 100000\n", "");
        let check = |memory: i64, expected: usize| {
            let inspected =
                json!({"HostConfig": {"Memory": memory, "PidsLimit": 256, "NanoCpus": 1_000_000_000}});
            let found = Seen::parse(&text).problems(
                &SandboxLimits::default(),
                RunAs { user: 1000, group: 1000 },
                &inspected,
            );
            assert_eq!(found.len(), expected, "{found:?}");
        };
        check(512 << 20, 0);
        check(0, 1);
        let old = "quota 50000 \nperiod 100000 \n";
        assert_eq!(Seen::parse(old).nano_cpus(), Some(5e8));
        assert_eq!(Seen::parse("quota -1 \nperiod 100000 \n").nano_cpus(), Some(f64::INFINITY));
    }

    #[test]
    fn an_error_of_the_daemon_names_the_key() {
        for (error, expected) in [
            ("docker: Minimum memory limit allowed is 6MB (400)", "security.sandbox_memory"),
            ("docker: Range of CPUs is from 0.01 to 2.00 (400)", "security.sandbox_cpus"),
            ("docker: network nosuch not found (404)", "security.sandbox_network"),
            ("docker: exec: \"/bin/sh\": stat /bin/sh: no such file (400)", "security.sandbox_image"),
            ("docker: invalid mount config: bind source path does not exist: /w (400)", "another machine"),
            ("docker: no space left on device (500)", "no space left"),
        ] {
            assert!(explain(error, &SandboxLimits::default()).contains(expected), "{error}");
        }
    }
}
