//! The beginning of a turn: its message is stored, and the conversation that its model will see is found.

use std::sync::Arc;

use aethon_core::error::Result;
use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, EndReason, Message, Role, ToolCall};
use aethon_core::session::{Begin, Begun, TurnDefaults};
use aethon_core::shaping;
use aethon_core::surface::TurnEvent;
use aethon_core::tool::Toolbox as _;

use super::agents::RunningAgent;
use super::calls::{CutOffCall, RESTARTED};
use super::shared::Shared;
use crate::dispatcher::{Job, Stage};
use crate::patience::{retry_until_stored, until_read};
use crate::window::{ContextWindow, is_summary, missing_results, open_calls};

/// How many messages are looked through at once for the one that started a turn.
const PAGE: usize = 200;

/// The same, how often at most.
const MAX_PAGES: usize = 25;

const UNREAD: &str = "a conversation could not be read; trying again";

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
                self.begin(job).await?
            }
            Stage::LeftBehind | Stage::GivenUp => self.begin(job).await?,
        };
        let taken = Message::new(Role::User, Vec::new(), job.message.created_at);
        let mut message = std::mem::replace(&mut job.message, taken);
        message.id = begun.message;
        message.turn = Some(job.turn.clone());
        let message = Arc::new(message);
        let (session, turn) = (job.session(), &job.turn);
        let (agent, missing_model) = self.answering(agent, &job.inbound, begun.defaults.as_deref()).await;
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
            self.poll_other_programs().await;
        }
        job.surface.emit(turn, TurnEvent::Started);
        self.services.bus.publish(|| Event::TurnStarted { session: session.clone(), turn: turn.clone() });
        if job.stage != Stage::LeftBehind {
            self.publish_message(session, &message);
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
        let (window, cut_off) = self.read_window(job, &agent).await?;
        let start = window.turn_start(turn);
        if window.len() == 1 {
            self.publish_session(session, SessionChange::Created);
        }
        Ok(opening(window, start, cut_off))
    }

    /// Stores the beginning of a turn, however long that takes.
    pub(super) async fn begin(&self, job: &Job) -> Result<Begun> {
        let begin = || self.services.log.begin(&job.turn, job.begin());
        retry_until_stored("the beginning of a turn could not be stored; trying again", begin).await
    }

    /// Reads the part of a conversation that a model sees. Also returns the calls that a restart has cut off, if any
    /// of them runs again; otherwise they have results now.
    async fn read_window(&self, job: &Job, agent: &RunningAgent) -> Result<(ContextWindow, Vec<CutOffCall>)> {
        let (mut messages, is_cut) = self.newest(job.session()).await?;
        let unread = if is_cut { self.older_than(job, &mut messages).await? } else { 0 };
        leave_out_withdrawn(&mut messages);
        let mut cut_off = Vec::new();
        if job.stage == Stage::LeftBehind {
            let unanswered = self.services.questions.left_by(&job.turn).await;
            let own = || messages.iter().filter(|message| message.turn.as_ref() == Some(&job.turn));
            let why = |call: &ToolCall| unanswered.why(call, RESTARTED);
            let specs = agent.toolbox.specs();
            let runs_again =
                |call: &ToolCall| specs.iter().any(|spec| spec.name == call.name && spec.runs_again());
            let open = open_calls(own());
            if open.iter().any(|call| runs_again(call)) {
                let cut = open.into_iter().map(|call| CutOffCall {
                    failure: (!runs_again(call)).then(|| why(call)),
                    call: call.clone(),
                });
                cut_off = cut.collect();
            } else if let Some(missing) = missing_results(own(), why, self.services.clock.now()) {
                messages.push(self.stored_results(job, missing).await?);
            }
        }
        // Messages posted since the turn began are stored behind its question; the model's request ends with the
        // question.
        if let Some(own) = messages.iter().position(|message| message.turn.as_ref() == Some(&job.turn)) {
            messages[own..].sort_by_key(|message| message.turn.as_ref() == Some(&job.turn));
        }
        if let Some((place, first)) = self.start_of_a_parted_turn(job, &messages).await? {
            messages.insert(place, first);
        }
        let window =
            ContextWindow::of(messages, agent.limits(&self.options).rule(), agent.knowledge.counter());
        Ok((window.after_unread(unread), cut_off))
    }

    /// Stores the results of calls that have none.
    async fn stored_results(&self, job: &Job, mut missing: Message) -> Result<Message> {
        missing.turn = Some(job.turn.clone());
        let append = || self.services.log.append(&job.turn, vec![missing.clone()]);
        let stored = retry_until_stored("missing results could not be stored; trying again", append).await?;
        // A summary that covers them has to name them: without a number they would be read again, without their
        // calls.
        if let Some(id) = stored.first() {
            missing.id = *id;
        }
        Ok(missing)
    }

    /// Returns the messages that a model may see, and whether there are older ones. A history from before summaries
    /// existed may exceed the read limit. Behind a summary all messages are read, because no summary covers them;
    /// there are more than usual only if the assistant was killed before it could make the next summary.
    async fn newest(&self, session: &SessionId) -> Result<(Vec<Message>, bool)> {
        let mut most = self.options.window_messages.saturating_add(1);
        loop {
            let messages =
                until_read(UNREAD, &self.services.health, || self.services.log.window(session, most)).await?;
            let is_cut = messages.len() >= most;
            if !is_cut || !messages.iter().any(is_summary) {
                return Ok((messages, is_cut));
            }
            most = most.saturating_mul(2);
        }
    }

    /// Returns how many messages of a session are older than these, which then begin with a turn.
    async fn older_than(&self, job: &Job, messages: &mut Vec<Message>) -> Result<u64> {
        let first = messages.iter().position(|message| message.role == Role::User);
        messages.drain(..first.unwrap_or(0));
        let session =
            until_read(UNREAD, &self.services.health, || self.services.transcripts.session(job.session()))
                .await?;
        let all = session.map_or(0, |session| session.message_count);
        Ok(all.saturating_sub(messages.len() as u64))
    }

    /// Returns the message that started the turn in the middle of which the conversation was compacted, so that it
    /// stays visible. Also returns its place, before the first step of that turn; messages posted meanwhile may come
    /// before it.
    async fn start_of_a_parted_turn(
        &self,
        job: &Job,
        messages: &[Message],
    ) -> Result<Option<(usize, Message)>> {
        let is_of_a_turn = |message: &&Message| message.role != Role::System && message.turn.is_some();
        let first = messages.iter().find(is_of_a_turn).filter(|first| first.role == Role::Assistant);
        let is_compacted = messages.iter().any(is_summary);
        let Some(first) = first.filter(|_| is_compacted) else { return Ok(None) };
        let place = messages.iter().position(|message| message.id == first.id).unwrap_or(0);
        let mut before = first.id;
        for _ in 0..MAX_PAGES {
            let read = || self.services.transcripts.messages(job.session(), Some(before), PAGE);
            let older = until_read(UNREAD, &self.services.health, read).await?;
            let Some(oldest) = older.first().map(|message| message.id) else { return Ok(None) };
            let is_start = |message: &&Message| message.role == Role::User && message.turn == first.turn;
            if let Some(start) = older.iter().rev().find(is_start) {
                return Ok(Some((place, start.clone())));
            }
            before = oldest;
        }
        Ok(None)
    }

    /// Adds the page of changing facts to the message that begins a turn, unless the model has already seen this
    /// version. It is stored with the message, so that later requests repeat it byte for byte.
    pub(super) fn attach_context_page(&self, job: &mut Job) {
        let agent = self.agents().get_or_main(&job.inbound.agent).clone();
        let Some(page) = page_for(job, &agent) else { return };
        let known = if job.replaces.is_some() { None } else { self.windows.context(job.session()).flatten() };
        put_page(job, known.as_ref(), &page);
    }

    /// Has the next turn of a session begin together with the end of the one whose window this is, if there is one
    /// that can.
    pub(super) fn begin_next(&self, session: &SessionId, window: &ContextWindow) -> Option<(TurnId, Begin)> {
        self.queues.begin_next(session, |job| {
            let agent = self.agents().get_or_main(&job.inbound.agent).clone();
            if let Some(page) = page_for(job, &agent) {
                put_page(job, window.context(), &page);
            }
        })
    }
}

/// Removes messages that a person took back before they were answered: they are in the transcript for people only.
fn leave_out_withdrawn(messages: &mut Vec<Message>) {
    let is_mark =
        |block: &Block| matches!(block, Block::Notice { code, .. } if code == EndReason::Withdrawn.as_str());
    let ends = messages.iter().filter(|message| message.content.iter().any(is_mark));
    let withdrawn: Vec<_> = ends.filter_map(|message| message.turn.clone()).collect();
    messages.retain(|message| message.turn.as_ref().is_none_or(|turn| !withdrawn.contains(turn)));
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
