//! The health of the configured MCP servers: a row on the feature board, and findings for `doctor`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aethon_config::Config;
use aethon_core::feature::{Feature, FeatureState, Features};
use aethon_core::tool::ToolSpec;
use aethon_mcp::client::{ServerState, Servers};
use tokio::time::timeout;

use crate::finding::Finding;
use crate::prepared::Prepared;
use crate::wiring;

/// How long `doctor` waits for the servers. One that is fetched from a registry takes its time.
const TIMEOUT: Duration = Duration::from_secs(20);

/// About how many tools the assistant has itself.
const OWN_TOOLS: usize = 24;

/// The row as far as the configuration determines it.
pub(crate) fn configured(config: &Config) -> Feature {
    let names: Vec<&str> =
        config.mcp.servers.iter().filter(|(_, server)| server.enabled).map(|(name, _)| &**name).collect();
    let detail = match names.as_slice() {
        [] => "no server is configured; `aethon-mcp` offers the built-in tools to other programs".to_owned(),
        names => format!("tools of {}", names.join(", ")),
    };
    row(FeatureState::of_switch(!names.is_empty()), detail)
}

/// Reports the current state of the servers on the board.
pub(crate) fn offer(board: &Features, servers: &Arc<Servers>) {
    let servers = servers.clone();
    board.offer(move || {
        let states = servers.states();
        if states.is_empty() { Vec::new() } else { vec![running(&states, &servers.remarks())] }
    });
}

/// Faults of single tools, by server.
type Remarks = BTreeMap<String, Vec<String>>;

fn running(states: &[(String, ServerState)], remarks: &Remarks) -> Feature {
    let fails =
        |state: &ServerState| matches!(state, ServerState::Failing { .. } | ServerState::NeedsSignIn { .. });
    let fails = states.iter().any(|(_, state)| fails(state));
    let told: Vec<String> = states.iter().map(|(name, state)| described(name, state, remarks)).collect();
    row(if fails { FeatureState::Degraded } else { FeatureState::On }, told.join("; "))
}

/// Describes a server, with the tools that are left out and why.
fn described(name: &str, state: &ServerState, remarks: &Remarks) -> String {
    match remarks.get(name) {
        Some(remarks) => format!("{name}: {state} ({})", remarks.join(", ")),
        None => format!("{name}: {state}"),
    }
}

fn row(state: FeatureState, detail: String) -> Feature {
    Feature::new(("mcp", "MCP servers"), state, detail, "mcp.servers")
}

/// Connects to every server and reports the result.
pub(crate) async fn findings(prepared: &Prepared) -> Vec<Finding> {
    let servers = wiring::mcp::servers(prepared);
    // A server that has not settled by then is reported in its current state.
    let _ = timeout(TIMEOUT, servers.settled()).await;
    let (states, remarks) = (servers.states(), servers.remarks());
    let specs: Vec<ToolSpec> =
        servers.source().tools().tools.iter().map(|tool| tool.spec().clone()).collect();
    servers.stop().await;
    let mut findings: Vec<Finding> =
        states.iter().map(|(name, state)| finding(name, state, &remarks)).collect();
    findings.extend(too_many(prepared, &specs));
    findings
}

/// Reports that the model's service does not take all tools of the servers beside the assistant's own.
fn too_many(prepared: &Prepared, specs: &[ToolSpec]) -> Option<Finding> {
    let provider = prepared.config.model.provider;
    let set = prepared.config.model.max_tools.and_then(|most| usize::try_from(most).ok());
    let most = set.or_else(|| aethon_providers::documented_tool_limit(provider))?;
    let together = specs.len() + OWN_TOOLS;
    (together > most).then(|| {
        let message = format!(
            "the servers have {} tools together, and {provider} takes {most} in one request with the assistant's own; \
             some of each server are left out",
            specs.len()
        );
        Finding::warning("mcp", message, "switch off a server that is not needed: mcp.servers.NAME.enabled")
    })
}

fn finding(name: &str, state: &ServerState, remarks: &Remarks) -> Finding {
    let message = described(name, state, remarks);
    let fix = format!("check mcp.servers.{name}, and try its command or address by hand");
    match state {
        ServerState::Connected { left_out: 0, .. } => Finding::ok("mcp", message),
        ServerState::Connected { .. } => {
            let fix = "see the log for the tools that were left out and why";
            Finding::warning("mcp", message, fix)
        }
        ServerState::Failing { .. } => Finding::broken("mcp", message, fix),
        ServerState::NeedsSignIn { command } => Finding::broken("mcp", message, format!("run {command}")),
        ServerState::Idle | ServerState::Starting => {
            let message = format!("{name}: not connected after {} s", TIMEOUT.as_secs());
            Finding::warning("mcp", message, fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_server_is_reported_with_the_others() {
        let connected = ServerState::Connected { tools: 3, left_out: 1 };
        let failing = ServerState::Failing { why: "it ended with exit status 1".into() };
        let check = |states: &[ServerState], state: FeatureState, detail: &str| {
            let named: Vec<_> =
                states.iter().enumerate().map(|(at, state)| (format!("s{at}"), state.clone())).collect();
            let row = running(&named, &Remarks::new());
            assert_eq!((row.state, row.detail.as_str()), (state, detail));
        };
        check(&[ServerState::Starting], FeatureState::On, "s0: starting");
        let both = "s0: connected, 3 tools, 1 left out; s1: failing: it ended with exit status 1";
        check(&[connected, failing], FeatureState::Degraded, both);
        let remarks = Remarks::from([("s".to_owned(), vec!["bad (no input schema)".to_owned()])]);
        let named = [("s".to_owned(), ServerState::Connected { tools: 3, left_out: 1 })];
        assert_eq!(
            running(&named, &remarks).detail,
            "s: connected, 3 tools, 1 left out (bad (no input schema))"
        );
        assert_eq!(configured(&Config::default()).state, FeatureState::Off);
    }
}
