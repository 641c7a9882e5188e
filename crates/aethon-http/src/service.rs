//! The checks of every request, in the order of `docs/contract/http.md`: Host, public or gated, token, route and method,
//! content type and Origin of state-changing requests, length, handler, headers.
//!
//! A response that needs no waiting is made at once, without a task or a boxed future. Only handlers that read a body
//! or query the rest of the program are futures of their own, so that an idle connection stays small. A panic in a
//! handler is caught here, logged, and answered with 500.

use std::any::Any;
use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use aethon_core::share::Held;
use aethon_core::turn::Trust;
use futures_util::FutureExt as _;
use http::header::{
    ALLOW, AUTHORIZATION, CONNECTION, HeaderValue, SEC_WEBSOCKET_VERSION, SET_COOKIE, UPGRADE,
};
use http::{Method, StatusCode};

use crate::access_lease::AccessLease;
use crate::app::App;
use crate::audit_notes::{AuditNotes, Removal};
use crate::auth::{TOKEN, TokenCheck};
use crate::body::Response;
use crate::compress::Packing;
use crate::error::Problem;
use crate::host;
use crate::limits;
use crate::pages;
use crate::pattern::Params;
use crate::platform_calls;
use crate::precondition;
use crate::request::{BodyLimits, Client, Request, RequestBody};
use crate::response::{self, HandlerResult};
use crate::router::{self, Target};
use crate::routes::{Access, Handler, Needs, Route, Takes};
use crate::rules::Rules;
use crate::signature::Refusal;
use crate::ws::{self, SocketKind};

/// What hyper waits for: a finished response, or its future.
pub(crate) enum ResponseFuture {
    /// Made at once.
    Sync(Option<Response>),
    /// Still being made.
    Async(Pin<Box<dyn Future<Output = Response> + Send>>),
}

impl Future for ResponseFuture {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Sync(answer) => match answer.take() {
                Some(answer) => Poll::Ready(Ok(answer)),
                None => Poll::Pending,
            },
            Self::Async(answer) => answer.as_mut().poll(cx).map(Ok),
        }
    }
}

/// Marks the response to a request that showed a valid token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Admitted;

/// Answers a request from this peer. Calls `after` when the response is ready.
pub(crate) fn call(
    app: &Arc<App>,
    mut head: http::request::Parts,
    body: RequestBody,
    peer: IpAddr,
    after: impl FnOnce(&mut Response) + Send + 'static,
) -> ResponseFuture {
    let id = app.request_ids.next();
    let rules = app.rules.get();
    rules.base_path.strip(&mut head.uri);
    let packing = Packing::of(&head);
    let client = Client::of(peer, &head.headers, &rules.trusted_proxies);
    let limits = BodyLimits::of(&app.options.limits);
    let (params, token, is_code_right, intake) = (Params::default(), TokenCheck::Missing, None, None);
    let request = Request { head, params, client, token, is_code_right, body, limits, intake };
    tracing::debug!(method = %request.head.method, path = request.head.uri.path(), id = ?id, "request");
    let step = catch_unwind(AssertUnwindSafe(|| unless_guessed(app, &rules, request)));
    match step.unwrap_or_else(|panic| Step::Done(Err(panicked(&*panic, &id)))) {
        Step::Done(answer) => {
            let mut answer = completed(answer, id, packing);
            app.traffic.answered(answer.status().as_u16());
            after(&mut answer);
            ResponseFuture::Sync(Some(answer))
        }
        Step::Pending(handler) => {
            let traffic = Arc::clone(&app.traffic);
            ResponseFuture::Async(Box::pin(async move {
                let answer = AssertUnwindSafe(handler).catch_unwind().await;
                let answer = answer.unwrap_or_else(|panic| Err(panicked(&*panic, &id)));
                let mut answer = completed(answer, id, packing);
                traffic.answered(answer.status().as_u16());
                after(&mut answer);
                answer
            }))
        }
    }
}

enum Step {
    Done(HandlerResult),
    Pending(crate::routes::HandlerFuture),
}

fn completed(answer: HandlerResult, id: HeaderValue, packing: Packing) -> Response {
    let mut answer = answer.unwrap_or_else(Problem::into_response);
    tracing::debug!(status = answer.status().as_u16(), id = ?id, "answered");
    packing.apply(&mut answer);
    response::finish(&mut answer, id);
    answer
}

fn panicked(panic: &(dyn Any + Send), id: &HeaderValue) -> Problem {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown");
    tracing::error!(panic = text, id = ?id, "a handler panicked");
    Problem::internal()
}

/// If an address is over its limit, delays a possible guess before checking it, or refuses it unchecked.
fn unless_guessed(app: &Arc<App>, rules: &Rules, request: Request) -> Step {
    let address = request.client.address;
    if !app.attempts.is_over(address, Instant::now())
        || router::access(request.head.uri.path()) == Access::Public
        || !rules.token_auth.may_be_guess(&request.head.headers, request.head.uri.query())
    {
        return dispatch(app, rules, request);
    }
    let Some(place) = app.attempts.queue(address) else {
        return Step::Done(Err(Problem::too_many_attempts(limits::WAIT.as_secs())));
    };
    let app = Arc::clone(app);
    Step::Pending(Box::pin(async move {
        tokio::time::sleep(limits::WAIT).await;
        drop(place);
        dispatch_later(&app, request).await
    }))
}

/// Dispatches a request that had to wait: the token may have changed meanwhile.
async fn dispatch_later(app: &Arc<App>, request: Request) -> HandlerResult {
    let rules = app.rules.get();
    match dispatch(app, &rules, request) {
        Step::Done(answer) => answer,
        Step::Pending(answer) => answer.await,
    }
}

fn dispatch(app: &Arc<App>, rules: &Rules, mut request: Request) -> Step {
    let (route, params) = match admit(app, rules, &mut request) {
        Err(problem) => return Step::Done(Err(problem)),
        Ok(Next::Answered(answer)) => return Step::Done(Ok(answer)),
        Ok(Next::Code) => {
            let (app, auth) = (Arc::clone(app), rules.token_auth.clone());
            return Step::Pending(Box::pin(async move {
                request.is_code_right = Some(auth.redeem(&request.head.headers).await);
                dispatch_later(&app, request).await
            }));
        }
        Ok(Next::Handler(route, params)) => (route, params),
        Ok(Next::Socket { socket, is_admitted }) => {
            let lease = is_admitted.then(|| access_lease(app, rules, &request));
            let has_token = is_admitted && request.token != TokenCheck::Open;
            let opening = http::Request::from_parts(request.head, ());
            return Step::Done(Ok(marked(ws::upgrade(app, socket, opening, lease), has_token)));
        }
    };
    request.params = params;
    let has_token = matches!(request.token, TokenCheck::Granted(_));
    let place = match unproven(app, route, &mut request) {
        Ok(place) => place,
        Err(problem) => return Step::Done(Err(problem)),
    };
    let expected = precondition::expected_reading(&request);
    match &route.handler {
        Handler::Sync(handler) => {
            let answer =
                handler(app, &request).and_then(|answer| precondition::read(answer, expected.as_ref()));
            Step::Done(answer.map(|answer| marked(answer, has_token)))
        }
        Handler::Async(handler) => {
            let lease = (router::access(request.head.uri.path()) == Access::Gated)
                .then(|| access_lease(app, rules, &request));
            // Even an unwanted body is read, so that the connection can be reused.
            let reads_body = route.takes == Takes::Nothing && request.changes_state();
            let removal = lease.as_ref().and_then(|_| Removal::of(&request));
            let (app, handler) = (Arc::clone(app), *handler);
            Step::Pending(Box::pin(async move {
                if reads_body {
                    request.read().await?;
                }
                let answer = handler(&app, request).await?;
                let mut answer = precondition::read(answer, expected.as_ref())?;
                drop(place);
                if let Some(removal) = removal.filter(|_| answer.status().is_success()) {
                    app.part::<AuditNotes>().removed(removal);
                }
                if let Some(lease) = lease.filter(|_| answer.body().is_stream()) {
                    answer.body_mut().end_with(lease.ended());
                }
                Ok(marked(answer, has_token))
            }))
        }
        Handler::Socket(_) => Step::Done(Ok(upgrade_required())),
    }
}

/// Takes a place for a call whose sender has yet to prove who that is, such as a webhook's, and has its body wait for room.
/// Such callers hold their connections until they are answered, which may take long; they leave the owner a quarter.
fn unproven(app: &App, route: &Route, request: &mut Request) -> Result<Option<Held>, Problem> {
    let is_unproven = matches!(route.needs, Needs::Webhooks | Needs::PlatformCalls);
    if !is_unproven || !request.changes_state() {
        return Ok(None);
    }
    request.intake = Some(Arc::clone(&app.intake));
    let place = app.waiting_strangers.take(Trust::Outside, 1).ok_or_else(|| {
        let detail = "too many webhooks wait for an answer (`server.max_connections`)";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail).retry_after(1)
    })?;
    Ok(Some(place))
}

fn marked(mut answer: Response, has_token: bool) -> Response {
    if has_token {
        answer.extensions_mut().insert(Admitted);
    }
    answer
}

fn access_lease(app: &App, rules: &Rules, request: &Request) -> AccessLease {
    app.access_lease(rules.token_auth.sign_in(request.token, &request.head.headers))
}

/// The next step of a request.
enum Next {
    /// To the handler of a row.
    Handler(&'static Route, Params),
    /// To a socket, possibly only to be refused there.
    Socket { socket: SocketKind, is_admitted: bool },
    /// Back here, once it is known whether the code that it shows counts.
    Code,
    /// Nowhere: it is already answered.
    Answered(Response),
}

/// Runs every check that precedes a handler.
fn admit(app: &App, rules: &Rules, request: &mut Request) -> Result<Next, Problem> {
    let path = request.head.uri.path();
    host::check_target(&request.head.method, &request.head.uri)?;
    let is_called = platform_calls::is_on(app, path);
    let host = match is_called {
        // Nothing there acts without the platform's signature, so any host name will do.
        true => host::authority(&request.head.uri, &request.head.headers)?,
        false => rules.hosts.check(&request.head.uri, &request.head.headers)?,
    };
    let exists = |needs| match needs {
        Needs::Nothing => true,
        Needs::Dashboard => app.options.dashboard_enabled,
        Needs::Webhooks => rules.webhooks.exist,
        Needs::PlatformCalls => is_called,
    };
    if let Some(socket) = socket(request, exists) {
        request.token = token(rules, request);
        count_wrong(app, request)?;
        let is_own = rules.origins.allows(&request.head.headers, &host);
        return Ok(Next::Socket { socket, is_admitted: is_own && request.token.is_granted() });
    }
    if router::access(path) == Access::Gated {
        let is_unknown =
            request.is_code_right.is_none() && rules.token_auth.is_code_shown(&request.head.headers);
        if is_unknown && is_entrance(request) {
            return Ok(Next::Code);
        }
        request.token = token(rules, request);
        if !request.token.is_granted() && !is_probe(rules, request) {
            return refused(app, rules, request).map(Next::Answered);
        }
    }
    if request.head.method == Method::OPTIONS && path == "*" {
        return Ok(Next::Answered(options_of_server()));
    }
    let (route, params) = match router::resolve(&request.head.method, path, exists) {
        Target::Route(route, params) => (route, params),
        Target::OtherMethods(allow) => return Err(Problem::method_not_allowed(allow)),
        Target::Nothing => return Err(Problem::not_found("there is nothing at this address")),
    };
    if request.changes_state() {
        if route.needs == Needs::Webhooks && !rules.webhooks.signatures.is_signed(&request.head.headers) {
            return Err(Refusal::Signature.problem());
        }
        if route.needs == Needs::PlatformCalls {
            platform_calls::check_signed(app, request)?;
        }
        match route.takes {
            Takes::File => request.check_file_type()?,
            Takes::Json | Takes::Nothing => request.check_content_type(route.takes == Takes::Json)?,
        }
        rules.origins.check_change(&request.head.headers, &host)?;
        if route.takes == Takes::File {
            request.expect_file();
        }
        request.check_length()?;
    }
    precondition::check_form(&request.head.headers)?;
    if request.changes_state() && !route.has_versions() {
        precondition::check_unversioned(request)?;
    }
    Ok(Next::Handler(route, params))
}

/// Returns the answer to `OPTIONS *`, which asks for what the server as a whole can do (RFC 9110, 9.3.7).
fn options_of_server() -> Response {
    let mut answer = response::no_content();
    let methods = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    answer.headers_mut().insert(ALLOW, methods);
    answer
}

/// Returns whether this is a probe that needs no token (`server.health_from`): it learns whether the service is ready, and a
/// wrong token is refused as everywhere.
fn is_probe(rules: &Rules, request: &Request) -> bool {
    request.head.uri.path() == "/api/ready"
        && matches!(request.head.method, Method::GET | Method::HEAD)
        && request.token == TokenCheck::Missing
        && rules.health_from.iter().any(|network| network.contains(request.client.address))
}

fn is_entrance(request: &Request) -> bool {
    request.head.uri.path() == "/dashboard" && matches!(request.head.method, Method::GET | Method::HEAD)
}

fn token(rules: &Rules, request: &Request) -> TokenCheck {
    let query = request.head.uri.query();
    if is_entrance(request) {
        rules.token_auth.check_entrance(&request.head.headers, query, request.is_code_right)
    } else {
        rules.token_auth.check(&request.head.headers, query)
    }
}

/// Returns whether a browser signs in with this request: it opens the entrance, or its sign-in form shows the token where
/// the status is, as it does when there is no dashboard.
fn may_sign_in(request: &Request) -> bool {
    let headers = &request.head.headers;
    let shows_token = headers.contains_key(AUTHORIZATION) || headers.contains_key(TOKEN);
    is_entrance(request) || (request.head.uri.path() == "/api/status" && shows_token)
}

/// Answers a request without the right token: 429 after too many attempts, otherwise 401, as a page where a person
/// expects one. Where a browser signs in, a stale cookie is cleared with it: the cookie is judged first, so as long as the
/// browser has it, not even the right token would sign in. Elsewhere it stays, because such an answer may come late, and
/// would take away the cookie of a sign-in that another window has finished meanwhile.
fn refused(app: &App, rules: &Rules, request: &Request) -> HandlerResult {
    count_wrong(app, request)?;
    let mut answer = match is_entrance(request) && app.options.dashboard_enabled {
        true => pages::sign_in_page(&rules.pages, &request.head.headers),
        false => Problem::unauthorized().into_response(),
    };
    if may_sign_in(request) && rules.token_auth.has_stale_cookie(&request.head.headers) {
        let cleared = rules.token_auth.sign_out_cookie(request.client.is_https);
        answer.headers_mut().insert(SET_COOKIE, cleared);
    }
    Ok(answer)
}

fn count_wrong(app: &App, request: &Request) -> Result<(), Problem> {
    if request.token != TokenCheck::Wrong {
        return Ok(());
    }
    let address = request.client.address;
    let strike = app.attempts.count(address, Instant::now()).map_err(Problem::too_many_attempts)?;
    app.part::<AuditNotes>().wrong_token(strike, address);
    Ok(())
}

/// Returns the socket that a well-formed upgrade requests.
fn socket(request: &Request, exists: impl Fn(Needs) -> bool) -> Option<SocketKind> {
    if !request.is_upgrade() {
        return None;
    }
    match router::resolve(&request.head.method, request.head.uri.path(), exists) {
        Target::Route(Route { handler: Handler::Socket(socket), .. }, _) => Some(*socket),
        _ => None,
    }
}

/// Returns the response to a plain request for a socket's address. Two headers name the protocol and its version.
fn upgrade_required() -> Response {
    let mut answer = Problem::new(
        StatusCode::UPGRADE_REQUIRED,
        "upgrade_required",
        "this address speaks WebSocket, version 13; connect with a WebSocket client",
    )
    .into_response();
    let headers = answer.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    answer
}

#[cfg(test)]
pub(crate) mod tests;
