//! The calls that run on one connection, and what their server says and asks meanwhile: progress is shown to who watches the
//! turn, and a question goes to the person of the turn.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::tool::ToolContext;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam,
    ClientRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequiredResult,
    InputResponses, ProgressNotificationParam, ProgressToken, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::questions::ask;
use super::words::brief;

/// How often the progress of a call is shown at most.
const SHOWN_EVERY: Duration = Duration::from_millis(250);
/// How often a server may ask before it answers a call.
const MAX_ROUNDS: usize = 5;
/// How many questions it may ask at a time.
const MAX_QUESTIONS: usize = 4;
/// How much progress of unknown calls is kept.
const MAX_EARLY: usize = 16;

/// The calls of one connection.
pub(super) struct RunningCalls {
    /// The name of the server.
    server: Arc<str>,
    calls: Mutex<Vec<RunningCall>>,
    /// Progress of calls that are not known yet: a server may be faster than we note that its request was sent.
    early: Mutex<Vec<ProgressNotificationParam>>,
    /// Notified when a call is over.
    over: Notify,
}

struct RunningCall {
    token: ProgressToken,
    context: ToolContext,
    shown_at: Option<Instant>,
}

impl RunningCalls {
    pub(super) fn new(server: Arc<str>) -> Self {
        Self { server, calls: Mutex::default(), early: Mutex::default(), over: Notify::new() }
    }

    /// Calls a tool. Dropping the future cancels the call at the server.
    pub(super) async fn call(
        &self,
        peer: &Peer<RoleClient>,
        mut params: CallToolRequestParams,
        context: &ToolContext,
    ) -> Result<CallToolResponse, ServiceError> {
        for _ in 0..MAX_ROUNDS {
            let response = self.call_once(peer, params.clone(), context).await?;
            let CallToolResponse::InputRequired(required) = response else { return Ok(response) };
            let Some(answers) = self.answers(&required, context).await else {
                return Ok(CallToolResponse::InputRequired(required));
            };
            params.input_responses = Some(answers);
            params.request_state = required.request_state;
        }
        Err(ServiceError::UnexpectedResponse)
    }

    async fn call_once(
        &self,
        peer: &Peer<RoleClient>,
        params: CallToolRequestParams,
        context: &ToolContext,
    ) -> Result<CallToolResponse, ServiceError> {
        let request = CallToolRequest::new(params);
        let request = ClientRequest::CallToolRequest(request);
        let handle = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
        let token = handle.progress_token.clone();
        let call = RunningCall { token: token.clone(), context: context.clone(), shown_at: None };
        self.lock().push(call);
        self.show_early(&token);
        let mut running = Running { calls: self, token, peer, id: Some(handle.id.clone()) };
        let result = handle.await_response().await;
        running.id = None;
        Ok(match result? {
            ServerResult::CallToolResult(result) => CallToolResponse::Complete(result),
            ServerResult::InputRequiredResult(result) => CallToolResponse::InputRequired(result),
            ServerResult::CreateTaskResult(result) => CallToolResponse::Task(result),
            // A tool that has nothing to say.
            ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => {
                CallToolResponse::Complete(CallToolResult::default())
            }
            ServerResult::CustomResult(custom)
                if custom.0.as_object().is_some_and(|fields| fields.keys().all(|name| name == "_meta")) =>
            {
                CallToolResponse::Complete(CallToolResult::default())
            }
            _ => return Err(ServiceError::UnexpectedResponse),
        })
    }

    /// Has the person answer what a server needs before it can answer; `None` if it needs something else.
    async fn answers(&self, required: &InputRequiredResult, context: &ToolContext) -> Option<InputResponses> {
        let requests = required.input_requests.as_ref()?;
        let is_elicitation = |request: &InputRequest| matches!(request, InputRequest::Elicitation(_));
        if requests.len() > MAX_QUESTIONS || !requests.values().all(is_elicitation) {
            return None;
        }
        let mut answers = InputResponses::new();
        for (key, request) in requests {
            let InputRequest::Elicitation(request) = request else { return None };
            let answer = ask(&self.server, Some(context), &request.params).await;
            answers.insert(key.clone(), serde_json::to_value(answer).ok()?);
        }
        Some(answers)
    }

    /// Returns the context of the calls that run, if all belong to one turn. A question carries no sign of the call that it
    /// belongs to, and must not reach another person.
    pub(super) fn sole(&self) -> Option<ToolContext> {
        let calls = self.lock();
        let last = calls.last()?;
        calls.iter().all(|call| call.context.turn == last.context.turn).then(|| last.context.clone())
    }

    /// Asks the person whose call runs. The question is over with the calls of that turn.
    pub(super) async fn ask(&self, request: &ElicitRequestParams) -> ElicitResult {
        let context = self.sole();
        let turn = context.as_ref().map(|context| context.turn.clone());
        let mut asking = pin!(ask(&self.server, context.as_ref(), request));
        loop {
            let over = self.over.notified();
            let is_running = || self.lock().iter().any(|call| Some(&call.context.turn) == turn.as_ref());
            if turn.is_some() && !is_running() {
                return ElicitResult::new(ElicitationAction::Cancel);
            }
            tokio::select! {
                answer = &mut asking => return answer,
                () = over => {}
            }
        }
    }

    /// Returns the name of the server.
    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// Shows how far a call is.
    pub(super) fn show(&self, progress: &ProgressNotificationParam) {
        let shown = {
            let mut calls = self.lock();
            let Some(call) = calls.iter_mut().find(|call| call.token == progress.progress_token) else {
                let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
                if early.len() < MAX_EARLY {
                    early.push(progress.clone());
                }
                return;
            };
            if call.shown_at.is_some_and(|at| at.elapsed() < SHOWN_EVERY) {
                return;
            }
            call.shown_at = Some(Instant::now());
            call.context.clone()
        };
        shown.show_output(words(progress));
    }

    fn show_early(&self, token: &ProgressToken) {
        let early = std::mem::take(&mut *self.early.lock().unwrap_or_else(PoisonError::into_inner));
        early
            .iter()
            .filter(|progress| progress.progress_token == *token)
            .for_each(|progress| self.show(progress));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RunningCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn words(progress: &ProgressNotificationParam) -> String {
    let so_far = match progress.total {
        Some(total) if total > 0.0 => format!("{} of {total}", progress.progress),
        _ => format!("{}", progress.progress),
    };
    match progress.message.as_deref().map(brief).filter(|message| !message.is_empty()) {
        Some(message) => format!("{so_far}: {message}"),
        None => so_far,
    }
}

/// A call that runs. If it is given up, its server is told.
struct Running<'c> {
    calls: &'c RunningCalls,
    token: ProgressToken,
    peer: &'c Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.calls.lock().retain(|call| call.token != self.token);
        self.calls.over.notify_waiters();
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        let cancelled = CancelledNotificationParam::new(Some(id), Some("the call was given up".to_owned()));
        // Outside of a runtime, the connection has ended with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { peer.notify_cancelled(cancelled).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    #[test]
    fn progress_is_put_in_words() {
        let check = |progress: f64, total: Option<f64>, message: Option<&str>, expected: &str| {
            let token = ProgressToken(NumberOrString::Number(1));
            let mut param = ProgressNotificationParam::new(token, progress);
            param.total = total;
            param.message = message.map(str::to_owned);
            assert_eq!(words(&param), expected);
        };
        check(1.0, Some(4.0), Some("reading\n the \u{202e}list"), "1 of 4: reading the list");
        check(0.5, None, None, "0.5");
        check(3.0, Some(0.0), Some(" "), "3");
    }
}
