//! Builds the MCP servers from `[mcp]`.

use std::sync::Arc;
use std::time::Duration;

use aethon_config::schema::McpServer;
use aethon_core::exchange::Exchange;
use aethon_core::program::{Program, ProgramSandbox};
use aethon_core::secret::Secret;
use aethon_mcp::client::{Address, Options, ServerOptions, Servers};
use aethon_mcp::oauth::{Authorized, AuthorizedOptions};
use aethon_tools::ConfinedPrograms;

use super::tool_options;
use crate::mcp::sign_in;
use crate::prepared::Prepared;

/// The longest duration of a call, whatever the limit of a turn.
const MAX_CALL: Duration = Duration::from_secs(300);
/// How long a remote server may be silent. Its event stream is silent most of the time.
const SILENCE: Duration = Duration::from_secs(600);

/// The configured servers. None is started yet.
pub(crate) fn servers(prepared: &Prepared) -> Servers {
    let config = &prepared.config;
    let programs = ConfinedPrograms::new(&tool_options::options(prepared), &prepared.flags.locale);
    let enabled = config.mcp.servers.iter().filter(|(_, server)| server.enabled);
    let mut servers: Vec<_> = enabled.filter_map(|(name, server)| entry(prepared, name, server)).collect();
    if prepared.flags.is_nested && !servers.is_empty() {
        // A server may be this very program on another home with MCP servers of its own, and so on without end.
        tracing::warn!("started by another assistant, so MCP servers are not started");
        servers.clear();
    }
    Servers::new(Options {
        servers,
        programs: Arc::new(programs),
        call_timeout: MAX_CALL.min(Duration::from_secs(config.agent.turn_timeout_seconds)),
        version: env!("CARGO_PKG_VERSION").into(),
    })
}

fn entry(prepared: &Prepared, name: &str, server: &McpServer) -> Option<ServerOptions> {
    let pairs = |secrets: &std::collections::BTreeMap<String, Secret>| -> Vec<(String, Secret)> {
        secrets.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let filled = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let address = match (filled(&server.command), filled(&server.url)) {
        (Some(command), _) => {
            let environment = pairs(&server.env);
            let args = server.args.clone();
            let (image, network) = (filled(&server.image), filled(&server.network));
            let sandbox = server.sandbox.then_some(ProgramSandbox { image, network });
            Address::Program(Program { command, args, environment, sandbox })
        }
        (None, Some(url)) => match exchange(prepared, name, server, &url) {
            Ok(exchange) => Address::Url { url, headers: pairs(&server.headers), exchange },
            Err(error) => {
                tracing::error!(server = name, %error, "an MCP server cannot be used");
                return None;
            }
        },
        // Checked with the configuration.
        (None, None) => return None,
    };
    Some(ServerOptions { name: name.to_owned(), address, is_trusted: server.trusted })
}

/// Returns the transport to a remote server: with the tokens of its sign-in, unless the owner has configured others.
fn exchange(
    prepared: &Prepared,
    name: &str,
    server: &McpServer,
    url: &str,
) -> std::io::Result<Arc<dyn Exchange>> {
    let exchange: Arc<dyn Exchange> = Arc::new(aethon_providers::exchange(url, SILENCE)?);
    if sign_in::has_own_token(server) {
        return Ok(exchange);
    }
    let options = AuthorizedOptions {
        url: url.to_owned(),
        exchange,
        outside: sign_in::outside(prepared, url),
        store: sign_in::store(prepared, name),
        clock: prepared.clock(),
    };
    Authorized::new(options).map(|exchange| Arc::new(exchange) as _).map_err(std::io::Error::other)
}
