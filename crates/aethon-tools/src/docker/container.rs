//! Defines a container: nothing of the machine but the workspace, no privileges, no network unless the owner names one,
//! and a limit on everything.

use std::path::{Path, PathBuf};

use aethon_core::program::Program;
use serde_json::{Value, json};

use super::covers;
use crate::run_as::RunAs;
use crate::sandbox_limits::{MAX_FILE, SandboxLimits};

/// Labels by which leftover containers are found.
pub(super) const HOME: &str = "aethon.home";
pub(super) const OWNER: &str = "aethon.owner";

/// The share of the memory that files in `/tmp` may take. Memory that files take is freed by nothing but deleting them, so
/// they must never fill all of it: no further command could start in the container.
const TEMPORARY_SHARE: u64 = 2;
/// The same for `/dev/shm`.
const SHARED_SHARE: u64 = 8;

/// By what a container is recognised.
#[derive(Debug, Clone, Copy)]
pub(super) struct Labels<'p> {
    /// The home of the assistant.
    pub(super) home: &'p str,
    /// The process that owns the container.
    pub(super) owner: &'p str,
}

/// The conversation of a container, and its view of the machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'p> {
    /// The workspace. `None` for a trial before there is one.
    pub(super) workspace: Option<&'p Path>,
    pub(super) labels: Labels<'p>,
    /// The user and group of its processes.
    pub(super) user: RunAs,
    /// Whether the daemon would map its users to others, and must not.
    pub(super) is_remapped: bool,
    /// The parts of the workspace that can be changed, if not all.
    pub(super) parts: Option<&'p [PathBuf]>,
}

/// Returns the document that creates a container.
pub(super) fn document(limits: &SandboxLimits, place: Place<'_>) -> Value {
    let Place { labels: Labels { home, owner }, user: RunAs { user, group }, .. } = place;
    let directory = place.workspace.map_or("/".to_owned(), |path| path.display().to_string());
    let mounts = match (place.workspace, place.parts) {
        (None, _) => Vec::new(),
        (Some(_), None) => vec![json!({"Type": "bind", "Source": directory, "Target": directory})],
        (Some(workspace), Some(parts)) => covers::mounts(workspace, parts),
    };
    // Programs that a command installs below its home have to start.
    let temporary = format!("rw,exec,nosuid,nodev,mode=1777,size={}", limits.memory / TEMPORARY_SHARE);
    let mut document = json!({
        "Image": limits.image,
        // The container only has to stay up: commands are started in it later. The shell reaps orphans.
        "Entrypoint": ["/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"],
        "Cmd": [],
        "User": format!("{user}:{group}"),
        "WorkingDir": directory,
        "Env": ["TERM=dumb", "LANG=C.UTF-8", "HOME=/tmp"],
        "Labels": {HOME: home, OWNER: owner},
        "NetworkDisabled": limits.network == "none",
        "HostConfig": {
            "Mounts": mounts,
            "ReadonlyRootfs": true,
            "Tmpfs": {"/tmp": temporary},
            "ShmSize": limits.memory / SHARED_SHARE,
            "NetworkMode": limits.network,
            "Memory": limits.memory,
            // Equal to the memory limit, which means no swap.
            "MemorySwap": limits.memory,
            "NanoCpus": nano_cpus(limits.cpus),
            "PidsLimit": limits.processes,
            "Ulimits": [{"Name": "fsize", "Soft": MAX_FILE, "Hard": MAX_FILE}],
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
            "IpcMode": "private",
            "LogConfig": {"Type": "none"},
            "AutoRemove": true,
        },
    });
    if place.is_remapped {
        // A mapped user could not write to the workspace; this one has no privileges that a map would have to take.
        document["HostConfig"]["UsernsMode"] = json!("host");
    }
    document
}

/// Returns the document that creates a container for a program that is talked to. When the last client detaches, its
/// input closes, as a pipe would.
pub(super) fn document_of_program(mut document: Value, program: &Program) -> Value {
    document["Entrypoint"] = json!([program.command]);
    document["Cmd"] = json!(program.args);
    let own = program.environment.iter().map(|(name, value)| json!(format!("{name}={}", value.expose())));
    // Of two variables with the same name, the later wins.
    document["Env"].as_array_mut().into_iter().for_each(|all| all.extend(own.clone()));
    for stream in ["AttachStdin", "AttachStdout", "AttachStderr", "OpenStdin", "StdinOnce"] {
        document[stream] = json!(true);
    }
    document
}

#[expect(clippy::cast_possible_truncation, reason = "the configuration bounds it")]
pub(super) fn nano_cpus(cpus: f64) -> i64 {
    (cpus * 1e9) as i64
}

#[cfg(test)]
mod tests {
    use aethon_core::secret::Secret;

    use super::*;

    fn place() -> Place<'static> {
        let workspace = Some(Path::new("/home/ada/.aethon/workspace"));
        Place {
            workspace,
            labels: Labels { home: "h", owner: "1" },
            user: RunAs { user: 1000, group: 1000 },
            is_remapped: false,
            parts: None,
        }
    }

    #[test]
    fn a_container_has_every_wall_and_every_cap() {
        let limits = SandboxLimits {
            image: "debian:stable-slim".into(),
            memory: 512 << 20,
            cpus: 1.5,
            processes: 64,
            network: "none".into(),
        };
        let document = document(&limits, place());
        let host = &document["HostConfig"];
        assert_eq!((&host["ReadonlyRootfs"], &host["NetworkMode"]), (&json!(true), &json!("none")));
        assert_eq!((&host["Memory"], &host["MemorySwap"]), (&json!(512 << 20), &json!(512 << 20)));
        assert_eq!((&host["NanoCpus"], &host["PidsLimit"]), (&json!(1_500_000_000), &json!(64)));
        assert_eq!(
            (&host["CapDrop"], &host["SecurityOpt"]),
            (&json!(["ALL"]), &json!(["no-new-privileges"]))
        );
        assert_eq!(host["Ulimits"][0]["Hard"], MAX_FILE);
        assert_eq!(host["Mounts"].as_array().unwrap().len(), 1, "nothing else of the machine");
        assert!(!user_of(&document).starts_with("0:"), "not root");
        assert!(host.get("Privileged").is_none() && host.get("Binds").is_none());
        assert!(host.get("UsernsMode").is_none());

        let program = Program {
            command: "server".into(),
            args: vec!["--stdio".into()],
            environment: vec![("TOKEN".into(), Secret::new("t"))],
            sandbox: None,
        };
        let of_program = document_of_program(document.clone(), &program);
        assert_eq!(of_program["HostConfig"], document["HostConfig"], "the same walls");
        assert_eq!(
            (&of_program["Entrypoint"], &of_program["Cmd"]),
            (&json!(["server"]), &json!(["--stdio"]))
        );
        assert!(of_program["Env"].as_array().unwrap().contains(&json!("TOKEN=t")));
        assert_eq!((&of_program["User"], &of_program["StdinOnce"]), (&document["User"], &json!(true)));
    }

    fn user_of(document: &Value) -> &str {
        document["User"].as_str().unwrap()
    }

    #[test]
    fn files_in_memory_leave_room_for_commands() {
        let document = document(&SandboxLimits::default(), place());
        let host = &document["HostConfig"];
        let temporary = host["Tmpfs"]["/tmp"].as_str().unwrap();
        let size: u64 = temporary.rsplit_once("size=").unwrap().1.parse().unwrap();
        let shared = host["ShmSize"].as_u64().unwrap();
        assert!(size + shared < SandboxLimits::default().memory, "{temporary}");
    }

    #[test]
    fn users_are_not_mapped_away_from_the_workspace() {
        let document = document(&SandboxLimits::default(), Place { is_remapped: true, ..place() });
        assert_eq!(document["HostConfig"]["UsernsMode"], "host");
        assert_eq!(user_of(&document), "1000:1000");
    }
}
