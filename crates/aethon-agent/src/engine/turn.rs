//! One turn, from the user's message to the stored outcome.

use std::sync::Arc;

use aethon_core::error::Result;
use aethon_core::hook::TurnContext;
use aethon_core::ids::MessageId;
use aethon_core::message::{Block, Message, Role, TurnEnd};
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
use crate::window::{Window, estimate_tools};

/// How often a model may pause a turn and be asked to go on.
const MOST_PAUSES: u32 = 8;

const GO_ON: &str = "Your answer was cut off by the output limit. Go on exactly where it stopped: repeat nothing, and say \
nothing about the cut.";

/// A turn that runs.
pub(super) struct Turn<'e> {
    pub(super) shared: &'e Shared,
    pub(super) job: Job,
    pub(super) context: TurnContext,
    pub(super) tools: ToolContext,
    pub(super) specs: Arc<[ToolSpec]>,
    /// What the descriptions of the tools are estimated at.
    pub(super) tools_tokens: u64,
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
    pub(super) answer: Answer,
}

/// What a turn has come to so far, over all requests that it made.
#[derive(Default)]
pub(super) struct Answer {
    /// The model that was last told to answer instead of the configured one.
    pub(super) told_model: Option<String>,
    /// An answer that was cut off by the output limit, and the wish to have the rest of it.
    pub(super) continued: Option<[Arc<Message>; 2]>,
    /// What was said before the model's service made a pause: the answer begins with it.
    before_pause: String,
    /// Whether the person knows that a picture was not seen.
    pub(super) is_blindness_told: bool,
    /// Responses in a row with arguments that were no JSON.
    pub(super) unreadable: u32,
    /// The sum over its requests.
    pub(super) usage: Usage,
    /// The message that ends it.
    last: Option<Message>,
    /// The model that answered last.
    model: Option<String>,
}

impl Shared {
    /// Runs a turn to its stored end.
    pub(super) async fn run(self: &Arc<Self>, mut job: Job) {
        if job.stage == Stage::GivenUp {
            return self.close_in_order(job).await;
        }
        if matches!(job.stage, Stage::Waiting | Stage::Beginning) {
            match job.stop.cause() {
                Some(Cause::Person) => return self.end_unbegun(job, true).await,
                // It stays stored as waiting; the next start looks after it.
                Some(Cause::Shutdown) => return,
                None => {}
            }
        }
        match self.start(&mut job).await {
            Ok((window, start)) => Turn::new(self, job, window, start).run().await,
            Err(error) if error.is_not_found() => self.end_groundless(job).await,
            Err(error) => {
                log_storage("a turn could not begin", &error);
                let sentence =
                    "The message could not be worked on, because the storage failed; the log has more.";
                let ending = Ending::fault("storage", sentence);
                let mut turn = Turn::new(self, job, self.new_window(), 0);
                turn.is_window_whole = false;
                turn.finish(ending).await;
            }
        }
    }
}

impl<'e> Turn<'e> {
    fn new(shared: &'e Shared, job: Job, window: Window, start: usize) -> Self {
        let context = context_of(&job.turn, &job.inbound);
        let tools = ToolContext {
            session: context.session.clone(),
            turn: context.turn.clone(),
            surface: job.surface.clone(),
            has_begun: Arc::default(),
            max_output_chars: shared.limits().output_chars(shared.options.max_tool_output_chars),
        };
        let can_call = shared.parts.provider.capabilities().tools;
        let specs = if can_call { shared.parts.toolbox.specs() } else { Arc::default() };
        Self {
            control: Control::new(job.stop.clone(), shared.options.turn_timeout),
            shared,
            job,
            context,
            tools,
            tools_tokens: estimate_tools(&specs),
            specs,
            window,
            start,
            speech: Speech::default(),
            open: None,
            repetition: Repetition::default(),
            is_window_whole: true,
            answer: Answer::default(),
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
        let (mut pauses, mut was_cut) = (0, false);
        for step in 1..=options.max_iterations {
            match self.ask().await {
                Ok(()) => {}
                // What there is of the answer is worth more than the failure to get the rest of it.
                Err(ending) if self.answer.continued.is_some() && is_failure(&ending) => {
                    return Ok(Ending::too_long());
                }
                Err(ending) => return Err(ending),
            }
            let (message, stop) = self.heard().await;
            if message.tool_calls().next().is_some() {
                self.answer.before_pause.clear();
                self.run_calls(message).await?;
            } else if stop == StopReason::Pause && pauses < MOST_PAUSES {
                pauses += 1;
                if !message.content.is_empty() {
                    self.answer.before_pause.push_str(&message.text());
                    self.append(message).await?;
                }
            } else if stop == StopReason::Length
                && !was_cut
                && step < options.max_iterations
                && says_something(&message)
            {
                was_cut = true;
                self.go_on_after(message);
            } else {
                let ending = conclude(&message, stop);
                self.answer.last = Some(message);
                return Ok(ending);
            }
        }
        let steps = options.max_iterations;
        Err(Ending::limit("iterations", format!("Stopped: after {steps} steps (`agent.max_iterations`).")))
    }

    /// Asks for the rest of an answer that was cut off. Nothing of it is stored until it is whole: it is one answer.
    fn go_on_after(&mut self, part: Message) {
        let mut wish = Message::new(Role::User, vec![Block::text(GO_ON)], part.created_at);
        wish.turn = Some(self.context.turn.clone());
        self.answer.continued = Some([Arc::new(part), Arc::new(wish)]);
    }

    /// Shows a warning about the budget.
    pub(super) fn warn(&self, warning: Option<String>) {
        if let Some(message) = warning {
            let notice = TurnEvent::Notice { code: "budget_warning".into(), message };
            self.job.surface.emit(&self.context.turn, notice);
        }
    }

    /// Takes the complete response over.
    async fn heard(&mut self) -> (Message, StopReason) {
        let speech = std::mem::take(&mut self.speech);
        let stop = speech.end().unwrap_or(StopReason::End);
        let usage = speech.usage().unwrap_or_default();
        self.answer.continued = None;
        let now = self.shared.parts.clock.now();
        let configured = &self.shared.parts.provider.capabilities().model;
        let message = speech.into_message(&self.context.turn, configured, now);
        self.answer.usage += usage;
        self.answer.model.clone_from(&message.model);
        self.job.surface.emit(&self.context.turn, TurnEvent::Usage(self.answer.usage));
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
        let mut last =
            self.answer.last.take().unwrap_or_else(|| speech.into_message(&turn, &configured, now));
        let said = std::mem::take(&mut self.answer.before_pause) + &last.text();
        ending.seal(&mut last);
        messages.push(last);
        let model = self.answer.model.take().unwrap_or(configured);
        let reply = ending.reply(&self.job, said, model, self.answer.usage);
        let deliveries = self.shared.deliveries(&self.job.inbound, &reply);
        let delivers = !deliveries.is_empty();
        let session = &self.context.session;
        let next = if self.is_window_whole { self.shared.begin_next(session, &self.window) } else { None };
        let stored = self.shared.store(&messages, &reply, deliveries, next).await;
        self.shared.lanes.has_begun(session, stored.as_ref().ok().and_then(|finished| finished.next));
        match stored {
            Ok(finished) => self.keep_window(messages, &finished.messages),
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
        (StopReason::Length, _) => Ending::too_long(),
        (StopReason::Refusal, true) => Ending::fault("refused", "The model refused to answer this."),
        (StopReason::Refusal, false) => Ending::noted("refused", "The model refused to go on."),
        (_, true) => {
            Ending::noted("empty_answer", "The model gave no answer; ask again, or ask differently.")
        }
        (_, false) => Ending::done(),
    }
}

fn is_failure(ending: &Ending) -> bool {
    matches!(ending.end, TurnEnd::Error | TurnEnd::Budget)
}

fn says_something(message: &Message) -> bool {
    !message.text().trim().is_empty()
}
