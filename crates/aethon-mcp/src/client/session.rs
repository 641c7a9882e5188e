//! One live connection: reads its list of tools, and reads it again when the server announces a change.

#![expect(deprecated, reason = "the newest revision gives logging up, and servers of the others use it")]

use std::sync::Arc;
use std::time::Duration;

use aethon_core::program::ProgramLife;
use aethon_core::shutdown::Shutdown;
use aethon_core::tool::Tool;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCreateRequestMethod, ErrorData,
    LoggingMessageNotificationParam, ServerNotification, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleClient, RunningService, Subscription};
use tokio::time::{sleep, timeout};

use super::board::{Board, ServerState};
use super::extras::{self, Extras};
use super::listing::{self, ListFailure};
use super::options::OfferRules;
use super::refusal::SignIn;
use super::relisting::{MAX_WAIT, Relisting};
use super::server_log::ServerLog;
use super::signals::ConnectionSignals;
use super::stderr::StderrTail;
use super::tool::BorrowedTool;
use crate::error::Error;

/// How long subscribing to changes may take.
const SUBSCRIBING: Duration = Duration::from_secs(2);
/// How soon a list is read again that could not be used.
const RETRY: Duration = Duration::from_secs(30);
/// How long a program may take to exit after its input is closed.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// Our side of a connection. It grants the server nothing.
pub(super) struct Listener {
    client: ClientConfig,
    pub(super) signals: Arc<ConnectionSignals>,
    log: ServerLog,
}

impl Listener {
    pub(super) fn new(client: ClientConfig, server: Arc<str>, sign_in: SignIn) -> Self {
        Self { client, signals: Arc::new(ConnectionSignals::of(server, sign_in)), log: ServerLog::default() }
    }
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        self.client.clone()
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.signals.list.notify_one();
    }

    /// The server's resources changed, and our tools for them with it.
    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.signals.list.notify_one();
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.signals.list.notify_one();
    }

    async fn on_logging_message(
        &self,
        message: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.log.note(self.signals.running.server(), &message);
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if self.client.capabilities.elicitation.is_none() {
            return Err(ErrorData::method_not_found::<ElicitationCreateRequestMethod>());
        }
        Ok(self.signals.running.ask(&request).await)
    }
}

/// The processes of a server that is a program.
pub(super) struct ServerProcess {
    pub(super) life: Box<dyn ProgramLife>,
    pub(super) stderr: StderrTail,
}

/// An established connection.
pub(super) struct Session {
    pub(super) service: RunningService<RoleClient, Listener>,
    pub(super) signals: Arc<ConnectionSignals>,
    pub(super) process: Option<ServerProcess>,
}

impl Session {
    /// Keeps the board up to date until the connection ends or the program stops; returns how it ended.
    pub(super) async fn keep(
        mut self,
        name: Arc<str>,
        board: Arc<Board>,
        rules: OfferRules,
        mut shutdown: Shutdown,
    ) -> Ended {
        let mut subscription = subscribe(self.service.peer().clone()).await;
        let (mut relisting, mut news) = (Relisting::new(), News::default());
        let mut is_refused = false;
        let why = loop {
            relisting.begin();
            let listed = list(self.service.peer().clone(), name.clone(), rules, self.signals.clone()).await;
            let next = match listed {
                Ok(listed) => {
                    news.report(&name, &listed);
                    board.put(&name, listed.state, listed.tools);
                    board.remark(&name, listed.left_out);
                    MAX_WAIT
                }
                Err(ListFailure::Unusable(why)) => {
                    // The process is of use as it is; perhaps its next list is.
                    news.report_unusable(&name, &why);
                    board.degrade(&name, why);
                    RETRY
                }
                Err(ListFailure::Refused(why)) => {
                    // A list that worked before is refused because the server has forgotten the session.
                    is_refused = news.has_listed();
                    break why;
                }
            };
            tokio::select! {
                why = ended(&mut self.process, &self.signals) => break why,
                () = shutdown.requested() => break String::new(),
                () = self.signals.broken.notified() => {
                    // Wait for the actual end, which explains more than a broken call.
                    let ended = timeout(2 * EXIT_GRACE, ended(&mut self.process, &self.signals)).await;
                    break ended.unwrap_or_else(|_| "a call found the connection broken".to_owned());
                }
                () = async {
                    changed(&self.signals, &mut subscription).await;
                    sleep(relisting.wait(&name)).await;
                } => {}
                () = sleep(next) => {}
            }
        };
        // Withdraw the tools first, so that no call goes to a server that is going away.
        board.put(&name, ServerState::Starting, Vec::new());
        Ended { error: Error::new(self.end(why).await), is_refused }
    }

    /// Closes the connection; a program gets a moment to exit by itself.
    async fn end(self, why: String) -> String {
        let closing = self.service.cancel().boxed();
        // If it does not close in time, dropping it does.
        let _ = timeout(EXIT_GRACE, closing).await;
        let Some(ServerProcess { mut life, stderr }) = self.process else { return why };
        let _ = timeout(EXIT_GRACE, life.ended()).await;
        stderr.append_to(why).await
    }
}

/// How a connection ended.
pub(super) struct Ended {
    pub(super) error: Error,
    /// Whether the server refused its list after it had given it: it has forgotten the session, and a new one is due at
    /// once.
    pub(super) is_refused: bool,
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self { error, is_refused: false }
    }
}

/// The faults of a server's lists that were reported, so that each is logged once.
#[derive(Default)]
struct News {
    state: Option<ServerState>,
    unusable: Option<String>,
}

impl News {
    fn has_listed(&self) -> bool {
        self.state.is_some()
    }

    fn report(&mut self, server: &str, listed: &Listed) {
        self.unusable = None;
        if self.state.as_ref() == Some(&listed.state) {
            return;
        }
        let (state, is_first) = (&listed.state, !self.has_listed());
        tracing::info!(server, "MCP server {state}");
        // A server whose list changes all the time would fill the log with the same names.
        if !listed.left_out.is_empty() && is_first {
            let some = listed.left_out.join(", ");
            tracing::warn!(server, some, "tools of an MCP server are left out");
        }
        self.state = Some(listed.state.clone());
    }

    fn report_unusable(&mut self, server: &str, why: &str) {
        if self.unusable.as_deref() != Some(why) {
            tracing::warn!(server, why, "the list of an MCP server cannot be used; it is read again");
            self.unusable = Some(why.to_owned());
        }
    }
}

/// The list of a server.
struct Listed {
    state: ServerState,
    tools: Vec<Arc<dyn Tool>>,
    /// Some of the tools that are left out, and why.
    left_out: Vec<String>,
}

/// Returns the current tools of a server.
async fn list(
    peer: Peer<RoleClient>,
    name: Arc<str>,
    rules: OfferRules,
    signals: Arc<ConnectionSignals>,
) -> Result<Listed, ListFailure> {
    let listing = listing::read(peer.clone(), name.clone()).await?;
    let borrow = |entry: listing::Entry| {
        let spec = rules.apply(entry.spec);
        Arc::new(BorrowedTool::new(spec, entry.remote, peer.clone(), signals.clone())) as Arc<dyn Tool>
    };
    let tools: Vec<_> = listing.tools.into_iter().map(borrow).collect();
    let state = ServerState::Connected { tools: tools.len(), left_out: listing.left_out };
    let mut tools = tools;
    extras::add(&mut tools, &Extras { peer, server: name, rules, signals });
    Ok(Listed { state, tools, left_out: listing.named })
}

/// Waits until the connection or the program has ended, and returns how.
fn ended<'a>(
    process: &'a mut Option<ServerProcess>,
    signals: &'a ConnectionSignals,
) -> BoxFuture<'a, String> {
    async move {
        let Some(ServerProcess { life, .. }) = process else {
            signals.closed.notified().await;
            return "it closed the connection".into();
        };
        tokio::select! {
            ended = life.ended() => return format!("it ended {ended}"),
            () = signals.closed.notified() => {}
        }
        // A program that exits closes its pipes first.
        let ended = timeout(EXIT_GRACE, life.ended()).await;
        ended.map_or_else(|_| "it closed the connection".into(), |ended| format!("it ended {ended}"))
    }
    .boxed()
}

/// Subscribes to changes, which servers of the newest revision require. Older ones do not know the request.
fn subscribe(peer: Peer<RoleClient>) -> BoxFuture<'static, Option<Subscription>> {
    async move {
        let is_new = peer.peer_info().is_some_and(|server| !server.protocol_version.has_initialize());
        if !is_new {
            return None;
        }
        let filter = SubscriptionFilter::builder().tools_list_changed().resources_list_changed();
        let filter = filter.prompts_list_changed().build();
        timeout(SUBSCRIBING, peer.listen(filter)).await.ok()?.ok()
    }
    .boxed()
}

/// Waits until the server announces, either way, that its tools have changed.
fn changed<'a>(
    signals: &'a ConnectionSignals,
    subscription: &'a mut Option<Subscription>,
) -> BoxFuture<'a, ()> {
    async move {
        let announced = async {
            while let Some(open) = subscription {
                match open.next().await {
                    Ok(Some(
                        ServerNotification::ToolListChangedNotification(_)
                        | ServerNotification::ResourceListChangedNotification(_)
                        | ServerNotification::PromptListChangedNotification(_),
                    )) => return,
                    Ok(Some(_)) => {}
                    // The subscription is over; the list is still polled.
                    Ok(None) | Err(_) => *subscription = None,
                }
            }
            std::future::pending().await
        };
        tokio::select! {
            () = signals.list.notified() => {}
            () = announced => {}
        }
    }
    .boxed()
}
