//! Why an exchange failed below the level of HTTP status codes.

use std::io;
use std::time::Duration;

use ureq::Timeout;

/// A failed exchange.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The host name cannot be resolved.
    UnknownHost,
    /// Nothing listens there.
    Refused,
    /// No connection within this time.
    ConnectTimeout(Duration),
    /// No byte for this long.
    Silence(Duration),
    /// No trusted TLS connection, with the TLS library's message.
    Tls(String),
    /// The response is not HTTP.
    NotHttp(String),
    /// The body is compressed in a form that is not read, or wrongly.
    Encoding(String),
    /// A proxy refused the connection.
    Proxy(String),
    /// The proxy at this address could not be reached.
    NoProxy(String),
    /// The connection broke.
    Broken(String),
}

/// The time limits of a client, so that a failure can name the one that was hit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) connect: Duration,
    pub(super) silence: Duration,
}

impl Failure {
    /// Returns the message of the library or the system, for the log.
    pub(crate) fn cause(&self) -> String {
        match self {
            Self::Tls(cause)
            | Self::NotHttp(cause)
            | Self::Encoding(cause)
            | Self::Proxy(cause)
            | Self::NoProxy(cause)
            | Self::Broken(cause) => cause.clone(),
            Self::UnknownHost | Self::Refused | Self::ConnectTimeout(_) | Self::Silence(_) => {
                format!("{self:?}")
            }
        }
    }

    pub(super) fn of(error: ureq::Error, limits: Limits) -> Self {
        use ureq::Error;
        match error {
            Error::HostNotFound => Self::UnknownHost,
            Error::Timeout(Timeout::Connect | Timeout::Resolve) => Self::ConnectTimeout(limits.connect),
            Error::Timeout(_) => Self::Silence(limits.silence),
            Error::Tls(reason) => Self::Tls(reason.into()),
            Error::Rustls(error) => Self::Tls(error.to_string()),
            Error::Protocol(error) => Self::NotHttp(error.to_string()),
            error @ Error::LargeResponseHeader(..) => Self::NotHttp(error.to_string()),
            Error::ConnectProxyFailed(reason) => Self::Proxy(reason),
            Error::InvalidProxyUrl => Self::Proxy("its address in the environment is not valid".into()),
            Error::Io(error) => Self::of_io(error, limits),
            other => Self::Broken(other.to_string()),
        }
    }

    /// The same failure of a connection that was to go through the proxy at this address.
    pub(super) fn through(self, proxy: &str) -> Self {
        match self {
            Self::UnknownHost | Self::Refused | Self::ConnectTimeout(_) => Self::NoProxy(proxy.to_owned()),
            other => other,
        }
    }

    /// Failures while reading a body come as I/O errors that wrap the library's own error.
    pub(super) fn of_io(error: io::Error, limits: Limits) -> Self {
        if error.get_ref().is_some_and(|inner| inner.is::<ureq::Error>()) {
            return Self::of(ureq::Error::from(error), limits);
        }
        if error.get_ref().is_some_and(|inner| inner.is::<Damaged>()) {
            return Self::Encoding("one that it does not name rightly".into());
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::TimedOut => Self::Silence(limits.silence),
            // Only the TLS layer causes this kind: a bad certificate, or no TLS at all on the other side.
            io::ErrorKind::InvalidData => Self::Tls(error.to_string()),
            // The standard library has no kind for it.
            _ if error.to_string().starts_with("failed to lookup address") => Self::UnknownHost,
            _ => Self::Broken(error.to_string()),
        }
    }
}

/// The compressed bytes make no sense.
#[derive(Debug)]
pub(super) struct Damaged;

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the compressed bytes make no sense")
    }
}

impl std::error::Error for Damaged {}
