//! Adapts sentences about a service that is configured elsewhere than in `[model]`: their remedies name the keys there.

use std::borrow::Cow;
use std::sync::Arc;

use aethon_core::model::{
    Capabilities, ModelError, ModelProvider, ModelRequest, ModelStream, Readiness, SelfReport,
};
use aethon_core::model_choice::ListedModel;
use async_trait::async_trait;
use futures_util::StreamExt as _;

/// The section whose keys the sentences of this crate name.
pub(crate) const MODEL: &str = "model";
/// The section of embedders.
pub(crate) const EMBEDDING: &str = "memory.embedding";
/// The section of transcribers.
pub(crate) const TRANSCRIPTION: &str = "transcription";

/// The keys of `[model]` that sentences name. A table of `[model.named]` or `[[model.fallbacks]]` has all of them.
const KEYS: [&str; 11] = [
    "api_key",
    "host",
    "model_id",
    "allow_http",
    "timeout_seconds",
    "extra",
    "headers",
    "region",
    "effort",
    "max_tokens",
    "context_window",
];

/// A model that is configured in another section.
pub(crate) struct InSection {
    model: Arc<dyn ModelProvider>,
    section: Arc<str>,
}

impl InSection {
    pub(crate) fn new(model: Arc<dyn ModelProvider>, section: String) -> Self {
        Self { model, section: section.into() }
    }

    fn adapt(&self, error: ModelError) -> ModelError {
        in_section(error, &self.section)
    }
}

#[async_trait]
impl ModelProvider for InSection {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.model.capabilities()
    }

    fn readiness(&self) -> Readiness {
        match self.model.readiness() {
            Readiness::NotConfigured(why) => {
                Readiness::NotConfigured(with_keys_of(&self.section, &why).into_owned())
            }
            ready => ready,
        }
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let events = self.model.stream(request).await.map_err(|error| self.adapt(error))?;
        let section = self.section.clone();
        Ok(Box::pin(events.map(move |event| event.map_err(|error| in_section(error, &section)))))
    }

    async fn probe(&self) -> Result<String, ModelError> {
        self.model.probe().await.map_err(|error| self.adapt(error))
    }

    async fn list(&self) -> Result<Vec<ListedModel>, ModelError> {
        self.model.list().await.map_err(|error| self.adapt(error))
    }

    async fn learn(&self) -> Result<SelfReport, ModelError> {
        self.model.learn().await.map_err(|error| self.adapt(error))
    }
}

/// Replaces the keys in an error by those of the section in which the service is configured.
pub(crate) fn in_section(error: ModelError, section: &str) -> ModelError {
    let sentence = error.to_string();
    let Cow::Owned(sentence) = with_keys_of(section, &sentence) else { return error };
    let mut adapted = ModelError::new(error.kind(), sentence)
        .with_retry_after(error.retry_after())
        .with_request_id(error.request_id().map(str::to_owned));
    if let Some(status) = error.status() {
        adapted = adapted.with_status(status);
    }
    match error.detail() {
        Some(detail) => adapted.with_detail(detail),
        None => adapted,
    }
}

fn with_keys_of<'s>(section: &str, sentence: &'s str) -> Cow<'s, str> {
    if !sentence.contains("model.") {
        return Cow::Borrowed(sentence);
    }
    let mut sentence = sentence.to_owned();
    if [EMBEDDING, TRANSCRIPTION].contains(&section) {
        sentence = sentence.replace(" and model.extra", "");
    }
    for key in KEYS {
        sentence = sentence.replace(&format!("model.{key}"), &format!("{section}.{key}"));
    }
    Cow::Owned(sentence)
}

#[cfg(test)]
mod tests {
    use aethon_core::model::ModelErrorKind::Auth;
    use aethon_core::provider::Provider;

    use super::*;
    use crate::options::Options;
    use crate::testing;

    #[test]
    fn remedies_name_the_keys_of_the_section() {
        let check = |section: &str, sentence: &str, expected: &str| {
            assert_eq!(in_section(ModelError::new(Auth, sentence), section).to_string(), expected);
        };
        check(
            "model.named.fast",
            "Set model.api_key, model.host.",
            "Set model.named.fast.api_key, model.named.fast.host.",
        );
        check("model.fallbacks[1]", "Check model.extra.", "Check model.fallbacks[1].extra.");
        check(EMBEDDING, "Check model.model_id and model.extra.", "Check memory.embedding.model_id.");
        check(TRANSCRIPTION, "Try again.", "Try again.");
    }

    #[tokio::test]
    async fn errors_name_the_keys_of_the_models_own_section() {
        let options = Options { section: "model.named.fast".into(), ..Options::new(Provider::OpenAi, "m") };
        let model = crate::build(options);
        assert_eq!(model.capabilities().section, "model.named.fast");
        let Readiness::NotConfigured(why) = model.readiness() else { panic!("it has no key") };
        assert!(why.contains("set model.named.fast.api_key"), "{why}");
        let refusal = model.stream(testing::request(Vec::new())).await.err().map(|error| error.to_string());
        assert!(refusal.is_some_and(|refusal| refusal.contains("set model.named.fast.api_key")));
    }
}
