//! Asking the model: the request, the stream of its answer, and asking again when it fails before it said anything.

use std::time::Duration;

use aethon_core::ids::TurnId;
use aethon_core::message::Failure;
use aethon_core::model::{ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest};
use aethon_core::surface::{Surface, TurnEvent};
use futures_util::StreamExt;
use tokio::task::coop::consume_budget;
use tokio::time::sleep;

use super::ending::Ending;
use super::retry::{self, Next};
use super::speech::Speech;
use super::turn::Turn;
use crate::caught::caught;
use crate::window;

/// How often a conversation is shortened because the service finds it too long.
const MOST_CUTS: u32 = 3;

impl Turn<'_> {
    /// Asks the model once and listens to the end; the answer is in `self.speech`.
    pub(super) async fn ask(&mut self) -> Result<(), Ending> {
        let system = self.shared.parts.prompt.text();
        let capabilities = self.shared.parts.provider.capabilities();
        let (share, most) = (self.shared.options.context_share, self.shared.options.window_messages);
        let room = window::room(capabilities, share, &system, &self.specs);
        self.start = self.window.fit(room, most, self.start);
        let (mut failed, mut cuts) = (0, 0);
        loop {
            self.speech = Speech::default();
            let request = ModelRequest {
                session: self.context.session.clone(),
                turn: self.context.turn.clone(),
                attempt: failed,
                system: system.clone(),
                messages: self.window.messages(),
                turn_start: self.start,
                tools: self.specs.clone(),
            };
            let Err(error) = self.send(request).await? else { return Ok(()) };
            tracing::warn!(
                session = %self.context.session, kind = error.kind().code(), status = error.status(),
                detail = error.detail(), attempt = failed, "the model failed: {error}"
            );
            if error.kind() == ModelErrorKind::ContextLength && cuts < MOST_CUTS && self.shorten() {
                cuts += 1;
                continue;
            }
            if self.speech.has_output() {
                return Err(Ending::failed(failure(&error, None)));
            }
            match retry::next(&error, failed, self.shared.options.max_retries, self.control.left()) {
                Next::Wait(wait) => self.pause(wait).await?,
                Next::TooLate(wait) => return Err(Ending::failed(failure(&error, Some(wait)))),
                Next::GiveUp => return Err(Ending::failed(failure(&error, error.retry_after()))),
            }
            failed += 1;
        }
    }

    /// Sends a request and listens. The outer error ends the turn, the inner one is the model's.
    async fn send(&mut self, request: ModelRequest) -> Result<Result<(), ModelError>, Ending> {
        let timeout = self.shared.options.turn_timeout;
        let parts = &self.shared.parts;
        let allowed = self.control.guard(parts.hooks.before_model(&self.context, &request)).await;
        allowed.map_err(|interrupt| Ending::interrupted(interrupt, timeout))?.map_err(Ending::failed)?;
        let surface = &*self.job.surface;
        let mut audience = Audience { surface, turn: &self.context.turn, told_model: &mut self.told_model };
        let listening = listen(&*parts.provider, request, &mut self.speech, &mut audience);
        let heard = self.control.guard(caught(listening)).await;
        self.speech.flush(surface, &self.context.turn);
        if !matches!(heard, Ok(Ok(Ok(())))) {
            parts.hooks.after_model(&self.context, None, &self.speech.usage()).await;
        }
        match heard {
            Err(interrupt) => Err(Ending::interrupted(interrupt, timeout)),
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(panic)) => {
                tracing::error!(panic, "the model provider panicked");
                Err(Ending::fault(
                    "internal",
                    "The answer failed because of a fault in the program; the log has more.",
                ))
            }
        }
    }

    async fn pause(&mut self, wait: Duration) -> Result<(), Ending> {
        let timeout = self.shared.options.turn_timeout;
        let paused = self.control.guard(sleep(wait)).await;
        paused.map_err(|interrupt| Ending::interrupted(interrupt, timeout))
    }

    /// Drops older messages; `false` when there are none, or the answer has begun.
    fn shorten(&mut self) -> bool {
        if self.speech.has_output() {
            return false;
        }
        let before = self.window.len();
        match self.window.halve(self.start) {
            Some(start) => self.start = start,
            None => return false,
        }
        self.window.len() < before
    }
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
) -> Result<(), ModelError> {
    let mut stream = provider.stream(request).await?;
    while let Some(event) = stream.next().await {
        match event? {
            ModelEvent::Model { model, reason } => audience.tell_model(model, reason),
            event => speech.take(event, audience.surface, audience.turn),
        }
        if speech.end().is_some() {
            return Ok(());
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
        let sentence = message.trim_end_matches('.');
        message = format!("{sentence}. Try again in {}.", in_words(seconds));
    }
    Failure { code: error.kind().code().to_owned(), message, retry_after: seconds }
}

fn in_words(seconds: u64) -> String {
    match seconds {
        1 => "1 second".into(),
        0..=119 => format!("{seconds} seconds"),
        120..=7199 => format!("{} minutes", seconds.div_ceil(60)),
        _ => format!("{} hours", seconds.div_ceil(3600)),
    }
}
