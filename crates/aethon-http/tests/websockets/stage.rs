//! A server on a free port of loopback, with the scripted assistant behind it.

use std::net::SocketAddr;
use std::sync::Arc;

use aethon_core::approval::PendingApprovals;
use aethon_core::channel::Channels;
use aethon_core::clock::SystemClock;
use aethon_core::error::Result;
use aethon_core::event::EventBus;
use aethon_core::ids::{MessageId, SessionId};
use aethon_core::log::LogBook;
use aethon_core::message::Message;
use aethon_core::model::{Capabilities, ModelError, ModelProvider, ModelRequest, ModelStream, Readiness};
use aethon_core::secret::Secret;
use aethon_core::service::ConfigView;
use aethon_core::session::{
    Clear, SessionKeeping, SessionPage, SessionPatch, SessionQuery, SessionSummary, Transcripts, TurnRecord,
};
use aethon_core::shutdown::ShutdownTrigger;
use aethon_core::storage::StorageHealth;
use aethon_core::testkit::{MemoryLedger, MemoryStore, NoWorkflows};
use aethon_core::version::Expected;
use aethon_http::deps::{Activity, Chat, Runtime, Setup, Workflows};
use aethon_http::ws::Hub;
use aethon_http::{Deps, Options, Server};
use async_trait::async_trait;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::script::Script;

pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    pub(crate) assistant: Arc<Script>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) bus: EventBus,
    pub(crate) health: StorageHealth,
    pub(crate) shutdown: ShutdownTrigger,
    pub(crate) served: JoinHandle<()>,
}

impl Stage {
    pub(crate) async fn open() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn with_token(token: &str) -> Self {
        Self::with(Options { token: Secret::new(token), ..Options::default() }).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        let (bus, desk) = (EventBus::default(), PendingApprovals::default());
        let assistant = Script::new(bus.clone(), desk.clone());
        let hub = Arc::new(Hub::new(Arc::new(SystemClock)));
        let health = StorageHealth::default();
        let (shutdown, is_shut) = ShutdownTrigger::pair();
        let deps = Deps {
            chat: Chat {
                transcriber: None,
                assistant: Arc::clone(&assistant) as _,
                transcripts: Arc::new(Nothing),
                history: Arc::new(aethon_core::history::NoHistory),
                uploads: Arc::new(aethon_core::upload::NoUploads),
                approvals: desk,
                choices: Arc::new(aethon_core::model_choice::NoChoices),
                hub: Arc::clone(&hub),
            },
            activity: Activity {
                bus: bus.clone(),
                logs: LogBook::default(),
                ledger: Arc::new(MemoryLedger::new(Arc::new(SystemClock))),
                audit: Arc::new(aethon_core::audit::NoAudit),
                agents: Default::default(),
                telemetry: Arc::new(MemoryStore::default()),
                outbox: Arc::new(MemoryStore::default()),
                trail: aethon_core::audit::AuditTrail::new().0,
            },
            workflows: Workflows {
                sops: Arc::new(NoWorkflows),
                prompts: Arc::new(NoWorkflows),
                sop_runs: Arc::new(MemoryStore::default()),
                sop_runner: Arc::new(NoWorkflows),
                schedule: Arc::new(NoWorkflows),
                work: Arc::new(NoWorkflows),
            },
            knowledge: Default::default(),
            setup: Setup {
                first_model: None,
                channel_setup: Arc::new(aethon_core::channel_setup::NoChannelSetup),
                config: Arc::new(Nothing),
                provider: Arc::new(Nothing),
                messengers: &["telegram", "email"],
                pairings: Arc::new(aethon_core::pairing::NoPairings),
                reach: Default::default(),
                features: Default::default(),
                backups: None,
                push: None,
                channels: Channels::default(),
            },
            runtime: Runtime {
                clock: Arc::new(SystemClock),
                health: health.clone(),
                shutdown: is_shut.clone(),
                instances: Default::default(),
            },
        };
        let listen = aethon_http::options::Listen { port: Some(0), ..Default::default() };
        let server = Server::bind(Options { listen, ..options }, deps).await.unwrap();
        let address = server.local_addr().expect("it has a port");
        let served = tokio::spawn(server.serve(is_shut));
        Self { address, assistant, hub, bus, health, shutdown, served }
    }

    /// Opens a plain chat socket.
    pub(crate) async fn plain(&self) -> Client {
        Client::connect(self.address, "/ws/chat", &[]).await
    }

    /// Opens a socket of the JSON protocol and reads its `ready`.
    pub(crate) async fn v1(&self, path: &str) -> Client {
        let mut client =
            Client::connect(self.address, path, &[("sec-websocket-protocol", "aethon.chat.v1")]).await;
        assert_eq!(client.json().await["type"], "ready");
        client
    }
}

/// Storage, configuration and model, of which the sockets need nothing.
struct Nothing;

#[async_trait]
impl SessionKeeping for Nothing {
    async fn mark_read(&self, _id: &SessionId) -> Result<bool> {
        Ok(false)
    }
}

#[async_trait]
impl Transcripts for Nothing {
    async fn sessions(&self, _query: SessionQuery) -> Result<SessionPage> {
        Ok(SessionPage::default())
    }
    async fn session(&self, _id: &SessionId) -> Result<Option<SessionSummary>> {
        Ok(None)
    }
    async fn messages(
        &self,
        _id: &SessionId,
        _before: Option<MessageId>,
        _limit: usize,
    ) -> Result<Vec<Message>> {
        Ok(Vec::new())
    }
    async fn pending(&self, _id: &SessionId) -> Result<Vec<TurnRecord>> {
        Ok(Vec::new())
    }
    async fn patch(&self, _id: &SessionId, _patch: &SessionPatch, _expected: Expected) -> Result<bool> {
        Ok(false)
    }
    async fn clear(&self, _id: &SessionId, _how: Clear) -> Result<bool> {
        Ok(false)
    }
    async fn post(&self, _id: &SessionId, _key: &str, _message: Message) -> Result<Option<MessageId>> {
        Ok(None)
    }
}

impl ConfigView for Nothing {
    fn dump(&self) -> Value {
        Value::Null
    }
    fn schema(&self) -> Value {
        Value::Null
    }
}

#[async_trait]
impl ModelProvider for Nothing {
    fn capabilities(&self) -> Arc<Capabilities> {
        unimplemented!("the sockets do not ask")
    }
    fn readiness(&self) -> Readiness {
        Readiness::Ready
    }
    async fn stream(&self, _request: ModelRequest) -> Result<ModelStream, ModelError> {
        unimplemented!("the sockets do not ask")
    }
    async fn probe(&self) -> Result<String, ModelError> {
        unimplemented!("the sockets do not ask")
    }
}
