//! The application: what it serves, and what is derived from its options once, at start-up.
//!
//! All connections share one [`App`]. A handler does not get it whole: it names the parts that it works with as the type of
//! its first parameter, and `App::part` hands them over.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use aethon_core::usage::Budget;

use crate::auth::TokenAuth;
use crate::deps::{Activity, Chat, Deps, Runtime, Setup};
use crate::host::HostRules;
use crate::limits::Attempts;
use crate::options::Options;
use crate::origin::OriginRules;
use crate::response::RequestIds;
use crate::signature::Verifier;

/// The application.
pub struct App {
    /// The settings.
    pub(crate) options: Options,
    /// The parts that it serves.
    pub(crate) deps: Deps,
    /// The token check.
    pub(crate) token_auth: Arc<TokenAuth>,
    /// The check of the Host header.
    pub(crate) hosts: HostRules,
    /// The check of the Origin header.
    pub(crate) origins: OriginRules,
    /// What holds for webhooks.
    pub(crate) webhooks: Arc<WebhookRules>,
    /// Wrong tokens, by address.
    pub(crate) attempts: Attempts,
    /// Names for answers.
    pub(crate) request_ids: RequestIds,
    /// What the program says of itself.
    pub(crate) about: About,
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

/// What the program says of itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    /// Its version.
    pub(crate) version: &'static str,
    /// When it began.
    pub(crate) started: Instant,
    /// Whether the offline model stands in for one that is to be configured.
    pub(crate) is_demo: bool,
}

impl App {
    /// The application as it runs on this address.
    pub fn new(options: Options, deps: Deps, address: SocketAddr) -> Arc<Self> {
        let is_loopback = address.ip().to_canonical().is_loopback();
        Arc::new(Self {
            token_auth: Arc::new(TokenAuth::new(&options.token)),
            hosts: HostRules::new(&options, is_loopback),
            origins: OriginRules::new(&options.allowed_origins),
            webhooks: Arc::new(WebhookRules {
                signatures: Verifier::new(&options.webhooks.secret),
                mark_untrusted: options.mark_untrusted,
                timeout: options.limits.webhook_timeout,
                exist: options.webhooks.exist(is_loopback),
            }),
            attempts: Attempts::default(),
            request_ids: RequestIds::new(),
            about: About { version: options.version, started: Instant::now(), is_demo: options.demo },
            options,
            deps,
        })
    }

    /// What a handler works with, by the type of its first parameter.
    pub(crate) fn part<T: FromApp>(&self) -> T {
        T::from_app(self)
    }

    /// The time for a `Date` header.
    pub(crate) fn date(&self) -> String {
        httpdate::fmt_http_date(SystemTime::from(self.deps.runtime.clock.now()))
    }
}

/// A part of the application that a handler can ask for. A tuple asks for several.
pub(crate) trait FromApp {
    /// The part.
    fn from_app(app: &App) -> Self;
}

/// Parts that are cloned out of the application.
macro_rules! parts {
    ($($part:ty: $field:ident $(. $inner:ident)*;)*) => {
        $(impl FromApp for $part {
            fn from_app(app: &App) -> Self {
                app.$field$(.$inner)*.clone()
            }
        })*
    };
}

parts! {
    Chat: deps.chat;
    Activity: deps.activity;
    Setup: deps.setup;
    Runtime: deps.runtime;
    Budget: options.budget;
    About: about;
    Arc<TokenAuth>: token_auth;
    Arc<WebhookRules>: webhooks;
}

impl FromApp for () {
    fn from_app(_app: &App) -> Self {}
}

impl<A: FromApp, B: FromApp> FromApp for (A, B) {
    fn from_app(app: &App) -> Self {
        (app.part(), app.part())
    }
}

impl<A: FromApp, B: FromApp, C: FromApp> FromApp for (A, B, C) {
    fn from_app(app: &App) -> Self {
        (app.part(), app.part(), app.part())
    }
}
