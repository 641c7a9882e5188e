//! A running assistant.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::Engine;
use aethon_agent::outbox::Bell;
use aethon_config::Config;
use aethon_core::approval::ApprovalDesk;
use aethon_core::assistant::{self, Assistant};
use aethon_core::clock::Clock;
use aethon_core::embed::Embedder;
use aethon_core::event::EventBus;
use aethon_core::ids::SessionId;
use aethon_core::ledger::Ledger;
use aethon_core::log::LogBook;
use aethon_core::message::{Inbound, Reply};
use aethon_core::model::ModelProvider;
use aethon_core::session::{SessionQuery, Transcripts};
use aethon_core::surface::Unattended;
use aethon_core::usage::UsageReport;
use aethon_store::{Opener, Store};
use serde_json::{Value, json};

use crate::builder::Prepared;
use crate::error::{Error, Result};
use crate::home::Home;
use crate::wire;

/// A running assistant: storage open, engine ready, nothing listening.
pub struct Aethon {
    pub(crate) home: Home,
    pub(crate) config: Config,
    pub(crate) store: Store,
    pub(crate) engine: Arc<Engine>,
    pub(crate) provider: Arc<dyn ModelProvider>,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    pub(crate) desk: ApprovalDesk,
    pub(crate) bus: EventBus,
    pub(crate) logs: LogBook,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) bell: Bell,
}

impl Aethon {
    pub(crate) async fn open(prepared: Prepared, opener: Opener) -> Result<Self> {
        prepared.home.prepare()?;
        let clock = prepared.clock();
        let store = wire::store::open(&prepared.home.database(), &prepared.config, clock.clone(), opener)?;
        let provider = prepared.provider();
        let (desk, bell) = (ApprovalDesk::default(), Bell::default());
        let engine = wire::agent::engine(&prepared, &store, provider.clone(), &desk, &bell);
        let embedder = wire::embedding::embedder(&prepared, &store);
        let Prepared { home, config, bus, logs, .. } = prepared;
        Ok(Self { home, config, store, engine, provider, embedder, desk, bus, logs, clock, bell })
    }

    /// Asks in a session, `channel:name`, and waits for the reply. Questions for approval are denied.
    pub async fn ask(&self, session: &str, text: impl Into<String>) -> Result<Arc<Reply>> {
        let session = SessionId::parse(session).map_err(|error| Error::failed(error.to_string()))?;
        Ok(assistant::ask(&*self.engine, Inbound::say(session, text), Arc::new(Unattended)).await?)
    }

    /// The one door for messages.
    pub fn assistant(&self) -> Arc<dyn Assistant> {
        self.engine.clone()
    }

    /// What is kept of conversations.
    pub fn transcripts(&self) -> Arc<dyn Transcripts> {
        Arc::new(self.store.clone())
    }

    /// What was spent.
    pub fn ledger(&self) -> Arc<dyn Ledger> {
        Arc::new(self.store.clone())
    }

    /// The open questions.
    pub fn approvals(&self) -> &ApprovalDesk {
        &self.desk
    }

    /// What happens, live.
    pub fn events(&self) -> &EventBus {
        &self.bus
    }

    /// The model that answers.
    pub fn model(&self) -> &dyn ModelProvider {
        &*self.provider
    }

    /// Who turns text into vectors, where `memory.embedding` names somebody. A text is asked for once and then kept; every
    /// call is in the ledger, and none is made when the day's budget is nearly used up.
    pub fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.embedder.clone()
    }

    /// Where everything lies.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The newest sessions that contain these words, as `GET /api/sessions` gives them.
    pub async fn sessions_document(&self, search: &str, limit: usize) -> Result<Value> {
        let search = Some(search.trim().to_owned()).filter(|search| !search.is_empty());
        let page = self.store.sessions(SessionQuery { limit, search, ..SessionQuery::default() }).await?;
        Ok(json!({"sessions": page.sessions, "count": page.count, "next_cursor": page.next_cursor}))
    }

    /// A session with its newest messages, as `GET /api/sessions/{id}` gives it. `None` when there is none.
    pub async fn session_document(&self, id: &SessionId, limit: usize) -> Result<Option<Value>> {
        let Some(session) = self.store.session(id).await? else { return Ok(None) };
        let messages = self.store.messages(id, None, limit).await?;
        let mut document = json!(session);
        document["messages"] = json!(messages);
        Ok(Some(document))
    }

    /// What the last days took, as `GET /api/usage` gives it.
    pub async fn usage_document(&self, days: u32) -> Result<Value> {
        let budget = wire::http::budget(&self.config);
        Ok(json!(UsageReport::read(&self.store, &budget, self.clock.now(), days).await?))
    }

    /// Lets running turns finish for `grace`, stores what they had, and closes the storage.
    pub async fn shutdown(&self, grace: Duration) {
        self.engine.shutdown(grace).await;
        self.store.close().await;
    }
}
