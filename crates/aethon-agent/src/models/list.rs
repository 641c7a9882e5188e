//! The list of models, and its properties as a whole.

use std::sync::Arc;

use aethon_core::model::{Capabilities, ModelError, ModelProvider, Readiness};
use futures_util::future::join_all;

use super::candidate::Candidate;

/// The models of an agent, in the order in which they are tried. Cheap to clone; clones share their breakers.
#[derive(Clone)]
pub struct Models(Arc<[Candidate]>);

impl Models {
    /// Creates a list of a single model.
    pub fn one(model: Arc<dyn ModelProvider>) -> Self {
        Self([Candidate::alone(model)].into())
    }

    /// Creates a list of a model and its fallbacks, in order.
    pub fn with_fallbacks(
        model: Arc<dyn ModelProvider>,
        fallbacks: impl IntoIterator<Item = Arc<dyn ModelProvider>>,
    ) -> Self {
        let mut fallbacks = fallbacks.into_iter().peekable();
        if fallbacks.peek().is_none() {
            return Self::one(model);
        }
        Self(std::iter::once(model).chain(fallbacks).map(Candidate::among_others).collect())
    }

    /// Iterates over the models, starting with the configured one.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn ModelProvider>> {
        self.0.iter().map(|candidate| &candidate.provider)
    }

    /// Returns the first model that is set up, or the configured one if none is. It determines the possible content
    /// of a request.
    pub fn leading(&self) -> &Arc<dyn ModelProvider> {
        let is_ready = |model: &&Arc<dyn ModelProvider>| model.readiness() == Readiness::Ready;
        self.iter().find(is_ready).unwrap_or(&self.0[0].provider)
    }

    /// Returns the limits for the content of a request, under the name of the configured model.
    pub fn capabilities(&self) -> Arc<Capabilities> {
        let (first, leading) = (&self.0[0].provider, self.leading());
        let able = leading.capabilities();
        if Arc::ptr_eq(first, leading) {
            return able;
        }
        let named = first.capabilities();
        let mut capabilities = Capabilities::clone(&able);
        capabilities.provider.clone_from(&named.provider);
        capabilities.model.clone_from(&named.model);
        Arc::new(capabilities)
    }

    /// Returns whether one of them could answer now, or the missing setup of the configured one.
    pub fn readiness(&self) -> Readiness {
        self.leading().readiness()
    }

    /// Queries all services for their models' limits, because any of them may have to answer.
    pub async fn learn(&self) -> Result<(), ModelError> {
        let reports = join_all(self.iter().map(|model| model.learn())).await;
        reports.into_iter().next().map_or(Ok(()), |report| report.map(drop))
    }

    /// Checks whether every service is reachable; otherwise a broken fallback would be noticed too late.
    pub async fn probe(&self) -> Result<String, ModelError> {
        let mut sentences = Vec::new();
        let mut broken = None;
        let probes = join_all(self.iter().map(|model| model.probe())).await;
        for (place, (model, probe)) in self.iter().zip(probes).enumerate() {
            match probe {
                Ok(sentence) => sentences.push(sentence),
                Err(error) if place == 0 => broken = Some(error),
                Err(error) => sentences.push(format!("fallback {}: {error}", model.capabilities().model)),
            }
        }
        match broken {
            Some(error) => Err(error),
            None => Ok(sentences.join("; ")),
        }
    }

    /// Returns a list of only this candidate, which shares its breaker.
    pub(crate) fn only(candidate: &Candidate) -> Self {
        Self([candidate.clone()].into())
    }

    pub(crate) fn candidates(&self) -> &[Candidate] {
        &self.0
    }
}
