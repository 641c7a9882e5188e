//! `[security]`: what the assistant may touch, who may talk to it, and where its commands run.

use std::collections::BTreeMap;
use std::fmt;

use aethon_core::sandbox::Sandbox;
use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// What the assistant may touch, and who may talk to it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Security {
    /// Wraps external content and webhook payloads in the marker of untrusted content.
    pub mark_untrusted_content: bool,
    /// Confines the file tools to the workspace directory.
    pub workspace_only: bool,
    /// Shell commands containing any of these are refused. An own list replaces this one; the built-in danger list
    /// stays.
    pub blocked_commands: Vec<String>,
    /// Places (`~/diary`, `/srv/keys`) and names (`*.tax`) that tools do not open, besides the built-in list of keys,
    /// credentials, password stores, wallets, browser profiles and histories.
    pub blocked_paths: Vec<String>,
    /// Places and names of that list that tools may open after all, such as `~/.ssh` or `*.pem`. The assistant's own files
    /// stay closed.
    pub allowed_paths: Vec<String>,
    /// Sockets that commands may connect to after all: kinds (`ssh-agent`, `gpg-agent`, `docker`, `dbus`, `wayland`, `x11`,
    /// `sound`, `terminals`) and paths (`/run/user/1000/bus`). Each is a key to what listens there.
    pub allowed_sockets: Vec<String>,
    /// The senders that may write, by channel. On the messaging bots an empty list rejects everyone.
    #[serde(deserialize_with = "sender_lists")]
    pub allowed_senders: BTreeMap<String, Vec<String>>,
    /// The senders whose words count as the owner's, each `CHANNEL:SENDER`. Empty: everybody who is allowed to write, the
    /// members of a listed group included. What others write reaches the model marked as untrusted, and they approve nothing.
    pub owners: Vec<String>,
    /// The tools that guests and household members who are no owners may use beyond those of the workspace, the public web
    /// and their own memories and jobs, such as `shell` or `mail__*`. What changes the assistant itself is never among them.
    /// Tools of MCP servers that are programs on this machine are opened to turns that text from outside began, too.
    pub guest_tools: Vec<String>,
    /// Where shell commands run.
    #[schemars(schema_with = "crate::json_schema::sandbox")]
    pub sandbox: Sandbox,
    /// The docker image of the sandbox.
    pub sandbox_image: String,
    /// Memory of the sandbox, such as `512m` or `2g`.
    pub sandbox_memory: String,
    /// Processors of the sandbox.
    pub sandbox_cpus: f64,
    /// Processes in the sandbox.
    pub sandbox_pids_limit: u32,
    /// Network mode of the sandbox.
    pub sandbox_network: String,
    /// Asks a person before something is sent out, run, written to a file or scheduled in a turn that text from outside has
    /// entered, with approvals on or off. Where nobody can answer, such a call is refused.
    pub taint_requires_approval: bool,
    /// Hosts that the web tools may reach although their address is not public: `nas.local`, `192.168.1.5:8080`.
    pub egress_allowed_hosts: Vec<String>,
    /// Reserved, not enforced.
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
