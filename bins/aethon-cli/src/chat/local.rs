//! An assistant in this very process, for when no daemon runs.

use std::sync::Arc;
use std::time::Duration;

use aethon::Aethon;
use aethon::Prepared;
use aethon::core::approval::{ApprovalRequest, Decision};
use aethon::core::ids::{SessionId, TurnId};
use aethon::core::message::Inbound;
use aethon::core::model::Effort;
use aethon::core::session::SessionQuery;
use aethon::core::surface::{Surface, TurnEvent};
use anyhow::Result;
use async_trait::async_trait;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::backend::Backend;
use super::event::ChatEvent;

/// How long a turn may take to store what it had when the terminal leaves.
const GRACE: Duration = Duration::from_secs(2);

/// A chat with an assistant of our own.
pub(super) struct Local {
    aethon: Aethon,
    surface: Arc<Terminal>,
    events: UnboundedReceiver<ChatEvent>,
}

impl Local {
    pub(super) async fn open(prepared: Prepared) -> Result<Self> {
        let aethon = prepared.open().await?;
        // Unbounded, but filled only as fast as one model writes to one person, and emptied by a terminal.
        let (sender, events) = unbounded_channel();
        Ok(Self { aethon, surface: Arc::new(Terminal { sender }), events })
    }
}

#[async_trait]
impl Backend for Local {
    fn describe(&self) -> String {
        format!(
            "{}, in this process (no aethon-server runs on this home)",
            self.aethon.model().capabilities().model
        )
    }

    async fn say(&mut self, session: &str, text: &str, effort: Option<Effort>) -> Result<()> {
        let mut inbound = Inbound::say(SessionId::of("webchat", session)?, text).with_effort(effort);
        inbound.sender = "terminal".into();
        self.aethon.assistant().submit(inbound, self.surface.clone()).await?;
        Ok(())
    }

    async fn next(&mut self) -> ChatEvent {
        let gone = || ChatEvent::Lost("the assistant has stopped".into());
        self.events.recv().await.unwrap_or_else(gone)
    }

    async fn stop(&mut self, session: &str) -> Result<()> {
        self.aethon.assistant().stop(&SessionId::of("webchat", session)?, None).await;
        Ok(())
    }

    async fn decide(&mut self, id: &str, approve: bool) -> Result<()> {
        let decision = if approve { Decision::Approve } else { Decision::Deny };
        self.aethon.approvals().decide(id, decision);
        Ok(())
    }

    async fn sessions(&mut self) -> Result<Vec<(String, String)>> {
        let query = SessionQuery::newest(20);
        let page = self.aethon.transcripts().sessions(query).await?;
        Ok(page.sessions.into_iter().map(|session| (session.session_id.to_string(), session.title)).collect())
    }

    async fn close(&mut self) {
        self.aethon.shutdown(GRACE).await;
    }
}

/// The surface of a terminal: events go into the queue that the screen reads, and questions are answered at the desk.
struct Terminal {
    sender: UnboundedSender<ChatEvent>,
}

#[async_trait]
impl Surface for Terminal {
    fn emit(&self, turn: &TurnId, event: TurnEvent) {
        for mut frame in aethon::frames_of(&event) {
            frame["turn"] = turn.as_str().into();
            if let Some(event) = ChatEvent::of(&frame) {
                // The screen is gone when the program leaves; nothing is lost, the turn is stored.
                let _ = self.sender.send(event);
            }
        }
    }

    async fn decide(&self, _request: &ApprovalRequest) -> Option<Decision> {
        std::future::pending().await
    }
}
