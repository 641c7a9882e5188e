//! Which networks of containers lead to the assistant's own port.
//!
//! A command without a sandbox cannot connect to that port. A container that shares the machine's network, or reaches an
//! address on which the assistant listens, can; then only the token stands between a command and the owner's rights. So
//! without a token such a network is a reason not to start, and with one it is worth a warning.

use aethon_config::Config;
use aethon_core::sandbox::Sandbox;
use aethon_http::is_loopback_host;

/// A configured network that leads to the assistant's port.
struct Way {
    key: String,
    network: String,
    /// Whether it leads there because the assistant listens on an address that others reach.
    is_by_address: bool,
}

/// Every network that is a reason not to start.
pub(crate) async fn problems(config: &Config) -> Vec<String> {
    if !config.dashboard.auth_token.is_empty() {
        return Vec::new();
    }
    let remedy = |way: &Way| match way.is_by_address {
        true => "use \"none\", or bind channels.webchat.host to 127.0.0.1",
        false => "use \"none\" or \"bridge\"",
    };
    let refusal = |way: &Way| {
        format!(
            "{} is {:?}, with which a command in a container reaches the assistant's own port, and dashboard.auth_token is \
             empty: set a token (for example `aethon-cli secrets set dashboard` and dashboard.auth_token = \
             \"${{credential:dashboard}}\"), or {}",
            way.key,
            way.network,
            remedy(way)
        )
    };
    ways(config).await.iter().map(refusal).collect()
}

/// Warnings about networks that only the token guards.
pub(crate) async fn warnings(config: &Config) -> Vec<String> {
    if config.dashboard.auth_token.is_empty() {
        return Vec::new();
    }
    let warning = |way: &Way| {
        format!(
            "{} is {:?}, with which a command in a container reaches the assistant's own port: only dashboard.auth_token keeps \
             it from the owner's rights",
            way.key, way.network
        )
    };
    ways(config).await.iter().map(warning).collect()
}

/// The networks of containers that are not `none`, each with its key.
pub(crate) fn networks(config: &Config) -> Vec<(String, String)> {
    let has_port = config.channels.webchat.enabled && config.channels.webchat.tcp_port().is_some();
    if config.security.sandbox != Sandbox::Docker || !has_port {
        return Vec::new();
    }
    let own = ("security.sandbox_network".to_owned(), config.security.sandbox_network.clone());
    let servers = config.mcp.servers.iter().filter(|(_, server)| server.enabled && server.sandbox);
    let servers = servers.filter_map(|(name, server)| {
        let network = server.network.clone().filter(|network| !network.trim().is_empty())?;
        server.command.as_ref().map(|_| (format!("mcp.servers.{name}.network"), network))
    });
    std::iter::once(own).chain(servers).filter(|(_, network)| network != "none").collect()
}

async fn ways(config: &Config) -> Vec<Way> {
    let networks = networks(config);
    if networks.is_empty() {
        return Vec::new();
    }
    let is_near = matches!(is_loopback_host(&config.channels.webchat.host).await, Ok(true));
    let ways = networks.into_iter().map(|(key, network)| {
        let is_by_address = !shares_the_machines(&network);
        Way { key, network, is_by_address }
    });
    ways.filter(|way| !way.is_by_address || !is_near).collect()
}

/// Returns whether a container on this network shares the network of the machine or of another container, or may be
/// configured to reach the machine's loopback addresses: `host`, `container:NAME`, `ns:PATH`, `slirp4netns:OPTIONS`.
fn shares_the_machines(network: &str) -> bool {
    network == "host" || network.contains(':')
}

#[cfg(test)]
mod tests {
    use aethon_config::schema::McpServer;
    use aethon_core::secret::Secret;

    use super::*;

    async fn told(change: impl Fn(&mut Config)) -> (Vec<String>, Vec<String>) {
        let mut config = Config::default();
        config.security.sandbox = Sandbox::Docker;
        change(&mut config);
        let problems = problems(&config).await;
        config.dashboard.auth_token = Secret::new("a token that nobody guesses");
        (problems, warnings(&config).await)
    }

    #[tokio::test]
    async fn a_network_that_leads_to_the_own_port_needs_a_token() {
        for (network, host, expected) in [
            ("none", "127.0.0.1", false),
            ("none", "0.0.0.0", false),
            ("bridge", "127.0.0.1", false),
            ("bridge", "0.0.0.0", true),
            ("lan", "192.0.2.1", true),
            ("host", "127.0.0.1", true),
            ("host", "0.0.0.0", true),
            ("container:proxy", "127.0.0.1", true),
            ("slirp4netns:allow_host_loopback=true", "127.0.0.1", true),
        ] {
            for is_server in [false, true] {
                let change = |config: &mut Config| {
                    config.channels.webchat.host = host.into();
                    if is_server {
                        let (command, network) = (Some("server".into()), Some(network.into()));
                        let server = McpServer { command, network, ..McpServer::default() };
                        config.mcp.servers.insert("own".into(), server);
                    } else {
                        config.security.sandbox_network = network.into();
                    }
                };
                let (problems, warnings) = told(change).await;
                let key = if is_server { "mcp.servers.own.network" } else { "security.sandbox_network" };
                let what = format!("{key} {network} {host}: {problems:?} {warnings:?}");
                assert_eq!((problems.len(), warnings.len()), (expected.into(), expected.into()), "{what}");
                assert!(
                    problems.iter().all(|it| it.contains(key) && it.contains("dashboard.auth_token")),
                    "{what}"
                );
                assert!(warnings.iter().all(|it| it.contains(key)), "{what}");
            }
        }
    }

    #[tokio::test]
    async fn commands_outside_containers_are_not_concerned() {
        for sandbox in [Sandbox::None, Sandbox::Kernel] {
            let (problems, warnings) = told(|config| {
                config.security.sandbox = sandbox;
                config.security.sandbox_network = "host".into();
            })
            .await;
            assert!(problems.is_empty() && warnings.is_empty(), "{sandbox:?}");
        }
        let (problems, _) = told(|config| {
            config.channels.webchat.enabled = false;
            config.security.sandbox_network = "host".into();
        })
        .await;
        assert!(problems.is_empty(), "nothing listens");
    }
}
