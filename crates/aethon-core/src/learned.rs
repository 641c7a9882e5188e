//! Facts learnt about models while using them, stored so that a restart need not learn them again.
//!
//! A fact is learnt from a failure or a measurement: a service rejects a request and says how much it accepts, or
//! counts more tokens than were estimated. Facts are written when they change and read once at start-up. The owner's
//! configuration overrides them, and a fact that nothing confirms is forgotten after some weeks, because services
//! change.

use async_trait::async_trait;

use crate::error::Result;
use crate::model::Capabilities;

/// Stores facts about models.
#[async_trait]
pub trait ModelMemory: Send + Sync {
    /// Returns all facts that are still valid.
    async fn recall(&self) -> Result<Vec<(ModelKey, ModelFact)>>;

    /// Stores a fact, replacing the previous one of its kind.
    async fn remember(&self, model: &ModelKey, fact: ModelFact) -> Result<()>;
}

/// Identifies a model; the same name at another address may be a different model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelKey {
    /// The provider's name.
    pub provider: String,
    /// The base URL; empty for the provider's own.
    pub host: String,
    /// The model's id.
    pub model: String,
}

impl ModelKey {
    /// Returns the key of the model with these capabilities.
    pub fn of(capabilities: &Capabilities) -> Self {
        Self {
            provider: capabilities.provider.clone(),
            host: capabilities.host.clone(),
            model: capabilities.model.clone(),
        }
    }
}

/// A fact about a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ModelFact {
    /// How many tokens a request and its answer may take together.
    ContextWindow(u64),
    /// How many tokens the provider counts per estimated token.
    TokenRatio(f64),
}

/// A memory that keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMemory;

#[async_trait]
impl ModelMemory for NoMemory {
    async fn recall(&self) -> Result<Vec<(ModelKey, ModelFact)>> {
        Ok(Vec::new())
    }

    async fn remember(&self, _model: &ModelKey, _fact: ModelFact) -> Result<()> {
        Ok(())
    }
}
