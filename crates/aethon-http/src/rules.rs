//! What decides who may do what here: the token, hosts, origins, webhooks and proxies, all derived from the options at once,
//! so that a reload replaces them at once.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::usage::Budget;

use crate::auth::{SignIns, TokenAuth};
use crate::host::HostRules;
use crate::options::{Network, Options};
use crate::origin::OriginRules;
use crate::signature::Verifier;

/// The rules in force.
pub(crate) struct Rules {
    /// The token check.
    pub(crate) token_auth: Arc<TokenAuth>,
    /// The check of the Host header.
    pub(crate) hosts: HostRules,
    /// The check of the Origin header.
    pub(crate) origins: OriginRules,
    /// What holds for webhooks.
    pub(crate) webhooks: Arc<WebhookRules>,
    /// Peers that may set `X-Forwarded-*`.
    pub(crate) trusted_proxies: Vec<Network>,
    /// What may be spent in a day.
    pub(crate) budget: Budget,
}

/// What holds for webhooks.
pub(crate) struct WebhookRules {
    /// The check of their signatures.
    pub(crate) signatures: Verifier,
    /// Whether what they bring is marked as untrusted.
    pub(crate) mark_untrusted: bool,
    /// How long a caller waits for a reply.
    pub(crate) timeout: Duration,
    /// Whether their routes exist: switched on, and with a secret or on loopback.
    pub(crate) exist: bool,
}

impl Rules {
    /// The rules of these options, on loopback or beyond.
    pub(crate) fn new(options: &Options, is_loopback: bool, sign_ins: &Arc<SignIns>) -> Self {
        Self {
            token_auth: Arc::new(TokenAuth::new(&options.token, Arc::clone(sign_ins))),
            hosts: HostRules::new(options, is_loopback),
            origins: OriginRules::new(&options.allowed_origins),
            webhooks: Arc::new(WebhookRules {
                signatures: Verifier::new(&options.webhooks.secret),
                mark_untrusted: options.mark_untrusted,
                timeout: options.limits.webhook_timeout,
                exist: options.webhooks.exist(is_loopback),
            }),
            trusted_proxies: options.trusted_proxies.clone(),
            budget: options.budget,
        }
    }
}
