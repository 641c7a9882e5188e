//! The result of a sign-in, and its storage.

use std::any::Any;
use std::io;

use aethon_core::secret::Secret;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use url::Url;

use super::place::contains;

/// How long before its end a token is renewed, in seconds.
const EARLY: u64 = 60;

/// The tokens for one server, and the data for renewing them. It has no `Debug`, because most of it is secret.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Grant {
    /// The server that the tokens are for; they go nowhere else.
    pub resource: String,
    /// Who gave them.
    pub issuer: String,
    pub(super) token_endpoint: String,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) client_id: String,
    pub(super) client_secret: Option<String>,
    /// How the secret is sent.
    pub(super) proof: Proof,
    pub(super) access_token: Option<String>,
    pub(super) refresh_token: Option<String>,
    /// When the access token ends, in seconds since 1970.
    pub(super) expires_at: Option<u64>,
    /// The granted scopes.
    pub(super) scopes: Vec<String>,
    /// Scopes that the server demanded later; the next sign-in requests them.
    pub(super) missing_scopes: Vec<String>,
}

/// How a program proves who it is at the token endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Proof {
    /// It has no secret.
    #[default]
    None,
    /// In the `Authorization` header.
    Basic,
    /// In the form.
    Post,
}

impl Grant {
    /// Reads what [`Self::to_secret`] has written; `None` if it is something else.
    pub fn parse(document: &Secret) -> Option<Self> {
        let grant: Option<Self> = serde_json::from_str(document.expose()).ok();
        grant.filter(|grant| !grant.resource.is_empty())
    }

    /// Returns it as a document to be kept.
    pub fn to_secret(&self) -> Secret {
        // Texts, numbers and lists of them can always be written.
        Secret::new(serde_json::to_string(self).unwrap_or_default())
    }

    /// Returns whether its tokens may be sent to this address.
    pub(super) fn is_for(&self, url: &Url) -> bool {
        Url::parse(&self.resource).is_ok_and(|resource| contains(&resource, url))
    }

    /// Returns whether the access token has ended or is about to.
    pub(super) fn is_ending(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= now.saturating_add(EARLY))
    }

    /// Returns whether it can be used, perhaps after a renewal.
    pub fn is_usable(&self) -> bool {
        self.access_token.is_some() || self.refresh_token.is_some()
    }

    /// Drops the tokens, which are useless by now, and keeps the data for the next sign-in.
    pub(super) fn without_tokens(self) -> Self {
        Self { access_token: None, refresh_token: None, expires_at: None, ..self }
    }
}

/// Keeps the grant for one server, for all programs of a home.
#[async_trait]
pub trait GrantStore: Send + Sync {
    /// Returns the document that is kept.
    async fn load(&self) -> io::Result<Option<Secret>>;

    /// Replaces it.
    async fn save(&self, document: &Secret) -> io::Result<()>;

    /// Removes it. Returns `false` if there was none.
    async fn remove(&self) -> io::Result<bool>;

    /// Waits until no other program changes it, and keeps them from it until what this returns is dropped.
    async fn lock(&self) -> io::Result<Box<dyn Any + Send>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_grant_round_trips_and_other_documents_are_none() {
        let grant = Grant {
            resource: "https://a.example/mcp".into(),
            access_token: Some("t".into()),
            proof: Proof::Basic,
            scopes: vec!["a".into()],
            ..Grant::default()
        };
        let read = Grant::parse(&grant.to_secret()).unwrap();
        assert_eq!((read.access_token.as_deref(), read.proof), (Some("t"), Proof::Basic));
        assert!(read.is_usable() && !read.clone().without_tokens().is_usable() && !read.is_ending(1_000));
        assert!(Grant { expires_at: Some(1_030), ..read.clone() }.is_ending(1_000));
        assert!(!Grant { expires_at: Some(1_090), ..read.clone() }.is_ending(1_000));
        assert!(read.is_for(&Url::parse("https://a.example/mcp").unwrap()));
        assert!(!read.is_for(&Url::parse("https://b.example/mcp").unwrap()));
        for other in ["", "x", "[]", "7", "{\"scopes\": 1}"] {
            assert!(Grant::parse(&Secret::new(other)).is_none(), "{other}");
        }
    }
}
