//! A model whose configuration cannot work: the page and `doctor` say so, and it never pretends otherwise.

use std::sync::Arc;

use aethon_core::model::{
    Capabilities, ModelError, ModelErrorKind, ModelProvider, ModelRequest, ModelStream, Readiness,
};
use async_trait::async_trait;

/// Refuses every request with the same sentence.
pub(crate) struct Unavailable {
    capabilities: Arc<Capabilities>,
    kind: ModelErrorKind,
    reason: String,
}

impl Unavailable {
    pub(crate) fn new(
        capabilities: Arc<Capabilities>,
        kind: ModelErrorKind,
        reason: impl Into<String>,
    ) -> Self {
        Self { capabilities, kind, reason: reason.into() }
    }

    fn refusal(&self) -> ModelError {
        ModelError::new(self.kind, self.reason.clone())
    }
}

#[async_trait]
impl ModelProvider for Unavailable {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.capabilities.clone()
    }

    fn readiness(&self) -> Readiness {
        Readiness::NotConfigured(self.reason.clone())
    }

    async fn stream(&self, _request: ModelRequest) -> Result<ModelStream, ModelError> {
        Err(self.refusal())
    }

    async fn probe(&self) -> Result<String, ModelError> {
        Err(self.refusal())
    }
}
