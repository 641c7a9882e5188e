//! How model calls fail.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The classes of failure that callers treat differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// The key is missing, wrong, or not allowed to use the model.
    Auth,
    /// The account has no credit or quota left; retrying does not help.
    Quota,
    /// Too many requests; retrying later helps.
    RateLimit,
    /// The request does not fit the context window.
    ContextLength,
    /// The service is overloaded or failing (5xx).
    Overloaded,
    /// The service was unreachable, or the connection broke.
    Network,
    /// Nothing arrived for too long.
    Timeout,
    /// The service does not know the model or the path.
    NotFound,
    /// The service refuses this content.
    Refused,
    /// The service says that the request is wrong.
    InvalidRequest,
    /// The answer could not be understood.
    Malformed,
}

impl ModelErrorKind {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Auth,
        Self::Quota,
        Self::RateLimit,
        Self::ContextLength,
        Self::Overloaded,
        Self::Network,
        Self::Timeout,
        Self::NotFound,
        Self::Refused,
        Self::InvalidRequest,
        Self::Malformed,
    ];

    /// Returns the kind with this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == word)
    }

    /// Returns the stable word for errors on the wire.
    pub fn code(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::RateLimit => "rate_limit",
            Self::ContextLength => "context_length",
            Self::Overloaded => "overloaded",
            Self::Network => "network",
            Self::Timeout => "timeout",
            Self::NotFound => "not_found",
            Self::Refused => "refused",
            Self::InvalidRequest => "invalid_request",
            Self::Malformed => "malformed",
        }
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
    /// An error with a sentence for the person: what happened and what to do, naming provider and key.
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

    /// Sets what the service itself said, for the log only.
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

    /// Returns whether the same request may succeed on a retry.
    pub fn is_retryable(&self) -> bool {
        use ModelErrorKind::{Malformed, Network, Overloaded, RateLimit, Timeout};
        matches!(self.kind, RateLimit | Overloaded | Network | Timeout | Malformed)
    }
}
