//! The settings of the HTTP application.
//!
//! The facade fills them in from the configuration, with references resolved and values validated. [`Webhooks`] and
//! [`Limits`] are groups of their own to keep the list short.

use std::fmt;
use std::fs::File;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::error::Result;
use aethon_core::secret::Secret;
use aethon_core::usage::Budget;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::unix_peer::UNIX_PEER;

pub use crate::base_path::BasePath;

/// The settings of the application.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen.
    pub listen: Listen,
    /// The shared access token (`dashboard.auth_token`). Empty or blank means no authentication.
    pub token: Secret,
    /// How browsers sign in.
    pub sign_ins: SignInOptions,
    /// Inbound webhooks.
    pub webhooks: Webhooks,
    /// Whether the dashboard and its API exist.
    pub dashboard_enabled: bool,
    /// Whether webhook content is marked as untrusted (`security.mark_untrusted_content`).
    pub mark_untrusted: bool,
    /// Allowed browser origins besides our own, such as `https://home.example`.
    pub allowed_origins: Vec<String>,
    /// Host names under which the service may be reached, on any port.
    pub allowed_hosts: Vec<String>,
    /// Peers that may set `X-Forwarded-*`.
    pub trusted_proxies: Vec<Network>,
    /// Who may ask without the token whether the service is ready.
    pub health_from: Vec<Network>,
    /// The path below which a proxy offers the service (`server.base_path`).
    pub base_path: BasePath,
    /// Limit on daily spending.
    pub budget: Budget,
    /// Limits on connections and requests.
    pub limits: Limits,
    /// The version shown by `/api/status` and the sockets.
    pub version: &'static str,
    /// Whether the offline model stands in because no model is configured (`--demo`).
    pub demo: bool,
}

/// How browsers sign in.
#[derive(Debug, Clone)]
pub struct SignInOptions {
    /// Signs the cookies of browsers. The home keeps it, so that browsers stay signed in across a restart. If empty, a
    /// new key is created each time.
    pub key: Secret,
    /// The home's file of sign-ins and revocations, open for reading and appending.
    pub register: Option<Arc<File>>,
    /// The same, where several instances admit the same browsers: it takes the place of the file.
    pub journal: Option<SharedSignIns>,
    /// How long a sign-in lasts.
    pub lifetime: Duration,
}

impl SignInOptions {
    /// Returns what all instances share about who gets in, if there can be several.
    pub(crate) fn shared(&self) -> Option<Arc<dyn AccessJournal>> {
        self.journal.as_ref().map(|shared| shared.journal.clone())
    }
}

impl Default for SignInOptions {
    fn default() -> Self {
        Self {
            key: Secret::default(),
            register: None,
            journal: None,
            lifetime: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

/// The sign-ins and revocations of all instances.
#[derive(Clone)]
pub struct SharedSignIns {
    /// Where those of this instance are written.
    pub journal: Arc<dyn AccessJournal>,
    /// The lines of all, as far as they were written.
    pub lines: Vec<String>,
}

impl fmt::Debug for SharedSignIns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSignIns").field("lines", &self.lines.len()).finish_non_exhaustive()
    }
}

/// Keeps sign-ins and revocations where all instances find them, and what else decides who gets in.
#[async_trait]
pub trait AccessJournal: Send + Sync {
    /// Stores a line until it does not matter any more, and tells other instances. `name` is the line's own.
    async fn add(&self, name: &str, line: &str, until: Timestamp) -> Result<()>;

    /// Stores what is known of a code with which a device may sign in once, at any instance.
    async fn offer_code(&self, name: &str, known: &str, until: Timestamp) -> Result<()>;

    /// Takes away what was stored of a code. Of several callers, on any instance, one gets it.
    async fn take_code(&self, name: &str) -> Result<Option<String>>;

    /// Tells other instances that a wrong token came from this address.
    fn wrong_token(&self, address: IpAddr);

    /// Claims a webhook's signature for a request, until its time no longer counts. Returns the request for which it was claimed
    /// before, at any instance.
    async fn claim_signature(&self, name: &str, request: &str, until: Timestamp) -> Result<Option<String>>;

    /// Gives a claimed signature back.
    async fn release_signature(&self, name: &str) -> Result<()>;
}

/// Where the application listens: on a port, on a Unix socket, or on both.
#[derive(Debug, Clone)]
pub struct Listen {
    /// The host to bind: a name or an address.
    pub host: String,
    /// The port to bind; 0 takes a free one. `None`: only the socket is served.
    pub port: Option<u16>,
    /// The path of the Unix socket.
    pub socket: Option<PathBuf>,
}

impl Default for Listen {
    fn default() -> Self {
        Self { host: "127.0.0.1".into(), port: Some(18790), socket: None }
    }
}

/// Settings of the webhook routes.
#[derive(Debug, Clone, Default)]
pub struct Webhooks {
    /// Whether the webhook routes are enabled.
    pub enabled: bool,
    /// If set, every request must be signed. If empty, the routes exist on loopback only.
    pub secret: Secret,
}

impl Webhooks {
    /// Returns whether the routes exist. Beyond loopback they require a secret.
    pub fn exist(&self, is_loopback: bool) -> bool {
        self.enabled && (is_loopback || !self.secret.is_empty())
    }
}

/// Limits on connections and requests.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The largest request body, in bytes.
    pub max_body_bytes: usize,
    /// How many connections may be open at once.
    pub max_connections: usize,
    /// How long the head of a request may take to arrive.
    pub header_timeout: Duration,
    /// How long a connection may idle once it has shown a valid token.
    pub idle: Duration,
    /// The same for a connection that has not shown a valid token yet.
    pub idle_unknown: Duration,
    /// How long the body of a request may take to arrive.
    pub body_timeout: Duration,
    /// How long a webhook waits for its reply.
    pub webhook_timeout: Duration,
    /// How long running requests may take to finish at shutdown.
    pub shutdown_grace: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: Listen::default(),
            token: Secret::default(),
            sign_ins: SignInOptions::default(),
            webhooks: Webhooks { enabled: true, secret: Secret::default() },
            dashboard_enabled: true,
            mark_untrusted: true,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            trusted_proxies: Vec::new(),
            health_from: Vec::new(),
            base_path: BasePath::default(),
            budget: Budget::default(),
            limits: Limits::default(),
            version: env!("CARGO_PKG_VERSION"),
            demo: false,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 1 << 20,
            max_connections: 4096,
            header_timeout: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            idle_unknown: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            webhook_timeout: Duration::from_secs(600),
            shutdown_grace: Duration::from_secs(8),
        }
    }
}

/// An address or a network in CIDR notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    prefix: u8,
}

impl Network {
    /// What connects to the Unix socket.
    const UNIX: Self = Self { base: UNIX_PEER, prefix: 32 };

    /// Parses `10.0.0.1`, `10.0.0.0/8`, `::1` or `fd00::/8`. An IPv4-mapped address counts as its IPv4 address. `unix` is what
    /// connects to the Unix socket.
    pub fn parse(text: &str) -> Option<Self> {
        if text.trim() == "unix" {
            return Some(Self::UNIX);
        }
        let (base, prefix) = match text.trim().split_once('/') {
            Some((base, prefix)) => (base, Some(prefix.parse::<u8>().ok()?)),
            None => (text.trim(), None),
        };
        let written: IpAddr = base.parse().ok()?;
        let base = written.to_canonical();
        let bits = if base.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) if written.is_ipv6() && base.is_ipv4() => prefix.checked_sub(96)?,
            Some(prefix) => prefix,
            None => bits,
        };
        (prefix <= bits).then_some(Self { base, prefix })
    }

    /// Returns whether the network contains the address.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address.to_canonical()) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                u32::from(base) & mask == u32::from(address) & mask
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                u128::from(base) & mask == u128::from(address) & mask
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_address_or_a_prefix() {
        let check = |network: &str, address: &str, expected: bool| {
            let network = Network::parse(network).expect("well formed");
            assert_eq!(network.contains(address.parse().unwrap()), expected, "{network:?} {address}");
        };
        check("10.0.0.0/8", "10.255.1.2", true);
        check("10.0.0.0/8", "11.0.0.1", false);
        check("unix", "0.0.0.0", true);
        check("unix", "127.0.0.1", false);
        check("127.0.0.1", "127.0.0.1", true);
        check("127.0.0.1", "127.0.0.2", false);
        check("127.0.0.1", "::ffff:127.0.0.1", true);
        check("::ffff:127.0.0.0/104", "127.9.9.9", true);
        check("fd00::/8", "fdff::1", true);
        check("fd00::/8", "fe00::1", false);
        check("0.0.0.0/0", "203.0.113.9", true);
        check("::/0", "2001:db8::1", true);
        check("::/0", "127.0.0.1", false);
    }

    #[test]
    fn invalid_networks_are_refused() {
        for text in ["", "10.0.0.0/33", "::/129", "localhost", "10.0.0/8", "10.0.0.0/-1", "::ffff:1.2.3.4/12"]
        {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }
}
