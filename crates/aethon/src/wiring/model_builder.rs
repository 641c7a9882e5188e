//! Builds the provider of one configured model.

use std::sync::Arc;
use std::time::Duration;

use aethon_config::schema::Model;
use aethon_core::learned::{ModelFact, ModelKey};
use aethon_core::model::ModelProvider;
use aethon_core::provider::Provider;
use aethon_core::secret::Secret;
use aethon_providers::{AwsEnvironment, Catalog, Options};

use crate::prepared::Prepared;

/// Builds the providers of configured models.
pub(crate) struct ModelBuilder {
    aws: AwsEnvironment,
    pub(super) catalog: Catalog,
    learned: Vec<(ModelKey, ModelFact)>,
}

impl ModelBuilder {
    /// Creates the builder of a home, whose models start with these facts.
    pub(crate) fn of(prepared: &Prepared, learned: Vec<(ModelKey, ModelFact)>) -> Self {
        Self { aws: prepared.aws.clone(), catalog: prepared.catalog.clone(), learned }
    }

    /// Builds one model.
    pub(crate) fn build(&self, model: &Model) -> Arc<dyn ModelProvider> {
        let mut options = options(model, &self.aws);
        options.overrides.catalog = self.catalog.clone();
        let is_it = |key: &ModelKey| {
            key.provider == model.provider.name()
                && key.model == model.model_id
                && key.host == model.host.trim()
        };
        let window_of = |(_, fact): &(ModelKey, ModelFact)| match fact {
            ModelFact::ContextWindow(tokens) => Some(*tokens),
            ModelFact::TokenRatio(_) => None,
        };
        options.overrides.learned_window =
            self.learned.iter().filter(|(key, _)| is_it(key)).find_map(window_of);
        aethon_providers::build(options)
    }
}

/// The owner's headers for requests to a model, with those that name the account.
pub(crate) fn headers(model: &Model) -> Vec<(String, Secret)> {
    let speaks_openai = matches!(model.provider, Provider::OpenAi | Provider::LiteLlm);
    let account = [("OpenAI-Organization", &model.organization), ("OpenAI-Project", &model.project)];
    let account = account.into_iter().filter(|(_, value)| speaks_openai && !value.trim().is_empty());
    let account = account.map(|(name, value)| (name.to_owned(), Secret::new(value.trim())));
    // A header by name is the more explicit of the two.
    let is_own = |name: &str| model.headers.keys().any(|own| own.trim().eq_ignore_ascii_case(name));
    let own = model.headers.iter().map(|(name, value)| (name.clone(), Secret::new(value.as_str())));
    account.filter(|(name, _)| !is_own(name)).chain(own).collect()
}

fn options(model: &Model, aws: &AwsEnvironment) -> Options {
    let mut options = Options::new(model.provider, &model.model_id);
    model.section().clone_into(&mut options.section);
    options.api_key = model.key().clone();
    options.host.clone_from(&model.host);
    options.connection.allow_http = model.allow_http;
    options.connection.headers = headers(model);
    options.connection.key_remark = model.key_remark().map(str::to_owned);
    options.aws =
        AwsEnvironment { region: model.region.clone().or_else(|| aws.region.clone()), ..aws.clone() };
    options.api = model.api;
    options.api_version = model.api_version;
    options.max_tokens = model.max_tokens;
    options.temperature = model.temperature;
    options.top_p = model.top_p;
    options.overrides.context_window = model.context_window.map(u64::from);
    options.overrides.max_tools = model.max_tools.and_then(|most| usize::try_from(most).ok());
    options.effort = model.effort;
    options.extras.web_search = model.web_search;
    options.extras.service_tier.clone_from(&model.service_tier);
    options.connection.timeout = model.timeout_seconds.map(Duration::from_secs);
    options.extras.body = model.extra.clone();
    options
}
