//! The transport of a server that a person has signed in to: adds the token, and renews it before it ends or when the server
//! refuses it.
//!
//! Tokens go to the server that they are for and nowhere else. One renewal runs at a time, over all programs of a home: the
//! second one takes the tokens of the first, because a refresh token may count only once.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::clock::Clock;
use aethon_core::exchange::{Exchange, ExchangeRequest, ExchangeResponse};
use aethon_core::secret::Secret;
use async_trait::async_trait;
use futures_util::stream;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::challenge::Challenge;
use super::fetch::Fetch;
use super::grant::{Grant, GrantStore};
use super::token::{NoTokens, refresh, words};
use crate::error::Error;

/// How long a grant is used without looking whether another program has changed it.
const FRESH: Duration = Duration::from_secs(1);
/// How long a server that wants a sign-in is not asked again, unless a person signs in.
const SIGN_IN_PAUSE: Duration = Duration::from_secs(60);

/// The parts of the transport.
pub struct AuthorizedOptions {
    /// The address of the server.
    pub url: String,
    /// The transport to it.
    pub exchange: Arc<dyn Exchange>,
    /// The transport to its authorization server, which keeps to the rules for outgoing connections.
    pub outside: Arc<dyn Exchange>,
    /// Where the tokens are kept.
    pub store: Arc<dyn GrantStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// The transport of one server.
pub struct Authorized {
    exchange: Arc<dyn Exchange>,
    tokens: Arc<Tokens>,
}

/// The tokens for one server. A renewal continues even if the request that began it is given up.
struct Tokens {
    server: Url,
    fetch: Fetch,
    store: Arc<dyn GrantStore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    grant: Option<Grant>,
    /// When the grant was read.
    read_at: Option<Instant>,
    /// A grant that could not be stored.
    unsaved: Option<Unsaved>,
    /// The last refusal of the server, and its time.
    refused: Option<Refused>,
}

/// A renewed grant. As long as the store holds the grant before it, this one counts.
struct Unsaved {
    before: Grant,
    grant: Grant,
    tried_at: Instant,
}

struct Refused {
    token: Option<String>,
    at: Instant,
    kind: RefusalKind,
}

/// A refusal by the server.
#[derive(Clone)]
enum RefusalKind {
    /// Every request with the token.
    All,
    /// To begin with so little scope, with this challenge. Other requests may need less.
    Beginning(String),
}

impl Authorized {
    /// Creates the transport.
    ///
    /// # Errors
    ///
    /// The address of the server is invalid.
    pub fn new(options: AuthorizedOptions) -> Result<Self, Error> {
        let server = Url::parse(&options.url).map_err(|_| Error::new("the server has no valid address"))?;
        let fetch = Fetch { exchange: options.outside, clock: options.clock };
        let tokens = Tokens { server, fetch, store: options.store, state: Mutex::default() };
        Ok(Self { exchange: options.exchange, tokens: Arc::new(tokens) })
    }

    async fn send_with(
        &self,
        request: &ExchangeRequest,
        token: Option<&String>,
    ) -> io::Result<ExchangeResponse> {
        let given = request.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
        let own = token.map(|token| ("authorization".to_owned(), format!("Bearer {token}")));
        let request = ExchangeRequest {
            method: request.method,
            url: request.url.clone(),
            headers: given.cloned().chain(own).collect(),
            body: request.body.clone(),
        };
        self.exchange.send(request).await
    }

    /// Notes that the server permits too little.
    async fn note_lack(&self, challenge: &Challenge) {
        if let Err(error) = self.tokens.note_missing(challenge).await {
            tracing::warn!(%error, "what a sign-in lacks cannot be noted");
        }
    }
}

impl Tokens {
    /// Returns the token to send; `None` if there is none. Waits while another request renews it.
    async fn token(self: &Arc<Self>, refused: Option<&str>) -> io::Result<Option<String>> {
        {
            let mut state = self.state.lock().await;
            if state.read_at.is_none_or(|at| at.elapsed() >= FRESH) || refused.is_some() {
                self.read(&mut state).await;
            }
            if let Some(token) = self.at_hand(&state, refused) {
                return Ok(token);
            }
        }
        // The refresh token may count once, so its result must be kept even if the call that wanted it is cancelled.
        let (tokens, refused) = (self.clone(), refused.map(str::to_owned));
        let renewal = tokio::spawn(async move { tokens.renewed(refused.as_deref()).await });
        renewal.await.map_err(io::Error::other)?
    }

    /// Returns the token to send, or that there is none; `None` if the grant is to be renewed or stored first.
    fn at_hand(&self, state: &State, refused: Option<&str>) -> Option<Option<String>> {
        let Some(grant) = &state.grant else { return Some(None) };
        if state.unsaved.as_ref().is_some_and(|unsaved| unsaved.tried_at.elapsed() >= SIGN_IN_PAUSE) {
            return None;
        }
        if self.is_good(grant, refused) {
            return Some(grant.access_token.clone());
        }
        // The server has the last word on whether it has really ended.
        let last = grant.access_token.clone().filter(|token| refused != Some(token));
        grant.refresh_token.is_none().then_some(last)
    }

    fn is_good(&self, grant: &Grant, refused: Option<&str>) -> bool {
        let is_refused = refused.is_some() && grant.access_token.as_deref() == refused;
        grant.access_token.is_some() && !is_refused && !grant.is_ending(self.fetch.now())
    }

    async fn renewed(&self, refused: Option<&str>) -> io::Result<Option<String>> {
        let mut state = self.state.lock().await;
        let _lock = self.store.lock().await?;
        self.read(&mut state).await;
        if let Some(unsaved) = state.unsaved.take() {
            self.keep(&mut state, unsaved.before, unsaved.grant).await;
        }
        let Some(grant) = state.grant.clone() else { return Ok(None) };
        if self.is_good(&grant, refused) || grant.refresh_token.is_none() {
            // Another request or program was faster.
            return Ok(grant.access_token.filter(|token| refused != Some(token)));
        }
        let must = refused.is_some() && grant.access_token.as_deref() == refused;
        match refresh(&self.fetch, grant.clone()).await {
            Ok(renewed) => {
                let token = renewed.access_token.clone();
                self.keep(&mut state, grant, renewed).await;
                Ok(token)
            }
            Err(NoTokens::Over) => {
                tracing::warn!(issuer = grant.issuer, "the sign-in at an MCP server is over");
                let over = grant.clone().without_tokens();
                self.keep(&mut state, grant, over).await;
                Ok(None)
            }
            // It may still be good for a while.
            Err(NoTokens::Failed(_)) if !must && grant.access_token.is_some() => Ok(grant.access_token),
            Err(NoTokens::Failed(error)) => Err(io::Error::other(error.to_string())),
        }
    }

    /// Stores a grant in the place of the one before. If that fails, it is good as long as the program runs.
    async fn keep(&self, state: &mut State, before: Grant, grant: Grant) {
        if let Err(error) = self.store.save(&grant.to_secret()).await {
            tracing::warn!(%error, "a renewed sign-in at an MCP server cannot be stored; it is lost when the program ends");
            state.unsaved = Some(Unsaved { before, grant: grant.clone(), tried_at: Instant::now() });
        }
        state.grant = Some(grant);
    }

    async fn read(&self, state: &mut State) {
        let kept = match self.store.load().await {
            Ok(kept) => kept,
            Err(error) => {
                tracing::warn!(%error, "the sign-in at an MCP server cannot be read");
                None
            }
        };
        let grant = kept.and_then(|document: Secret| Grant::parse(&document));
        let is_before = |unsaved: &Unsaved| {
            let tokens = |grant: &Grant| (grant.access_token.clone(), grant.refresh_token.clone());
            grant.as_ref().is_some_and(|grant| tokens(grant) == tokens(&unsaved.before))
        };
        state.unsaved = state.unsaved.take().filter(is_before);
        let grant = state.unsaved.as_ref().map(|unsaved| unsaved.grant.clone()).or(grant);
        state.grant = grant.filter(|grant| grant.is_for(&self.server) && grant.is_usable());
        state.read_at = Some(Instant::now());
    }

    /// Returns how the server has refused this token a short while ago.
    async fn refusal(&self, token: Option<&String>) -> Option<RefusalKind> {
        let state = self.state.lock().await;
        let refused = state.refused.as_ref()?;
        let is_current = refused.token.as_ref() == token && refused.at.elapsed() < SIGN_IN_PAUSE;
        is_current.then(|| refused.kind.clone())
    }

    async fn note_refusal(&self, token: Option<String>, kind: RefusalKind) {
        self.state.lock().await.refused = Some(Refused { token, at: Instant::now(), kind });
    }

    /// Notes that the server has refused the token of the grant, which cannot be renewed; without a grant, that it wants one.
    async fn note_end(&self) {
        let mut state = self.state.lock().await;
        let token = state.grant.as_ref().and_then(|grant| grant.access_token.clone());
        state.refused = Some(Refused { token, at: Instant::now(), kind: RefusalKind::All });
    }

    /// Notes the scopes that were lacking, for the next sign-in.
    async fn note_missing(&self, challenge: &Challenge) -> io::Result<()> {
        let wanted = challenge.scope.as_deref().map(words).unwrap_or_default();
        let mut state = self.state.lock().await;
        let _lock = self.store.lock().await?;
        self.read(&mut state).await;
        let Some(grant) = state.grant.as_mut() else { return Ok(()) };
        let before = grant.missing_scopes.len();
        for scope in wanted {
            if !grant.missing_scopes.contains(&scope) && grant.missing_scopes.len() < 100 {
                grant.missing_scopes.push(scope);
            }
        }
        if grant.missing_scopes.len() == before { Ok(()) } else { self.store.save(&grant.to_secret()).await }
    }
}

#[async_trait]
impl Exchange for Authorized {
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse> {
        let server = &self.tokens.server;
        let is_server = Url::parse(&request.url).is_ok_and(|url| url.origin() == server.origin());
        if !is_server {
            return self.exchange.send(request).await;
        }
        let is_beginning = is_beginning(&request);
        let mut token = self.tokens.token(None).await?;
        match self.tokens.refusal(token.as_ref()).await {
            Some(RefusalKind::All) => return Ok(refusal(401, "Bearer")),
            Some(RefusalKind::Beginning(challenge)) if is_beginning => return Ok(refusal(403, &challenge)),
            _ => {}
        }
        let mut response = self.send_with(&request, token.as_ref()).await?;
        if response.status == 401 {
            let renewed = match &token {
                Some(refused) => self.tokens.token(Some(refused)).await?,
                None => None,
            };
            match renewed {
                Some(renewed) => {
                    response = self.send_with(&request, Some(&renewed)).await?;
                    if response.status == 401 {
                        self.tokens.note_refusal(Some(renewed.clone()), RefusalKind::All).await;
                    }
                    token = Some(renewed);
                }
                None => self.tokens.note_end().await,
            }
        }
        let lacking = Challenge::of(&response).filter(Challenge::needs_more_scope);
        if let (403, Some(challenge)) = (response.status, lacking) {
            if is_beginning {
                let header = response.header("www-authenticate").unwrap_or_default().to_owned();
                self.tokens.note_refusal(token, RefusalKind::Beginning(header)).await;
            }
            self.note_lack(&challenge).await;
        }
        Ok(response)
    }
}

/// Returns whether a request begins a connection.
fn is_beginning(request: &ExchangeRequest) -> bool {
    let message: Option<serde_json::Value> = serde_json::from_slice(&request.body).ok();
    let begins =
        |method: &str| matches!(method, "initialize" | "notifications/initialized" | "server/discover");
    message.is_some_and(|message| message["method"].as_str().is_some_and(begins))
}

/// The answer in the place of a server that has refused already.
fn refusal(status: u16, challenge: &str) -> ExchangeResponse {
    let headers = vec![("www-authenticate".to_owned(), challenge.to_owned())];
    ExchangeResponse { status, headers, body: Box::pin(stream::empty()) }
}

#[cfg(test)]
mod tests {
    use std::any::Any;
    use std::sync::Mutex as Plain;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use aethon_core::exchange::Method;
    use aethon_core::testkit::ManualClock;
    use bytes::Bytes;
    use serde_json::json;
    use tokio::sync::{Notify, Semaphore};

    use super::*;

    /// The server and its authorization server: only the token `new` is good, and a refresh token counts once.
    #[derive(Default)]
    struct Both {
        requests: AtomicUsize,
        renewals: AtomicUsize,
        lacks_scope: AtomicBool,
        is_asked: Notify,
        /// Has renewals wait for a permit.
        gate: Option<Semaphore>,
    }

    #[async_trait]
    impl Exchange for Both {
        async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse> {
            let answer = |status: u16, header: &str, body: String| ExchangeResponse {
                status,
                headers: vec![("www-authenticate".into(), header.into())],
                body: Box::pin(stream::iter([Ok(Bytes::from(body))])),
            };
            if request.url.ends_with("/token") {
                self.is_asked.notify_one();
                if let Some(gate) = &self.gate {
                    gate.acquire().await.unwrap().forget();
                }
                let is_first = self.renewals.fetch_add(1, Ordering::Relaxed) == 0;
                let body = json!({"access_token": "new", "token_type": "Bearer", "refresh_token": "r2"});
                return Ok(match is_first && String::from_utf8_lossy(&request.body).contains("r1") {
                    true => answer(200, "", body.to_string()),
                    false => answer(400, "", json!({"error": "invalid_grant"}).to_string()),
                });
            }
            self.requests.fetch_add(1, Ordering::Relaxed);
            if self.lacks_scope.load(Ordering::Relaxed) {
                return Ok(answer(
                    403,
                    "Bearer error=\"insufficient_scope\", scope=\"write\"",
                    String::new(),
                ));
            }
            let is_good = request.headers.iter().any(|(_, value)| value == "Bearer new");
            Ok(answer(if is_good { 200 } else { 401 }, "Bearer", String::new()))
        }
    }

    #[derive(Default)]
    struct Memory {
        kept: Plain<Option<Secret>>,
        is_full: AtomicBool,
    }

    impl Memory {
        fn refresh_token(&self) -> Option<String> {
            Grant::parse(self.kept.lock().unwrap().as_ref()?)?.refresh_token
        }
    }

    #[async_trait]
    impl GrantStore for Memory {
        async fn load(&self) -> io::Result<Option<Secret>> {
            Ok(self.kept.lock().unwrap().clone())
        }

        async fn save(&self, document: &Secret) -> io::Result<()> {
            if self.is_full.load(Ordering::Relaxed) {
                return Err(io::Error::other("the disk is full"));
            }
            *self.kept.lock().unwrap() = Some(document.clone());
            Ok(())
        }

        async fn remove(&self) -> io::Result<bool> {
            Ok(self.kept.lock().unwrap().take().is_some())
        }

        async fn lock(&self) -> io::Result<Box<dyn Any + Send>> {
            Ok(Box::new(()))
        }
    }

    struct Stage {
        authorized: Arc<Authorized>,
        both: Arc<Both>,
        store: Arc<Memory>,
    }

    fn stage(both: Both, refresh_token: Option<&str>) -> Stage {
        let grant = Grant {
            resource: "https://a.example/mcp".into(),
            token_endpoint: "https://a.example/token".into(),
            access_token: Some("old".into()),
            refresh_token: refresh_token.map(str::to_owned),
            ..Grant::default()
        };
        let (both, store) = (Arc::new(both), Arc::new(Memory::default()));
        *store.kept.lock().unwrap() = Some(grant.to_secret());
        let authorized = Authorized::new(AuthorizedOptions {
            url: "https://a.example/mcp".into(),
            exchange: both.clone(),
            outside: both.clone(),
            store: store.clone(),
            clock: Arc::new(ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap())),
        });
        Stage { authorized: Arc::new(authorized.unwrap()), both, store }
    }

    impl Stage {
        async fn status(&self, method: &str) -> u16 {
            status(&self.authorized, method).await
        }

        fn requests(&self) -> usize {
            self.both.requests.load(Ordering::Relaxed)
        }
    }

    async fn status(authorized: &Authorized, method: &str) -> u16 {
        let request = ExchangeRequest {
            method: Method::Post,
            url: "https://a.example/mcp".into(),
            headers: Vec::new(),
            body: json!({"method": method}).to_string().into_bytes(),
        };
        authorized.send(request).await.unwrap().status
    }

    #[tokio::test(start_paused = true)]
    async fn refused_token_that_cannot_be_renewed_is_not_sent_again_for_a_while() {
        let stage = stage(Both::default(), None);
        for _ in 0..20 {
            assert_eq!(stage.status("initialize").await, 401);
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        assert_eq!(stage.requests(), 1);
        tokio::time::sleep(SIGN_IN_PAUSE).await;
        assert_eq!((stage.status("initialize").await, stage.requests()), (401, 2));
        let signed_in = Grant {
            access_token: Some("new".into()),
            resource: "https://a.example/mcp".into(),
            ..Grant::default()
        };
        stage.store.save(&signed_in.to_secret()).await.unwrap();
        tokio::time::sleep(FRESH).await;
        assert_eq!(stage.status("initialize").await, 200);
    }

    #[tokio::test(start_paused = true)]
    async fn refusal_for_missing_scope_is_not_retried_for_a_while() {
        let stage = stage(Both::default(), None);
        stage.both.lacks_scope.store(true, Ordering::Relaxed);
        for _ in 0..20 {
            assert_eq!(stage.status("initialize").await, 403);
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        assert_eq!(stage.requests(), 1);
        assert_eq!((stage.status("tools/call").await, stage.requests()), (403, 2), "it may need less");
    }

    #[tokio::test(start_paused = true)]
    async fn renewal_is_completed_when_its_call_is_cancelled() {
        let stage = stage(Both { gate: Some(Semaphore::new(0)), ..Both::default() }, Some("r1"));
        let authorized = stage.authorized.clone();
        let call = tokio::spawn(async move { status(&authorized, "tools/call").await });
        stage.both.is_asked.notified().await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        stage.both.gate.as_ref().unwrap().add_permits(1);
        assert_eq!(stage.status("tools/call").await, 200);
        assert_eq!(stage.both.renewals.load(Ordering::Relaxed), 1);
        assert_eq!(stage.store.refresh_token().as_deref(), Some("r2"));
    }

    #[tokio::test(start_paused = true)]
    async fn renewed_token_that_cannot_be_stored_is_used_and_stored_later() {
        let stage = stage(Both::default(), Some("r1"));
        stage.store.is_full.store(true, Ordering::Relaxed);
        for _ in 0..3 {
            assert_eq!(stage.status("tools/call").await, 200);
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        assert_eq!(stage.store.refresh_token().as_deref(), Some("r1"));
        stage.store.is_full.store(false, Ordering::Relaxed);
        tokio::time::sleep(SIGN_IN_PAUSE).await;
        assert_eq!(stage.status("tools/call").await, 200);
        assert_eq!(stage.both.renewals.load(Ordering::Relaxed), 1);
        assert_eq!(stage.store.refresh_token().as_deref(), Some("r2"));
    }
}
