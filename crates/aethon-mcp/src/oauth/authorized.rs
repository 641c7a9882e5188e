//! The transport of a server that a person has signed in to: adds the token, and renews it before it ends or when the server
//! refuses it.
//!
//! Tokens go to the server that they are for and nowhere else. One renewal runs at a time, over all programs of a home: whoever
//! comes second takes the tokens of the first, because a refresh token may count only once.

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
const PATIENCE: Duration = Duration::from_secs(60);

/// What the transport is made of.
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
    server: Url,
    exchange: Arc<dyn Exchange>,
    fetch: Fetch,
    store: Arc<dyn GrantStore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    grant: Option<Grant>,
    /// When the grant was read.
    read_at: Option<Instant>,
    /// The access token that the server has refused, if any, and when.
    refused: Option<Refused>,
}

struct Refused {
    token: Option<String>,
    at: Instant,
}

impl Authorized {
    /// Creates the transport.
    ///
    /// # Errors
    ///
    /// The address of the server is invalid.
    pub fn new(options: AuthorizedOptions) -> Result<Self, Error> {
        let server = Url::parse(&options.url).map_err(|_| Error::new("the server has no valid address"))?;
        Ok(Self {
            server,
            exchange: options.exchange,
            fetch: Fetch { exchange: options.outside, clock: options.clock },
            store: options.store,
            state: Mutex::default(),
        })
    }

    /// Returns the token to send; `None` if there is none. Waits while another request renews it.
    async fn token(&self, refused: Option<&str>) -> io::Result<Option<String>> {
        let mut state = self.state.lock().await;
        if state.read_at.is_none_or(|at| at.elapsed() >= FRESH) || refused.is_some() {
            self.read(&mut state).await;
        }
        let Some(grant) = &state.grant else { return Ok(None) };
        let is_refused = |grant: &Grant| refused.is_some() && grant.access_token.as_deref() == refused;
        if grant.access_token.is_some() && !is_refused(grant) && !grant.is_ending(self.fetch.now()) {
            return Ok(grant.access_token.clone());
        }
        if grant.refresh_token.is_none() {
            // The server has the last word on whether it has really ended.
            return Ok(grant.access_token.clone().filter(|_| !is_refused(grant)));
        }
        let _lock = self.store.lock().await?;
        self.read(&mut state).await;
        let Some(grant) = state.grant.clone() else { return Ok(None) };
        if grant.access_token.is_some() && !is_refused(&grant) && !grant.is_ending(self.fetch.now()) {
            // Another program was faster.
            return Ok(grant.access_token);
        }
        let must = is_refused(&grant);
        match refresh(&self.fetch, grant.clone()).await {
            Ok(renewed) => {
                self.store.save(&renewed.to_secret()).await?;
                let token = renewed.access_token.clone();
                state.grant = Some(renewed);
                Ok(token)
            }
            Err(NoTokens::Over) => {
                tracing::warn!(issuer = grant.issuer, "the sign-in at an MCP server is over");
                let grant = grant.without_tokens();
                self.store.save(&grant.to_secret()).await?;
                state.grant = Some(grant);
                Ok(None)
            }
            // It may still be good for a while.
            Err(NoTokens::Failed(_)) if !must && grant.access_token.is_some() => Ok(grant.access_token),
            Err(NoTokens::Failed(error)) => Err(io::Error::other(error.to_string())),
        }
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
        state.grant = grant.filter(|grant| grant.is_for(&self.server) && grant.is_usable());
        state.read_at = Some(Instant::now());
    }

    /// Returns whether the server has refused this token a short while ago.
    async fn is_refused(&self, token: Option<&String>) -> bool {
        let state = self.state.lock().await;
        state
            .refused
            .as_ref()
            .is_some_and(|refused| refused.token.as_ref() == token && refused.at.elapsed() < PATIENCE)
    }

    async fn note_refusal(&self, token: Option<String>) {
        self.state.lock().await.refused = Some(Refused { token, at: Instant::now() });
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
}

#[async_trait]
impl Exchange for Authorized {
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse> {
        let is_server = Url::parse(&request.url).is_ok_and(|url| url.origin() == self.server.origin());
        if !is_server {
            return self.exchange.send(request).await;
        }
        let token = self.token(None).await?;
        if self.is_refused(token.as_ref()).await {
            return Ok(refusal());
        }
        let response = self.send_with(&request, token.as_ref()).await?;
        let response = match (response.status, &token) {
            (401, Some(refused)) => match self.token(Some(refused)).await? {
                Some(renewed) => {
                    let response = self.send_with(&request, Some(&renewed)).await?;
                    if response.status == 401 {
                        self.note_refusal(Some(renewed)).await;
                    }
                    response
                }
                None => {
                    self.note_refusal(None).await;
                    response
                }
            },
            (401, None) => {
                self.note_refusal(None).await;
                response
            }
            _ => response,
        };
        if response.status == 403
            && let Some(challenge) = Challenge::of(&response).filter(Challenge::needs_more_scope)
            && let Err(error) = self.note_missing(&challenge).await
        {
            tracing::warn!(%error, "what a sign-in lacks cannot be noted");
        }
        Ok(response)
    }
}

/// The answer in the place of a server that has refused already.
fn refusal() -> ExchangeResponse {
    let headers = vec![("www-authenticate".to_owned(), "Bearer".to_owned())];
    ExchangeResponse { status: 401, headers, body: Box::pin(stream::empty()) }
}
