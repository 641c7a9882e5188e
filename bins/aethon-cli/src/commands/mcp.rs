//! `mcp`: serves the tools to an MCP client over standard input and output.

use std::process::ExitCode;

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Common;

/// Serves one client until it disconnects. Standard output carries only the protocol.
pub(crate) fn run(common: &Common) -> Result<ExitCode> {
    let prepared = crate::setup::builder(common).load()?;
    tracing::subscriber::set_global_default(prepared.logging(common.log_format, true).subscriber())
        .context("the log cannot be set up")?;
    aethon::version::log("aethon-cli mcp");
    for warning in prepared.warnings() {
        tracing::warn!("{warning}");
    }
    let runtime = crate::setup::runtime()?;
    let served = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).context("signals cannot be watched")?;
        let mut interrupt = signal(SignalKind::interrupt()).context("signals cannot be watched")?;
        let stop = async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        Ok(aethon::serve_mcp(prepared, tokio::io::stdin(), tokio::io::stdout(), stop).await?)
    });
    // A thread still reading standard input must not delay the exit.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}
