//! What was learnt about models while they were used, so that a restart does not have to learn it again.
//!
//! A fact is learnt by a failure or a measurement: a service refuses a request and says how much it takes, or counts more
//! tokens than were estimated. It is written after such a change and read once at the start. The configuration of the
//! owner stands above it, and a fact that nothing confirms is forgotten after some weeks, because services change.

use async_trait::async_trait;

use crate::error::Result;
use crate::model::Capabilities;

/// Keeps facts about models.
#[async_trait]
pub trait ModelMemory: Send + Sync {
    /// All facts that still count.
    async fn recall(&self) -> Result<Vec<(ModelKey, ModelFact)>>;

    /// Keeps a fact, in the place of what was known before of its kind.
    async fn remember(&self, model: &ModelKey, fact: ModelFact) -> Result<()>;
}

/// Which model: the same name at another address may be another model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelKey {
    /// The provider's name.
    pub provider: String,
    /// The base address; empty for the provider's own.
    pub host: String,
    /// The model's id.
    pub model: String,
}

impl ModelKey {
    /// The key of the model that these capabilities belong to.
    pub fn of(capabilities: &Capabilities) -> Self {
        Self {
            provider: capabilities.provider.clone(),
            host: capabilities.host.clone(),
            model: capabilities.model.clone(),
        }
    }
}

/// Something that was learnt about a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ModelFact {
    /// How many tokens a request and its answer may take together.
    ContextWindow(u64),
    /// How many tokens the provider counts where one is estimated.
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
