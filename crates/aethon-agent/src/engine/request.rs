//! The requests of a turn: their content, and the handling of a failure before the model has sent any output.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::ledger::WorkKind;
use aethon_core::model::{ModelError, ModelErrorKind, ModelRequest, ProviderSearch, Usage};
use aethon_core::surface::TurnEvent;
use tokio::time::sleep;

use super::ask::{AskOutcome, AskRequest, Timeouts};
use super::narrow::Narrower;
use super::outcome::{OrEnd, TurnOutcome, failure};
use super::response::ResponseBuffer;
use super::retry::{Next, RetryState};
use super::turn::Turn;
use crate::hooks::bars_search;
use crate::meter::Work;

/// The shortest pause before a retry that the person is notified of.
const LONG_WAIT: Duration = Duration::from_secs(3);

impl Turn<'_> {
    /// Asks the model until it answers, retrying while that makes sense. The answer is in `self.dialogue.response`.
    pub(super) async fn ask(&mut self) -> OrEnd {
        let system = self.system_prompt();
        let mut tries = RetryState::new(self.shared.options.max_retries);
        self.discover_model(&system).await?;
        self.make_room(&system).await?;
        loop {
            let (outcome, timeouts) = self.ask_once(&system, tries.asked()).await?;
            let wait = match outcome {
                AskOutcome::Complete(_) => {
                    let is_empty = self.dialogue.response.is_empty();
                    let Some(wait) = tries.after_answer(is_empty, self.control.left()) else { break };
                    self.answer.usage += self.dialogue.response.usage().unwrap_or_default();
                    wait
                }
                AskOutcome::Failed(error) => {
                    self.log_failure(&error, tries.asked());
                    if self.is_compacted_for(&error, &system, &mut tries).await? {
                        continue;
                    }
                    self.wait_after(&error, timeouts, &mut tries)?
                }
            };
            self.pause(wait).await?;
        }
        self.notify_unseen_picture();
        self.notify_assumed_limits().await
    }

    /// Returns whether the conversation was compacted because the service finds it too long; that helps once.
    async fn is_compacted_for(
        &mut self,
        error: &ModelError,
        system: &Arc<str>,
        tries: &mut RetryState,
    ) -> OrEnd<bool> {
        let is_too_long =
            error.kind() == ModelErrorKind::ContextLength && !self.dialogue.response.has_emitted();
        if !is_too_long || tries.is_compacted() || !self.compact_for_the_service(system).await? {
            return Ok(false);
        }
        tries.count_compaction();
        Ok(true)
    }

    /// Returns the wait before the request is sent again. A failure after output, and one that does not go away in time,
    /// ends the turn.
    fn wait_after(
        &mut self,
        error: &ModelError,
        timeouts: Timeouts,
        tries: &mut RetryState,
    ) -> OrEnd<Duration> {
        let has_emitted = self.dialogue.response.has_emitted();
        let next = match has_emitted {
            true => Next::GiveUp,
            false => tries.after_failure(error, timeouts, self.control.left()),
        };
        let retry_after = match next {
            Next::Wait(wait) => {
                self.notify_wait(wait);
                return Ok(wait);
            }
            Next::TooLate(wait) => Some(wait),
            Next::GiveUp => error.retry_after().filter(|_| !has_emitted),
        };
        self.dialogue.response.flush(&*self.job.surface, &self.context.turn);
        Err(TurnOutcome::failed(failure(error, retry_after)))
    }

    /// Makes one request.
    async fn ask_once(&mut self, system: &Arc<str>, attempt: u32) -> OrEnd<(AskOutcome, Timeouts)> {
        // A failure may have said how much fits.
        self.offer_tools();
        let estimated = self.estimated(system);
        let request = self.request(system, attempt);
        let mut narrower = Narrower {
            shared: self.shared,
            agent: &self.agent,
            context: &self.context,
            surface: &*self.job.surface,
            window: &self.conversation.window,
            start: self.conversation.start,
            tools: &self.offer.all,
            control: self.control.another(),
            spent: Usage::default(),
        };
        let request = AskRequest {
            models: &self.agent.agent.models,
            request,
            work: self.work(self.context.kind, estimated),
            response: self.next_response(),
            context: &self.context,
            surface: &*self.job.surface,
            adapt: &mut narrower,
        };
        let asked = self.dialogue.ask(self.shared, &mut self.control, request).await;
        self.answer.usage += narrower.spent;
        let (outcome, timeouts) = asked?;
        if let AskOutcome::Complete(counted) = outcome {
            // A fallback counts by its own tokenizer, and may have seen less.
            let leading = self.agent.agent.models.leading().capabilities();
            if self.dialogue.fallback.as_ref().is_none_or(|by| by.model == leading.model) {
                self.calibrate(counted, estimated);
            }
        }
        Ok((outcome, timeouts))
    }

    fn log_failure(&self, error: &ModelError, asked: u32) {
        tracing::warn!(
            session = %self.context.session, kind = error.kind().code(), status = error.status(),
            detail = error.detail(), attempt = asked + 1, "the model failed: {error}"
        );
    }

    /// Explains a noticeable wait to the person.
    fn notify_wait(&self, wait: Duration) {
        if wait >= LONG_WAIT {
            let seconds = wait.as_secs_f64().ceil();
            let message =
                format!("The model cannot answer just now; Aethon asks it again in {seconds} seconds.");
            let notice = TurnEvent::Notice { code: "waiting".into(), message };
            self.job.surface.emit(&self.context.turn, notice);
        }
    }

    pub(super) fn request(&self, system: &Arc<str>, attempt: u32) -> ModelRequest {
        let mut messages = self.conversation.window.messages();
        if let Some(continued) = &self.answer.continued {
            Arc::make_mut(&mut messages).extend(continued.iter().cloned());
        }
        if let Some(closing) = &self.answer.closing {
            Arc::make_mut(&mut messages).push(closing.clone());
        }
        let (session, turn) = (self.context.session.clone(), self.context.turn.clone());
        let mut request = ModelRequest::new(session, turn, system.clone(), Vec::new())
            .with_attempt(attempt)
            .with_turn_start(self.conversation.start)
            .with_tools(self.offer.specs.clone());
        request.messages = messages;
        request.effort = self.job.inbound.wishes.effort.or(self.defaults.effort);
        request.schema = self.job.inbound.wishes.schema.as_deref().cloned().map(Arc::new);
        request.web_search = self.may_search(&request);
        request
    }

    /// Returns whether the provider may search the web for this request. A search sends words out of the machine without a
    /// question to anybody, so it is for turns that the owner's own words began, and, if outside text requires approvals, for
    /// requests without such text.
    fn may_search(&self, request: &ModelRequest) -> bool {
        if self.agent.agent.models.capabilities().web_search == ProviderSearch::Off {
            return false;
        }
        let is_owners = self.context.trust().is_owner() && self.context.kind != WorkKind::Delegation;
        if !is_owners || self.shared.options.searches_beside_outside_text {
            return is_owners;
        }
        let Some(source) = bars_search(request) else { return true };
        let message = format!(
            "The model's provider does not search the web in this turn, because text from outside is in it: {source} \
             (`security.taint_requires_approval`)."
        );
        self.notify_once("web_search_off", &message);
        false
    }

    fn next_response(&self) -> ResponseBuffer {
        match &self.answer.continued {
            Some([part, _]) => ResponseBuffer::after(part),
            None => ResponseBuffer::default(),
        }
    }

    /// Describes a call of this turn, with this estimate of its tokens, to the ledger.
    pub(super) fn work(&self, kind: WorkKind, estimated: u64) -> Work {
        let counter = &self.conversation.window.counter;
        let work = Work::new(kind, counter.tokens(estimated)).expecting(counter.expected(estimated));
        work.of_turn(self.context.session.clone(), self.context.turn.clone())
    }

    async fn pause(&mut self, wait: Duration) -> OrEnd {
        Ok(self.control.guard(sleep(wait)).await?)
    }
}
