//! The beginning of a turn: its message is stored, and the conversation that its model will see is found.

use std::sync::Arc;

use aethon_core::error::Result;
use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, Message, Role};
use aethon_core::session::{Begin, Begun, TurnDefaults, TurnLog};
use aethon_core::shaping;
use aethon_core::surface::TurnEvent;

use super::agents::RunningAgent;
use super::calls::CutOffCall;
use super::read_window::WindowReader;
use super::shared::Shared;
use crate::dispatcher::{Job, Stage};
use crate::window::ContextWindow;
use aethon_core::patience::retry_until_stored;

/// How a turn begins.
pub(super) struct Opening {
    /// The part of the conversation that its model sees.
    pub(super) window: ContextWindow,
    /// Where the messages of the turn begin in it.
    pub(super) start: usize,
    /// The calls that a restart has cut off, if any of them runs again.
    pub(super) cut_off: Vec<CutOffCall>,
    /// The agent that answers, with the models that were chosen.
    pub(super) agent: Arc<RunningAgent>,
    /// The name of a chosen model that there is not any more.
    pub(super) missing_model: Option<String>,
    /// What the session sets for its turns.
    pub(super) defaults: Option<Arc<TurnDefaults>>,
}

impl Opening {
    /// Creates the opening of a turn of which nothing else is known.
    pub(super) fn new(window: ContextWindow, start: usize, agent: Arc<RunningAgent>) -> Self {
        Self { window, start, cut_off: Vec::new(), agent, missing_model: None, defaults: None }
    }
}

impl Shared {
    /// Begins a turn of an agent, unless it has begun, and reads the window for its model.
    pub(super) async fn start(&self, job: &mut Job, agent: Arc<RunningAgent>) -> Result<Opening> {
        let fresh = job.stage != Stage::LeftBehind && job.replaces.is_none();
        let begun = match job.stage.clone() {
            Stage::Begun(begun) => begun,
            Stage::Waiting | Stage::Beginning => {
                self.attach_context_page(job);
                store_beginning(&*self.services.turns, job).await?
            }
            Stage::LeftBehind | Stage::GivenUp => store_beginning(&*self.services.turns, job).await?,
        };
        let taken = Message::new(Role::User, Vec::new(), job.message.created_at);
        let mut message = std::mem::replace(&mut job.message, taken);
        message.id = begun.message;
        message.turn = Some(job.turn.clone());
        let message = Arc::new(message);
        let (session, turn) = (job.session(), &job.turn);
        let (agent, missing_model) =
            self.agents.answering(agent, &job.inbound, begun.defaults.as_deref()).await;
        let opening = |window, start, cut_off| Opening {
            window,
            start,
            cut_off,
            agent: agent.clone(),
            missing_model,
            defaults: begun.defaults.clone(),
        };
        // Another agent's window is of another size, and its counts are those of other models.
        let cached = self.windows.take(session, &agent.window_owner(), begun.after).filter(|_| fresh);
        if cached.is_none() && begun.after.is_some() {
            // Perhaps because another program has said something here.
            self.peer_turns.poll().await;
        }
        job.surface.emit(turn, TurnEvent::Started);
        self.services.bus.publish(|| Event::TurnStarted { session: session.clone(), turn: turn.clone() });
        if job.stage != Stage::LeftBehind {
            self.services.publish_message(session, &message);
        }
        // A session that is used once has nothing that could be read.
        let window = cached.or_else(|| {
            (fresh && job.inbound.oneshot && begun.after.is_none()).then(|| agent.new_window(&self.options))
        });
        if let Some(mut window) = window {
            let start = window.len();
            window.push(message);
            return Ok(opening(window, start, Vec::new()));
        }
        let reader = WindowReader { services: &self.services, options: &self.options, job };
        let (window, cut_off) = reader.read(&agent).await?;
        let start = window.turn_start(turn);
        if window.len() == 1 {
            self.services.publish_session(session, SessionChange::Created);
        }
        Ok(opening(window, start, cut_off))
    }

    /// Adds the page of changing facts to the message that begins a turn, unless the model has already seen this
    /// version. It is stored with the message, so that later requests repeat it byte for byte.
    pub(super) fn attach_context_page(&self, job: &mut Job) {
        let agent = self.agents.current().get_or_main(&job.inbound.agent).clone();
        let Some(page) = page_for(job, &agent) else { return };
        let known = if job.replaces.is_some() { None } else { self.windows.context(job.session()).flatten() };
        put_page(job, known.as_ref(), &page);
    }

    /// Has the next turn of a session begin together with the end of the one whose window this is, if there is one
    /// that can.
    pub(super) fn begin_next(&self, session: &SessionId, window: &ContextWindow) -> Option<(TurnId, Begin)> {
        self.queues.begin_next(session, |job| {
            let agent = self.agents.current().get_or_main(&job.inbound.agent).clone();
            if let Some(page) = page_for(job, &agent) {
                put_page(job, window.context(), &page);
            }
        })
    }
}

/// Stores the beginning of a turn, however long that takes.
async fn store_beginning(log: &dyn TurnLog, job: &Job) -> Result<Begun> {
    let begin = || log.begin(&job.turn, job.begin());
    retry_until_stored("the beginning of a turn could not be stored; trying again", begin).await
}

/// Returns the context page, if the turn may see it: it is about the owner and for the owner, not for others in the
/// household or for text from outside.
fn page_for(job: &Job, agent: &RunningAgent) -> Option<Arc<str>> {
    agent.agent.prompt.context().filter(|_| job.inbound.trust().is_owner())
}

fn put_page(job: &mut Job, known: Option<&Arc<str>>, page: &Arc<str>) {
    let is_page = |block: &Block| matches!(block, Block::File { name, untrusted: None, .. } if name == shaping::CONTEXT);
    if known != Some(page) && !job.message.content.iter().any(is_page) {
        let (name, mime) = (shaping::CONTEXT.to_owned(), "text/markdown".to_owned());
        job.message.content.push(Block::File { name, mime, text: page.to_string(), untrusted: None });
    }
}
