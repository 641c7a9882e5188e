//! Asks for tokens: for the code of a sign-in, and for the refresh token of the ones before.

use aethon_core::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use url::form_urlencoded::byte_serialize;

use super::fetch::{Answer, Fetch};
use super::grant::{Grant, Proof};
use super::place::secure;
use crate::error::Error;

/// Maximum length of a token.
const MAX_TOKEN: usize = 16 * 1024;
/// The longest life of a token that is believed, in seconds.
const MAX_LIFE: u64 = 10 * 365 * 86_400;

/// Why there are no tokens.
pub(super) enum NoTokens {
    /// The grant is over: only another sign-in helps.
    Over,
    /// It did not work this time.
    Failed(Error),
}

/// Exchanges the code of a sign-in for tokens.
pub(super) async fn redeem(
    fetch: &Fetch,
    grant: Grant,
    code: &Secret,
    verifier: &Secret,
    redirect: &str,
) -> Result<Grant, Error> {
    let resource = grant.resource.clone();
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code.expose()),
        ("redirect_uri", redirect),
        ("code_verifier", verifier.expose()),
        ("resource", &resource),
    ];
    let answer = ask(fetch, &grant, &fields).await?;
    if !answer.is_success() {
        return Err(Error::new(format!("the authorization server gave no token: {}", answer.refusal())));
    }
    taken(grant, &answer, fetch.now())
}

/// Renews the tokens of a grant.
pub(super) async fn refresh(fetch: &Fetch, grant: Grant) -> Result<Grant, NoTokens> {
    let Some(token) = grant.refresh_token.clone().map(Secret::new) else { return Err(NoTokens::Over) };
    let resource = grant.resource.clone();
    let fields =
        [("grant_type", "refresh_token"), ("refresh_token", token.expose()), ("resource", &resource)];
    let answer = ask(fetch, &grant, &fields).await.map_err(NoTokens::Failed)?;
    match answer.status {
        200..300 => taken(grant, &answer, fetch.now()).map_err(NoTokens::Failed),
        // The standard has 400 for all of them; some servers say 401 or 403.
        400 | 401 | 403 if is_final(answer.text("error").unwrap_or_default()) => Err(NoTokens::Over),
        _ => {
            let why = format!("the authorization server did not renew the token: {}", answer.refusal());
            Err(NoTokens::Failed(Error::new(why)))
        }
    }
}

/// Returns whether asking again cannot help.
fn is_final(code: &str) -> bool {
    matches!(code, "invalid_grant" | "invalid_client" | "unauthorized_client" | "invalid_token")
}

/// Gives tokens back, as far as the authorization server takes them.
pub(super) async fn revoke(fetch: &Fetch, grant: &Grant) {
    let Some(place) = &grant.revocation_endpoint else { return };
    let Ok(place) = secure(place, "the revocation endpoint") else { return };
    for (kind, token) in [("refresh_token", &grant.refresh_token), ("access_token", &grant.access_token)] {
        let Some(token) = token else { continue };
        let (fields, authorization) = proven(grant, &[("token", token), ("token_type_hint", kind)]);
        if let Err(error) = fetch.post_form(&place, &fields, authorization.as_ref()).await {
            tracing::debug!(%error, "a token was not given back");
        }
    }
}

async fn ask(fetch: &Fetch, grant: &Grant, fields: &[(&str, &str)]) -> Result<Answer, Error> {
    let endpoint = secure(&grant.token_endpoint, "the token endpoint")?;
    let (fields, authorization) = proven(grant, fields);
    fetch.post_form(&endpoint, &fields, authorization.as_ref()).await
}

/// Adds who asks.
fn proven<'a>(grant: &'a Grant, fields: &[(&'a str, &'a str)]) -> (Vec<(&'a str, &'a str)>, Option<Secret>) {
    let mut fields = fields.to_vec();
    match (&grant.client_secret, grant.proof) {
        (Some(secret), Proof::Basic) => {
            let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            let pair = format!("{}:{}", encoded(&grant.client_id), encoded(secret));
            (fields, Some(Secret::new(format!("Basic {}", STANDARD.encode(pair)))))
        }
        (Some(secret), Proof::Post) => {
            fields.extend([("client_id", grant.client_id.as_str()), ("client_secret", secret.as_str())]);
            (fields, None)
        }
        (_, Proof::None) | (None, _) => {
            fields.push(("client_id", grant.client_id.as_str()));
            (fields, None)
        }
    }
}

/// Takes the tokens of an answer over.
fn taken(grant: Grant, answer: &Answer, now: u64) -> Result<Grant, Error> {
    let is_token = |text: &&str| {
        // What cannot stand in a header is no token.
        text.len() <= MAX_TOKEN && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let bearer = answer.text("token_type").is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    let access = answer.text("access_token").filter(is_token).filter(|_| bearer);
    let access =
        access.ok_or_else(|| Error::new("the authorization server's answer holds no usable token"))?;
    let seconds = &answer.document["expires_in"];
    let seconds = seconds.as_u64().or_else(|| seconds.as_str()?.parse().ok());
    let scopes = answer.text("scope").map(words).unwrap_or_else(|| grant.scopes.clone());
    Ok(Grant {
        access_token: Some(access.to_owned()),
        // Without rotation, the refresh token stays as it is.
        refresh_token: answer
            .text("refresh_token")
            .filter(is_token)
            .map(str::to_owned)
            .or(grant.refresh_token.clone()),
        expires_at: seconds.map(|seconds| now.saturating_add(seconds.min(MAX_LIFE))),
        scopes,
        ..grant
    })
}

/// Splits a list of scopes.
pub(super) fn words(scope: &str) -> Vec<String> {
    let is_scope = |word: &&str| word.len() <= 256 && word.bytes().all(|byte| byte.is_ascii_graphic());
    scope.split_ascii_whitespace().filter(is_scope).take(100).map(str::to_owned).collect()
}
