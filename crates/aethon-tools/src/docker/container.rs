//! Defines a container: nothing of the machine but the workspace, no privileges, no network unless the owner names one,
//! and a limit on everything.

use std::path::Path;

use aethon_core::program::Program;
use serde_json::{Value, json};

use crate::sandbox_limits::{LARGEST_FILE, SandboxLimits};

/// Labels by which leftover containers are found.
pub(super) const HOME: &str = "aethon.home";
pub(super) const OWNER: &str = "aethon.owner";

/// User and group of commands if the service runs as root.
const NOBODY: u32 = 65_534;

/// Returns the user of commands in the container: the one that runs the service, but never root.
pub(super) fn user() -> (u32, u32) {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if user == 0 { (NOBODY, NOBODY) } else { (user, group) }
}

/// Returns the document that creates a container.
pub(super) fn document(limits: &SandboxLimits, workspace: &Path, home: &str, owner: &str) -> Value {
    let (user, group) = user();
    let workspace = workspace.display().to_string();
    let temporary = format!("rw,nosuid,nodev,mode=1777,size={}", limits.memory);
    json!({
        "Image": limits.image,
        // The container only has to stay up: commands are started in it later. The shell reaps orphans.
        "Entrypoint": ["/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"],
        "Cmd": [],
        "User": format!("{user}:{group}"),
        "WorkingDir": workspace,
        "Env": ["TERM=dumb", "LANG=C.UTF-8", "HOME=/tmp"],
        "Labels": {HOME: home, OWNER: owner},
        "NetworkDisabled": limits.network == "none",
        "HostConfig": {
            "Mounts": [{"Type": "bind", "Source": workspace, "Target": workspace}],
            "ReadonlyRootfs": true,
            "Tmpfs": {"/tmp": temporary},
            "NetworkMode": limits.network,
            "Memory": limits.memory,
            // Equal to the memory limit, which means no swap.
            "MemorySwap": limits.memory,
            "NanoCpus": nano_cpus(limits.cpus),
            "PidsLimit": limits.processes,
            "Ulimits": [{"Name": "fsize", "Soft": LARGEST_FILE, "Hard": LARGEST_FILE}],
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
            "IpcMode": "private",
            "LogConfig": {"Type": "none"},
            "AutoRemove": true,
        },
    })
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
fn nano_cpus(cpus: f64) -> i64 {
    (cpus * 1e9) as i64
}

#[cfg(test)]
mod tests {
    use aethon_core::secret::Secret;

    use super::*;

    #[test]
    fn a_container_has_every_wall_and_every_cap() {
        let limits = SandboxLimits {
            image: "debian:stable-slim".into(),
            memory: 512 << 20,
            cpus: 1.5,
            processes: 64,
            network: "none".into(),
        };
        let document = document(&limits, Path::new("/home/ada/.aethon/workspace"), "h", "1");
        let host = &document["HostConfig"];
        assert_eq!((&host["ReadonlyRootfs"], &host["NetworkMode"]), (&json!(true), &json!("none")));
        assert_eq!((&host["Memory"], &host["MemorySwap"]), (&json!(512 << 20), &json!(512 << 20)));
        assert_eq!((&host["NanoCpus"], &host["PidsLimit"]), (&json!(1_500_000_000), &json!(64)));
        assert_eq!(
            (&host["CapDrop"], &host["SecurityOpt"]),
            (&json!(["ALL"]), &json!(["no-new-privileges"]))
        );
        assert_eq!(host["Ulimits"][0]["Hard"], LARGEST_FILE);
        assert_eq!(host["Mounts"].as_array().unwrap().len(), 1, "nothing else of the machine");
        assert!(!document["User"].as_str().unwrap().starts_with("0:"), "not root");
        assert!(host.get("Privileged").is_none() && host.get("Binds").is_none());

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
}
