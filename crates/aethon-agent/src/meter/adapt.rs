//! Adapting a request to a fallback that takes less than the configured model.

use aethon_core::model::{Capabilities, ModelRequest};
use async_trait::async_trait;

use crate::models::Candidate;

/// How much a request is shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortening {
    /// To what the model is known to take.
    ToLimit,
    /// To half of that, because the service called it too long.
    ToHalf,
}

/// A request that was shortened for one model.
pub(crate) struct Adapted {
    pub(crate) request: ModelRequest,
    /// Its estimated tokens: the most that they probably are, and the likely number.
    pub(crate) input: u64,
    pub(crate) expected_input: u64,
}

/// Shortens requests for models with a smaller window.
#[async_trait]
pub(crate) trait Adapt: Send {
    /// Returns the request shortened for a model; `None` if that cannot be done.
    async fn adapted(
        &mut self,
        candidate: &Candidate,
        request: &ModelRequest,
        shortening: Shortening,
    ) -> Option<Adapted>;
}

/// Shortens nothing.
pub(super) struct AsItIs;

#[async_trait]
impl Adapt for AsItIs {
    async fn adapted(&mut self, _: &Candidate, _: &ModelRequest, _: Shortening) -> Option<Adapted> {
        None
    }
}

/// Returns whether a request of this many tokens fits a model beside an answer.
pub(super) fn fits(model: &Capabilities, tokens: u64) -> bool {
    let answer = model.max_output.min(model.context_window / 8);
    model.context_window == 0 || tokens.saturating_add(answer) <= model.context_window
}
