//! A server on a free port of loopback, with the scripted assistant behind it.

use std::net::SocketAddr;
use std::sync::Arc;

use aethon_core::approval::PendingApprovals;
use aethon_core::clock::SystemClock;
use aethon_core::event::EventBus;
use aethon_core::secret::Secret;
use aethon_core::shutdown::ShutdownTrigger;
use aethon_core::storage::StorageHealth;
use aethon_http::ws::Hub;
use aethon_http::{Options, Server};
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::common;
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
        let mut deps = common::deps(&Arc::default(), is_shut.clone());
        deps.chat.assistant = Arc::clone(&assistant) as _;
        deps.chat.approvals = desk;
        deps.chat.hub = Arc::clone(&hub);
        deps.activity.bus = bus.clone();
        deps.runtime.health = health.clone();
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
