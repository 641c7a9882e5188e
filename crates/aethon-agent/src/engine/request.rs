//! Asking the model: the request, the stream of its answer, and asking again when it fails before it said anything.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::ids::TurnId;
use aethon_core::ledger::WorkKind;
use aethon_core::message::Failure;
use aethon_core::model::{ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, Usage};
use aethon_core::surface::{Surface, TurnEvent};
use futures_util::StreamExt;
use tokio::task::coop::consume_budget;
use tokio::time::sleep;

use super::ending::Ending;
use super::purse::Call;
use super::retry::{self, Next};
use super::said_calls;
use super::speech::Speech;
use super::turn::Turn;
use crate::caught::caught;
use crate::control::Interrupt;

/// From when on a pause before the next attempt is told.
const LONG_WAIT: Duration = Duration::from_secs(3);

/// How listening to an answer ended.
pub(super) enum Heard {
    /// The model has ended it.
    Whole,
    /// It has used up the money that was there for it.
    OutOfMoney,
}

impl Turn<'_> {
    /// Asks the model once and listens to the end; the answer is in `self.speech`.
    pub(super) async fn ask(&mut self) -> Result<(), Ending> {
        let system = self.shared.parts.prompt.text();
        let (mut asked, mut failed, mut is_folded) = (0, 0, false);
        self.look_at_the_model(&system).await?;
        self.make_room(&system).await?;
        loop {
            let request = self.request(&system, asked);
            self.speech = self.next_speech();
            let Err(error) = self.send(request).await? else {
                self.tell_of_blindness();
                return Ok(());
            };
            asked += 1;
            tracing::warn!(
                session = %self.context.session, kind = error.kind().code(), status = error.status(),
                detail = error.detail(), attempt = asked, "the model failed: {error}"
            );
            let is_too_long = error.kind() == ModelErrorKind::ContextLength && !self.speech.has_output();
            if is_too_long && !is_folded && self.fold_for_the_service(&system).await? {
                is_folded = true;
                continue;
            }
            let next = match self.speech.has_output() {
                true => Next::GiveUp,
                false => retry::next(&error, failed, self.shared.options.max_retries, self.control.left()),
            };
            let retry_after = match next {
                Next::Wait(wait) => {
                    failed += 1;
                    self.tell_of_wait(wait);
                    self.pause(wait).await?;
                    continue;
                }
                Next::TooLate(wait) => Some(wait),
                Next::GiveUp => error.retry_after().filter(|_| !self.speech.has_output()),
            };
            self.speech.flush(&*self.job.surface, &self.context.turn);
            return Err(Ending::failed(failure(&error, retry_after)));
        }
    }

    /// A wait that somebody would notice is explained to them.
    fn tell_of_wait(&self, wait: Duration) {
        if wait >= LONG_WAIT {
            let seconds = wait.as_secs_f64().ceil();
            let message =
                format!("The model cannot answer just now; it is asked again in {seconds} seconds.");
            let notice = TurnEvent::Notice { code: "waiting".into(), message };
            self.job.surface.emit(&self.context.turn, notice);
        }
    }

    fn request(&self, system: &Arc<str>, attempt: u32) -> ModelRequest {
        let mut messages = self.window.messages();
        if let Some(continued) = &self.answer.continued {
            Arc::make_mut(&mut messages).extend(continued.iter().cloned());
        }
        ModelRequest {
            session: self.context.session.clone(),
            turn: self.context.turn.clone(),
            attempt,
            system: system.clone(),
            messages,
            turn_start: self.start,
            tools: self.specs.clone(),
        }
    }

    fn next_speech(&self) -> Speech {
        if let Some([part, _]) = &self.answer.continued {
            return Speech::after(part);
        }
        if self.specs.is_empty() {
            return Speech::default();
        }
        let belief = said_calls::belief(self.window.calls_properly(), self.window.message(self.start));
        Speech::offered(self.specs.clone(), belief)
    }

    /// Sends a request and listens. The outer error ends the turn, the inner one is the model's.
    async fn send(&mut self, request: ModelRequest) -> Result<Result<(), ModelError>, Ending> {
        let timeout = self.shared.options.turn_timeout;
        let parts = &self.shared.parts;
        let model = parts.provider.capabilities();
        let allowed = self.control.guard(parts.hooks.before_model(&self.context, &request)).await;
        allowed.map_err(|interrupt| Ending::interrupted(interrupt, timeout))?.map_err(Ending::failed)?;
        let estimated = self.estimated(&request.system);
        let call = self.call(WorkKind::Turn, self.window.gauge.tokens(estimated));
        let leave = self.shared.purse.ask(&call, &model).await.map_err(Ending::failed)?;
        let surface = &*self.job.surface;
        let mut audience =
            Audience { surface, turn: &self.context.turn, told_model: &mut self.answer.told_model };
        let most = leave.output.unwrap_or(u64::MAX);
        let listening = listen(&*parts.provider, request, &mut self.speech, &mut audience, most);
        let heard = self.control.guard(caught(listening)).await;
        if !matches!(heard, Ok(Ok(Err(_)))) {
            self.speech.flush(surface, &self.context.turn);
        }
        let taken = taken(&heard, &self.speech, call.input);
        let is_ok = matches!(heard, Ok(Ok(Ok(Heard::Whole))));
        let named = self.speech.named().map(str::to_owned);
        let (usage, warning) =
            self.shared.purse.settle(call, leave, (&model, named.as_deref()), (taken, is_ok)).await;
        self.warn(warning);
        if is_ok {
            self.speech.set_usage(usage);
            self.weigh(usage.input_tokens, estimated);
        } else {
            self.answer.usage += usage;
            parts.hooks.after_model(&self.context, None, &usage).await;
        }
        match heard {
            Err(interrupt) => Err(Ending::interrupted(interrupt, timeout)),
            Ok(Ok(Ok(Heard::Whole))) => Ok(Ok(())),
            Ok(Ok(Ok(Heard::OutOfMoney))) => Err(Ending::failed(self.shared.purse.used_up().await)),
            Ok(Ok(Err(error))) => Ok(Err(error)),
            Ok(Err(panic)) => {
                tracing::error!(panic, "the model provider panicked");
                Err(Ending::fault(
                    "internal",
                    "The answer failed because of a fault in the program; the log has more.",
                ))
            }
        }
    }

    /// A call of this turn, for the ledger.
    pub(super) fn call(&self, kind: WorkKind, input: u64) -> Call {
        Call { session: self.context.session.clone(), turn: self.context.turn.clone(), kind, input }
    }

    async fn pause(&mut self, wait: Duration) -> Result<(), Ending> {
        let timeout = self.shared.options.turn_timeout;
        let paused = self.control.guard(sleep(wait)).await;
        paused.map_err(|interrupt| Ending::interrupted(interrupt, timeout))
    }
}

type Listened<T> = Result<Result<Result<T, ModelError>, String>, Interrupt>;

/// What a call took, as far as it is known. What was sent counts when the service had begun to work on it.
fn taken<T>(heard: &Listened<T>, speech: &Speech, input: u64) -> Usage {
    if let Some(usage) = speech.usage() {
        return usage;
    }
    let has_worked = match heard {
        Ok(Ok(Err(error))) => speech.heard() > 0 || error.kind() == ModelErrorKind::Timeout,
        Ok(Ok(Ok(_)) | Err(_)) | Err(_) => true,
    };
    let input_tokens = if has_worked { input } else { 0 };
    Usage { input_tokens, output_tokens: speech.heard(), ..Usage::default() }
}

/// Who is shown what the model says.
struct Audience<'t> {
    surface: &'t dyn Surface,
    turn: &'t TurnId,
    /// The last model that was told to answer instead of the configured one.
    told_model: &'t mut Option<String>,
}

impl Audience<'_> {
    /// Tells once that another model answers, and not with every request of the turn.
    fn tell_model(&mut self, model: String, reason: String) {
        if self.told_model.as_ref() != Some(&model) {
            *self.told_model = Some(model.clone());
            self.surface.emit(self.turn, TurnEvent::Model { model, reason });
        }
    }
}

async fn listen(
    provider: &dyn ModelProvider,
    request: ModelRequest,
    speech: &mut Speech,
    audience: &mut Audience<'_>,
    most: u64,
) -> Result<Heard, ModelError> {
    let mut stream = provider.stream(request).await?;
    while let Some(event) = stream.next().await {
        match event? {
            ModelEvent::Model { model, reason } => audience.tell_model(model, reason),
            event => speech.take(event, audience.surface, audience.turn),
        }
        if speech.end().is_some() {
            return Ok(Heard::Whole);
        }
        if speech.heard() >= most {
            return Ok(Heard::OutOfMoney);
        }
        // A model that never makes us wait must not keep the others, or a stop, waiting.
        consume_budget().await;
    }
    Err(ModelError::new(ModelErrorKind::Malformed, "The model's answer broke off before its end; ask again."))
}

fn failure(error: &ModelError, retry_after: Option<Duration>) -> Failure {
    let mut message = error.to_string();
    let seconds = retry_after.map(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
    if let Some(seconds) = seconds {
        // The exact wait says better what the sentence may say about when.
        let sentence = message.split("; try again").next().unwrap_or(&message).trim_end_matches('.');
        message = format!("{sentence}. Try again in {}.", in_words(seconds));
    }
    Failure { code: error.kind().code().to_owned(), message, retry_after: seconds }
}

pub(super) fn in_words(seconds: u64) -> String {
    match seconds {
        1 => "1 second".into(),
        0..=119 => format!("{seconds} seconds"),
        120..=7199 => format!("{} minutes", seconds.div_ceil(60)),
        _ => format!("{} hours", seconds.div_ceil(3600)),
    }
}
