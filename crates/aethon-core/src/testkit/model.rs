//! A scripted model: each request takes the next list of steps.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures_core::Stream;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::message::ToolCall;
use crate::model::{
    Capabilities, ModelError, ModelEvent, ModelProvider, ModelRequest, ModelStream, ProviderSearch,
    Readiness, StopReason, Usage,
};

/// One thing that the scripted model does.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends this event.
    Event(ModelEvent),
    /// Fails with this error.
    Fail(ModelError),
    /// Waits until the gate is opened once.
    Wait(Gate),
    /// Says nothing more, for ever.
    Hang,
    /// Panics, as buggy code would.
    Panic,
}

impl Step {
    /// Says some text.
    pub fn say(text: &str) -> Self {
        Self::Event(ModelEvent::Text(text.into()))
    }

    /// Calls a tool.
    pub fn call(id: &str, name: &str, input: Value) -> Self {
        Self::Event(ModelEvent::ToolCall(ToolCall { id: id.into(), name: name.into(), input, opaque: None }))
    }

    /// Ends the response.
    pub fn finish(stop: StopReason) -> Self {
        let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
        Self::Event(ModelEvent::Finished { stop, usage, model: None })
    }
}

/// Blocks a script until the test opens it.
#[derive(Debug, Clone)]
pub struct Gate {
    open: Arc<Semaphore>,
    reached: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { open: Arc::new(Semaphore::new(0)), reached: Arc::new(Semaphore::new(0)) }
    }
}

impl Gate {
    /// Lets one waiter through.
    pub fn open(&self) {
        self.open.add_permits(1);
    }

    /// Waits until the script has reached the gate.
    pub async fn reached(&self) {
        take_one(self.reached.clone()).await;
    }

    /// Waits at the gate until it is opened.
    pub async fn pass(&self) {
        self.reached.add_permits(1);
        take_one(self.open.clone()).await;
    }
}

/// Waits for a permit and uses it up. The semaphores here are never closed.
async fn take_one(semaphore: Arc<Semaphore>) {
    if let Ok(permit) = semaphore.acquire_owned().await {
        permit.forget();
    }
}

/// A scripted model.
pub struct ScriptedModel {
    capabilities: Arc<Capabilities>,
    responses: Mutex<VecDeque<Vec<Step>>>,
    requests: Mutex<Vec<ModelRequest>>,
    dropped: Arc<AtomicUsize>,
    aside: Option<Aside>,
}

/// Answers some requests outside the script.
pub type Aside = fn(&ModelRequest) -> Option<Vec<Step>>;

impl ScriptedModel {
    /// Answers requests with these responses, in order; any further ones with `ok`.
    pub fn new(responses: impl IntoIterator<Item = Vec<Step>>) -> Self {
        Self {
            capabilities: Arc::new(
                Capabilities::new("scripted", "scripted-1")
                    .with_sizes(100_000, 1_000)
                    .with_abilities(true, true),
            ),
            responses: Mutex::new(responses.into_iter().collect()),
            requests: Mutex::default(),
            dropped: Arc::default(),
            aside: None,
        }
    }

    /// Answers with this function, where it has an answer, instead of the script.
    #[must_use]
    pub fn with_aside(mut self, aside: Aside) -> Self {
        self.aside = Some(aside);
        self
    }

    /// Appends a response to the script.
    pub fn then(&self, response: Vec<Step>) {
        self.responses.lock().unwrap_or_else(PoisonError::into_inner).push_back(response);
    }

    /// Sets the context window.
    #[must_use]
    pub fn with_context_window(mut self, tokens: u64) -> Self {
        Arc::make_mut(&mut self.capabilities).context_window = tokens;
        self
    }

    /// Sets whether the provider searches the web.
    #[must_use]
    pub fn with_web_search(mut self, web_search: ProviderSearch) -> Self {
        Arc::make_mut(&mut self.capabilities).web_search = web_search;
        self
    }

    /// Sets the provider.
    #[must_use]
    pub fn with_provider(mut self, provider: &str) -> Self {
        provider.clone_into(&mut Arc::make_mut(&mut self.capabilities).provider);
        self
    }

    /// Sets the name.
    #[must_use]
    pub fn with_name(mut self, model: &str) -> Self {
        model.clone_into(&mut Arc::make_mut(&mut self.capabilities).model);
        self
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how many streams were dropped before their end, that is, how many requests were cancelled.
    pub fn cancelled(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl ModelProvider for ScriptedModel {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.capabilities.clone()
    }

    fn readiness(&self) -> Readiness {
        Readiness::Ready
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let aside = self.aside.and_then(|aside| aside(&request));
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let next = || self.responses.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let script = aside.or_else(next);
        let mut steps: VecDeque<Step> =
            script.unwrap_or_else(|| vec![Step::say("ok"), Step::finish(StopReason::End)]).into();
        if let Some(Step::Fail(error)) = steps.front() {
            return Err(error.clone());
        }
        let steps = std::mem::take(&mut steps);
        Ok(Box::pin(Script { steps, waiting: None, dropped: self.dropped.clone() }))
    }

    async fn probe(&self) -> Result<String, ModelError> {
        Ok("scripted".into())
    }
}

struct Script {
    steps: VecDeque<Step>,
    waiting: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    dropped: Arc<AtomicUsize>,
}

impl Stream for Script {
    type Item = Result<ModelEvent, ModelError>;

    #[expect(clippy::panic, reason = "a script may ask for a panic, to see that it is caught")]
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(gate) = &mut self.waiting {
                if gate.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                self.waiting = None;
            }
            match self.steps.pop_front() {
                Some(Step::Event(event)) => return Poll::Ready(Some(Ok(event))),
                Some(Step::Fail(error)) => return Poll::Ready(Some(Err(error))),
                Some(Step::Wait(gate)) => self.waiting = Some(Box::pin(async move { gate.pass().await })),
                Some(Step::Hang) => {
                    self.steps.push_front(Step::Hang);
                    return Poll::Pending;
                }
                Some(Step::Panic) => panic!("the script says so"),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if !self.steps.is_empty() || self.waiting.is_some() {
            self.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}
