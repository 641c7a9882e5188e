//! Asks a LiteLLM proxy what its model can do. The proxy's owner chose the model's name, which is in no table, so
//! only the proxy knows.

use std::sync::Arc;

use aethon_core::model::{Capabilities, ModelError, ModelErrorKind};
use async_trait::async_trait;

use super::{PROFILE, describe};
use crate::headers;
use crate::learned::Description;
use crate::openai::OpenAi;
use crate::remote::{Discovery, Query};
use crate::service::Service;
use crate::transport::{Method, Outgoing};

/// The paths used by proxies of all versions, under the base without `/v1`.
const INFO_PATHS: [&str; 2] = ["/v1/model/info", "/model/info"];

/// Reads a proxy's statements about its models.
pub(crate) struct LiteLlm {
    service: Arc<Service>,
    models: OpenAi,
}

impl LiteLlm {
    pub(crate) fn new(service: Arc<Service>) -> Self {
        Self { models: OpenAi::with_profile(service.clone(), PROFILE), service }
    }

    fn model_info(&self, path: &str) -> Outgoing {
        let base = &self.service.endpoint.base;
        let mut headers = headers::json("application/json");
        headers.extend(headers::bearer(&self.service.key));
        let url = format!("{}{path}", base.strip_suffix("/v1").unwrap_or(base));
        Outgoing { method: Method::Get, url, headers, body: Vec::new() }
    }
}

#[async_trait]
impl Discovery for LiteLlm {
    async fn describe(
        &self,
        query: &Query<'_>,
        capabilities: &Capabilities,
    ) -> Result<Description, ModelError> {
        for path in INFO_PATHS {
            match query.send(self.model_info(path)).await {
                Ok(list) => return describe::description(&self.service, &list),
                // Another path is worth trying only if nothing exists at this one.
                Err(error) if matches!(error.status(), Some(404 | 405)) => {}
                Err(error) if is_withheld(&error) => break,
                Err(error) => return Err(error),
            }
        }
        // Every key may list the models, and what stands in front of some proxies reveals more there than LiteLLM
        // itself.
        self.models.describe(query, capabilities).await
    }
}

/// Returns whether the proxy was reached but reveals nothing: the key lacks access, no router is configured, or a
/// page came instead.
fn is_withheld(error: &ModelError) -> bool {
    error.status().is_some() || error.kind() == ModelErrorKind::Malformed
}
