//! The application: everything it serves, and the state derived from its options.
//!
//! All connections share one [`App`]. A handler does not receive all of it: the type of its first parameter names the
//! parts it works with, and `App::part` supplies them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use aethon_core::live::Live;
use aethon_core::push::SignInCheck;
use aethon_core::share::{Share, Shares};
use aethon_core::usage::Budget;

use crate::access_lease::AccessLease;
use crate::auth::{SignIn, SignIns, TokenAuth};
use crate::base_path::BasePath;
use crate::deps::{Activity, Chat, Deps, Knowledge, Runtime, Setup, Workflows};
use crate::intake::Intake;
use crate::limits::Attempts;
use crate::options::Options;
use crate::page_set::PageSet;
use crate::replay::UsedSignatures;
use crate::response::RequestIds;
use crate::rules::{Rules, WebhookRules};
use crate::traffic::Traffic;
use crate::ws::{Feed, Watchlist};

/// The application.
pub struct App {
    /// The settings.
    pub(crate) options: Options,
    /// The parts of the program that it serves.
    pub(crate) deps: Deps,
    /// Access rules, replaced on reload.
    pub(crate) rules: Live<Rules>,
    /// The running parts and their configuration, replaced on reload.
    setup: Live<Setup>,
    is_loopback: bool,
    /// Sign-ins of browsers, including revoked ones.
    pub(crate) sign_ins: Arc<SignIns>,
    /// Webhook signatures already used. A reload keeps them.
    pub(crate) used_signatures: Arc<UsedSignatures>,
    /// Wrong tokens, by address.
    pub(crate) attempts: Arc<Attempts>,
    /// Room for the bodies of callers who have not proven yet who they are.
    pub(crate) intake: Arc<Intake>,
    /// The connections that such callers hold while they are answered, of `server.max_connections`.
    pub(crate) waiting_strangers: Shares,
    /// Connection counts and response counts.
    pub(crate) traffic: Arc<Traffic>,
    /// Live events for the open dashboards.
    pub(crate) feed: Feed,
    /// The conversations that changed, for the sockets that watch the list.
    pub(crate) watchlist: Watchlist,
    /// Generates the ids of responses.
    pub(crate) request_ids: RequestIds,
    /// Version, start time and mode of the program.
    pub(crate) about: About,
}

/// Version, start time and mode of the program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    /// The version.
    pub(crate) version: &'static str,
    /// When the program started.
    pub(crate) started: Instant,
    /// Whether the offline model stands in because no model is configured.
    pub(crate) is_demo: bool,
}

impl App {
    /// Creates the application for a listener on this address.
    pub fn new(options: Options, deps: Deps, address: SocketAddr) -> Arc<Self> {
        let is_loopback = address.ip().to_canonical().is_loopback();
        let clock = Arc::clone(&deps.runtime.clock);
        let sign_ins = Arc::new(SignIns::new(&options.sign_ins, clock));
        Arc::new(Self {
            rules: Live::new(Rules::new(&options, is_loopback, &sign_ins)),
            sign_ins,
            setup: Live::new(deps.setup.clone()),
            is_loopback,
            used_signatures: Arc::default(),
            attempts: Arc::default(),
            intake: Arc::default(),
            waiting_strangers: Shares::of(Share::of_count(options.limits.max_connections)),
            traffic: Arc::default(),
            feed: Feed::default(),
            watchlist: Watchlist::default(),
            request_ids: RequestIds::new(),
            about: About { version: options.version, started: Instant::now(), is_demo: options.demo },
            options,
            deps,
        })
    }

    /// Applies what can change at run time: the token, webhooks, hosts, origins, proxies, the budget, and the setup
    /// shown to clients. Requests in progress keep the rules they started with, but a new token immediately ends
    /// every socket and download admitted under the old one. The address and the limits change only on restart.
    pub fn reload(&self, options: &Options, setup: Setup) {
        self.rules.set(Rules::new(options, self.is_loopback, &self.sign_ins));
        self.setup.set(setup);
        self.sign_ins.look_again();
    }

    /// Takes in a line of the [journal](crate::options::SignInJournal) that another instance has written.
    pub fn take_in_sign_in(&self, line: &str) {
        self.sign_ins.take_in(line);
    }

    /// Returns whether anyone who connects has access: no token is set, and the listener is on loopback.
    pub(crate) fn is_open_to_all(&self) -> bool {
        self.is_loopback && self.rules.get().token_auth.is_open()
    }

    /// Returns the lease of whatever was admitted under this sign-in.
    pub(crate) fn access_lease(&self, sign_in: SignIn) -> AccessLease {
        AccessLease::new(self.rules.clone(), Arc::clone(&self.sign_ins), sign_in)
    }

    /// Returns the parts a handler works with, chosen by the type of its first parameter.
    pub(crate) fn part<T: FromApp>(&self) -> T {
        T::from_app(self)
    }

    /// Returns the current time as a `Date` header value.
    pub(crate) fn date(&self) -> String {
        httpdate::fmt_http_date(SystemTime::from(self.deps.runtime.clock.now()))
    }
}

impl SignInCheck for App {
    fn lasts(&self, sign_in: &str) -> bool {
        self.rules.get().token_auth.name_lasts(sign_in)
    }
}

/// A part of the application that a handler can request. A tuple requests several.
pub(crate) trait FromApp {
    /// Extracts the part.
    fn from_app(app: &App) -> Self;
}

/// Parts that are cloned from the application.
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
    Knowledge: deps.knowledge;
    Runtime: deps.runtime;
    Workflows: deps.workflows;
    Arc<SignIns>: sign_ins;
    Arc<UsedSignatures>: used_signatures;
    Arc<Traffic>: traffic;
    Arc<Attempts>: attempts;
}

/// Parts that a reload replaces.
macro_rules! live_parts {
    ($($part:ty: $field:ident $(. $inner:ident)*;)*) => {
        $(impl FromApp for $part {
            fn from_app(app: &App) -> Self {
                app.$field.get()$(.$inner)*.clone()
            }
        })*
    };
}

live_parts! {
    Budget: rules.budget;
    BasePath: rules.base_path;
    Arc<PageSet>: rules.pages;
    Arc<TokenAuth>: rules.token_auth;
    Arc<WebhookRules>: rules.webhooks;
}

impl FromApp for About {
    fn from_app(app: &App) -> Self {
        Self { is_demo: app.rules.get().is_demo, ..app.about }
    }
}

impl FromApp for Setup {
    fn from_app(app: &App) -> Self {
        (*app.setup.get()).clone()
    }
}

impl FromApp for () {
    fn from_app(_app: &App) -> Self {}
}

impl<A: FromApp, B: FromApp> FromApp for (A, B) {
    fn from_app(app: &App) -> Self {
        (app.part(), app.part())
    }
}

impl<A: FromApp, B: FromApp, C: FromApp, D: FromApp> FromApp for (A, B, C, D) {
    fn from_app(app: &App) -> Self {
        (app.part(), app.part(), app.part(), app.part())
    }
}

impl<A: FromApp, B: FromApp, C: FromApp> FromApp for (A, B, C) {
    fn from_app(app: &App) -> Self {
        (app.part(), app.part(), app.part())
    }
}
