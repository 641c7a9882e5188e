//! Chooses the embedder for given options, and reports the reason if there is none.

use std::sync::Arc;

use aethon_core::embed::Embedder;
use aethon_core::model::{ModelError, ModelErrorKind, Readiness};
use async_trait::async_trait;

use super::fake::FakeEmbedder;
use super::form::Form;
use super::remote::RemoteEmbedder;
use crate::bedrock::Signer;
use crate::options::{Options, Provider};
use crate::registry::{self, Obstacle};
use crate::section::{EMBEDDING, in_section};

/// Creates the embedder. An empty model id selects the provider's default embedding model; `dimensions` shortens the
/// vectors if the model supports it. Never fails: errors in the options are reported on first use.
pub fn embedder(mut options: Options, dimensions: Option<u32>) -> Arc<dyn Embedder> {
    if options.model_id.trim().is_empty() {
        options.provider.embedding_model().unwrap_or("none").clone_into(&mut options.model_id);
    }
    let name = format!("{}/{}", options.provider.name(), options.model_id);
    if options.provider == Provider::Fake {
        return Arc::new(FakeEmbedder::new(name, dimensions));
    }
    match remote(&options, &name, dimensions) {
        Ok(remote) => Arc::new(remote),
        Err(Obstacle { kind, reason }) => {
            Arc::new(Unavailable { name, error: in_section(ModelError::new(kind, reason), EMBEDDING) })
        }
    }
}

fn remote(options: &Options, name: &str, dimensions: Option<u32>) -> Result<RemoteEmbedder, Obstacle> {
    let Some(form) = Form::of(options.provider, &options.model_id) else {
        let title = options.provider.title();
        let reason = format!("{title} offers no embeddings; set memory.embedding.provider to another one.");
        return Err(Obstacle { kind: ModelErrorKind::InvalidRequest, reason });
    };
    let (options, service) = registry::reach(options)?;
    let signer = (options.provider == Provider::Bedrock).then(|| {
        let region = options.aws.region.clone().unwrap_or_default();
        Signer::new(service.clone(), region, options.aws.clone())
    });
    Ok(RemoteEmbedder::new(name.to_owned(), service, form, dimensions, signer))
}

/// An embedder whose configuration cannot work.
struct Unavailable {
    name: String,
    error: ModelError,
}

#[async_trait]
impl Embedder for Unavailable {
    fn model(&self) -> &str {
        &self.name
    }

    async fn embed(&self, _texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        Err(self.error.clone())
    }

    fn readiness(&self) -> Readiness {
        Readiness::NotConfigured(self.error.to_string())
    }
}
