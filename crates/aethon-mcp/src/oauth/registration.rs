//! Introduces this program to an authorization server: RFC 7591, or as the owner has registered it.

use serde_json::json;

use super::fetch::Fetch;
use super::grant::Proof;
use super::metadata::AuthorizationServer;
use super::preset::Preset;
use crate::error::Error;

/// This program, as an authorization server knows it.
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    pub(super) proof: Proof,
}

/// Returns the client that the owner has configured, or registers one.
pub(super) async fn client(
    fetch: &Fetch,
    server: &AuthorizationServer,
    preset: &Preset,
    redirect: &str,
) -> Result<Client, Error> {
    if let Some(id) = &preset.client_id {
        let secret = preset.client_secret.as_ref().map(|secret| secret.expose().trim().to_owned());
        let proof = proof(server, secret.is_some(), None);
        return Ok(Client { id: id.clone(), secret, proof });
    }
    let Some(place) = &server.registration else {
        return Err(Error::new(
            "the authorization server does not let programs register themselves; register one there, with the redirect \
             address http://127.0.0.1:PORT/mcp/callback, and set `oauth.client_id` (and `oauth.redirect_port`) of this server",
        ));
    };
    let is_public = server.proofs.is_empty() || server.proofs.iter().any(|proof| proof == "none");
    let wanted = match (is_public, proof(server, true, None)) {
        (true, _) => "none",
        (false, Proof::Post) => "client_secret_post",
        (false, _) => "client_secret_basic",
    };
    let answer = fetch
        .post_json(
            place,
            &json!({
                "client_name": "Aethon",
                "redirect_uris": [redirect],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": wanted,
                "application_type": "native",
            }),
        )
        .await?;
    if !answer.is_success() {
        let why = answer.refusal();
        return Err(Error::new(format!("the authorization server did not register this program: {why}")));
    }
    let id = answer.text("client_id").ok_or_else(|| {
        Error::new("the authorization server did not say as what it has registered this program")
    })?;
    let secret = answer.text("client_secret").map(str::to_owned);
    let proof = proof(server, secret.is_some(), answer.text("token_endpoint_auth_method"));
    Ok(Client { id: id.to_owned(), secret, proof })
}

/// Chooses how a secret is sent: as registered, or else in a way that the server supports.
fn proof(server: &AuthorizationServer, has_secret: bool, registered: Option<&str>) -> Proof {
    let supports = |name: &str| server.proofs.iter().any(|proof| proof == name);
    match registered {
        _ if !has_secret => Proof::None,
        Some("client_secret_basic") => Proof::Basic,
        Some("client_secret_post") => Proof::Post,
        Some("none") => Proof::None,
        // The standard's default is basic.
        _ if server.proofs.is_empty() || supports("client_secret_basic") => Proof::Basic,
        _ => Proof::Post,
    }
}
