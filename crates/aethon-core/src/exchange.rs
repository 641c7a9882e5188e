//! A request to a remote server, and its response as it arrives.
//!
//! For parts that speak a protocol over HTTP without having their own transport: the program has a single transport,
//! which knows how to end an exchange, and its users receive it as an [`Exchange`].

use std::io;
use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;

/// A body in chunks. Dropping it closes the connection.
pub type BodyStream = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// The HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads a resource.
    Get,
    /// Sends something to it.
    Post,
    /// Replaces it.
    Put,
    /// Changes a part of it.
    Patch,
    /// Removes it.
    Delete,
}

/// A request. Its headers may contain secrets, so it is not `Debug`.
pub struct ExchangeRequest {
    /// The method.
    pub method: Method,
    /// The URL.
    pub url: String,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// The body; empty for a method without one.
    pub body: Vec<u8>,
}

/// The response, whatever its status.
pub struct ExchangeResponse {
    /// The status.
    pub status: u16,
    /// Header names in lower case, and values; a value that is not text is left out.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: BodyStream,
}

impl ExchangeResponse {
    /// Returns the first header with this name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Sends requests.
#[async_trait]
pub trait Exchange: Send + Sync {
    /// Sends a request and waits for the head of the response. Redirects are not followed. Dropping the future closes
    /// the connection. An error of the kind [`io::ErrorKind::NotConnected`] means that nothing was sent, because no
    /// connection was established.
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse>;
}
