//! Asks the models once: runs the hooks, makes the metered call, and reads the answer until it ends, fails or is
//! interrupted.
//!
//! The request comes in as a value and the outcome goes back as one; the state that outlives one request of a turn is
//! in [`Dialogue`]. Whether to ask again is decided by `request`.

use aethon_core::hook::TurnContext;
use aethon_core::message::{EndReason, Failure};
use aethon_core::model::{ModelError, ModelRequest, Usage};
use aethon_core::surface::{Surface, TurnEvent};
use tokio::task::coop::consume_budget;

use super::outcome::{OrEnd, TurnOutcome, failure};
use super::response::{MAX_SAID, ResponseBuffer};
use super::shared::Shared;
use crate::catch_panic::catch_panic;
use crate::control::{Control, Interrupt};
use crate::meter::{Adapt, CallError, Fallback, ModelCall, Work};
use crate::models::Models;

/// One request, and who watches its answer.
pub(super) struct AskRequest<'q> {
    pub(super) context: &'q TurnContext,
    pub(super) surface: &'q dyn Surface,
    pub(super) models: &'q Models,
    pub(super) request: ModelRequest,
    /// The purpose of the call.
    pub(super) work: Work,
    /// Where the answer is collected.
    pub(super) response: ResponseBuffer,
    /// What shortens the request for a smaller fallback.
    pub(super) adapt: &'q mut dyn Adapt,
}

/// The exchange between a turn and its models.
#[derive(Default)]
pub(super) struct Dialogue {
    /// The response being received, or the one that was being received when the turn ended.
    pub(super) response: ResponseBuffer,
    /// The usage of calls whose answers are in no message.
    pub(super) usage: Usage,
    /// How many bytes were received before this response.
    received: usize,
    /// The fallback model last reported, so that it is not reported with every request.
    reported_fallback: Option<String>,
    /// The fallback that is answering, if it is not the configured model.
    pub(super) fallback: Option<Fallback>,
}

/// The outcome of a request.
pub(super) enum AskOutcome {
    /// The answer is complete and in the response. Holds the input tokens that the provider counted.
    Complete(u64),
    /// There is no answer, or only part of one.
    Failed(ModelError),
}

/// The number of models that were called and never responded.
pub(super) type Timeouts = u32;

impl Dialogue {
    /// Asks, and reads the answer to its end. `Err` ends the turn.
    pub(super) async fn ask(
        &mut self,
        shared: &Shared,
        control: &mut Control,
        asked: AskRequest<'_>,
    ) -> OrEnd<(AskOutcome, Timeouts)> {
        let AskRequest { context, surface, models, request, work, response, adapt } = asked;
        self.response = response;
        let services = &shared.services;
        let allowed = control.guard(services.hooks.before_model(context, &request)).await;
        let allowed = allowed?.map_err(TurnOutcome::failed);
        allowed.inspect_err(|outcome| shared.ends.measure_refusal(context, outcome))?;
        let mut call = ModelCall::new(services.meter.clone(), work).with_retries(shared.options.max_retries);
        let audience = Audience { surface, context };
        let reading = self.read_answer(&mut call, models, request, adapt, &audience);
        let read = match control.guard(catch_panic(reading)).await {
            Err(interrupt) => ReadEnd::Interrupted(interrupt),
            Ok(Err(panic)) => ReadEnd::Panicked(panic),
            Ok(Ok(read)) => read.unwrap_or_else(ReadEnd::from),
        };
        let timeouts = call.timeouts();
        let counted = self.response.usage().map_or(0, |usage| usage.input_tokens);
        let settled = call.settle().await;
        audience.warn(settled.warning);
        self.usage += settled.failed;
        self.received += self.response.taken();
        self.response.set_booked(settled.usage, settled.model);
        if let Some(failure) = read.failure() {
            self.usage += settled.usage;
            let mut usage = settled.failed;
            usage += settled.usage;
            services.hooks.after_model(context, Err(&failure), &usage).await;
        }
        if !matches!(read, ReadEnd::ModelFailed(_)) {
            self.response.flush(surface, &context.turn);
        }
        match read {
            ReadEnd::Complete => Ok((AskOutcome::Complete(counted), timeouts)),
            ReadEnd::ModelFailed(error) => Ok((AskOutcome::Failed(error), timeouts)),
            ReadEnd::Full => Err(full()),
            ReadEnd::Unpaid(failure) => Err(TurnOutcome::failed(failure)),
            ReadEnd::Interrupted(interrupt) => Err(TurnOutcome::interrupted(interrupt)),
            ReadEnd::Panicked(panic) => {
                tracing::error!(panic, "the model provider panicked");
                Err(TurnOutcome::fault(
                    EndReason::Internal,
                    "The answer failed because of a fault in the program; the log has more.",
                ))
            }
        }
    }

    async fn read_answer(
        &mut self,
        call: &mut ModelCall,
        models: &Models,
        request: ModelRequest,
        adapt: &mut dyn Adapt,
        audience: &Audience<'_>,
    ) -> Result<ReadEnd, CallError> {
        self.fallback = call.start_adapting(models, request, adapt).await?;
        if let Some(fallback) = self.fallback.clone() {
            self.notify_fallback(fallback, audience);
        }
        loop {
            let event = call.next().await?;
            let room = MAX_SAID.saturating_sub(self.received);
            self.response.take(event, room, (audience.surface, &audience.context.turn));
            if self.response.is_full() {
                return Ok(ReadEnd::Full);
            }
            if self.response.end().is_some() {
                // If the limit was all that the day had left, it is the budget that ended the answer. Tool calls run
                // all the same.
                let why = if self.response.has_calls() { None } else { call.budget_cut_reason().await };
                return Ok(why.map_or(ReadEnd::Complete, ReadEnd::Unpaid));
            }
            // A model that is always ready must not starve the other tasks or delay a stop.
            consume_budget().await;
        }
    }

    fn notify_fallback(&mut self, Fallback { model, reason, .. }: Fallback, audience: &Audience<'_>) {
        if self.reported_fallback.as_ref() != Some(&model) {
            self.reported_fallback = Some(model.clone());
            audience.surface.emit(&audience.context.turn, TurnEvent::Model { model, reason });
        }
    }
}

/// How the reading of an answer ended.
enum ReadEnd {
    /// All of it was read.
    Complete,
    /// As much as there is room for was read; the rest was not.
    Full,
    /// The model failed.
    ModelFailed(ModelError),
    /// The budget refused the call, or cut it off.
    Unpaid(Failure),
    /// The turn was stopped, or ran out of time.
    Interrupted(Interrupt),
    /// The provider's code panicked.
    Panicked(String),
}

impl From<CallError> for ReadEnd {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Model(error) => Self::ModelFailed(error),
            CallError::Money(failure) => Self::Unpaid(failure),
        }
    }
}

impl ReadEnd {
    /// Returns the reason for an incomplete answer, for the hooks; `None` if it is complete.
    fn failure(&self) -> Option<Failure> {
        Some(match self {
            Self::Complete => return None,
            Self::Full => full().failure(),
            Self::ModelFailed(error) => failure(error, error.retry_after()),
            Self::Unpaid(failure) => failure.clone(),
            Self::Interrupted(interrupt) => TurnOutcome::interrupted(*interrupt).failure(),
            Self::Panicked(_) => Failure::new(
                EndReason::Internal,
                "The model provider failed because of a fault in the program.",
            ),
        })
    }
}

/// Returns the outcome of a turn whose model does not stop.
fn full() -> TurnOutcome {
    let most = MAX_SAID >> 20;
    let sentence =
        format!("The answer ends here because it reached {most} MiB, the most that one answer may have.");
    TurnOutcome::noted(EndReason::Length, &sentence)
}

/// Who watches the answer.
struct Audience<'q> {
    surface: &'q dyn Surface,
    context: &'q TurnContext,
}

impl Audience<'_> {
    /// Shows a warning about the budget.
    fn warn(&self, warning: Option<String>) {
        if let Some(message) = warning {
            let notice = TurnEvent::Notice { code: "budget_warning".into(), message };
            self.surface.emit(&self.context.turn, notice);
        }
    }
}
