//! A request to a server elsewhere, and its answer as it comes.
//!
//! For parts that speak a protocol over HTTP without having a transport of their own: there is one in the program, which
//! knows how to end an exchange, and whoever needs it is handed it as an [`Exchange`].

use std::io;
use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;

/// A body, piece by piece. Dropping it closes the connection.
pub type BodyStream = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// What is done with an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads it.
    Get,
    /// Sends it something.
    Post,
    /// Puts something in its place.
    Put,
    /// Changes a part of it.
    Patch,
    /// Removes it.
    Delete,
}

/// A request. Its headers may hold secrets, so it is not `Debug`.
pub struct ExchangeRequest {
    /// What is done.
    pub method: Method,
    /// With what.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body; empty for a method that has none.
    pub body: Vec<u8>,
}

/// The answer, whatever its status.
pub struct ExchangeResponse {
    /// The status.
    pub status: u16,
    /// Names in lower case, and values; one that is no text is left out.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: BodyStream,
}

impl ExchangeResponse {
    /// The first header of this name, which is written in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Sends requests.
#[async_trait]
pub trait Exchange: Send + Sync {
    /// Sends one, and waits for the head of its answer. Redirects are not followed. Dropping the future closes the
    /// connection. An error of the kind [`io::ErrorKind::NotConnected`] says that nothing was sent, because no connection
    /// came about.
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse>;
}
