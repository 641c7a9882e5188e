//! `[security]`: which files and commands are allowed, who may write, and where commands run.

use std::collections::BTreeMap;
use std::fmt;

use aethon_core::sandbox::Sandbox;
use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Access to files and commands, and who may talk to the assistant.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Security {
    /// Whether text from outside and webhook payloads are marked as untrusted for the model.
    pub mark_untrusted_content: bool,
    /// Whether the file tools are confined to the workspace directory.
    pub workspace_only: bool,
    /// Shell commands that contain one of these texts are refused. Your list replaces the default; the built-in danger list
    /// always applies.
    pub blocked_commands: Vec<String>,
    /// Paths (`~/diary`, `/srv/keys`) and names (`*.tax`) that tools do not open, besides the built-in list of keys, credentials,
    /// password stores, wallets, browser profiles and histories.
    pub blocked_paths: Vec<String>,
    /// Paths and names from the built-in list that tools may open nevertheless, such as `~/.ssh` or `*.pem`. The assistant's own
    /// files stay closed.
    pub allowed_paths: Vec<String>,
    /// Sockets that commands may connect to: kinds (`ssh-agent`, `gpg-agent`, `docker`, `dbus`, `wayland`, `x11`, `sound`,
    /// `terminals`) and paths (`/run/user/1000/bus`). Each gives commands full access to the service behind it.
    pub allowed_sockets: Vec<String>,
    /// The senders that may write, by channel. On messengers, an empty list admits only paired senders.
    #[serde(deserialize_with = "sender_lists")]
    pub allowed_senders: BTreeMap<String, Vec<String>>,
    /// The senders who are the owner, each as `CHANNEL:SENDER`. Empty: every permitted sender, including the members of a listed
    /// group. Messages from others are marked as untrusted, and they cannot approve actions.
    pub owners: Vec<String>,
    /// The tools that guests and household members other than the owner may use besides those of the workspace, the public web
    /// and their own memories and jobs, such as `shell` or `mail__*`. Tools that change the assistant itself are never included.
    /// Tools of local MCP servers listed here may also be called in turns that text from outside began.
    pub guest_tools: Vec<String>,
    /// Where shell commands run.
    #[schemars(schema_with = "crate::json_schema::sandbox")]
    pub sandbox: Sandbox,
    /// The Docker image of the sandbox.
    pub sandbox_image: String,
    /// The sandbox's memory limit, such as `512m` or `2g`.
    pub sandbox_memory: String,
    /// The sandbox's CPU limit, in processors.
    pub sandbox_cpus: f64,
    /// The maximum number of processes in the sandbox.
    pub sandbox_pids_limit: u32,
    /// The sandbox's Docker network mode.
    pub sandbox_network: String,
    /// Whether a person is asked before something is sent, run, written to a file or scheduled in a turn that contains text
    /// from outside, even if approvals are off. Where no one can answer, such a call is refused.
    pub taint_requires_approval: bool,
    /// Hosts that the web tools may reach although their address is not public, such as `nas.local` or `192.168.1.5:8080`.
    pub egress_allowed_hosts: Vec<String>,
    /// Reserved; has no effect.
    pub require_approval: serde_json::Value,
}

impl Default for Security {
    fn default() -> Self {
        Self {
            mark_untrusted_content: true,
            workspace_only: false,
            blocked_commands: ["rm -rf /", "sudo", "mkfs"].map(str::to_owned).to_vec(),
            blocked_paths: Vec::new(),
            allowed_paths: Vec::new(),
            allowed_sockets: Vec::new(),
            allowed_senders: BTreeMap::new(),
            owners: Vec::new(),
            guest_tools: Vec::new(),
            sandbox: Sandbox::default(),
            sandbox_image: "debian:stable-slim".to_owned(),
            sandbox_memory: "512m".to_owned(),
            sandbox_cpus: 1.0,
            sandbox_pids_limit: 256,
            sandbox_network: "none".to_owned(),
            taint_requires_approval: false,
            egress_allowed_hosts: Vec::new(),
            require_approval: serde_json::Value::Null,
        }
    }
}

/// A sender, written as a string or, as messengers number their users, as a number.
struct Sender(String);

impl<'de> Deserialize<'de> for Sender {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SenderVisitor)
    }
}

struct SenderVisitor;

impl Visitor<'_> for SenderVisitor {
    type Value = Sender;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sender as a string or a whole number")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Sender, E> {
        Ok(Sender(value.to_owned()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Sender, E> {
        Ok(Sender(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Sender, E> {
        Ok(Sender(value.to_string()))
    }
}

fn sender_lists<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    let lists = BTreeMap::<String, Vec<Sender>>::deserialize(deserializer)?;
    Ok(lists
        .into_iter()
        .map(|(channel, senders)| (channel, senders.into_iter().map(|sender| sender.0).collect()))
        .collect())
}
