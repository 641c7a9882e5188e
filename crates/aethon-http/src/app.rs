//! The application: what it serves, and what is derived from its options.
//!
//! All connections share one [`App`]. A handler does not get it whole: it names the parts that it works with as the type of
//! its first parameter, and `App::part` hands them over.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use aethon_core::live::Live;
use aethon_core::usage::Budget;

use crate::auth::{Register, SignIn, SignIns, TokenAuth};
use crate::deps::{Activity, Chat, Deps, Knowledge, Runtime, Setup, Workflows};
use crate::limits::Attempts;
use crate::options::Options;
use crate::replay::Taken;
use crate::response::RequestIds;
use crate::rules::{Rules, WebhookRules};
use crate::standing::Standing;
use crate::traffic::Traffic;
use crate::ws::Feed;

/// The application.
pub struct App {
    /// The settings.
    pub(crate) options: Options,
    /// The parts that it serves.
    pub(crate) deps: Deps,
    /// Who may do what; a reload replaces it.
    pub(crate) rules: Live<Rules>,
    /// What runs, and how it is set up; a reload replaces it.
    setup: Live<Setup>,
    is_loopback: bool,
    /// The sign-ins of browsers, and what was taken back of them.
    pub(crate) sign_ins: Arc<SignIns>,
    /// The signatures of webhooks that were taken; a reload forgets none.
    pub(crate) taken: Arc<Taken>,
    /// Wrong tokens, by address.
    pub(crate) attempts: Arc<Attempts>,
    /// Who is connected, and what was answered.
    pub(crate) traffic: Arc<Traffic>,
    /// What happens, for the dashboards that are open.
    pub(crate) feed: Feed,
    /// Names for answers.
    pub(crate) request_ids: RequestIds,
    /// What the program says of itself.
    pub(crate) about: About,
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
        let clock = Arc::clone(&deps.runtime.clock);
        let sign_ins =
            Arc::new(SignIns::new(&options.sign_in_key, Register::new(options.sign_ins.clone()), clock));
        Arc::new(Self {
            rules: Live::new(Rules::new(&options, is_loopback, &sign_ins)),
            sign_ins,
            setup: Live::new(deps.setup.clone()),
            is_loopback,
            taken: Arc::default(),
            attempts: Arc::default(),
            traffic: Arc::default(),
            feed: Feed::default(),
            request_ids: RequestIds::new(),
            about: About { version: options.version, started: Instant::now(), is_demo: options.demo },
            options,
            deps,
        })
    }

    /// Takes over what can change while it runs: the token, webhooks, hosts, origins, proxies, the budget, and what is told
    /// of the set-up. Requests that have begun keep what they began with, but with another token every socket and download
    /// ends at once that came in under the old one. What only a restart changes (the address, the limits) stays.
    pub fn reload(&self, options: &Options, setup: Setup) {
        self.rules.set(Rules::new(options, self.is_loopback, &self.sign_ins));
        self.setup.set(setup);
        self.sign_ins.look_again();
    }

    /// Whether nobody has to show anything: no token is set, and only this machine gets here.
    pub(crate) fn is_open_to_all(&self) -> bool {
        self.is_loopback && self.rules.get().token_auth.is_open()
    }

    /// The right to be here of what came in under this sign-in.
    pub(crate) fn standing(&self, sign_in: SignIn) -> Standing {
        Standing::new(self.rules.clone(), Arc::clone(&self.sign_ins), sign_in)
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
    Knowledge: deps.knowledge;
    Runtime: deps.runtime;
    Workflows: deps.workflows;
    Arc<SignIns>: sign_ins;
    Arc<Taken>: taken;
    Arc<Traffic>: traffic;
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
