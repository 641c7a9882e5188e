//! An assistant in this process, for when no daemon runs.

use std::sync::Arc;
use std::time::Duration;

use aethon::Aethon;
use aethon::Prepared;
use aethon::core::approval::AnswerError;
use aethon::core::background::{BY_OWNER, StopOutcome};
use aethon::core::ids::{SessionId, TurnId};
use aethon::core::message::Inbound;
use aethon::core::model::Readiness;
use aethon::core::session::SessionQuery;
use aethon::core::surface::{Surface, TurnEvent};
use aethon::json::{FilesAct, Format};
use anyhow::{Result, bail};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::backend::{Backend, Earlier, FilesWish, Listing, LookUp, OutgoingMessage, Overview, Request};
use super::event::{BackendEvent, ChatEvent};
use super::named_file::NamedFile;
use super::words::{model_named, running};

/// How long a turn may take to store its text when the user leaves.
const GRACE: Duration = Duration::from_secs(2);

/// How many messages are looked up.
const MESSAGES: usize = 20;

/// A chat with an assistant in this process.
pub(super) struct Local {
    aethon: Aethon,
    surface: Arc<Terminal>,
    events: UnboundedReceiver<BackendEvent>,
    session: SessionId,
}

impl Local {
    pub(super) async fn open(prepared: Prepared, session: &str) -> Result<Self> {
        let session = SessionId::of("webchat", session)?;
        crate::commands::upgrade::offer(&prepared)?;
        let aethon = prepared.open().await?;
        // Starts the MCP servers while the user is still typing.
        drop(aethon.assistant());
        // Unbounded, but one model writing to one user fills it slowly, and the terminal drains it.
        let (sender, events) = unbounded_channel();
        Ok(Self { aethon, surface: Arc::new(Terminal { sender }), events, session })
    }
}

#[async_trait]
impl Overview for Local {
    async fn list(&mut self, what: Listing) -> Result<Vec<(String, String)>> {
        if what == Listing::Sops {
            let sops = self.aethon.sops().sops().await?;
            return Ok(sops.iter().map(|sop| (sop.name.to_string(), sop.title.clone())).collect());
        }
        if what == Listing::Models {
            let models = self.aethon.offered_models().await;
            return Ok(models.into_iter().map(|model| (model.id, model.name)).collect());
        }
        if what == Listing::Commands {
            return Ok(running(&self.aethon.commands_document(&self.session)));
        }
        let query = SessionQuery::newest(20);
        let page = self.aethon.transcripts().sessions(query).await?;
        Ok(page.sessions.into_iter().map(|session| (session.session_id.to_string(), session.title)).collect())
    }

    async fn reach(&mut self) -> Result<Vec<String>> {
        Ok(self.aethon.reach().to_vec())
    }

    async fn look_up(&mut self, what: LookUp) -> Result<Value> {
        let aethon = &self.aethon;
        Ok(match what {
            LookUp::Conversation => {
                aethon.session_document(&self.session, MESSAGES).await?.unwrap_or_default()
            }
            LookUp::Export { as_json } => {
                let format = if as_json { Format::Json } else { Format::Markdown };
                aethon.export(&self.session, format).await?.map(Value::from).unwrap_or_default()
            }
            LookUp::Messages(words) => aethon.found_document(&words, None, MESSAGES).await?,
            LookUp::FileChanges(turn) => {
                let turn = TurnId::existing(&turn);
                aethon.file_changes_document(&self.session, &turn).await?.unwrap_or_default()
            }
            LookUp::Usage => aethon.usage_document(1).await?,
            LookUp::Commands => aethon.commands_document(&self.session),
        })
    }

    async fn stop_command(&mut self, number: u32) -> Result<Value> {
        match self.aethon.background_commands().stop(&self.session, number, BY_OWNER).await {
            StopOutcome::Stopped(command) | StopOutcome::HadEnded(command) => Ok(json!(command)),
            StopOutcome::Missing(why) => bail!("{why}"),
        }
    }
}

#[async_trait]
impl Backend for Local {
    fn describe(&self) -> String {
        let model = self.aethon.model();
        let is_ready = model.readiness() == Readiness::Ready;
        let named = model_named(&model.capabilities().model, is_ready);
        format!("{named}, in this process (no aethon-server runs on this home)")
    }

    async fn enter(&mut self, session: &str) -> Result<()> {
        self.session = SessionId::of("webchat", session)?;
        Ok(())
    }

    async fn say(&mut self, message: &OutgoingMessage) -> Result<Option<String>> {
        let OutgoingMessage { text, effort, model, schema, files, earlier } = message.clone();
        let attachments = files.iter().map(NamedFile::attachment).collect::<Result<Vec<_>>>()?;
        let session = self.session.clone();
        let inbound = match earlier {
            Some(Earlier::Retried(turn)) => Inbound::retry(session, TurnId::existing(&turn)),
            Some(Earlier::Replaced(turn)) => Inbound::edit(session, TurnId::existing(&turn), text),
            None => Inbound::say(session, text),
        };
        let inbound = if attachments.is_empty() { inbound } else { inbound.with_attachments(attachments) };
        let mut inbound = inbound.with_effort(effort).with_model(model).with_schema(schema);
        inbound.sender = "terminal".into();
        let submitted = self.aethon.assistant().submit(inbound, self.surface.clone()).await?;
        Ok(Some(submitted.turn.to_string()))
    }

    async fn next(&mut self) -> BackendEvent {
        let gone = || BackendEvent::outside(ChatEvent::Lost("the assistant has stopped".into()));
        self.events.recv().await.unwrap_or_else(gone)
    }

    async fn tell(&mut self, request: Request) -> Result<()> {
        match request {
            Request::Stop(turn) => {
                let turn = turn.as_deref().map(TurnId::existing);
                self.aethon.assistant().stop(&self.session, turn.as_ref()).await;
            }
            Request::Decide { id, answer } => {
                let answered = self.aethon.approvals().answer(&id, answer.by("the terminal")).await;
                if let Err(AnswerError::Refused(why)) = answered {
                    // Fails only if the screen is gone because the program is exiting.
                    let _ =
                        self.surface.sender.send(BackendEvent::outside(ChatEvent::EditRefused { id, why }));
                }
            }
            Request::Read => drop(self.aethon.transcripts().mark_read(&self.session).await?),
        }
        Ok(())
    }

    async fn put_files(&mut self, wish: FilesWish) -> Result<Value> {
        Ok(match wish {
            FilesWish::PutBack(turn) => {
                let turn = TurnId::existing(&turn);
                self.aethon.put_files_back(&self.session, FilesAct::Undo(&turn)).await?
            }
            FilesWish::Redo => self.aethon.put_files_back(&self.session, FilesAct::Redo).await?,
        })
    }

    async fn close(&mut self) {
        self.aethon.shutdown(GRACE).await;
    }
}

/// The surface of a terminal: queues events for the screen, and sends approval requests to `PendingApprovals`.
struct Terminal {
    sender: UnboundedSender<BackendEvent>,
}

impl Surface for Terminal {
    fn emit(&self, turn: &TurnId, event: TurnEvent) {
        for mut frame in aethon::frames_of(&event) {
            frame["turn"] = turn.as_str().into();
            if let Some(event) = BackendEvent::of(&frame) {
                // Fails only if the screen is gone because the program is exiting; the turn is stored.
                let _ = self.sender.send(event);
            }
        }
    }

    fn is_attended(&self) -> bool {
        true
    }
}
