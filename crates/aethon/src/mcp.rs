//! The assistant's tools over MCP: `aethon-mcp` and `aethon-cli mcp`.
//!
//! It works beside a daemon on the same home and takes no lock. Every call goes through the guards of a chat; nobody can be
//! asked, so what needs an approval is denied.

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
mod prompts;

use crate::builder::Prepared;
use crate::error::{Error, Result};
pub(crate) use health::{configured, findings, offer};
use prompts::SopPrompts;

/// How long turns may go on that were taken over from a program that is gone.
const GRACE: Duration = Duration::from_secs(2);

/// Serves the tools to one client until it closes its side or `stop` resolves. The configured servers start in the
/// background, and their tools are offered when they are there.
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
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let served = serve(options, input, output, stop).await;
    assistant.shutdown(GRACE).await;
    served.map_err(|error| Error::failed(error.to_string()).because(error))
}

/// A connection is one session and one turn: what a stranger's text has tainted stays so until the client leaves.
fn context(most_chars: usize) -> Result<ToolContext> {
    let session = SessionId::of("mcp", &unique()).map_err(|error| Error::failed(error.to_string()))?;
    let turn = TurnContext::of(TurnId::fresh(), &Inbound::say(session, ""));
    Ok(ToolContext::of(&turn, Arc::new(Unattended), most_chars))
}
