//! A row of the table of routes: its columns, and the short ways to write one.

use std::future::Future;
use std::pin::Pin;

use http::Method;

use crate::app::App;
use crate::openapi::{Described, Row};
use crate::request::Request;
use crate::response::HandlerResult;
use crate::ws::SocketKind;

/// One row.
pub(crate) struct Route {
    /// The method. A row for GET answers HEAD as well.
    pub(crate) method: Method,
    /// Literal segments, `{name}` for one segment, a last `*` for the rest.
    pub(crate) pattern: &'static str,
    /// Who may call it.
    pub(crate) access: Access,
    /// When it exists.
    pub(crate) needs: Needs,
    /// Which body it takes.
    pub(crate) takes: Takes,
    /// The handler.
    pub(crate) handler: Handler,
    /// What it says about itself in the OpenAPI document.
    pub(crate) described: Described,
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everyone who reaches the address; only for the few rows that the specification names.
    Public,
    /// Requires the token, if one is set.
    Gated,
}

/// When a route exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Always.
    Nothing,
    /// While `dashboard.enabled` is set.
    Dashboard,
    /// While webhooks are enabled, and with a secret or on loopback.
    Webhooks,
    /// While the channel runs whose platform calls it.
    PlatformCalls,
}

/// Which body a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// None; a body is ignored.
    Nothing,
    /// A JSON document; any other content type is 415.
    Json,
    /// A file of the type that it says; without one it is 415.
    File,
}

/// How a route is answered.
pub(crate) enum Handler {
    /// Immediately, from memory.
    Sync(fn(&App, &Request) -> HandlerResult),
    /// After reading a body or querying other parts of the program.
    Async(fn(&App, Request) -> HandlerFuture),
    /// By becoming a WebSocket.
    Socket(SocketKind),
}

/// The future of a response.
pub(crate) type HandlerFuture = Pin<Box<dyn Future<Output = HandlerResult> + Send>>;

impl Route {
    /// Returns whether the row answers this method.
    pub(crate) fn answers(&self, method: &Method) -> bool {
        self.method == *method || (self.method == Method::GET && *method == Method::HEAD)
    }

    /// Returns whether it changes something with versions, which `If-Match` can name.
    pub(crate) fn has_versions(&self) -> bool {
        self.described.changes_versions()
    }

    /// Returns the row as the OpenAPI document describes it.
    pub(crate) fn described(&'static self) -> Row {
        let (takes_json, takes_file) = (self.takes == Takes::Json, self.takes == Takes::File);
        Row {
            method: &self.method,
            pattern: self.pattern,
            is_gated: self.access == Access::Gated,
            takes_json,
            takes_file,
            described: self.described,
        }
    }

    /// Returns the methods for an `Allow` header.
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

pub(super) const fn get(
    pattern: &'static str,
    access: Access,
    needs: Needs,
    handler: Handler,
    described: Described,
) -> Route {
    Route { method: Method::GET, pattern, access, needs, takes: Takes::Nothing, handler, described }
}

/// Creates a gated row of the dashboard's API.
pub(super) const fn api(
    method: Method,
    pattern: &'static str,
    takes: Takes,
    handler: Handler,
    described: Described,
) -> Route {
    Route { method, pattern, access: Access::Gated, needs: Needs::Dashboard, takes, handler, described }
}

pub(super) const fn hook(pattern: &'static str, handler: Handler, described: Described) -> Route {
    let (access, needs) = (Access::Public, Needs::Webhooks);
    Route { method: Method::POST, pattern, access, needs, takes: Takes::Json, handler, described }
}

/// Creates a row for calls from a platform, which authenticates with its own signature.
pub(super) const fn called(
    method: Method,
    pattern: &'static str,
    takes: Takes,
    handler: Handler,
    described: Described,
) -> Route {
    Route { method, pattern, access: Access::Public, needs: Needs::PlatformCalls, takes, handler, described }
}

/// A handler that answers immediately. The type of its first parameter names the parts of the application it needs.
macro_rules! sync {
    ($handler:path) => {
        Handler::Sync(|app, request| $handler(app.part(), request))
    };
}

/// A handler that reads a body or queries other parts of the program.
macro_rules! async_handler {
    ($handler:path) => {
        Handler::Async(|app, request| Box::pin($handler(app.part(), request)))
    };
}

pub(super) use {async_handler, sync};
