//! The calls that run on one connection, and what their server says and asks meanwhile: progress is shown to who watches the
//! turn, and a question goes to the person of the turn.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::ids::TurnId;
use aethon_core::tool::ToolContext;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam,
    ClientRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequiredResult,
    InputResponses, ProgressNotificationParam, ProgressToken, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use super::questions::ask;
use super::words::brief;

/// How often the progress of a call is shown at most.
const SHOWN_EVERY: Duration = Duration::from_millis(250);
/// How often a server may ask before it answers a call.
const MAX_ROUNDS: usize = 5;
/// How many questions it may ask at a time.
const MAX_QUESTIONS: usize = 4;
/// How many questions it may ask during a call.
const MAX_CALL_QUESTIONS: usize = 20;
/// How long a server may still ask for a call that was given up.
const GIVEN_UP: Duration = Duration::from_secs(60);
/// How much progress of unknown calls is kept.
const MAX_EARLY: usize = 16;

/// The calls of one connection.
pub(super) struct RunningCalls {
    /// The name of the server.
    server: Arc<str>,
    calls: Mutex<Calls>,
    /// The number of the next call.
    next: AtomicU64,
    /// The questions that may be asked now.
    questions: Semaphore,
    /// Progress of calls that are not known yet: a server may be faster than we note that its request was sent.
    early: Mutex<Vec<ProgressNotificationParam>>,
    /// Notified when a call is over.
    over: Notify,
}

#[derive(Default)]
struct Calls {
    running: Vec<RunningCall>,
    /// Calls that were given up, for which the server may still ask.
    given_up: Vec<GivenUp>,
}

struct GivenUp {
    turn: TurnId,
    at: Instant,
}

struct RunningCall {
    number: u64,
    /// How progress names it, if it can.
    token: Option<ProgressToken>,
    context: ToolContext,
    shown_at: Option<Instant>,
    /// How many questions the server has asked meanwhile.
    questions: usize,
}

impl RunningCalls {
    pub(super) fn new(server: Arc<str>) -> Self {
        Self {
            server,
            calls: Mutex::default(),
            next: AtomicU64::default(),
            questions: Semaphore::new(MAX_QUESTIONS),
            early: Mutex::default(),
            over: Notify::new(),
        }
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
        let mut running = self.register(context);
        let sent = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let handle = sent.inspect_err(|_| running.is_over = true)?;
        running.is_sent(handle.progress_token.clone());
        self.show_early(&handle.progress_token);
        let mut cancelling = Cancelling { peer, id: Some(handle.id.clone()) };
        let result = handle.await_response().await;
        cancelling.id = None;
        running.is_over = true;
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

    /// Asks the person for the input that a server requests before it can answer; `None` if it requests something else.
    async fn answers(&self, required: &InputRequiredResult, context: &ToolContext) -> Option<InputResponses> {
        let requests = required.input_requests.as_ref()?;
        let is_elicitation = |request: &InputRequest| matches!(request, InputRequest::Elicitation(_));
        if requests.len() > MAX_QUESTIONS || !requests.values().all(is_elicitation) {
            return None;
        }
        let mut answers = InputResponses::new();
        for (key, request) in requests {
            let InputRequest::Elicitation(request) = request else { return None };
            let answer = ask(&self.server, context, &request.params).await;
            answers.insert(key.clone(), serde_json::to_value(answer).ok()?);
        }
        Some(answers)
    }

    /// Makes a request that is no call of a tool, and during which its server may ask as well.
    pub(super) async fn during<T, E>(
        &self,
        context: &ToolContext,
        request: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let mut running = self.register(context);
        let result = request.await;
        // An error may be that the server has not answered in time.
        running.is_over = result.is_ok();
        result
    }

    /// Registers a call before it is sent, because a server may ask before we note that it was.
    fn register(&self, context: &ToolContext) -> Running<'_> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let call =
            RunningCall { number, token: None, context: context.clone(), shown_at: None, questions: 0 };
        self.lock().running.push(call);
        Running { calls: self, number, is_over: false }
    }

    /// Returns the context of the calls that run, if all belong to one turn, and counts a question of them. A question carries
    /// no sign of the call that it belongs to, and must not reach another person: also not that of a call that was given up a
    /// moment ago, of which the server may not know yet.
    fn sole(&self) -> Option<ToolContext> {
        let mut calls = self.lock();
        let Calls { running, given_up } = &mut *calls;
        given_up.retain(|call| call.at.elapsed() < GIVEN_UP);
        let turn = running.last()?.context.turn.clone();
        let mut turns =
            running.iter().map(|call| &call.context.turn).chain(given_up.iter().map(|call| &call.turn));
        if turns.any(|other| *other != turn) {
            return None;
        }
        let last = running.last_mut()?;
        last.questions += 1;
        (last.questions <= MAX_CALL_QUESTIONS).then(|| last.context.clone())
    }

    /// Asks the person whose call runs. The question is over with the calls of that turn. A server that asks too much is
    /// declined.
    pub(super) async fn ask(&self, request: &ElicitRequestParams) -> ElicitResult {
        let declined = || ElicitResult::new(ElicitationAction::Decline);
        let Ok(_permit) = self.questions.try_acquire() else { return declined() };
        let Some(context) = self.sole() else { return declined() };
        let mut asking = pin!(ask(&self.server, &context, request));
        loop {
            let over = self.over.notified();
            if !self.lock().running.iter().any(|call| call.context.turn == context.turn) {
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
            let Some(call) =
                calls.running.iter_mut().find(|call| call.token.as_ref() == Some(&progress.progress_token))
            else {
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

    fn lock(&self) -> MutexGuard<'_, Calls> {
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

/// A call that runs.
struct Running<'c> {
    calls: &'c RunningCalls,
    number: u64,
    /// Whether it was answered, and not given up.
    is_over: bool,
}

impl Running<'_> {
    fn is_sent(&self, token: ProgressToken) {
        let mut calls = self.calls.lock();
        if let Some(call) = calls.running.iter_mut().find(|call| call.number == self.number) {
            call.token = Some(token);
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut calls = self.calls.lock();
        let place = calls.running.iter().position(|call| call.number == self.number);
        let call = place.map(|place| calls.running.remove(place));
        if let Some(call) = call.filter(|_| !self.is_over) {
            calls.given_up.retain(|call| call.at.elapsed() < GIVEN_UP);
            calls.given_up.push(GivenUp { turn: call.context.turn, at: Instant::now() });
        }
        drop(calls);
        self.calls.over.notify_waiters();
    }
}

/// Notifies the server of a call that is given up.
struct Cancelling<'c> {
    peer: &'c Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Cancelling<'_> {
    fn drop(&mut self) {
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
    use aethon_core::ids::SessionId;
    use aethon_core::message::Inbound;
    use aethon_core::surface::Unattended;
    use aethon_core::turn::TurnContext;
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

    fn context() -> ToolContext {
        let turn = TurnContext::of(TurnId::fresh(), &Inbound::say(SessionId::of("cli", "a").unwrap(), ""));
        ToolContext::of(&turn, Arc::new(Unattended), 1_000)
    }

    #[tokio::test(start_paused = true)]
    async fn question_reaches_a_turn_only_while_no_other_turn_may_be_meant() {
        let calls = RunningCalls::new("s".into());
        let (one, other) = (context(), context());
        assert!(calls.sole().is_none());
        let given_up = calls.register(&one);
        assert!(calls.sole().is_some_and(|context| context.turn == one.turn));
        drop(given_up);
        assert!(calls.sole().is_none(), "no call runs");
        let mut running = calls.register(&other);
        assert!(calls.sole().is_none(), "the call that was given up may be meant");
        tokio::time::advance(GIVEN_UP).await;
        assert!(calls.sole().is_some_and(|context| context.turn == other.turn));
        let read = calls.during(&one, async {
            assert!(calls.sole().is_none(), "another turn reads a resource");
            Ok::<_, ()>(())
        });
        read.await.unwrap();
        assert!(calls.sole().is_some(), "that is over");
        running.is_over = true;
        drop(running);
        assert!(calls.lock().running.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn questions_during_a_call_are_bounded() {
        let calls = RunningCalls::new("s".into());
        let _running = calls.register(&context());
        assert_eq!((0..100).filter(|_| calls.sole().is_some()).count(), MAX_CALL_QUESTIONS);
    }
}
