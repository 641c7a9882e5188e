//! Builds the options of the HTTP application from `[channels.webchat]`, `[dashboard]`, `[webhook]`, `[budget]` and `[server]`.

use std::path::PathBuf;
use std::time::Duration;

use aethon_config::Config;
use aethon_http::options::{Limits, Listen, Network, Options, Webhooks};

use crate::home::Home;

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

pub(crate) fn options(config: &Config, is_demo: bool) -> Options {
    let (webchat, server) = (&config.channels.webchat, &config.server);
    Options {
        // The home decides where a relative path lies, so the socket is added when the listener is bound.
        listen: Listen { host: webchat.host.clone(), port: webchat.tcp_port(), socket: None },
        token: config.dashboard.auth_token.clone(),
        // The key comes from the home, not from the configuration.
        sign_in_key: aethon_core::secret::Secret::default(),
        sign_ins: None,
        webhooks: webhooks(config),
        dashboard_enabled: config.dashboard.enabled,
        mark_untrusted: config.security.mark_untrusted_content,
        allowed_origins: webchat.allowed_origins.clone(),
        allowed_hosts: webchat.allowed_hosts.clone(),
        // The preflight refused entries that are not networks.
        trusted_proxies: server.trusted_proxies.iter().filter_map(|proxy| Network::parse(proxy)).collect(),
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
