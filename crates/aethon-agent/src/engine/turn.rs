//! One turn, from the user's message to the stored outcome.

use std::sync::Arc;

use aethon_core::error::Result;
use aethon_core::event::{Event, SessionChange};
use aethon_core::hook::TurnContext;
use aethon_core::ids::MessageId;
use aethon_core::message::{Message, Role};
use aethon_core::model::{StopReason, Usage};
use aethon_core::surface::TurnEvent;
use aethon_core::tool::{ToolContext, ToolSpec};

use super::calls::OpenCalls;
use super::ending::{Ending, context_of};
use super::repetition::Repetition;
use super::shared::{Shared, log_storage};
use super::speech::Speech;
use crate::caught::caught;
use crate::control::{Cause, Control};
use crate::dispatcher::{Job, Stage};
use crate::window::{Window, missing_results};

/// How often a model may pause a turn and be asked to go on.
const MOST_PAUSES: u32 = 8;

const RESTARTED: &str = "interrupted by a restart of the assistant; it may or may not have run";

/// A turn that runs.
pub(super) struct Turn<'e> {
    pub(super) shared: &'e Shared,
    pub(super) job: Job,
    pub(super) context: TurnContext,
    pub(super) tools: ToolContext,
    pub(super) specs: Arc<[ToolSpec]>,
    pub(super) control: Control,
    pub(super) window: Window,
    /// Where this turn's own messages begin in the window.
    pub(super) start: usize,
    /// What the model is saying, or was saying when the turn was ended.
    pub(super) speech: Speech,
    /// Calls whose results are not stored yet.
    pub(super) open: Option<OpenCalls>,
    pub(super) repetition: Repetition,
    /// Whether the window holds what the storage holds, as far as is known.
    pub(super) is_window_whole: bool,
    /// The model that was last told to answer instead of the configured one.
    pub(super) told_model: Option<String>,
    last: Option<Message>,
    usage: Usage,
    model: Option<String>,
}

impl Shared {
    /// Runs a turn to its stored end.
    pub(super) async fn run(self: &Arc<Self>, mut job: Job) {
        if job.stage == Stage::Waiting {
            match job.stop.cause() {
                Some(Cause::Person) => return self.end_unbegun(job, true).await,
                // It stays stored as waiting; the next start looks after it.
                Some(Cause::Shutdown) => return,
                None => {}
            }
        }
        match self.start(&mut job).await {
            Ok((window, start)) => Turn::new(self, job, window, start).run().await,
            Err(error) => {
                log_storage("a turn could not begin", &error);
                let sentence =
                    "The message could not be worked on, because the storage failed; the log has more.";
                let ending = Ending::fault("storage", sentence);
                let mut turn = Turn::new(self, job, Window::default(), 0);
                turn.is_window_whole = false;
                turn.finish(ending).await;
            }
        }
    }

    /// Begins a turn, as far as that has not happened, and finds what its model will see.
    async fn start(&self, job: &mut Job) -> Result<(Window, usize)> {
        let fresh = job.stage != Stage::LeftBehind && job.replaces.is_none();
        let id = match job.stage {
            Stage::Begun(id) => id,
            Stage::Waiting | Stage::LeftBehind => self.parts.log.begin(&job.turn, job.begin()).await?,
        };
        let taken = Message::new(Role::User, Vec::new(), job.message.created_at);
        let mut message = std::mem::replace(&mut job.message, taken);
        message.id = id;
        message.turn = Some(job.turn.clone());
        let message = Arc::new(message);
        let (session, turn) = (job.session(), &job.turn);
        job.surface.emit(turn, TurnEvent::Started);
        self.parts.bus.publish(|| Event::TurnStarted { session: session.clone(), turn: turn.clone() });
        if job.stage != Stage::LeftBehind {
            self.tell_message(session, &message);
        }
        let cached = self.windows.take(session).filter(|_| fresh);
        // A session that is used once has nothing that could be read.
        let window = cached.or_else(|| (fresh && job.inbound.oneshot).then(Window::default));
        if let Some(mut window) = window {
            let start = window.len();
            window.push(message);
            return Ok((window, start));
        }
        let window = self.read_window(job).await?;
        let start = window.turn_start(turn);
        if window.len() == 1 {
            self.tell_session(session, SessionChange::Created);
        }
        Ok((window, start))
    }

    async fn read_window(&self, job: &Job) -> Result<Window> {
        let log = &self.parts.log;
        let mut messages = log.window(job.session(), self.options.window_messages).await?;
        if job.stage == Stage::LeftBehind {
            let own = messages.iter().filter(|message| message.turn.as_ref() == Some(&job.turn));
            if let Some(mut missing) = missing_results(own, RESTARTED, self.parts.clock.now()) {
                missing.turn = Some(job.turn.clone());
                log.append(&job.turn, vec![missing.clone()]).await?;
                messages.push(missing);
            }
        }
        Ok(Window::of(messages))
    }
}

impl<'e> Turn<'e> {
    fn new(shared: &'e Shared, job: Job, window: Window, start: usize) -> Self {
        let context = context_of(&job);
        let tools = ToolContext {
            session: context.session.clone(),
            turn: context.turn.clone(),
            surface: job.surface.clone(),
            max_output_chars: shared.options.max_tool_output_chars,
        };
        let can_call = shared.parts.provider.capabilities().tools;
        let specs = if can_call { shared.parts.toolbox.specs() } else { Arc::default() };
        Self {
            control: Control::new(job.stop.clone(), shared.options.turn_timeout),
            shared,
            job,
            context,
            tools,
            specs,
            window,
            start,
            speech: Speech::default(),
            open: None,
            repetition: Repetition::default(),
            is_window_whole: true,
            told_model: None,
            last: None,
            usage: Usage::default(),
            model: None,
        }
    }

    async fn run(mut self) {
        let ending = match caught(self.drive()).await {
            Ok(Ok(ending) | Err(ending)) => ending,
            Err(panic) => {
                tracing::error!(session = %self.context.session, panic, "a turn panicked");
                Ending::fault(
                    "internal",
                    "The answer failed because of a fault in the program; the log has more.",
                )
            }
        };
        self.finish(ending).await;
    }

    /// Asks the model and runs its tools until it has said all. Both results end the turn.
    async fn drive(&mut self) -> Result<Ending, Ending> {
        let options = &self.shared.options;
        let checked = self.shared.parts.hooks.before_turn(&self.context, &self.job.inbound);
        let checked = self.control.guard(checked).await;
        checked
            .map_err(|interrupt| Ending::interrupted(interrupt, options.turn_timeout))?
            .map_err(Ending::failed)?;
        let mut pauses = 0;
        for _ in 0..options.max_iterations {
            self.ask().await?;
            let (message, stop) = self.heard().await;
            if message.tool_calls().next().is_some() {
                self.run_calls(message).await?;
            } else if stop == StopReason::Pause && pauses < MOST_PAUSES {
                pauses += 1;
                if !message.content.is_empty() {
                    self.append(message).await?;
                }
            } else {
                let ending = conclude(&message, stop);
                self.last = Some(message);
                return Ok(ending);
            }
        }
        let steps = options.max_iterations;
        Err(Ending::limit("iterations", format!("Stopped: after {steps} steps (`agent.max_iterations`).")))
    }

    /// Takes the complete response over.
    async fn heard(&mut self) -> (Message, StopReason) {
        let speech = std::mem::take(&mut self.speech);
        let stop = speech.end().unwrap_or(StopReason::End);
        let usage = speech.usage();
        let now = self.shared.parts.clock.now();
        let configured = &self.shared.parts.provider.capabilities().model;
        let message = speech.into_message(&self.context.turn, configured, now);
        self.usage += usage;
        self.model.clone_from(&message.model);
        self.job.surface.emit(&self.context.turn, TurnEvent::Usage(self.usage));
        self.shared.parts.hooks.after_model(&self.context, Some(&message), &usage).await;
        (message, stop)
    }

    /// Puts a stored message into the window and shows it to those who watch.
    pub(super) fn keep(&mut self, message: Message) {
        let message = Arc::new(message);
        self.shared.tell_message(&self.context.session, &message);
        self.window.push(message);
    }

    /// Stores the outcome and tells everybody.
    async fn finish(mut self, ending: Ending) {
        let now = self.shared.parts.clock.now();
        let turn = self.context.turn.clone();
        let configured = self.shared.parts.provider.capabilities().model.clone();
        let mut messages = Vec::with_capacity(2);
        if let Some(open) = self.open.take() {
            let mut results = open.message(now);
            results.turn = Some(turn.clone());
            messages.push(results);
        }
        let speech = std::mem::take(&mut self.speech);
        let mut last = self.last.take().unwrap_or_else(|| speech.into_message(&turn, &configured, now));
        let said = last.text();
        ending.seal(&mut last);
        messages.push(last);
        let model = self.model.take().unwrap_or(configured);
        let reply = ending.reply(&self.job, said, model, self.usage);
        let deliveries = self.shared.deliveries(&self.job.inbound, &reply);
        let delivers = !deliveries.is_empty();
        match self.shared.store(&messages, &reply, deliveries).await {
            Ok(ids) => self.keep_window(messages, &ids),
            Err(error) => {
                log_storage(
                    "the outcome of a turn could not be stored; it is looked after at the next start",
                    &error,
                );
                self.shared.windows.forget(&self.context.session);
            }
        }
        self.shared.announce(self.job, &self.context, reply, delivers).await;
    }

    fn keep_window(&mut self, messages: Vec<Message>, ids: &[MessageId]) {
        for (place, mut message) in messages.into_iter().enumerate() {
            if let Some(id) = ids.get(place) {
                message.id = *id;
            }
            self.keep(message);
        }
        let session = &self.context.session;
        let beside = self.shared.lanes.was_written_beside(session);
        if !beside && self.is_window_whole && !self.job.inbound.oneshot {
            self.shared.windows.put(session, std::mem::take(&mut self.window));
        }
    }
}

/// How a turn ends whose model has nothing more to do.
fn conclude(message: &Message, stop: StopReason) -> Ending {
    let is_empty = message.text().trim().is_empty();
    match (stop, is_empty) {
        (StopReason::Length, _) => Ending::noted(
            "length",
            "The answer ends here because it reached the model's output limit (`model.max_tokens`).",
        ),
        (StopReason::Refusal, true) => Ending::fault("refused", "The model refused to answer this."),
        (StopReason::Refusal, false) => Ending::noted("refused", "The model refused to go on."),
        (_, true) => {
            Ending::noted("empty_answer", "The model gave no answer; ask again, or ask differently.")
        }
        (_, false) => Ending::done(),
    }
}
