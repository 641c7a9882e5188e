//! The tools that one service gets: as many as it takes, without those that it refused, in its form.

use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::model::{Capabilities, ModelRequest};
use aethon_core::provider::Provider;
use aethon_core::tool::{RefusedTool, ToolSpec, choose};

use super::fitted::FittedTools;
use super::reduce::SchemaForm;

/// Fits the tools of requests, and remembers the last result: the tools of a conversation stay the same.
#[derive(Debug)]
pub(crate) struct ServiceTools {
    form: SchemaForm,
    last: Mutex<Option<Last>>,
}

#[derive(Debug)]
struct Last {
    specs: Arc<[ToolSpec]>,
    refused: Arc<[RefusedTool]>,
    most: Option<usize>,
    fitted: Arc<FittedTools>,
}

impl ServiceTools {
    pub(crate) fn of(provider: Provider) -> Self {
        Self { form: SchemaForm::of(provider), last: Mutex::default() }
    }

    /// Returns the tools of a request. `reserved` tools of the service's own count, too.
    pub(crate) fn fit(
        &self,
        request: &ModelRequest,
        capabilities: &Capabilities,
        reserved: usize,
    ) -> Arc<FittedTools> {
        let (specs, refused) = (&request.tools, &capabilities.tool_terms.refused);
        let most = capabilities.tool_terms.limit.map(|most| most.saturating_sub(reserved));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &*last
            && Arc::ptr_eq(&last.specs, specs)
            && Arc::ptr_eq(&last.refused, refused)
            && last.most == most
        {
            return last.fitted.clone();
        }
        let chosen = choose(specs, most, refused);
        let kept = specs.iter().zip(chosen).filter(|(_, is_chosen)| *is_chosen).map(|(spec, _)| spec);
        let fitted = Arc::new(FittedTools::of(kept, self.form));
        *last = Some(Last { specs: specs.clone(), refused: refused.clone(), most, fitted: fitted.clone() });
        fitted
    }
}

/// Returns how many tools a provider documents for one request.
pub fn documented_limit(provider: Provider) -> Option<usize> {
    match provider {
        // OpenAI's reference says so of `tools`, and those that speak its dialect copy it.
        Provider::OpenAi | Provider::LiteLlm | Provider::Mistral => Some(128),
        Provider::Gemini => Some(512),
        _ => None,
    }
}
