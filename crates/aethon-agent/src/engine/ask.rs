//! Asking the models once: the hooks, the metered call, and listening to the answer until it ends, fails or is interrupted.
//!
//! What is asked comes as a value and what was heard goes back as one; the state that stays over the requests of a turn is
//! in [`Dialogue`]. Whether to ask again is for `request` to say.

use aethon_core::hook::TurnContext;
use aethon_core::message::{EndReason, Failure};
use aethon_core::model::{ModelError, ModelRequest, Usage};
use aethon_core::surface::{Surface, TurnEvent};
use tokio::task::coop::consume_budget;

use super::outcome::{TurnOutcome, failure};
use super::response::{MOST_SAID, ResponseBuffer};
use super::shared::Shared;
use crate::caught::caught;
use crate::control::{Control, Interrupt};
use crate::meter::{CallError, ModelCall, StandIn, Work};
use crate::models::Models;

/// One request, and who is shown its answer.
pub(super) struct Question<'q> {
    pub(super) context: &'q TurnContext,
    pub(super) surface: &'q dyn Surface,
    pub(super) models: &'q Models,
    pub(super) request: ModelRequest,
    /// What the call is for.
    pub(super) work: Work,
    /// What the answer goes into.
    pub(super) response: ResponseBuffer,
}

/// What a turn and its models have said to each other.
#[derive(Default)]
pub(super) struct Dialogue {
    /// What the model is saying, or was saying when the turn was ended.
    pub(super) response: ResponseBuffer,
    /// The sum over the calls whose answers are in no message.
    pub(super) usage: Usage,
    /// How many bytes were said before this response.
    said: usize,
    /// The stand-in that was told last, so that it is not told with every request.
    told: Option<String>,
}

/// How a request was answered.
pub(super) enum Heard {
    /// The answer is complete: it is in the response. The tokens that were sent, as they were counted.
    Whole(u64),
    /// There is none, or not all of it.
    Failed(ModelError),
}

/// How often models that were asked fell silent.
pub(super) type Silences = u32;

impl Dialogue {
    /// Asks, and listens to the end. `Err` ends the turn.
    pub(super) async fn ask(
        &mut self,
        shared: &Shared,
        control: &mut Control,
        question: Question<'_>,
    ) -> Result<(Heard, Silences), TurnOutcome> {
        let Question { context, surface, models, request, work, response } = question;
        self.response = response;
        let services = &shared.services;
        let allowed = control.guard(services.hooks.before_model(context, &request)).await;
        let allowed = allowed.map_err(TurnOutcome::interrupted)?.map_err(TurnOutcome::failed);
        allowed.inspect_err(|outcome| shared.measure_refusal(context, outcome))?;
        let mut call = services.meter.call(work);
        let audience = Audience { surface, context };
        let listening = self.listen(&mut call, models, request, &audience);
        let heard = control.guard(caught(listening)).await;
        let silences = call.silences();
        let counted = self.response.usage().map_or(0, |usage| usage.input_tokens);
        let settled = call.settle().await;
        audience.warn(settled.warning);
        self.usage += settled.failed;
        self.said += self.response.taken();
        let is_whole = matches!(heard, Ok(Ok(Ok(Ended::Whole))));
        self.response.settle(settled.usage, settled.model);
        if !is_whole {
            self.usage += settled.usage;
            let mut usage = settled.failed;
            usage += settled.usage;
            services.hooks.after_model(context, Err(&failure_of(&heard)), &usage).await;
        }
        if !matches!(heard, Ok(Ok(Err(CallError::Model(_))))) {
            self.response.flush(surface, &context.turn);
        }
        match heard {
            Err(interrupt) => Err(TurnOutcome::interrupted(interrupt)),
            Ok(Ok(Ok(Ended::Whole))) => Ok((Heard::Whole(counted), silences)),
            Ok(Ok(Ok(Ended::Full))) => Err(full()),
            Ok(Ok(Err(CallError::Model(error)))) => Ok((Heard::Failed(error), silences)),
            Ok(Ok(Err(CallError::Money(failure)))) => Err(TurnOutcome::failed(failure)),
            Ok(Err(panic)) => {
                tracing::error!(panic, "the model provider panicked");
                Err(TurnOutcome::fault(
                    EndReason::Internal,
                    "The answer failed because of a fault in the program; the log has more.",
                ))
            }
        }
    }

    async fn listen(
        &mut self,
        call: &mut ModelCall,
        models: &Models,
        request: ModelRequest,
        audience: &Audience<'_>,
    ) -> Result<Ended, CallError> {
        if let Some(stand_in) = call.start(models, request).await? {
            self.tell_stand_in(stand_in, audience);
        }
        loop {
            let event = call.next().await?;
            let room = MOST_SAID.saturating_sub(self.said);
            self.response.take(event, room, (audience.surface, &audience.context.turn));
            if self.response.is_full() {
                return Ok(Ended::Full);
            }
            if self.response.end().is_some() {
                // The limit was all that the day had left: then it is the day that ended the answer. Calls run all the same.
                let why = if self.response.has_calls() { None } else { call.why_so_short().await };
                return why.map_or(Ok(Ended::Whole), |failure| Err(CallError::Money(failure)));
            }
            // A model that never makes us wait must not keep the others, or a stop, waiting.
            consume_budget().await;
        }
    }

    fn tell_stand_in(&mut self, StandIn { model, reason }: StandIn, audience: &Audience<'_>) {
        if self.told.as_ref() != Some(&model) {
            self.told = Some(model.clone());
            audience.surface.emit(&audience.context.turn, TurnEvent::Model { model, reason });
        }
    }
}

/// Whether all of an answer was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// All of it.
    Whole,
    /// As much as there is room for; the model was not listened to any further.
    Full,
}

/// How a turn ends whose model does not stop.
fn full() -> TurnOutcome {
    let most = MOST_SAID >> 20;
    let sentence =
        format!("The answer ends here because it reached {most} MiB, the most that one answer may have.");
    TurnOutcome::noted(EndReason::Length, &sentence)
}

/// How listening ended: interrupted, with a panic, with an error, or with the answer.
type Listened = Result<Result<Result<Ended, CallError>, String>, Interrupt>;

/// Why there is no whole answer, for the hooks.
fn failure_of(heard: &Listened) -> Failure {
    match heard {
        Err(interrupt) => TurnOutcome::interrupted(*interrupt).failure(),
        Ok(Ok(Err(CallError::Model(error)))) => failure(error, error.retry_after()),
        Ok(Ok(Err(CallError::Money(failure)))) => failure.clone(),
        Ok(Ok(Ok(Ended::Full))) => full().failure(),
        Ok(Ok(Ok(Ended::Whole)) | Err(_)) => {
            Failure::new(EndReason::Internal, "The model provider failed because of a fault in the program.")
        }
    }
}

/// Who is shown what the model says.
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
