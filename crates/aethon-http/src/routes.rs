//! The table of everything that can be asked for: method, pattern, access, when it exists, what it takes, who answers.
//!
//! Access is a column, and whatever is not in the table is gated: a row that forgets about it yields 401.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::Method;

use crate::api::{approvals, config, logs, sessions, sign_out, status, usage};
use crate::app::App;
use crate::request::Request;
use crate::response::Answer;
use crate::ws::Socket;
use crate::{assets, pages, webhook};

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
    /// Everybody.
    Public,
    /// Who has the token, when one is set.
    Gated,
}

/// When a route exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Always.
    Nothing,
    /// While `dashboard.enabled`.
    Dashboard,
    /// While webhooks are enabled, and with a secret or on loopback.
    Webhooks,
}

/// What body a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// None; one that comes is not read.
    Nothing,
    /// JSON.
    Json,
}

/// Who answers.
pub(crate) enum Handler {
    /// At once, from memory.
    Now(fn(&App, &Request) -> Answer),
    /// After reading a body or asking other parts of the program.
    Later(fn(Arc<App>, Request) -> Later),
    /// By becoming a WebSocket.
    Socket(Socket),
}

/// An answer to come.
pub(crate) type Later = Pin<Box<dyn Future<Output = Answer> + Send>>;

impl Route {
    /// Whether the row answers this method.
    pub(crate) fn answers(&self, method: &Method) -> bool {
        self.method == *method || (self.method == Method::GET && *method == Method::HEAD)
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

/// A gated row of the dashboard's interface.
const fn api(method: Method, pattern: &'static str, takes: Takes, handler: Handler) -> Route {
    Route { method, pattern, access: Access::Gated, needs: Needs::Dashboard, takes, handler }
}

const fn hook(pattern: &'static str, handler: Handler) -> Route {
    let (access, needs) = (Access::Public, Needs::Webhooks);
    Route { method: Method::POST, pattern, access, needs, takes: Takes::Json, handler }
}

use Access::{Gated, Public};
use Handler::{Later as After, Now};
use Needs::{Dashboard, Nothing};
use Takes::Json;

/// The table. `/health` comes first because it is asked for most often.
pub(crate) static ROUTES: &[Route] = &[
    get("/health", Public, Nothing, Now(status::health)),
    get("/", Public, Nothing, Now(pages::chat)),
    get("/dashboard/static/*", Public, Nothing, Now(assets::serve)),
    hook("/webhook/trigger", After(|app, request| Box::pin(webhook::trigger(app, request)))),
    hook("/webhook/{channel}", After(|app, request| Box::pin(webhook::channel(app, request)))),
    get("/ws/chat", Gated, Nothing, Handler::Socket(Socket::Chat)),
    get("/ws/dashboard", Gated, Dashboard, Handler::Socket(Socket::Dashboard)),
    get("/dashboard", Gated, Dashboard, Now(pages::dashboard)),
    get("/api/status", Gated, Nothing, Now(status::status)),
    api(
        Method::POST,
        "/api/sign-out",
        Takes::Nothing,
        After(|app, request| Box::pin(sign_out::sign_out(app, request))),
    ),
    api(
        Method::GET,
        "/api/sessions",
        Takes::Nothing,
        After(|app, request| Box::pin(sessions::list(app, request))),
    ),
    api(
        Method::GET,
        "/api/sessions/{id}",
        Takes::Nothing,
        After(|app, request| Box::pin(sessions::detail::show(app, request))),
    ),
    api(
        Method::DELETE,
        "/api/sessions/{id}",
        Takes::Nothing,
        After(|app, request| Box::pin(sessions::delete(app, request))),
    ),
    api(
        Method::PATCH,
        "/api/sessions/{id}",
        Json,
        After(|app, request| Box::pin(sessions::rename(app, request))),
    ),
    api(
        Method::POST,
        "/api/sessions/{id}/reset",
        Takes::Nothing,
        After(|app, request| Box::pin(sessions::reset(app, request))),
    ),
    api(
        Method::POST,
        "/api/sessions/{id}/stop",
        Takes::Nothing,
        After(|app, request| Box::pin(sessions::stop(app, request))),
    ),
    api(
        Method::GET,
        "/api/sessions/{id}/export",
        Takes::Nothing,
        After(|app, request| Box::pin(sessions::export::export(app, request))),
    ),
    api(Method::GET, "/api/config", Takes::Nothing, Now(config::dump)),
    api(Method::GET, "/api/config/schema", Takes::Nothing, Now(config::schema)),
    api(Method::GET, "/api/approvals", Takes::Nothing, Now(approvals::list)),
    api(
        Method::POST,
        "/api/approvals/{id}",
        Json,
        After(|app, request| Box::pin(approvals::decide(app, request))),
    ),
    api(
        Method::GET,
        "/api/usage",
        Takes::Nothing,
        After(|app, request| Box::pin(usage::usage(app, request))),
    ),
    api(Method::GET, "/api/logs", Takes::Nothing, Now(logs::newest)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_rows_are_the_exceptions_of_the_specification() {
        let public: Vec<&str> =
            ROUTES.iter().filter(|row| row.access == Public).map(|row| row.pattern).collect();
        assert_eq!(public, ["/health", "/", "/dashboard/static/*", "/webhook/trigger", "/webhook/{channel}"]);
    }

    #[test]
    fn without_the_dashboard_only_the_chat_and_the_status_are_left() {
        let left: Vec<&str> = ROUTES
            .iter()
            .filter(|row| row.needs == Nothing && row.access == Gated)
            .map(|row| row.pattern)
            .collect();
        assert_eq!(left, ["/ws/chat", "/api/status"]);
    }

    #[test]
    fn what_reads_changes_nothing_and_takes_nothing() {
        for row in ROUTES.iter().filter(|row| row.method == Method::GET) {
            assert_eq!(row.takes, Takes::Nothing, "{}", row.pattern);
        }
    }
}
