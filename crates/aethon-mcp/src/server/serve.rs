//! Runs one connection from start to end.

use std::sync::Arc;

use aethon_core::event::EventBus;
use aethon_core::tool::{ToolContext, Toolbox};
use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::arrays::ArrayFilter;
use super::calls::Calls;
use super::changes::{self, Counts};
use super::handler::Handler;
use super::lenient::LenientTransport;
use super::log_feed::LogFeed;
use super::prompts::Prompts;
use crate::error::Error;

/// Maximum length of a line; longer ones are dropped.
const MAX_LINE: usize = 16 << 20;

/// The offer to a client.
pub struct Options {
    /// The tools, behind all guards.
    pub toolbox: Arc<dyn Toolbox>,
    /// Where calls run: a session of this connection, on an unattended surface.
    pub context: ToolContext,
    /// Prompts, if there are any.
    pub prompts: Option<Arc<dyn Prompts>>,
    /// Where the log of the program is published, redacted, for clients that want it.
    pub bus: Option<EventBus>,
    /// The version of the program.
    pub version: String,
}

/// Serves a client until it closes its side or `stop` resolves. Requests in progress when it closes are still answered
/// for some seconds; those in progress when `stop` resolves are aborted.
pub async fn serve(
    options: Options,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), Error> {
    let Options { toolbox, context, prompts, bus, version } = options;
    let (sender, changes) = watch::channel(Counts::default());
    let handler = Handler {
        calls: Calls::new(toolbox.clone(), context),
        prompts: prompts.clone(),
        changes,
        log: bus.map(LogFeed::new),
        version,
    };
    let transport = AsyncRwTransport::new_server(ArrayFilter::new(input), output);
    let transport = LenientTransport::new(transport.with_max_line_length(MAX_LINE));
    tokio::select! {
        outcome = converse(handler, transport) => outcome,
        () = changes::watch(toolbox, sender.clone()) => Ok(()),
        () = changes::watch_prompts(prompts, sender) => Ok(()),
        () = stop => Ok(()),
    }
}

async fn converse<T>(handler: Handler, transport: LenientTransport<T>) -> Result<(), Error>
where
    T: rmcp::transport::Transport<rmcp::RoleServer> + 'static,
{
    let service = match rmcp::serve_server(handler, transport).await {
        Ok(service) => service,
        // A client that leaves before the session has begun is no error.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(Error::new("the MCP client could not be served").because(error)),
    };
    match service.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => {
            Err(Error::new("the connection to the MCP client broke").because(error))
        }
        Ok(_) => Ok(()),
    }
}
