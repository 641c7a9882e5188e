//! One turn, from the user's message to the stored outcome.

use std::convert::Infallible;
use std::sync::Arc;

use aethon_core::error::{Error, Result};
use aethon_core::hook::{AddedContext, OWN_CONTEXT, TurnContext};
use aethon_core::message::{Block, EndReason, Handling, Message, Role, TurnEnd};
use aethon_core::model::{StopReason, Usage};
use aethon_core::session::TurnDefaults;
use aethon_core::surface::TurnEvent;
use aethon_core::tool::{ToolContext, Toolbox as _};
use aethon_core::web_search::Source;

use super::agents::RunningAgent;
use super::ask::Dialogue;
use super::calls::ToolRun;
use super::compaction::Conversation;
use super::offer::Offer;
use super::outcome::{OrEnd, TAKEN_OVER, TurnOutcome};
use super::shared::Shared;
use super::start::Opening;
use super::steps::{NextStep, SentBack, Steps, conclude, says_something};
use crate::catch_panic::catch_panic;
use crate::control::{Cause, Control};
use crate::dispatcher::{Job, Stage};
use aethon_core::patience::retry_until_stored;
use aethon_core::storage_log::log_storage;

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
    pub(super) before_pause: String,
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
    pub(super) last: Option<Message>,
    /// The model that answered last.
    pub(super) model: Option<String>,
}

impl Shared {
    /// Runs a turn until its end is stored. Returns the job if another program has to end a turn first.
    pub(super) async fn run(self: &Arc<Self>, mut job: Job) -> Option<Job> {
        if job.stage == Stage::GivenUp {
            return self.recovery.close_in_order(job).await;
        }
        if matches!(job.stage, Stage::Waiting | Stage::Beginning) {
            match job.stop.cause() {
                Some(Cause::Person) => {
                    self.ends.end_unbegun(job).await;
                    return None;
                }
                // It stays stored as waiting; the next start takes care of it.
                Some(Cause::Shutdown) => return None,
                // The storage knows whose it is.
                Some(Cause::TakenOver) | None => {}
            }
        }
        if !matches!(job.stage, Stage::Begun(_)) {
            self.agents.refresh(&job.inbound.agent).await;
        }
        let Some(agent) = self.agents.current().get(&job.inbound.agent).cloned() else {
            self.ends.end_without_agent(job).await;
            return None;
        };
        match self.start(&mut job, agent.clone()).await {
            Ok(opening) => {
                self.caches.ahead.revise(job.session(), &opening.window);
                Turn::new(self, job, opening).run().await;
            }
            Err(error) if error.is_elsewhere() => return Some(job),
            Err(error) if error.is_invalid() => self.ends.end_with_stored(job).await,
            Err(error) if error.is_not_found() => self.ends.end_removed(job).await,
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
        let shared = self.shared;
        let _begun = shared.begun.enter(&self.context.session, &self.context.turn);
        let outcome = catch_panic(self.drive()).await.unwrap_or_else(|panic| {
            tracing::error!(session = %self.context.session, panic, "a turn panicked");
            TurnOutcome::fault(
                EndReason::Internal,
                "The answer failed because of a fault in the program; the log has more.",
            )
        });
        let (board, turn) = (self.shared.services.board.clone(), self.context.turn.clone());
        self.finish(outcome).await;
        // All interested parties know of the end by now; a turn that is left open notifies no one.
        board.forget(&turn);
    }

    /// Runs the turn until something ends it.
    async fn drive(&mut self) -> TurnOutcome {
        let Err(outcome) = self.take_steps().await;
        outcome
    }

    /// Asks the model and runs its tools, until one of the steps ends the turn.
    async fn take_steps(&mut self) -> OrEnd<Infallible> {
        if let Handling::Program { answer } = &self.job.inbound.handling {
            self.job.surface.emit(&self.context.turn, TurnEvent::Text(answer.clone()));
            self.answer.last = Some(self.own_message(Role::Assistant, vec![Block::text(answer.clone())]));
            return Err(TurnOutcome::done());
        }
        let limit = self.shared.options.max_iterations;
        let mut steps = Steps::new(limit, self.tools.is_open());
        self.prepare().await?;
        while steps.take_next() {
            if steps.is_closing() {
                self.answer.closing = Some(self.own_message(Role::User, vec![Block::text(CLOSE)]).into());
            }
            self.ask_or_keep_the_part().await?;
            let (mut message, stop) = self.take_response().await;
            match steps.after(&message, stop) {
                NextStep::Close => {
                    message.content.retain(|block| !matches!(block, Block::ToolCall(_)));
                    self.answer.last = Some(message);
                    break;
                }
                NextStep::RunCalls => self.run_calls(message, stop).await?,
                NextStep::Resume => self.resume_after(message).await?,
                NextStep::Continue => self.go_on_after(message),
                NextStep::Judge => self.judge(message, stop, &mut steps).await?,
            }
        }
        Err(TurnOutcome::limit(
            EndReason::Iterations,
            format!("Stopped: after {limit} steps (`agent.max_iterations`)."),
        ))
    }

    /// Does what comes before the first request: the hooks look at the message, servers of tools start, and calls that a
    /// restart has cut off are run.
    async fn prepare(&mut self) -> OrEnd {
        let inbound = self.job.inbound_with_text();
        let checked = self.shared.services.hooks.before_turn(&self.context, &inbound);
        let checked = self.control.guard(checked).await?.map_err(TurnOutcome::failed);
        let added =
            checked.inspect_err(|outcome| self.shared.ends.measure_refusal(&self.context, outcome))?;
        self.job.drop_content();
        self.wait_for_servers().await?;
        if self.tools.is_open() {
            self.run_cut_off_calls().await?;
        }
        self.notify_missing_model();
        self.notify_changed_instructions().await;
        self.add_context(added).await
    }

    /// Asks the model. If only the rest of an answer cannot be had, the turn ends with the part: it is worth more than the
    /// failure.
    async fn ask_or_keep_the_part(&mut self) -> OrEnd {
        self.ask().await.map_err(|outcome| {
            let has_part = self.answer.continued.is_some() && outcome.end == TurnEnd::Error;
            if has_part { TurnOutcome::too_long() } else { outcome }
        })
    }

    /// Stores what the model said before its service paused; the next request goes on behind it.
    async fn resume_after(&mut self, message: Message) -> OrEnd {
        if message.content.is_empty() {
            return Ok(());
        }
        self.answer.before_pause.push_str(&message.text());
        self.append(message).await
    }

    /// Ends the turn with an answer, unless it is sent back: because a hook objects to it, or because it does not fit its
    /// schema. Each happens once a turn.
    async fn judge(&mut self, mut message: Message, stop: StopReason, steps: &mut Steps) -> OrEnd {
        if steps.may_send_back(SentBack::Objection, stop)
            && let Some(objection) = self.objection(&message).await
        {
            steps.send_back(SentBack::Objection);
            self.append(message).await?;
            let wish = self.own_message(Role::System, vec![Block::context(OWN_CONTEXT, objection)]);
            return self.append(wish).await;
        }
        let mut outcome = conclude(&message, stop);
        if outcome.end == TurnEnd::End
            && let Err(fault) = self.fit_schema(&mut message)
        {
            if steps.may_send_back(SentBack::Misfit, stop) {
                steps.send_back(SentBack::Misfit);
                return self.ask_to_repair(message, &fault).await;
            }
            outcome = TurnOutcome::misfit(&fault);
        }
        self.answer.last = Some(message);
        Err(outcome)
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
    async fn ask_to_repair(&mut self, message: Message, fault: &str) -> OrEnd {
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
    async fn run_calls(&mut self, message: Message, stop: StopReason) -> OrEnd {
        self.answer.before_pause.clear();
        let calls = message.tool_calls().cloned().collect();
        self.append(message).await?;
        self.tools.open(calls, stop);
        self.run_open_calls().await
    }

    /// Runs the calls that a restart has cut off, before anything else is stored: the results stand behind their calls.
    async fn run_cut_off_calls(&mut self) -> OrEnd {
        let system = self.system_prompt();
        self.offer_tools();
        self.tools.taken_up_from(self.request(&system, 0));
        self.run_open_calls().await
    }

    /// Runs the calls whose message is stored, and stores their results.
    async fn run_open_calls(&mut self) -> OrEnd {
        let log = &*self.shared.services.turns;
        let ran = self.tools.run(&*self.agent.toolbox, &self.offer.all, log, &mut self.control).await;
        ran?;
        // They stay open until they are stored: if that fails, the end of the turn tries once more.
        if let Some(results) = self.tools.results(self.shared.services.clock.now()) {
            self.append(results).await?;
        }
        // A tool may have written a page or a specialist.
        self.shared.agents.refresh(&self.context.agent).await;
        self.tools.close()
    }

    /// Stores the context that hooks add for the model, behind the user's message. A resumed turn already has it.
    async fn add_context(&mut self, added: Vec<AddedContext>) -> OrEnd {
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
    pub(super) async fn append(&mut self, mut message: Message) -> OrEnd {
        message.turn = Some(self.context.turn.clone());
        let append = || self.shared.services.turns.append(&self.context.turn, vec![message.clone()]);
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
                    TAKEN_OVER.to_owned()
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
        self.shared.services.publish_message(&self.context.session, &message);
        self.conversation.window.push(message);
    }
}

/// Returns the sentence for a turn that could not begin.
fn unworkable(error: &Error) -> String {
    if error.is_damaged() {
        return format!("The message could not be worked on, because {error}.");
    }
    "The message could not be worked on, because the storage failed; the log has more.".to_owned()
}
