//! One turn, from the user's message to the stored outcome.

use std::sync::Arc;

use aethon_core::error::{Error, Result};
use aethon_core::hook::{AddedContext, OWN_CONTEXT, TurnContext};
use aethon_core::message::{Block, EndReason, Handling, Message, Role, TurnEnd};
use aethon_core::model::{ModelErrorKind, StopReason, Usage};
use aethon_core::session::{Finished, TurnDefaults};
use aethon_core::surface::TurnEvent;
use aethon_core::tool::{ToolContext, Toolbox as _};
use aethon_core::web_search::Source;

use super::agents::RunningAgent;
use super::ask::Dialogue;
use super::calls::ToolRun;
use super::compaction::Conversation;
use super::offer::Offer;
use super::outcome::{TurnOutcome, reply_if_not_stored};
use super::shared::Shared;
use super::start::Opening;
use crate::catch_panic::catch_panic;
use crate::control::{Cause, Control};
use crate::dispatcher::{Job, Stage};
use crate::patience::retry_until_stored;
use crate::storage_log::log_storage;

/// How many times a model may pause a turn and then be resumed.
const MAX_PAUSES: u32 = 8;

const GO_ON: &str = "Your answer was cut off by the output limit. Go on exactly where it stopped: repeat nothing, and say \
nothing about the cut.";

const CLOSE: &str = "[A note of the program, not of the person: this was the last step of this turn that could use tools. \
No further call is run. Answer the person now, in words: what you found out, what is done, and what is still open.]";

/// A running turn.
pub(super) struct Turn<'e> {
    pub(super) shared: &'e Arc<Shared>,
    /// The agent that answers.
    pub(super) agent: Arc<RunningAgent>,
    pub(super) job: Job,
    pub(super) context: TurnContext,
    pub(super) tools: ToolRun,
    /// The tools, and which of them the model is offered.
    pub(super) offer: Offer,
    pub(super) control: Control,
    pub(super) conversation: Conversation,
    /// The messages sent to models, and their responses.
    pub(super) dialogue: Dialogue,
    pub(super) answer: AnswerSoFar,
    /// What the session sets for its turns.
    pub(super) defaults: Arc<TurnDefaults>,
    /// The name of the chosen model, if there is no such model any more.
    pub(super) missing_model: Option<String>,
}

/// The result of a turn so far, over all its requests.
#[derive(Default)]
pub(super) struct AnswerSoFar {
    /// An answer that the output limit cut off, and the request for the rest of it.
    pub(super) continued: Option<[Arc<Message>; 2]>,
    /// The text before the model's service paused; the answer begins with it.
    before_pause: String,
    /// Whether the model was asked to correct an answer that does not fit its schema.
    is_repair_asked: bool,
    /// Whether the person knows that the model did not see a picture.
    pub(super) is_unseen_picture_reported: bool,
    /// The request for a closing answer, appended to the turn's last request.
    pub(super) closing: Option<Arc<Message>>,
    /// The usage over all its requests.
    pub(super) usage: Usage,
    /// The notice to the person about changed instructions. It is kept with the answer, for those who are not
    /// watching.
    pub(super) changed_instructions: Option<Block>,
    /// The turn's last message.
    last: Option<Message>,
    /// The model that answered last.
    model: Option<String>,
}

impl Shared {
    /// Runs a turn until its end is stored. Returns the job if another program has to end a turn first.
    pub(super) async fn run(self: &Arc<Self>, mut job: Job) -> Option<Job> {
        if job.stage == Stage::GivenUp {
            return self.close_in_order(job).await;
        }
        if matches!(job.stage, Stage::Waiting | Stage::Beginning) {
            match job.stop.cause() {
                Some(Cause::Person) => {
                    self.end_unbegun(job).await;
                    return None;
                }
                // It stays stored as waiting; the next start takes care of it.
                Some(Cause::Shutdown) => return None,
                None => {}
            }
        }
        if !matches!(job.stage, Stage::Begun(_)) {
            self.refresh(&job.inbound.agent).await;
        }
        let Some(agent) = self.agents().get(&job.inbound.agent).cloned() else {
            self.end_without_agent(job).await;
            return None;
        };
        match self.start(&mut job, agent.clone()).await {
            Ok(opening) => {
                self.ahead.revise(job.session(), &opening.window);
                Turn::new(self, job, opening).run().await;
            }
            Err(error) if error.is_elsewhere() => return Some(job),
            Err(error) if error.is_invalid() => self.end_with_stored(job).await,
            Err(error) if error.is_not_found() => self.end_removed(job).await,
            // The storage is closed: the next start takes care of it.
            Err(error) if error.is_busy() => log_storage("a turn did not begin", &error),
            Err(error) => {
                log_storage("a turn could not begin", &error);
                let outcome = TurnOutcome::fault(EndReason::Storage, &unworkable(&error));
                let window = agent.new_window(&self.options);
                let mut turn = Turn::new(self, job, Opening::new(window, 0, agent));
                turn.conversation.is_whole = false;
                turn.finish(outcome).await;
            }
        }
        None
    }
}

impl<'e> Turn<'e> {
    fn new(shared: &'e Arc<Shared>, mut job: Job, opening: Opening) -> Self {
        let agent = opening.agent;
        job.provider = Some(agent.provider());
        let context = TurnContext::of(job.turn.clone(), &job.inbound);
        let limits = agent.limits(&shared.options);
        let output_chars = limits.output_chars(shared.options.max_tool_output_chars);
        let tools = ToolContext::of(&context, job.surface.clone(), output_chars);
        let mut tools = ToolRun::new(tools, shared.options.loops);
        tools.take_up(opening.cut_off);
        tools.remember(opening.window.part(opening.start, opening.window.len()));
        let model = agent.agent.models.capabilities();
        let specs = if model.tools { agent.toolbox.specs_for(&context) } else { Arc::default() };
        Self {
            control: Control::new(job.stop.clone(), shared.options.turn_timeout),
            shared,
            agent,
            job,
            context,
            tools,
            offer: Offer::new(specs, &model, limits.tokens),
            conversation: Conversation::new(opening.window, opening.start),
            dialogue: Dialogue::default(),
            answer: AnswerSoFar::default(),
            defaults: opening.defaults.unwrap_or_default(),
            missing_model: opening.missing_model,
        }
    }

    async fn run(mut self) {
        let outcome = match catch_panic(self.drive()).await {
            Ok(Ok(outcome) | Err(outcome)) => outcome,
            Err(panic) => {
                tracing::error!(session = %self.context.session, panic, "a turn panicked");
                TurnOutcome::fault(
                    EndReason::Internal,
                    "The answer failed because of a fault in the program; the log has more.",
                )
            }
        };
        let (board, turn) = (self.shared.services.board.clone(), self.context.turn.clone());
        self.finish(outcome).await;
        // All interested parties know of the end by now; a turn that is left open notifies no one.
        board.forget(&turn);
    }

    /// Asks the model and runs its tools until it has finished. Either result ends the turn.
    async fn drive(&mut self) -> Result<TurnOutcome, TurnOutcome> {
        if let Handling::Program { answer } = &self.job.inbound.handling {
            self.job.surface.emit(&self.context.turn, TurnEvent::Text(answer.clone()));
            self.answer.last = Some(self.own_message(Role::Assistant, vec![Block::text(answer.clone())]));
            return Ok(TurnOutcome::done());
        }
        let options = &self.shared.options;
        let inbound = self.job.inbound_with_text();
        let checked = self.shared.services.hooks.before_turn(&self.context, &inbound);
        let checked = self.control.guard(checked).await;
        let checked = checked.map_err(TurnOutcome::interrupted)?.map_err(TurnOutcome::failed);
        let added = checked.inspect_err(|outcome| self.shared.measure_refusal(&self.context, outcome))?;
        self.job.drop_content();
        self.wait_for_servers().await?;
        let mut has_called = self.tools.is_open();
        if has_called {
            self.run_cut_off_calls().await?;
        }
        self.notify_missing_model();
        self.notify_changed_instructions().await;
        self.add_context(added).await?;
        let (mut pauses, mut was_cut, mut was_sent_back) = (0, false, false);
        for step in 1..=options.max_iterations {
            // With a single step allowed, there is nothing to bring to a close.
            if has_called && step == options.max_iterations {
                self.answer.closing = Some(self.own_message(Role::User, vec![Block::text(CLOSE)]).into());
            }
            match self.ask().await {
                Ok(()) => {}
                // The partial answer is worth more than the failure to get the rest of it.
                Err(outcome) if self.answer.continued.is_some() && outcome.end == TurnEnd::Error => {
                    return Ok(TurnOutcome::too_long());
                }
                Err(outcome) => return Err(outcome),
            }
            let (mut message, stop) = self.take_response().await;
            if self.answer.closing.is_some() {
                message.content.retain(|block| !matches!(block, Block::ToolCall(_)));
                self.answer.last = Some(message);
                break;
            }
            if message.tool_calls().next().is_some() {
                has_called = true;
                self.answer.before_pause.clear();
                self.run_calls(message, stop).await?;
            } else if stop == StopReason::Pause && pauses < MAX_PAUSES {
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
            } else if stop == StopReason::End
                && !was_sent_back
                && step < options.max_iterations
                && let Some(objection) = self.objection(&message).await
            {
                was_sent_back = true;
                self.append(message).await?;
                let wish = self.own_message(Role::System, vec![Block::context(OWN_CONTEXT, objection)]);
                self.append(wish).await?;
            } else if let Some(outcome) = self.conclude_or_repair(message, stop, step).await? {
                return Ok(outcome);
            }
        }
        let steps = options.max_iterations;
        Err(TurnOutcome::limit(
            EndReason::Iterations,
            format!("Stopped: after {steps} steps (`agent.max_iterations`)."),
        ))
    }

    /// Returns the outcome of the model's last answer; `None` if it has to be corrected because it does not fit its schema.
    async fn conclude_or_repair(
        &mut self,
        mut message: Message,
        stop: StopReason,
        step: u32,
    ) -> Result<Option<TurnOutcome>, TurnOutcome> {
        let mut outcome = conclude(&message, stop);
        if outcome.end == TurnEnd::End
            && let Err(fault) = self.fit_schema(&mut message)
        {
            let is_first = !std::mem::replace(&mut self.answer.is_repair_asked, true);
            if is_first && stop == StopReason::End && step < self.shared.options.max_iterations {
                self.ask_to_repair(message, &fault).await?;
                return Ok(None);
            }
            outcome = TurnOutcome::misfit(&fault);
        }
        self.answer.last = Some(message);
        Ok(Some(outcome))
    }

    /// Reduces an answer that must fit a schema to its JSON. The error says why it does not fit.
    fn fit_schema(&mut self, message: &mut Message) -> Result<(), String> {
        let Some(schema) = &self.job.inbound.wishes.schema else { return Ok(()) };
        let text = message.text();
        let json = schema.read(&text)?;
        // A reader parses the text as it is, so nothing may stand beside the JSON.
        self.answer.before_pause.clear();
        if json != text {
            message.content.retain(|block| !matches!(block, Block::Text { .. }));
            message.content.push(Block::text(json));
        }
        Ok(())
    }

    /// Stores an answer that does not fit its schema, and a note that asks for one that does.
    async fn ask_to_repair(&mut self, message: Message, fault: &str) -> Result<(), TurnOutcome> {
        self.answer.before_pause.clear();
        if !message.content.is_empty() {
            self.append(message).await?;
        }
        let schema =
            self.job.inbound.wishes.schema.as_ref().map(|schema| schema.instruction()).unwrap_or_default();
        let wish =
            format!("The answer does not fit the JSON Schema that was asked for: {fault}.\n\n{schema}");
        let wish = self.own_message(Role::System, vec![Block::context(OWN_CONTEXT, wish)]);
        self.append(wish).await
    }

    /// Returns the objection to this answer, if there is one.
    async fn objection(&self, message: &Message) -> Option<String> {
        self.shared.services.hooks.objection(&self.context, message).await
    }

    /// Stores a message with calls, runs them, and stores their results.
    async fn run_calls(&mut self, message: Message, stop: StopReason) -> Result<(), TurnOutcome> {
        let calls = message.tool_calls().cloned().collect();
        self.append(message).await?;
        self.tools.open(calls, stop);
        self.run_open_calls().await
    }

    /// Runs the calls that a restart has cut off, before anything else is stored: the results stand behind their calls.
    async fn run_cut_off_calls(&mut self) -> Result<(), TurnOutcome> {
        let system = self.system_prompt();
        self.offer_tools();
        self.tools.taken_up_from(self.request(&system, 0));
        self.run_open_calls().await
    }

    /// Runs the calls whose message is stored, and stores their results.
    async fn run_open_calls(&mut self) -> Result<(), TurnOutcome> {
        let ran = self.tools.run(&*self.agent.toolbox, &self.offer.all, &mut self.control).await;
        ran.map_err(TurnOutcome::interrupted)?;
        // They stay open until they are stored: if that fails, the end of the turn tries once more.
        if let Some(results) = self.tools.results(self.shared.services.clock.now()) {
            self.append(results).await?;
        }
        // A tool may have written a page or a specialist.
        self.shared.refresh(&self.context.agent).await;
        self.tools.close()
    }

    /// Stores the context that hooks add for the model, behind the user's message. A resumed turn already has it.
    async fn add_context(&mut self, added: Vec<AddedContext>) -> Result<(), TurnOutcome> {
        let is_context = |block: &Block| matches!(block, Block::Context { .. });
        let has_context = |message: &Arc<Message>| message.content.iter().any(is_context);
        let is_known = self
            .conversation
            .window
            .part(self.conversation.start, self.conversation.window.len())
            .any(has_context);
        if added.is_empty() || is_known {
            return Ok(());
        }
        let blocks = added.into_iter().map(|AddedContext { source, text }| Block::context(source, text));
        let message = self.own_message(Role::System, blocks.collect());
        self.append(message).await
    }

    fn own_message(&self, role: Role, content: Vec<Block>) -> Message {
        let mut message = Message::new(role, content, self.shared.services.clock.now());
        message.turn = Some(self.context.turn.clone());
        message
    }

    /// Stores a message of the running turn and adds it to the next request. A stop does not cut this short.
    pub(super) async fn append(&mut self, mut message: Message) -> Result<(), TurnOutcome> {
        message.turn = Some(self.context.turn.clone());
        let append = || self.shared.services.log.append(&self.context.turn, vec![message.clone()]);
        match retry_until_stored("a message of a turn could not be stored; trying again", append).await {
            Ok(ids) => {
                if let Some(id) = ids.first() {
                    message.id = *id;
                }
                self.keep(message);
                Ok(())
            }
            Err(error) => {
                log_storage("a message of a turn could not be stored", &error);
                self.conversation.is_whole = false;
                let sentence = if error.is_invalid() {
                    "Another program has taken this answer over; load the conversation again to see it."
                        .to_owned()
                } else if error.is_damaged() {
                    format!("The answer could not be stored, so the turn was ended: {error}.")
                } else {
                    "The answer could not be stored, so the turn was ended; the log has more.".to_owned()
                };
                Err(TurnOutcome::fault(EndReason::Storage, &sentence))
            }
        }
    }

    /// Asks for the rest of a cut-off answer. Nothing is stored until the answer is whole, because it is one answer.
    fn go_on_after(&mut self, part: Message) {
        let wish = self.own_message(Role::User, vec![Block::text(GO_ON)]);
        self.answer.continued = Some([Arc::new(part), Arc::new(wish)]);
    }

    /// Takes over the complete response.
    async fn take_response(&mut self) -> (Message, StopReason) {
        let response = std::mem::take(&mut self.dialogue.response);
        let stop = response.end().unwrap_or(StopReason::End);
        let usage = response.usage().unwrap_or_default();
        self.answer.continued = None;
        let now = self.shared.services.clock.now();
        let configured = &self.agent.model();
        let sources = response.sources();
        let mut message = response.into_message(&self.context.turn, configured, now);
        // A part of an answer goes on behind it.
        if stop == StopReason::End {
            self.list_sources(&mut message, &sources);
        }
        self.tools.distinguish(&mut message);
        self.answer.usage += usage;
        self.answer.usage += std::mem::take(&mut self.dialogue.usage);
        self.answer.model.clone_from(&message.model);
        self.job.surface.emit(&self.context.turn, TurnEvent::Usage(self.answer.usage));
        self.shared.services.hooks.after_model(&self.context, Ok(&message), &usage).await;
        (message, stop)
    }

    /// Lists the pages of a web search below the answer, where every client shows them. JSON that was asked for stays alone.
    fn list_sources(&self, message: &mut Message, sources: &[Source]) {
        let is_answer = says_something(message) && message.tool_calls().next().is_none();
        if sources.is_empty() || !is_answer || self.job.inbound.wishes.schema.is_some() {
            return;
        }
        let links: Vec<String> = sources.iter().map(|source| format!("- {}", source.link())).collect();
        let list = format!("Sources:\n\n{}", links.join("\n"));
        self.job.surface.emit(&self.context.turn, TurnEvent::Text(format!("\n\n{list}")));
        message.content.push(Block::text(list));
    }

    /// Adds a stored message to the window and shows it to the watchers.
    pub(super) fn keep(&mut self, message: Message) {
        let message = Arc::new(message);
        self.shared.publish_message(&self.context.session, &message);
        self.conversation.window.push(message);
    }

    /// Leaves a turn as a crash would, for the next start to resume: its sender can name it again, and would
    /// otherwise permanently get half an answer. The results of finished calls are stored, so that these do not run
    /// again, unless all relevant calls can run again: then the ones that were cut off run again, too.
    async fn leave_open(self) {
        let (turn, session) = (self.context.turn.clone(), self.context.session.clone());
        let is_left = self.tools.can_run_again(&self.offer.all);
        let results = self.tools.results(self.shared.services.clock.now()).filter(|_| !is_left);
        if let Some(mut results) = results {
            results.turn = Some(turn.clone());
            if let Err(error) = self.shared.services.log.append(&turn, vec![results]).await {
                log_storage("results of a turn that goes on at the next start were not stored", &error);
            }
        }
        tracing::info!(%session, %turn, "a turn was not finished before the end; the next start goes on with it");
    }

    /// Stores the outcome and announces it.
    async fn finish(mut self, outcome: TurnOutcome) {
        if outcome.is_shutdown() && self.job.inbound.dedupe.is_some() {
            return self.leave_open().await;
        }
        let now = self.shared.services.clock.now();
        let turn = self.context.turn.clone();
        let configured = self.agent.model();
        let mut messages = Vec::with_capacity(2);
        if let Some(mut results) = self.tools.results(now) {
            results.turn = Some(turn.clone());
            messages.push(results);
        }
        self.answer.usage += std::mem::take(&mut self.dialogue.usage);
        let response = std::mem::take(&mut self.dialogue.response);
        let mut last =
            self.answer.last.take().unwrap_or_else(|| response.into_message(&turn, &configured, now));
        let before_pause = std::mem::take(&mut self.answer.before_pause);
        let long = self.shared.large_reply_gate.enter(before_pause.len() + last.text_bytes()).await;
        let text = last.text();
        let said = if before_pause.is_empty() { text } else { before_pause + &text };
        let said = if said.trim().is_empty() { in_place_of_pictures(&last) } else { said };
        last.content.splice(0..0, self.answer.changed_instructions.take());
        outcome.seal(&mut last);
        messages.push(last);
        let model = self.answer.model.take().unwrap_or(configured);
        let reply = Arc::new(outcome.reply(&self.job, said, model, self.answer.usage));
        let window = &self.conversation.window;
        let seen = window.part(0, window.len()).map(|message| &**message).chain(&messages);
        let deliveries = self.shared.deliveries(&self.job.inbound, &reply, seen);
        let delivers = !deliveries.is_empty();
        let session = &self.context.session;
        let next = if self.conversation.is_whole && self.shared.queues.is_another_waiting(session) {
            self.shared.refresh(&self.context.agent).await;
            self.shared.begin_next(session, &self.conversation.window)
        } else {
            None
        };
        let messages = Arc::new(messages);
        let stored = self.shared.store(&messages, &reply, deliveries, next).await;
        let has_begun = stored.as_ref().ok().and_then(|finished| finished.next.clone());
        self.shared.queues.has_begun(session, has_begun);
        let (announced, delivers) = match stored {
            Ok(finished) => {
                self.keep_window(Arc::unwrap_or_clone(messages), &finished);
                (Some(reply), delivers)
            }
            // Another program has ended the turn: the outcome that it stored counts.
            Err(error) if error.is_invalid() => {
                log_storage("a turn had been ended before", &error);
                self.shared.windows.forget(session);
                return self.shared.end_with_stored(self.job).await;
            }
            Err(error) => {
                self.shared.windows.forget(session);
                (reply_if_not_stored(reply, &error), false)
            }
        };
        if let Some(reply) = announced {
            self.shared.announce_end(&self.job, &reply, delivers);
            // The next long answer may end while the hooks look at this one.
            drop((long, self.job));
            self.shared.services.hooks.after_turn(&self.context, &reply).await;
        }
    }

    fn keep_window(&mut self, messages: Vec<Message>, finished: &Finished) {
        let ids = &finished.messages;
        for (place, mut message) in messages.into_iter().enumerate() {
            if let Some(id) = ids.get(place) {
                message.id = *id;
            }
            self.keep(message);
        }
        let session = &self.context.session;
        // The storage knows about other programs; the queue also knows about messages written after the end was
        // stored.
        let was_changed = self.shared.queues.take_external_change(session) || finished.beside;
        // If the models have changed meanwhile, its token counts are of no use to the next turn.
        let is_current = self.shared.is_current(&self.agent);
        if !was_changed && is_current && self.conversation.is_whole && !self.job.inbound.oneshot {
            let allowance = self.allowance(&self.system_prompt());
            let who = (&self.agent, &self.context);
            self.shared.compact_ahead(who, &self.conversation.window, &allowance);
            let window = std::mem::take(&mut self.conversation.window);
            self.shared.windows.put(session, (self.agent.window_owner(), ids.last().copied()), window);
        }
    }
}

/// Returns the sentence for a turn that could not begin.
fn unworkable(error: &Error) -> String {
    if error.is_damaged() {
        return format!("The message could not be worked on, because {error}.");
    }
    "The message could not be worked on, because the storage failed; the log has more.".to_owned()
}

/// Returns the outcome of a turn whose model has nothing more to do.
fn conclude(message: &Message, stop: StopReason) -> TurnOutcome {
    const REFUSED: EndReason = EndReason::Model(ModelErrorKind::Refused);
    const UNREADABLE: EndReason = EndReason::Model(ModelErrorKind::Malformed);
    let is_picture = |block: &Block| matches!(block, Block::Image { .. });
    let is_empty = message.text().trim().is_empty() && !message.content.iter().any(is_picture);
    match (stop, is_empty) {
        (StopReason::Length, _) => TurnOutcome::too_long(),
        (StopReason::Window, _) => TurnOutcome::window_full(),
        (StopReason::Unreadable, true) => {
            TurnOutcome::fault(UNREADABLE, "The model's service sent an answer that cannot be read.")
        }
        (StopReason::Unreadable, false) => TurnOutcome::noted(
            UNREADABLE,
            "A part of this answer is missing, because the model's service sent it in a form that cannot be read.",
        ),
        (StopReason::Refusal, true) => TurnOutcome::fault(REFUSED, "The model refused to answer this."),
        (StopReason::Refusal, false) => TurnOutcome::noted(REFUSED, "The model refused to continue."),
        (_, true) => TurnOutcome::noted(
            EndReason::EmptyAnswer,
            "The model gave no answer; ask again, or ask differently.",
        ),
        (_, false) => TurnOutcome::done(),
    }
}

/// Returns the text for those who cannot see the pictures of an answer that has nothing else.
fn in_place_of_pictures(message: &Message) -> String {
    let pictures = message.content.iter().filter_map(|block| match block {
        Block::Image { mime, .. } => Some(format!("*(A picture, {mime}; the page shows it.)*")),
        _ => None,
    });
    pictures.collect::<Vec<_>>().join("\n\n")
}

fn says_something(message: &Message) -> bool {
    !message.text().trim().is_empty()
}
