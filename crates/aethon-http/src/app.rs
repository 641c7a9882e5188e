//! Everything that a handler may touch, in one value that all connections share.
//!
//! [`Deps`] are the parts of the program that the application serves, handed over by the facade. [`App`] adds what is
//! derived from the options once, at start-up: the gate, the rules for hosts and origins, the limiter.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use aethon_core::approval::ApprovalDesk;
use aethon_core::assistant::Assistant;
use aethon_core::channel::Channels;
use aethon_core::clock::Clock;
use aethon_core::event::EventBus;
use aethon_core::ledger::Ledger;
use aethon_core::log::LogBook;
use aethon_core::model::ModelProvider;
use aethon_core::service::ConfigView;
use aethon_core::session::Transcripts;
use aethon_core::shutdown::Shutdown;

use crate::auth::Gate;
use crate::host::HostRules;
use crate::limits::Attempts;
use crate::options::Options;
use crate::origin::OriginRules;
use crate::response::RequestIds;
use crate::signature::Verifier;
use crate::ws::Hub;

/// The parts of the program that the application serves.
#[derive(Clone)]
pub struct Deps {
    /// The one door for messages.
    pub assistant: Arc<dyn Assistant>,
    /// What is kept of conversations.
    pub transcripts: Arc<dyn Transcripts>,
    /// What was spent.
    pub ledger: Arc<dyn Ledger>,
    /// The open questions.
    pub desk: ApprovalDesk,
    /// What happens, live.
    pub bus: EventBus,
    /// The newest log records.
    pub logs: LogBook,
    /// The configuration as it may be shown.
    pub config: Arc<dyn ConfigView>,
    /// The model, for what `/api/status` tells of it.
    pub provider: Arc<dyn ModelProvider>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The channels that run, `webchat` among them.
    pub channels: Channels,
    /// The live conversations of the chat sockets.
    pub hub: Arc<Hub>,
    /// The wish to stop.
    pub shutdown: Shutdown,
}

/// The application.
pub struct App {
    /// The settings.
    pub(crate) options: Options,
    /// The parts that it serves.
    pub(crate) deps: Deps,
    /// The token check.
    pub(crate) gate: Gate,
    /// The check of the Host header.
    pub(crate) hosts: HostRules,
    /// The check of the Origin header.
    pub(crate) origins: OriginRules,
    /// The check of webhook signatures.
    pub(crate) signatures: Verifier,
    /// Wrong tokens, by address.
    pub(crate) attempts: Attempts,
    /// Names for answers.
    pub(crate) request_ids: RequestIds,
    /// Whether only programs of this machine can connect.
    pub(crate) is_loopback: bool,
    /// When it began.
    pub(crate) started: Instant,
}

impl App {
    /// The application as it runs on this address.
    pub fn new(options: Options, deps: Deps, address: SocketAddr) -> Arc<Self> {
        let is_loopback = address.ip().to_canonical().is_loopback();
        Arc::new(Self {
            gate: Gate::new(&options.token),
            hosts: HostRules::new(&options, is_loopback),
            origins: OriginRules::new(&options.allowed_origins),
            signatures: Verifier::new(&options.webhooks.secret),
            attempts: Attempts::default(),
            request_ids: RequestIds::new(),
            is_loopback,
            started: Instant::now(),
            options,
            deps,
        })
    }

    /// Whether the webhook routes exist: switched on, and with a secret or on loopback.
    pub(crate) fn has_webhooks(&self) -> bool {
        self.options.webhooks.exist(self.is_loopback)
    }
}
