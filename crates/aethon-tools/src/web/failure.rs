//! Describes why a request failed, for the model. Never quotes the request, because it may contain a key.

use std::io;
use std::time::Duration;

use aethon_core::tool::ToolError;
use ureq::{Error, Timeout};

use super::refusal::Refusal;

/// A failed request.
#[derive(Debug)]
pub(super) enum WebError {
    /// A rule forbids it.
    Refused(Refusal),
    /// It was tried and failed.
    Failed(String),
}

impl WebError {
    /// Creates a failure with this reason.
    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self::Failed(why.into())
    }

    /// Converts an error of the library for a request to this place.
    pub(super) fn of(error: Error, place: &str, timeout: Duration) -> Self {
        let seconds = timeout.as_secs_f64();
        Self::Failed(match error {
            Error::Other(other) => match other.downcast::<Refusal>() {
                Ok(refusal) => return Self::Refused(*refusal),
                Err(other) => format!("the request to {place} failed: {other}"),
            },
            Error::Io(error) if error.get_ref().is_some_and(|inner| inner.is::<Error>()) => {
                return Self::of(Error::from(error), place, timeout);
            }
            Error::Io(error) => of_io(&error, place),
            Error::HostNotFound => unknown(place),
            Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                format!("no connection to {place} in time; the host is down, or not reachable from here")
            }
            Error::Timeout(_) => {
                format!("{place} did not answer in time; a request may take {seconds} s")
            }
            Error::Tls(reason) => tls(place, reason),
            Error::Rustls(error) => tls(place, &error.to_string()),
            Error::Protocol(error) => format!("the response of {place} is not HTTP: {error}"),
            Error::LargeResponseHeader(..) => format!("the headers of {place} are too long"),
            Error::BadUri(_) | Error::Http(_) => {
                "the address cannot be asked for; percent-encode it".to_owned()
            }
            other => format!("the request to {place} failed: {other}"),
        })
    }
}

fn of_io(error: &io::Error, place: &str) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("nothing listens at {place}"),
        io::ErrorKind::InvalidData => tls(place, &error.to_string()),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            format!("there is no way to {place} from here")
        }
        io::ErrorKind::Unsupported => error.to_string(),
        // Errors of the system resolver have no kind of their own.
        _ if error.to_string().contains("lookup") => unknown(place),
        _ => format!("the connection to {place} broke: {error}"),
    }
}

fn unknown(place: &str) -> String {
    format!("no address is known for {place}; check the host's name")
}

fn tls(place: &str, reason: &str) -> String {
    format!("no trusted TLS connection to {place}: {reason}")
}

impl From<Refusal> for WebError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<WebError> for ToolError {
    fn from(error: WebError) -> Self {
        match error {
            WebError::Refused(refusal) => Self::denied(refusal.to_string()),
            WebError::Failed(why) => Self::failed(why),
        }
    }
}
