//! Plays the steps of a response as a stream of events.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::model::{
    Capabilities, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream,
    Readiness, StopReason, Usage,
};
use async_trait::async_trait;
use futures_util::stream;

use super::response::{Step, answer};
use crate::estimate;

/// The scripted model.
pub(crate) struct Fake {
    capabilities: Arc<Capabilities>,
}

impl Fake {
    pub(crate) fn new(capabilities: Arc<Capabilities>) -> Self {
        Self { capabilities }
    }
}

#[async_trait]
impl ModelProvider for Fake {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.capabilities.clone()
    }

    fn readiness(&self) -> Readiness {
        Readiness::Ready
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let answer = answer(&request);
        if let Some(kind) = answer.failure {
            wait(answer.sleep).await;
            return Err(failure(kind));
        }
        let play = Play {
            wait: answer.sleep,
            steps: answer.steps,
            told: 0,
            stop: if answer.calls_tools { StopReason::ToolUse } else { StopReason::End },
            usage: Usage { input_tokens: estimate::request(&request), ..Usage::default() },
            model: Some(self.capabilities.model.clone()),
            over: false,
        };
        Ok(Box::pin(stream::unfold(play, |mut play| async {
            play.next().await.map(|event| (Ok(event), play))
        })))
    }

    async fn probe(&self) -> Result<String, ModelError> {
        Ok("the scripted model needs nothing".into())
    }
}

/// A response being played.
struct Play {
    /// The wait before the next event.
    wait: Duration,
    steps: VecDeque<Step>,
    /// The number of events played so far.
    told: u64,
    stop: StopReason,
    usage: Usage,
    model: Option<String>,
    over: bool,
}

impl Play {
    async fn next(&mut self) -> Option<ModelEvent> {
        wait(std::mem::take(&mut self.wait)).await;
        while let Some(step) = self.steps.pop_front() {
            // Thoughts are no part of what is said.
            self.told += u64::from(!matches!(step, Step::Think { .. }));
            let (event, rest) = step.split(self.told);
            match &rest {
                Some(Step::Tokens(tokens)) => self.wait = tokens.gap,
                Some(Step::Think { thought, .. }) => self.wait = thought.gap,
                _ => {}
            }
            if let Some(rest) = rest {
                self.steps.push_front(rest);
            }
            if let Some(event) = event {
                self.usage.output_tokens += cost(&event);
                return Some(event);
            }
        }
        if std::mem::replace(&mut self.over, true) {
            return None;
        }
        Some(ModelEvent::Finished { stop: self.stop, usage: self.usage, model: self.model.take() })
    }
}

async fn wait(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

fn cost(event: &ModelEvent) -> u64 {
    match event {
        ModelEvent::Text(text) => estimate::tokens(text.len()),
        ModelEvent::ToolCall(call) => 10 + estimate::tokens(call.name.len()),
        _ => 0,
    }
}

/// Creates the failure that a script asked for, worded like a real one.
fn failure(kind: ModelErrorKind) -> ModelError {
    use ModelErrorKind::{
        Auth, ContextLength, InvalidRequest, Malformed, Network, NotFound, Overloaded, Quota, RateLimit,
        Refused, Timeout,
    };
    let (sentence, status) = match kind {
        Auth => ("The scripted model plays a wrong key; set model.api_key to a valid one.", Some(401)),
        Quota => ("The scripted model plays an account without credit; add credit to it.", Some(429)),
        RateLimit => ("The scripted model plays too many requests; try again in a moment.", Some(429)),
        ContextLength => {
            ("The scripted model plays a conversation that is too long; start a new one.", Some(400))
        }
        Overloaded => ("The scripted model plays an overloaded service; try again in a moment.", Some(529)),
        Network => ("The scripted model plays a broken connection; check the network and model.host.", None),
        Timeout => {
            ("The scripted model plays silence; raise model.timeout_seconds if it is only slow.", None)
        }
        NotFound => ("The scripted model plays an unknown model; check model.model_id.", Some(404)),
        Refused => ("The scripted model plays a refusal of this content; put it in other words.", Some(400)),
        InvalidRequest => {
            ("The scripted model plays a request that is not accepted; see the log.", Some(400))
        }
        Malformed => ("The scripted model plays an answer that cannot be read; try again.", None),
    };
    let error = ModelError::new(kind, sentence);
    match status {
        Some(status) => error.with_status(status),
        None => error,
    }
}
