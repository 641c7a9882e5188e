//! The in-memory store of facts learnt about models.

use std::mem::discriminant;

use async_trait::async_trait;

use super::store::MemoryStore;
use crate::error::Result;
use crate::learned::{ModelFact, ModelKey, ModelMemory};

#[async_trait]
impl ModelMemory for MemoryStore {
    async fn recall(&self) -> Result<Vec<(ModelKey, ModelFact)>> {
        Ok(self.enter("recall")?.noted.learned.clone())
    }

    async fn remember(&self, model: &ModelKey, fact: ModelFact) -> Result<()> {
        let mut tables = self.enter("remember")?;
        let kind = discriminant(&fact);
        tables.noted.learned.retain(|(known, fact)| known != model || discriminant(fact) != kind);
        tables.noted.learned.push((model.clone(), fact));
        Ok(())
    }
}
