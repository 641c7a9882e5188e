//! One sign-in of a person, from the address that they open to the tokens that come of it.

use std::sync::Arc;

use aethon_core::clock::Clock;
use aethon_core::exchange::{Exchange, ExchangeRequest, Method};
use aethon_core::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::json;
use url::Url;

use super::challenge::Challenge;
use super::fetch::Fetch;
use super::grant::{Grant, GrantStore};
use super::metadata::{AuthorizationServer, Resource};
use super::place::secure;
use super::preset::Preset;
use super::redirect::Returned;
use super::registration::client;
use super::token::{redeem, revoke, words};
use crate::error::Error;

/// The scope that a refresh token needs at some authorization servers.
const OFFLINE: &str = "offline_access";

/// The parameters of a sign-in.
pub struct LoginOptions {
    /// The address of the MCP server.
    pub url: String,
    /// The headers that it gets with every request.
    pub headers: Vec<(String, Secret)>,
    /// The owner's configuration.
    pub preset: Preset,
    /// The transport, which keeps to the rules for outgoing connections.
    pub exchange: Arc<dyn Exchange>,
    /// Where the tokens are kept.
    pub store: Arc<dyn GrantStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The address at which the person's browser comes back.
    pub redirect: String,
}

/// A sign-in that a person has to complete.
pub struct Login {
    fetch: Fetch,
    store: Arc<dyn GrantStore>,
    grant: Grant,
    redirect: String,
    address: Url,
    state: String,
    verifier: Secret,
    /// Whether the authorization server always says who it is when it sends the person back.
    names_itself: bool,
}

impl Login {
    /// Prepares a sign-in: finds the authorization server and introduces this program to it.
    ///
    /// # Errors
    ///
    /// The server does not say how to sign in, or its instructions are not safe.
    pub async fn begin(options: LoginOptions) -> Result<Self, Error> {
        let LoginOptions { url, headers, preset, exchange, store, clock, redirect } = options;
        let server = Url::parse(&url).map_err(|_| Error::new("the server has no valid address"))?;
        let challenge = challenge_of(&*exchange, &url, headers).await?;
        let fetch = Fetch { exchange, clock };
        let resource = Resource::find(&fetch, &server, &challenge).await?;
        check_issuer(&preset, &resource)?;
        let authorization = AuthorizationServer::find(&fetch, &resource).await?;
        let client = client(&fetch, &authorization, &preset, &redirect).await?;
        let before = kept(&*store).await.filter(|grant| grant.is_for(&server)).unwrap_or_default();
        let scopes = scopes(&preset, &challenge, &resource, &authorization, before);
        let (state, verifier) = (random()?, random()?);
        let mut address = authorization.authorization.clone();
        let hashed = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        address.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &client.id),
            ("redirect_uri", &redirect),
            ("code_challenge", &hashed),
            ("code_challenge_method", "S256"),
            ("state", &state),
            ("resource", &resource.id),
        ]);
        if !scopes.is_empty() {
            address.query_pairs_mut().append_pair("scope", &scopes.join(" "));
        }
        // Without it, OpenID Connect gives no refresh token to who has been there before.
        if scopes.iter().any(|scope| scope == OFFLINE) {
            address.query_pairs_mut().append_pair("prompt", "consent");
        }
        let grant = Grant {
            resource: resource.id,
            issuer: authorization.issuer,
            token_endpoint: authorization.token.into(),
            revocation_endpoint: authorization.revocation.map(Into::into),
            client_id: client.id,
            client_secret: client.secret,
            proof: client.proof,
            scopes,
            ..Grant::default()
        };
        let (verifier, names_itself) = (Secret::new(verifier), authorization.names_itself);
        Ok(Self { fetch, store, grant, redirect, address, state, verifier, names_itself })
    }

    /// Returns the address that the person opens in a browser.
    pub fn address(&self) -> &str {
        self.address.as_str()
    }

    /// Returns the host at which the person signs in.
    pub fn host(&self) -> &str {
        self.address.host_str().unwrap_or_default()
    }

    /// Returns whether a browser returned from exactly this sign-in.
    pub fn is_answered_by(&self, returned: &Returned) -> bool {
        returned.state.as_deref() == Some(&self.state)
    }

    /// Completes the sign-in and keeps its tokens.
    ///
    /// # Errors
    ///
    /// The person did not come back from this sign-in or was refused there, or there were no tokens for them.
    pub async fn finish(&self, returned: &Returned) -> Result<(), Error> {
        if !self.is_answered_by(returned) {
            return Err(Error::new("that address belongs to another sign-in (its `state` differs)"));
        }
        match &returned.issuer {
            Some(issuer) if *issuer != self.grant.issuer => {
                return Err(Error::new(
                    "another authorization server answered than was asked (its `iss` differs)",
                ));
            }
            None if self.names_itself => {
                return Err(Error::new(
                    "the answer does not say which authorization server it is from (`iss`)",
                ));
            }
            _ => {}
        }
        if let Some(error) = &returned.error {
            return Err(Error::new(format!("the authorization server refused the sign-in: {error}")));
        }
        let code = returned.code.as_ref().ok_or_else(|| Error::new("that address holds no code"))?;
        let grant = redeem(&self.fetch, self.grant.clone(), code, &self.verifier, &self.redirect).await?;
        let cannot = |error: std::io::Error| {
            Error::new(format!("the tokens cannot be stored: {error}")).because(error)
        };
        let _lock = self.store.lock().await.map_err(cannot)?;
        self.store.save(&grant.to_secret()).await.map_err(cannot)
    }
}

/// Signs out of a server: gives the tokens back and forgets them. Returns `false` if there were none.
///
/// # Errors
///
/// The tokens cannot be removed.
pub async fn sign_out(
    exchange: Arc<dyn Exchange>,
    clock: Arc<dyn Clock>,
    store: &dyn GrantStore,
) -> Result<bool, Error> {
    let cannot =
        |error: std::io::Error| Error::new(format!("the tokens cannot be removed: {error}")).because(error);
    let _lock = store.lock().await.map_err(cannot)?;
    let grant = kept(store).await;
    let was_there = store.remove().await.map_err(cannot)?;
    if let Some(grant) = grant {
        revoke(&Fetch { exchange, clock }, &grant).await;
    }
    Ok(was_there)
}

async fn kept(store: &dyn GrantStore) -> Option<Grant> {
    store.load().await.ok().flatten().and_then(|document| Grant::parse(&document))
}

/// Sends a request without a token to learn the server's demands.
async fn challenge_of(
    exchange: &dyn Exchange,
    url: &str,
    headers: Vec<(String, Secret)>,
) -> Result<Challenge, Error> {
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": crate::NAME, "version": env!("CARGO_PKG_VERSION")},
    }});
    let own = [("accept", "application/json, text/event-stream"), ("content-type", "application/json")];
    let own = own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let headers =
        own.chain(headers.into_iter().map(|(name, value)| (name, value.expose().trim().to_owned())));
    let request = ExchangeRequest {
        method: Method::Post,
        url: url.to_owned(),
        headers: headers.collect(),
        body: hello.to_string().into_bytes(),
    };
    let response = exchange
        .send(request)
        .await
        .map_err(|error| Error::new(format!("the server cannot be reached: {error}")).because(error))?;
    // A server may let everybody begin, and ask for a sign-in later.
    Ok(Challenge::of(&response).unwrap_or_default())
}

fn check_issuer(preset: &Preset, resource: &Resource) -> Result<(), Error> {
    let Some(trusted) = &preset.issuer else { return Ok(()) };
    let trusted = secure(trusted, "`oauth.issuer`")?;
    if trusted.as_str().trim_end_matches('/') == resource.issuer.as_str().trim_end_matches('/') {
        return Ok(());
    }
    Err(Error::new("the server names another authorization server than `oauth.issuer` has"))
}

/// Returns the scopes to request: the owner's or else the server's, and those that were missing last time.
fn scopes(
    preset: &Preset,
    challenge: &Challenge,
    resource: &Resource,
    authorization: &AuthorizationServer,
    before: Grant,
) -> Vec<String> {
    let mut all = match (&preset.scopes, &challenge.scope) {
        (named, _) if !named.is_empty() => named.clone(),
        (_, Some(scope)) => words(scope),
        _ => words(&resource.scopes.join(" ")),
    };
    if !before.missing_scopes.is_empty() {
        all.extend(before.scopes.into_iter().chain(before.missing_scopes));
    }
    if authorization.scopes.iter().any(|scope| scope == OFFLINE) {
        all.push(OFFLINE.to_owned());
    }
    let mut once = Vec::new();
    for scope in all {
        if !once.contains(&scope) {
            once.push(scope);
        }
    }
    once
}

/// Returns 256 random bits, as text that every place takes.
fn random() -> Result<String, Error> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Error::new("the system gives no random numbers"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
