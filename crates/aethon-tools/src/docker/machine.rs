//! The daemon's description of itself and its machine (`GET /info`): whether it can enforce the limits, and as which user a
//! container has to run so that it can write to the workspace.

use serde_json::Value;

use crate::run_as::RunAs;
use crate::sandbox_limits::{SandboxLimits, amount};

/// The least memory that docker accepts.
const MIN_MEMORY: u64 = 6 << 20;
/// The smallest share of a processor that docker accepts.
const MIN_CPUS: f64 = 0.01;
/// The shell that keeps the container up, its child, the command's own shell and a few programs.
const MIN_PROCESSES: u32 = 8;

/// The daemon's machine.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Machine {
    /// The daemon runs without root: root in a container is the user who runs the daemon.
    is_rootless: bool,
    /// The daemon maps the users of containers to others (`userns-remap`).
    pub(super) is_remapped: bool,
    /// From a container, this machine is reached under a name of its own.
    is_desktop: bool,
    system: String,
    memory: u64,
    cpus: u64,
    /// The limits that the daemon says it cannot enforce, by their keys.
    lacking: Vec<&'static str>,
    has_swap_limit: bool,
}

impl Machine {
    /// Reads the description. The error says that it is no docker daemon.
    pub(super) fn read(info: &Value) -> Result<Self, String> {
        let text = |key: &str| info[key].as_str().unwrap_or_default().to_owned();
        if text("ServerVersion").is_empty() {
            return Err("what answers there is no docker daemon".into());
        }
        let options = info["SecurityOptions"].as_array().cloned().unwrap_or_default();
        let has = |name: &str| {
            let named =
                |option: &Value| option.as_str().is_some_and(|it| it.split(',').any(|part| part == name));
            options.iter().any(named)
        };
        let limits = [
            ("MemoryLimit", "security.sandbox_memory"),
            ("PidsLimit", "security.sandbox_pids_limit"),
            ("CpuCfsQuota", "security.sandbox_cpus"),
        ];
        let lacking = limits.into_iter().filter(|(name, _)| info[*name] == Value::Bool(false));
        Ok(Self {
            is_rootless: has("name=rootless") || info["Rootless"] == Value::Bool(true),
            is_remapped: has("name=userns"),
            is_desktop: text("OperatingSystem").contains("Docker Desktop"),
            system: text("OSType"),
            memory: info["MemTotal"].as_u64().unwrap_or_default(),
            cpus: info["NCPU"].as_u64().unwrap_or_default(),
            lacking: lacking.map(|(_, key)| key).collect(),
            has_swap_limit: info["SwapLimit"] != Value::Bool(false),
        })
    }

    /// Returns the user and group of commands: the service's own, but never root, except where root in a container is an
    /// ordinary user outside.
    pub(super) fn user(&self) -> RunAs {
        if self.is_rootless { RunAs::ROOT } else { RunAs::service_or_nobody() }
    }

    /// Returns whether files have to be given to the user of commands first.
    pub(super) fn needs_hand_over(&self) -> bool {
        !self.is_rootless
    }

    /// Returns whether a container with any network reaches what listens on this machine's loopback addresses.
    pub(super) fn reaches_loopback(&self) -> bool {
        self.is_desktop
    }

    /// Returns every reason why these limits cannot be enforced, each naming its key and the remedy.
    pub(super) fn problems(&self, limits: &SandboxLimits) -> Vec<String> {
        let mut problems = Vec::new();
        if !self.system.is_empty() && self.system != "linux" {
            problems
                .push(format!("the daemon runs containers of {}, and the sandbox needs linux", self.system));
        }
        let asked = amount(limits.memory);
        if limits.memory < MIN_MEMORY {
            let least = amount(MIN_MEMORY);
            problems.push(format!("security.sandbox_memory is {asked}, and docker needs at least {least}"));
        } else if self.memory > 0 && limits.memory > self.memory {
            let all = self.memory >> 20;
            problems.push(format!(
                "security.sandbox_memory is {asked}, more than the daemon's machine has ({all}m)"
            ));
        }
        if limits.cpus < MIN_CPUS {
            problems.push(format!(
                "security.sandbox_cpus is {}, and docker needs at least {MIN_CPUS}",
                limits.cpus
            ));
        } else if self.cpus > 0 && limits.cpus > f64::from(u32::try_from(self.cpus).unwrap_or(u32::MAX)) {
            let (asked, all) = (limits.cpus, self.cpus);
            problems.push(format!(
                "security.sandbox_cpus is {asked}, more than the daemon's machine has ({all})"
            ));
        }
        if limits.processes < MIN_PROCESSES {
            problems.push(format!(
                "security.sandbox_pids_limit is {}, too few for a shell and its programs: set at least {MIN_PROCESSES}",
                limits.processes
            ));
        }
        problems.extend(not_in_force(&self.lacking));
        problems
    }

    /// Returns notes for the owner on faults with which the sandbox still works.
    pub(super) fn concerns(&self) -> Vec<String> {
        let no_swap_limit =
            "the docker daemon cannot limit swap, so a command may use swap beyond security.sandbox_memory";
        (!self.has_swap_limit).then(|| no_swap_limit.to_owned()).into_iter().collect()
    }
}

/// Says that these limits do not act, with a remedy. `None` if there are none.
pub(super) fn not_in_force(keys: &[&str]) -> Option<String> {
    (!keys.is_empty()).then(|| {
        format!(
            "{} would not be in force: the daemon has no control group to limit it with (a rootless daemon needs \
             `Delegate=cpu cpuset io memory pids` in the unit user@.service; otherwise use a daemon that runs as root)",
            keys.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn info() -> Value {
        json!({
            "ServerVersion": "27.0", "OSType": "linux", "NCPU": 2, "MemTotal": 8_u64 << 30,
            "SecurityOptions": ["name=seccomp,profile=default"], "MemoryLimit": true, "SwapLimit": true,
            "PidsLimit": true, "CpuCfsQuota": true, "OperatingSystem": "Debian",
        })
    }

    fn with(key: &str, value: Value) -> Machine {
        let mut info = info();
        info[key] = value;
        Machine::read(&info).unwrap()
    }

    #[test]
    fn limits_that_the_machine_cannot_keep_are_named_by_their_keys() {
        let usual = Machine::read(&info()).unwrap();
        let check = |machine: &Machine, change: fn(&mut SandboxLimits), expected: &[&str]| {
            let mut limits = SandboxLimits::default();
            change(&mut limits);
            let problems = machine.problems(&limits);
            assert_eq!(problems.len(), expected.len(), "{problems:?}");
            for (problem, key) in problems.iter().zip(expected) {
                assert!(problem.contains(key), "{problem}");
            }
        };
        check(&usual, |_| {}, &[]);
        check(&usual, |limits| limits.memory = 1 << 20, &["security.sandbox_memory is 1m"]);
        check(&usual, |limits| limits.memory = 999 << 30, &["security.sandbox_memory is 999g"]);
        check(&usual, |limits| limits.cpus = 64.0, &["security.sandbox_cpus is 64"]);
        check(&usual, |limits| limits.cpus = 0.001, &["security.sandbox_cpus is 0.001"]);
        check(&usual, |limits| limits.processes = 1, &["security.sandbox_pids_limit is 1"]);
        for (name, key) in [
            ("MemoryLimit", "security.sandbox_memory"),
            ("PidsLimit", "security.sandbox_pids_limit"),
            ("CpuCfsQuota", "security.sandbox_cpus"),
        ] {
            check(&with(name, json!(false)), |_| {}, &[key]);
        }
        check(&with("OSType", json!("windows")), |_| {}, &["windows"]);
        assert!(usual.concerns().is_empty());
        assert!(with("SwapLimit", json!(false)).concerns()[0].contains("swap"));
    }

    #[test]
    fn root_of_a_rootless_daemon_is_the_user_who_runs_it() {
        let rootless = with("SecurityOptions", json!(["name=seccomp,profile=default", "name=rootless"]));
        assert_eq!((rootless.user(), rootless.needs_hand_over()), (RunAs::ROOT, false));
        let usual = Machine::read(&info()).unwrap();
        assert_ne!(usual.user().user, 0);
        assert!(with("SecurityOptions", json!(["name=userns"])).is_remapped && !usual.is_remapped);
    }

    #[test]
    fn another_server_is_not_mistaken_for_a_daemon() {
        for answer in [json!(null), json!("OK"), json!({}), json!({"ServerVersion": ""})] {
            assert!(Machine::read(&answer).is_err(), "{answer}");
        }
    }
}
