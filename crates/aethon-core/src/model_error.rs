//! How model calls fail.

use std::time::Duration;

use crate::words::words;

words! {
    /// The classes of failure that callers treat differently.
    pub enum ModelErrorKind {
        /// The key is missing, wrong, or not allowed to use the model.
        Auth = "auth",
        /// The account has no credit or quota left; retrying does not help.
        Quota = "quota",
        /// Too many requests; retrying later helps.
        RateLimit = "rate_limit",
        /// The request does not fit the context window.
        ContextLength = "context_length",
        /// The service is overloaded or failing (5xx).
        Overloaded = "overloaded",
        /// The service was unreachable, or the connection broke.
        Network = "network",
        /// Nothing arrived for too long.
        Timeout = "timeout",
        /// The service does not know the model or the path.
        NotFound = "not_found",
        /// The service refuses this content.
        Refused = "refused",
        /// The service says that the request is wrong.
        InvalidRequest = "invalid_request",
        /// The answer could not be understood.
        Malformed = "malformed",
    }
}

impl ModelErrorKind {
    /// Returns the stable word for errors on the wire.
    pub fn code(self) -> &'static str {
        self.as_str()
    }
}

/// A model call that failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    kind: ModelErrorKind,
    message: String,
    status: Option<u16>,
    retry_after: Option<Duration>,
    detail: Option<String>,
    request_id: Option<String>,
}

impl ModelError {
    /// An error with a sentence for the person: the problem and the remedy, naming provider and key.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
            retry_after: None,
            detail: None,
            request_id: None,
        }
    }

    /// Sets the HTTP status of the response.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets the wait that the service asked for.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// Sets the service's own message, for the log only.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Sets the provider's own id of the request, by which its support can find it.
    #[must_use]
    pub fn with_request_id(mut self, id: Option<String>) -> Self {
        self.request_id = id;
        self
    }

    /// Returns the provider's own id of the request.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// Returns the kind of failure.
    pub fn kind(&self) -> ModelErrorKind {
        self.kind
    }

    /// Returns the HTTP status, if there was one.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// Returns the wait that the service asked for.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns what the service said, for the log.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// Returns whether the same request may succeed on a retry. A service that answers in a form that cannot be read will
    /// do so again, and each attempt costs money.
    pub fn is_retryable(&self) -> bool {
        use ModelErrorKind::{Network, Overloaded, RateLimit, Timeout};
        matches!(self.kind, RateLimit | Overloaded | Network | Timeout)
    }
}
