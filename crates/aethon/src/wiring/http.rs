//! Builds the options of the HTTP application from `[channels.webchat]`, `[dashboard]`, `[webhook]`, `[budget]` and `[server]`.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use aethon_config::Config;
use aethon_http::options::{BasePath, Limits, Listen, Network, Options, SignInOptions, Webhooks};
use aethon_tools::Workspace;

use crate::home::Home;
use crate::prepared::Prepared;

/// How much longer connections live than turns at shutdown, so that a turn stopped at the end of the grace can report it.
const LAST_WORDS: Duration = Duration::from_secs(2);

pub(crate) fn webhooks(config: &Config) -> Webhooks {
    Webhooks { enabled: config.webhook.enabled, secret: config.webhook.secret.clone() }
}

/// The path of the Unix socket; a relative one lies in the `run/` of the home.
pub(crate) fn socket(config: &Config, home: &Home) -> Option<PathBuf> {
    let path = config.channels.webchat.socket.trim();
    (!path.is_empty()).then(|| home.run().join(path))
}

/// Why the Unix socket may not lie where it is configured: there, a tool could put another program's in its place.
pub(crate) fn socket_problem(prepared: &Prepared) -> Option<String> {
    let path =
        socket(&prepared.config, &prepared.home).filter(|_| prepared.config.channels.webchat.enabled)?;
    let tools = Workspace::new(&super::tool_options::options(prepared));
    // The run/ of a new home is not there yet, so what climbs out of it is judged as written, too.
    let is_open = [&path, &as_written(&path)].into_iter().any(|path| tools.may_write(path));
    is_open.then(|| {
        format!(
            "channels.webchat.socket is {}, where tools may write and could put another socket in its place: use a name without \
             a folder, such as \"aethon.sock\", which lies in the run/ of the home",
            path.display()
        )
    })
}

/// Resolves `..` in a path without looking at the disk.
fn as_written(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for step in path.components() {
        match step {
            Component::ParentDir => drop(whole.pop()),
            step => whole.push(step),
        }
    }
    whole
}

/// Reads networks. The preflight has refused invalid ones.
fn networks(written: &[String]) -> Vec<Network> {
    written.iter().filter_map(|network| Network::parse(network)).collect()
}

pub(crate) fn options(config: &Config, is_demo: bool) -> Options {
    let (webchat, server) = (&config.channels.webchat, &config.server);
    Options {
        // The home decides where a relative path lies, so the socket is added when the listener is bound.
        listen: Listen { host: webchat.host.clone(), port: webchat.tcp_port(), socket: None },
        token: config.dashboard.auth_token.clone(),
        // The key comes from the home, not from the configuration.
        sign_ins: SignInOptions {
            lifetime: Duration::from_secs(u64::from(config.dashboard.session_days) * 24 * 3600),
            ..SignInOptions::default()
        },
        webhooks: webhooks(config),
        dashboard_enabled: config.dashboard.enabled,
        mark_untrusted: config.security.mark_untrusted_content,
        allowed_origins: webchat.allowed_origins.clone(),
        allowed_hosts: webchat.allowed_hosts.clone(),
        trusted_proxies: networks(&server.trusted_proxies),
        health_from: networks(&server.health_from),
        base_path: BasePath::new(&config.server.base_path),
        budget: super::prices::limits(&config.budget),
        limits: Limits {
            max_body_bytes: server.max_body_bytes,
            max_connections: server.max_connections,
            header_timeout: Duration::from_secs(server.header_timeout_seconds),
            body_timeout: Duration::from_secs(server.body_timeout_seconds),
            webhook_timeout: Duration::from_secs(server.webhook_timeout_seconds),
            shutdown_grace: Duration::from_secs(server.shutdown_grace) + LAST_WORDS,
            ..Limits::default()
        },
        version: env!("CARGO_PKG_VERSION"),
        demo: is_demo,
    }
}
