//! The table of everything that can be asked for: method, pattern, access, when it exists, what it takes, who answers.
//!
//! The handlers of the JSON interface lie below, one file a resource; those of the pages, the files, the webhooks and the
//! sockets have modules of their own. A route is a row here and a function there, and nothing else.
//!
//! Access is a column, and whatever is not in the table is gated: a row that forgets about it yields 401.

use std::future::Future;
use std::pin::Pin;

use http::Method;

mod agents;
mod approvals;
mod audit;
mod channels;
mod config;
mod export;
mod features;
mod logs;
mod memory;
mod metrics;
mod outbox;
mod pairings;
mod ready;
mod recordings;
mod scheduler;
mod sessions;
mod sign_ins;
mod sign_out;
mod sops;
mod status;
mod telemetry;
mod usage;
mod work;

use crate::app::{About, App};
use crate::openapi::{self, Row};
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::ws::SocketKind;
use crate::{assets, pages, platform_calls, webhook};

/// One row.
pub(crate) struct Route {
    /// The method. A row for GET answers HEAD as well.
    pub(crate) method: Method,
    /// Literal segments, `{name}` for one segment, a last `*` for the rest.
    pub(crate) pattern: &'static str,
    /// Who may ask.
    pub(crate) access: Access,
    /// When it exists.
    pub(crate) needs: Needs,
    /// What body it takes.
    pub(crate) takes: Takes,
    /// Who answers.
    pub(crate) handler: Handler,
}

/// Who may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Anybody who reaches the address; this is for the few rows that the specification names.
    Public,
    /// Who has the token, when one is set.
    Gated,
}

/// When a route exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// The route exists whatever is configured.
    Nothing,
    /// While `dashboard.enabled`.
    Dashboard,
    /// While webhooks are enabled, and with a secret or on loopback.
    Webhooks,
    /// While the channel runs whose platform calls there.
    PlatformCalls,
}

/// What body a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// None; one that comes is not read.
    Nothing,
    /// A JSON document; any other content type is 415.
    Json,
}

/// Who answers.
pub(crate) enum Handler {
    /// At once, from memory.
    Sync(fn(&App, &Request) -> HandlerResult),
    /// After reading a body or asking other parts of the program.
    Async(fn(&App, Request) -> HandlerFuture),
    /// By becoming a WebSocket.
    Socket(SocketKind),
}

/// An answer to come.
pub(crate) type HandlerFuture = Pin<Box<dyn Future<Output = HandlerResult> + Send>>;

impl Route {
    /// Whether the row answers this method.
    pub(crate) fn answers(&self, method: &Method) -> bool {
        self.method == *method || (self.method == Method::GET && *method == Method::HEAD)
    }

    /// What the document of the interface tells of it.
    pub(crate) fn described(&'static self) -> Row {
        let (is_gated, takes_json) = (self.access == Access::Gated, self.takes == Takes::Json);
        Row { method: &self.method, pattern: self.pattern, is_gated, takes_json }
    }

    /// The methods for an `Allow` header.
    pub(crate) fn methods(&self) -> &'static [&'static str] {
        match self.method {
            Method::POST => &["POST"],
            Method::PUT => &["PUT"],
            Method::PATCH => &["PATCH"],
            Method::DELETE => &["DELETE"],
            _ => &["GET", "HEAD"],
        }
    }
}

const fn get(pattern: &'static str, access: Access, needs: Needs, handler: Handler) -> Route {
    Route { method: Method::GET, pattern, access, needs, takes: Takes::Nothing, handler }
}

/// `GET /openapi.json`: what this table says, for programs to read.
fn openapi_document(about: About, _request: &Request) -> HandlerResult {
    response::json(&openapi::document(about.version, ROUTES.iter().map(Route::described)))
}

/// A gated row of the dashboard's interface.
const fn api(method: Method, pattern: &'static str, takes: Takes, handler: Handler) -> Route {
    Route { method, pattern, access: Access::Gated, needs: Needs::Dashboard, takes, handler }
}

const fn hook(pattern: &'static str, handler: Handler) -> Route {
    let (access, needs) = (Access::Public, Needs::Webhooks);
    Route { method: Method::POST, pattern, access, needs, takes: Takes::Json, handler }
}

/// What a platform calls, which shows by its own signature that it is that platform.
const fn called(method: Method, pattern: &'static str, takes: Takes, handler: Handler) -> Route {
    Route { method, pattern, access: Access::Public, needs: Needs::PlatformCalls, takes, handler }
}

use Access::{Gated, Public};
use Needs::{Dashboard, Nothing};
use Takes::Json;

/// A handler that answers at once. What it asks of the application is the type of its first parameter.
macro_rules! sync {
    ($handler:path) => {
        Handler::Sync(|app, request| $handler(app.part(), request))
    };
}

/// A handler that reads a body or asks other parts of the program.
macro_rules! later {
    ($handler:path) => {
        Handler::Async(|app, request| Box::pin($handler(app.part(), request)))
    };
}

/// The table. `/health` comes first because it is asked for most often.
#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    get("/health", Public, Nothing, sync!(status::health)),
    get("/", Public, Nothing, sync!(pages::chat)),
    get("/dashboard/static/*", Public, Nothing, sync!(assets::serve)),
    hook("/webhook/trigger", later!(webhook::trigger)),
    called(Method::GET, platform_calls::WHATSAPP, Takes::Nothing, sync!(platform_calls::challenge)),
    called(Method::POST, platform_calls::WHATSAPP, Json, later!(platform_calls::take)),
    hook("/webhook/{channel}", later!(webhook::channel)),
    get("/ws/chat", Gated, Nothing, Handler::Socket(SocketKind::Chat)),
    get("/ws/dashboard", Gated, Dashboard, Handler::Socket(SocketKind::Dashboard)),
    get("/dashboard", Gated, Dashboard, sync!(pages::dashboard)),
    get("/api/status", Gated, Nothing, sync!(status::status)),
    get("/docs", Gated, Dashboard, sync!(pages::docs)),
    get("/openapi.json", Gated, Dashboard, sync!(openapi_document)),
    get("/metrics", Gated, Nothing, later!(metrics::show)),
    api(Method::POST, "/api/sign-out", Takes::Nothing, later!(sign_out::sign_out)),
    api(Method::GET, "/api/sign-ins", Takes::Nothing, sync!(sign_ins::list)),
    api(Method::DELETE, "/api/sign-ins/{id}", Takes::Nothing, later!(sign_ins::end)),
    api(Method::GET, "/api/sessions", Takes::Nothing, later!(sessions::list)),
    api(Method::GET, "/api/sessions/recordings", Takes::Nothing, later!(recordings::list)),
    api(Method::GET, "/api/sessions/recordings/{name}", Takes::Nothing, later!(recordings::show)),
    api(Method::DELETE, "/api/sessions/recordings/{name}", Takes::Nothing, later!(recordings::remove)),
    api(Method::GET, "/api/sessions/recordings/{name}/verify", Takes::Nothing, later!(recordings::verify)),
    api(Method::GET, "/api/sessions/recordings/{name}/events", Takes::Nothing, later!(recordings::events)),
    api(Method::GET, "/api/sessions/recordings/{name}/snapshots", Takes::Nothing, later!(recordings::snapshots)),
    api(Method::GET, "/api/sessions/recordings/{name}/snapshots/{n}", Takes::Nothing, later!(recordings::snapshot)),
    api(Method::GET, "/api/sessions/recordings/{name}/diff", Takes::Nothing, later!(recordings::diff)),
    api(Method::GET, "/api/sessions/recordings/{name}/download", Takes::Nothing, later!(recordings::download)),
    api(Method::POST, "/api/sessions/recordings/{name}/replay/{n}", Takes::Nothing, later!(recordings::replay)),
    api(Method::POST, "/api/sessions/recordings/{name}/resume/{n}", Takes::Nothing, later!(recordings::resume)),
    api(Method::GET, "/api/sessions/{id}", Takes::Nothing, later!(sessions::show)),
    api(Method::DELETE, "/api/sessions/{id}", Takes::Nothing, later!(sessions::delete)),
    api(Method::PATCH, "/api/sessions/{id}", Json, later!(sessions::rename)),
    api(Method::POST, "/api/sessions/{id}/reset", Takes::Nothing, later!(sessions::reset)),
    api(Method::POST, "/api/sessions/{id}/stop", Takes::Nothing, later!(sessions::stop)),
    api(Method::GET, "/api/sessions/{id}/export", Takes::Nothing, later!(export::export)),
    api(Method::GET, "/api/config", Takes::Nothing, sync!(config::dump)),
    api(Method::PATCH, "/api/config", Json, later!(config::edit)),
    api(Method::GET, "/api/config/origins", Takes::Nothing, later!(config::origins)),
    api(Method::GET, "/api/config/schema", Takes::Nothing, sync!(config::schema)),
    api(Method::GET, "/api/approvals", Takes::Nothing, sync!(approvals::list)),
    api(Method::POST, "/api/approvals/{id}", Json, later!(approvals::decide)),
    api(Method::GET, "/api/memory", Takes::Nothing, later!(memory::list)),
    api(Method::POST, "/api/memory", Json, later!(memory::store)),
    api(Method::GET, "/api/memory/stats", Takes::Nothing, later!(memory::stats)),
    api(Method::POST, "/api/memory/search", Json, later!(memory::search)),
    api(Method::GET, "/api/memory/{id}", Takes::Nothing, later!(memory::show)),
    api(Method::PUT, "/api/memory/{id}", Json, later!(memory::correct)),
    api(Method::DELETE, "/api/memory/{id}", Takes::Nothing, later!(memory::forget)),
    api(Method::DELETE, "/api/approvals/granted/{id}", Takes::Nothing, later!(approvals::take_back)),
    api(Method::GET, "/api/audit", Takes::Nothing, later!(audit::newest)),
    api(Method::GET, "/api/features", Takes::Nothing, sync!(features::list)),
    api(Method::GET, "/api/usage", Takes::Nothing, later!(usage::usage)),
    api(Method::GET, "/api/ready", Takes::Nothing, sync!(ready::ready)),
    api(Method::GET, "/api/logs", Takes::Nothing, sync!(logs::newest)),
    api(Method::GET, "/api/telemetry", Takes::Nothing, later!(telemetry::newest)),
    api(Method::GET, "/api/channels", Takes::Nothing, later!(channels::list)),
    api(Method::GET, "/api/outbox", Takes::Nothing, later!(outbox::list)),
    api(Method::DELETE, "/api/outbox/{id}", Takes::Nothing, later!(outbox::remove)),
    api(Method::POST, "/api/outbox/{id}/retry", Takes::Nothing, later!(outbox::retry)),
    api(Method::GET, "/api/pairings", Takes::Nothing, later!(pairings::list)),
    api(Method::POST, "/api/pairings", Json, later!(pairings::invite)),
    api(Method::POST, "/api/pairings/approve", Json, later!(pairings::approve)),
    api(Method::DELETE, "/api/pairings/{channel}/{sender}", Takes::Nothing, later!(pairings::revoke)),
    api(Method::GET, "/api/sops", Takes::Nothing, later!(sops::list)),
    api(Method::GET, "/api/sops/{name}", Takes::Nothing, later!(sops::show)),
    api(Method::POST, "/api/sops/check", Json, later!(sops::check)),
    api(Method::POST, "/api/sops/{name}/run", Json, later!(sops::run)),
    api(Method::PUT, "/api/sops/{name}", Json, later!(sops::save)),
    api(Method::DELETE, "/api/sops/{name}", Takes::Nothing, later!(sops::remove)),
    api(Method::GET, "/api/sop-runs", Takes::Nothing, later!(sops::runs)),
    api(Method::POST, "/api/sop-runs/{id}/resume", Takes::Nothing, later!(sops::resume)),
    api(Method::GET, "/api/agents", Takes::Nothing, later!(agents::all)),
    api(Method::GET, "/api/agents/active", Takes::Nothing, sync!(agents::active)),
    api(Method::GET, "/api/agents/history", Takes::Nothing, later!(agents::history)),
    api(Method::GET, "/api/work", Takes::Nothing, later!(work::list)),
    api(Method::POST, "/api/work", Json, later!(work::plan)),
    api(Method::GET, "/api/work/{id}", Takes::Nothing, later!(work::show)),
    api(Method::POST, "/api/work/{id}/cancel", Takes::Nothing, later!(work::cancel)),
    api(Method::POST, "/api/work/{id}/pause", Takes::Nothing, later!(work::pause)),
    api(Method::POST, "/api/work/{id}/resume", Takes::Nothing, later!(work::resume)),
    api(Method::GET, "/api/scheduler", Takes::Nothing, later!(scheduler::list)),
    api(Method::GET, "/api/scheduler/jobs", Takes::Nothing, later!(scheduler::list)),
    api(Method::POST, "/api/scheduler/jobs", Json, later!(scheduler::add)),
    api(Method::DELETE, "/api/scheduler/jobs/{id}", Takes::Nothing, later!(scheduler::remove)),
    api(Method::PATCH, "/api/scheduler/jobs/{id}", Json, later!(scheduler::pause)),
    api(Method::POST, "/api/scheduler/jobs/{id}/run", Takes::Nothing, later!(scheduler::run)),
    api(Method::GET, "/api/scheduler/jobs/{id}/runs", Takes::Nothing, later!(scheduler::runs)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_rows_are_the_exceptions_of_the_specification() {
        let public: Vec<&str> =
            ROUTES.iter().filter(|row| row.access == Public).map(|row| row.pattern).collect();
        let hooks = ["/webhook/trigger", "/webhook/whatsapp", "/webhook/whatsapp", "/webhook/{channel}"];
        assert_eq!(public, [&["/health", "/", "/dashboard/static/*"][..], &hooks[..]].concat());
    }

    #[test]
    fn without_the_dashboard_only_the_chat_and_the_status_are_left() {
        let left: Vec<&str> = ROUTES
            .iter()
            .filter(|row| row.needs == Nothing && row.access == Gated)
            .map(|row| row.pattern)
            .collect();
        assert_eq!(left, ["/ws/chat", "/api/status", "/metrics"]);
    }

    #[test]
    fn what_reads_changes_nothing_and_takes_nothing() {
        for row in ROUTES.iter().filter(|row| row.method == Method::GET) {
            assert_eq!(row.takes, Takes::Nothing, "{}", row.pattern);
        }
    }
}
