//! Selects the provider for given options. This is the only list of all dialects.

use std::borrow::Cow;
use std::sync::Arc;

use aethon_core::model::{Capabilities, ModelErrorKind, ModelProvider};

use crate::anthropic::Anthropic;
use crate::bedrock::{self, Bedrock, Signer};
use crate::dialect::Dialect;
use crate::echo::Echo;
use crate::endpoint::Endpoint;
use crate::fake::Fake;
use crate::gemini::Gemini;
use crate::learned::{LearnedCapabilities, OwnerSizes};
use crate::litellm::{self, LiteLlm};
use crate::ollama::Ollama;
use crate::openai::{OPENAI, OpenAi};
use crate::options::{OpenAiApi, Options, Provider};
use crate::remote::{Discovery, Remote};
use crate::responses::{AutoApi, Responses};
use crate::section::{self, InSection};
use crate::service::Service;
use crate::unavailable::Unavailable;
use crate::{api_key, capabilities, mistral, text_calls};

/// Why a service cannot be used.
pub(crate) struct Obstacle {
    pub(crate) kind: ModelErrorKind,
    /// A sentence with the remedy.
    pub(crate) reason: String,
}

/// Creates the provider. Never fails: errors in the options appear in its readiness, so that the service starts and
/// can name the remedy.
pub fn build(options: Options) -> Arc<dyn ModelProvider> {
    let capabilities = Arc::new(capabilities::of(&options));
    match options.provider {
        Provider::Echo => Arc::new(Echo::new(capabilities)),
        Provider::Fake => Arc::new(Fake::new(capabilities)),
        _ if options.section != section::MODEL => {
            Arc::new(InSection::new(over_http(&options, capabilities), options.section))
        }
        _ => over_http(&options, capabilities),
    }
}

fn over_http(options: &Options, capabilities: Arc<Capabilities>) -> Arc<dyn ModelProvider> {
    match remote(options, capabilities.clone()) {
        Ok(remote) => Arc::new(remote),
        Err(Obstacle { kind, reason }) => {
            // Most people who read this have just started.
            let is_new = kind == ModelErrorKind::Auth && options.api_key.is_empty();
            let more = if is_new { " `aethon-cli init` sets up a model." } else { "" };
            Arc::new(Unavailable::new(capabilities, kind, format!("{reason}{more}")))
        }
    }
}

/// Creates a provider over HTTP, or says why there is none yet.
fn remote(options: &Options, capabilities: Arc<Capabilities>) -> Result<Remote, Obstacle> {
    let (options, service) = reach(options)?;
    let dialect = dialect(&options, service.clone());
    let discovery = discovery(&options, &service);
    let owner = OwnerSizes {
        is_window_set: options.owner_window().is_some(),
        is_output_set: options.max_tokens.is_some(),
        max_output: capabilities::longest_output(&options),
    };
    let known = LearnedCapabilities::new(capabilities, owner, !service.facts.is_known);
    let reads_text_calls = text_calls::are_read(&service);
    let remote = Remote::new(&options, known, service, dialect).with_discovery(discovery);
    Ok(remote.reading_text_calls(reads_text_calls))
}

/// Returns how to ask the service where only it knows what its model can do: Ollama's context window is chosen by its
/// owner, and so is a model's name at a proxy or self-hosted server.
fn discovery(options: &Options, service: &Arc<Service>) -> Option<Box<dyn Discovery>> {
    match options.provider {
        Provider::Ollama => Some(Box::new(Ollama::new(service.clone()))),
        Provider::LiteLlm => Some(Box::new(LiteLlm::new(service.clone()))),
        Provider::OpenAi if service.endpoint.is_own && !service.facts.is_known => {
            Some(Box::new(OpenAi::new(service.clone())))
        }
        _ => None,
    }
}

/// Returns the service with its options, completed from the AWS environment; or why it cannot be used.
pub(crate) fn reach(options: &Options) -> Result<(Cow<'_, Options>, Arc<Service>), Obstacle> {
    let wrong = |reason| Obstacle { kind: ModelErrorKind::InvalidRequest, reason };
    let options = match options.provider {
        Provider::Bedrock => Cow::Owned(bedrock::resolve(options).map_err(wrong)?),
        _ => Cow::Borrowed(options),
    };
    let endpoint = Endpoint::of(&options).map_err(wrong)?;
    api_key::check(&options, &endpoint).map_err(|reason| Obstacle { kind: ModelErrorKind::Auth, reason })?;
    let service = Arc::new(Service::new(&options, endpoint));
    Ok((options, service))
}

pub(crate) fn dialect(options: &Options, service: Arc<Service>) -> Box<dyn Dialect> {
    match options.provider {
        Provider::Anthropic => Box::new(Anthropic::new(service, options.api_version)),
        Provider::Bedrock => {
            let region = options.aws.region.clone().unwrap_or_default();
            let signer = Signer::new(service.clone(), region, options.aws.clone());
            Box::new(Bedrock::new(service, signer))
        }
        Provider::Gemini => Box::new(Gemini::new(service)),
        Provider::Ollama => Box::new(Ollama::new(service)),
        Provider::Mistral => Box::new(OpenAi::with_profile(service, mistral::PROFILE)),
        Provider::LiteLlm => Box::new(AutoApi::new(service, litellm::PROFILE)),
        _ => match options.api {
            OpenAiApi::Auto => Box::new(AutoApi::new(service, OPENAI)),
            OpenAiApi::Chat => Box::new(OpenAi::new(service)),
            OpenAiApi::Responses => Box::new(Responses::new(service)),
        },
    }
}
