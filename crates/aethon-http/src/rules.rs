//! The rules for access: the token, hosts, origins, webhooks and proxies. They are derived from the options together,
//! so that a reload replaces them all at once.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::usage::Budget;

use crate::auth::{SignIns, TokenAuth};
use crate::base_path::BasePath;
use crate::host::HostRules;
use crate::options::{Network, Options};
use crate::origin::OriginRules;
use crate::page_set::PageSet;
use crate::signature::Verifier;

/// The rules in force.
pub(crate) struct Rules {
    /// The token check.
    pub(crate) token_auth: Arc<TokenAuth>,
    /// The check of the Host header.
    pub(crate) hosts: HostRules,
    /// The check of the Origin header.
    pub(crate) origins: OriginRules,
    /// The rules for webhooks.
    pub(crate) webhooks: Arc<WebhookRules>,
    /// Peers that may set `X-Forwarded-*`.
    pub(crate) trusted_proxies: Vec<Network>,
    /// Who may ask without the token whether the service is ready.
    pub(crate) health_from: Vec<Network>,
    /// The path below which a proxy offers the service.
    pub(crate) base_path: BasePath,
    /// The pages, with addresses below that path.
    pub(crate) pages: Arc<PageSet>,
    /// Limit on daily spending.
    pub(crate) budget: Budget,
    /// Whether the offline model stands in because no model is configured.
    pub(crate) is_demo: bool,
}

/// The rules for webhooks.
pub(crate) struct WebhookRules {
    /// The check of signatures.
    pub(crate) signatures: Verifier,
    /// Whether their content is marked as untrusted.
    pub(crate) mark_untrusted: bool,
    /// How long a caller waits for a reply.
    pub(crate) timeout: Duration,
    /// Whether the routes exist: enabled, and with a secret or on loopback.
    pub(crate) exist: bool,
}

impl Rules {
    /// Derives the rules from these options, for a listener on loopback or beyond.
    pub(crate) fn new(options: &Options, is_loopback: bool, sign_ins: &Arc<SignIns>) -> Self {
        Self {
            token_auth: Arc::new(
                TokenAuth::new(&options.token, Arc::clone(sign_ins)).below(&options.base_path),
            ),
            hosts: HostRules::new(options, is_loopback),
            origins: OriginRules::new(&options.allowed_origins),
            webhooks: Arc::new(WebhookRules {
                signatures: Verifier::new(&options.webhooks.secret),
                mark_untrusted: options.mark_untrusted,
                timeout: options.limits.webhook_timeout,
                exist: options.webhooks.exist(is_loopback),
            }),
            trusted_proxies: options.trusted_proxies.clone(),
            health_from: options.health_from.clone(),
            base_path: options.base_path.clone(),
            pages: Arc::new(PageSet::new(&options.base_path)),
            budget: options.budget,
            is_demo: options.demo,
        }
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::secret::Secret;

    use super::*;
    use crate::service::tests::TestApp;

    #[tokio::test]
    async fn a_reload_replaces_the_token_the_secret_and_the_lists() {
        let with_token = |token: &str| Options { token: Secret::new(token), ..Options::default() };
        let status = async |app: &TestApp, token: &str, host: &str| {
            let authorization = format!("Bearer {token}");
            let headers = [("authorization", authorization.as_str()), ("host", host)];
            app.send("GET", "/api/status", &headers, "").await.status
        };
        let app = TestApp::new(with_token("old"));
        assert_eq!(status(&app, "old", "home.example").await, 200);
        let mut options = with_token("new");
        options.webhooks.secret = Secret::new("s3cret");
        options.allowed_hosts = vec!["house.example".into()];
        app.reload(&options);
        assert_eq!(status(&app, "old", "house.example").await, 401);
        assert_eq!(status(&app, "new", "house.example").await, 200);
        assert_eq!(status(&app, "new", "home.example").await, 421);
        let json = [("content-type", "application/json")];
        let unsigned = app.send("POST", "/webhook/x", &json, r#"{"text": "x"}"#).await;
        assert_eq!(unsigned.code(), "bad_signature");
        app.reload(&Options::default());
        assert_eq!(app.send("GET", "/api/status", &[], "").await.status, 200, "nobody is asked for a token");
    }
}
