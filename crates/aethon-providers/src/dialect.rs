//! What differs between services: how a request is written, and how a response is read.

use aethon_core::model::{ModelError, ModelRequest};
use async_trait::async_trait;
use serde_json::Value;

use crate::policy::RequestPolicy;
use crate::stream::{Decoder, Framing};
use crate::transport::Outgoing;

/// Writes and reads one wire format.
#[async_trait]
pub(crate) trait Dialect: Send + Sync {
    /// Returns how a response is cut into frames.
    fn framing(&self) -> Framing;

    /// Builds the request for a response under this policy.
    fn build_request(&self, request: &ModelRequest, policy: &RequestPolicy) -> Outgoing;

    /// Adds authorization, if it is not in the headers from the start.
    async fn authorize(&self, outgoing: Outgoing) -> Result<Outgoing, ModelError> {
        Ok(outgoing)
    }

    /// Returns the decoder for the response to a request under this policy. `input_tokens` is used if the service counts
    /// none.
    fn decoder(&self, input_tokens: u64, policy: &RequestPolicy) -> Box<dyn Decoder>;

    /// Returns how to find out, without spending tokens, whether the service is there and accepts the key.
    fn probe(&self) -> Probe;

    /// Describes the response to the probe for a person.
    fn read_probe(&self, answer: &Value) -> Result<String, ModelError>;

    /// Interprets a failure of the probe, which may be good news.
    fn read_probe_failure(&self, error: ModelError) -> Result<String, ModelError> {
        Err(error)
    }
}

/// Finds out whether a service is there.
pub(crate) struct Probe {
    /// A request that every service of this kind should answer, usually for its list of models.
    pub(crate) request: Outgoing,
    /// Sent if nothing exists at that request's address, which says little about a working service: an empty
    /// conversation, which is refused before it costs anything.
    pub(crate) fallback_probe: Option<Outgoing>,
}

impl Probe {
    /// Creates a probe without a fallback.
    pub(crate) fn of(request: Outgoing) -> Self {
        Self { request, fallback_probe: None }
    }
}
