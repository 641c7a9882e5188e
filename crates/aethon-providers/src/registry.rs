//! Selects the provider for given options. This is the only list of all dialects.

use std::borrow::Cow;
use std::sync::Arc;

use aethon_core::model::{Capabilities, ModelErrorKind, ModelProvider};

use crate::bedrock;
use crate::dialect::Dialect;
use crate::echo::Echo;
use crate::endpoint::Endpoint;
use crate::fake::Fake;
use crate::learned::{LearnedCapabilities, OwnerSizes};
use crate::options::{Options, Provider};
use crate::remote::{Discovery, Remote};
use crate::section::{self, InSection};
use crate::service::Service;
use crate::unavailable::Unavailable;
use crate::{api_key, capabilities, text_calls};

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
    let dialect = dialect(&options, service.clone())?;
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
        #[cfg(feature = "ollama")]
        Provider::Ollama => Some(Box::new(crate::ollama::Ollama::new(service.clone()))),
        #[cfg(feature = "litellm")]
        Provider::LiteLlm => Some(Box::new(crate::litellm::LiteLlm::new(service.clone()))),
        #[cfg(feature = "openai")]
        Provider::OpenAi if service.endpoint.is_own && !service.facts.is_known => {
            Some(Box::new(crate::openai::OpenAi::new(service.clone())))
        }
        _ => None,
    }
}

/// Returns the service with its options, completed from the AWS environment; or why it cannot be used.
pub(crate) fn reach(options: &Options) -> Result<(Cow<'_, Options>, Arc<Service>), Obstacle> {
    let wrong = |reason| Obstacle { kind: ModelErrorKind::InvalidRequest, reason };
    if !is_built(options.provider) {
        return Err(left_out(options.provider));
    }
    let options = match options.provider {
        Provider::Bedrock => Cow::Owned(bedrock::resolve(options).map_err(wrong)?),
        _ => Cow::Borrowed(options),
    };
    let endpoint = Endpoint::of(&options).map_err(wrong)?;
    api_key::check(&options, &endpoint).map_err(|reason| Obstacle { kind: ModelErrorKind::Auth, reason })?;
    let service = Arc::new(Service::new(&options, endpoint));
    Ok((options, service))
}

/// Returns the dialect of the service, unless this program was built without it.
pub(crate) fn dialect(options: &Options, service: Arc<Service>) -> Result<Box<dyn Dialect>, Obstacle> {
    Ok(match options.provider {
        #[cfg(feature = "anthropic")]
        Provider::Anthropic => Box::new(crate::anthropic::Anthropic::new(service, options.api_version)),
        #[cfg(feature = "bedrock")]
        Provider::Bedrock => {
            let region = options.aws.region.clone().unwrap_or_default();
            let signer = bedrock::Signer::new(service.clone(), region, options.aws.clone());
            Box::new(bedrock::Bedrock::new(service, signer))
        }
        #[cfg(feature = "gemini")]
        Provider::Gemini => Box::new(crate::gemini::Gemini::new(service)),
        #[cfg(feature = "ollama")]
        Provider::Ollama => Box::new(crate::ollama::Ollama::new(service)),
        #[cfg(feature = "mistral")]
        Provider::Mistral => Box::new(crate::openai::OpenAi::with_profile(service, crate::mistral::PROFILE)),
        #[cfg(feature = "litellm")]
        Provider::LiteLlm => Box::new(crate::responses::AutoApi::new(service, crate::litellm::PROFILE)),
        #[cfg(feature = "openai")]
        _ => match options.api {
            crate::options::OpenAiApi::Auto => {
                Box::new(crate::responses::AutoApi::new(service, crate::openai::OPENAI))
            }
            crate::options::OpenAiApi::Chat => Box::new(crate::openai::OpenAi::new(service)),
            crate::options::OpenAiApi::Responses => Box::new(crate::responses::Responses::new(service)),
        },
        #[cfg(not(feature = "openai"))]
        other => return Err(left_out(other)),
    })
}

/// Returns whether this program was built with the provider.
pub fn is_built(provider: Provider) -> bool {
    match provider {
        Provider::Anthropic => cfg!(feature = "anthropic"),
        Provider::Bedrock => cfg!(feature = "bedrock"),
        Provider::Gemini => cfg!(feature = "gemini"),
        Provider::LiteLlm => cfg!(feature = "litellm"),
        Provider::Mistral => cfg!(feature = "mistral"),
        Provider::Ollama => cfg!(feature = "ollama"),
        Provider::Echo | Provider::Fake => true,
        // All others speak its dialect.
        _ => cfg!(feature = "openai"),
    }
}

fn left_out(provider: Provider) -> Obstacle {
    let name = provider.name();
    let reason = format!(
        "This program was built without the provider {name}: choose another, or build it with the feature `{name}`."
    );
    Obstacle { kind: ModelErrorKind::InvalidRequest, reason }
}
