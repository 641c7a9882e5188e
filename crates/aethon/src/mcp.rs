//! Serves the assistant's tools over MCP, for `aethon-mcp` and `aethon-cli mcp`.
//!
//! It works beside a daemon on the same home and takes no lock. Every call passes the same guards as in a chat; no one
//! can be asked, so calls that need approval are denied.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::ids::{SessionId, TurnId, unique};
use aethon_core::message::Inbound;
use aethon_core::surface::Unattended;
use aethon_core::tool::ToolContext;
use aethon_core::turn::TurnContext;
use aethon_mcp::server::{Options, serve};
use tokio::io::{AsyncRead, AsyncWrite};

mod health;
mod left_out;
mod prompts;
pub(crate) mod sign_in;

use crate::error::{Error, Result};
use crate::prepared::Prepared;
pub(crate) use health::{configured, findings, offer};
pub(crate) use left_out::left_out;
use prompts::SopPrompts;

/// How long shutdown waits for turns that were taken over from another program.
const GRACE: Duration = Duration::from_secs(2);

/// Serves the tools to one client until it disconnects or `stop` resolves. The configured MCP servers start in the
/// background; the first list waits for them for a few seconds.
pub async fn serve_mcp(
    prepared: Prepared,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: impl Future<Output = ()> + Send,
) -> Result<()> {
    let most_chars = prepared.config.agent.max_tool_output_chars;
    let assistant = prepared.open().await?;
    assistant.tools.servers.start();
    let options = Options {
        toolbox: assistant.engine.toolbox(),
        context: context(most_chars)?,
        prompts: Some(Arc::new(SopPrompts(assistant.sops()))),
        bus: Some(assistant.events().clone()),
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let served = serve(options, input, output, stop).await;
    assistant.shutdown(GRACE).await;
    served.map_err(|error| Error::failed(error.to_string()).because(error))
}

/// The context of a connection, which counts as one session and one turn: taint from a stranger's text lasts until the client
/// disconnects.
fn context(most_chars: usize) -> Result<ToolContext> {
    let session = SessionId::of("mcp", &unique()).map_err(|error| Error::failed(error.to_string()))?;
    let turn = TurnContext::of(TurnId::fresh(), &Inbound::say(session, ""));
    Ok(ToolContext::of(&turn, Arc::new(Unattended), most_chars))
}
