//! Sets up the first model from the pages: tries a person's choice, keeps the key as a credential, and writes the
//! configuration.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aethon_agent::{CallError, Meter};
use aethon_core::clock::Clock;
use aethon_core::error::Error;
use aethon_core::model::{ModelError, ModelErrorKind, ModelProvider};
use aethon_core::model_setup::{FirstModel, ModelSetup, ModelSetupRefusal, ModelWish};
use aethon_core::provider::Provider;
use aethon_core::secret::Secret;
use aethon_core::service::{ConfigEdit, ConfigRefusal, ConfigView};
use aethon_core::version::Expected;
use aethon_guard::redact::Redactor;
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::model_test;
use crate::prepared::{Prepared, Shared, Source};
use crate::setup_secret::{self, KeptSecret, literal};
use crate::wiring;

/// How long a service may take to list its models.
const LIST_WAIT: Duration = Duration::from_secs(8);

/// How many models are offered.
const MAX_LISTED: usize = 500;

/// Sets up the model of a running service.
pub(crate) struct FirstModelSetup {
    pub(crate) source: Source,
    pub(crate) config: Arc<dyn ConfigView>,
    pub(crate) meter: Meter,
    pub(crate) clock: Arc<dyn Clock>,
    /// Held by the set-up that runs: a second one must see what the first has written.
    pub(crate) turnstile: Mutex<()>,
}

#[async_trait]
impl ModelSetup for FirstModelSetup {
    async fn models(&self, wish: &ModelWish) -> Result<Vec<String>, ModelSetupRefusal> {
        let trial = self.trial(wish)?;
        let listed = timeout(LIST_WAIT, trial.model.list()).await;
        let listed = listed.unwrap_or_else(|_| {
            Err(ModelError::new(ModelErrorKind::Timeout, "The service did not list its models in time."))
        });
        let mut ids: Vec<String> = match listed {
            Ok(list) => list.into_iter().map(|model| model.id).collect(),
            Err(error) => return Err(trial.refused(wish, &error)),
        };
        if ids.is_empty() {
            let known = trial.prepared.catalog().models().into_iter();
            let own = known.filter(|model| model.vendor == trial.provider.name());
            ids.extend(own.map(|model| model.name));
        }
        ids.truncate(MAX_LISTED);
        Ok(ids)
    }

    async fn set_up(&self, wish: &ModelWish, by: &str) -> Result<FirstModel, ModelSetupRefusal> {
        let _alone = self.turnstile.lock().await;
        // A change of the file while the model is tried is not overwritten.
        let expected = Expected::OneOf(vec![self.config.on_file().await?.version]);
        let trial = self.trial(wish)?;
        let mut edit = ConfigEdit {
            changes: changes(wish, trial.provider),
            is_dry_run: true,
            is_confirmed: true,
            expected,
            by: by.to_owned(),
        };
        self.refuse_overridden(&edit, &trial.prepared).await?;
        let answered =
            model_test::first_answer(trial.model.clone(), self.meter.clone(), self.clock.clone()).await;
        let first_token = match answered {
            Ok(first_token) => first_token,
            Err(CallError::Model(error)) => return Err(trial.refused(wish, &error)),
            Err(error) => return Err(ModelSetupRefusal::Field("provider", error.to_string())),
        };
        let kept = self.keep_key(wish, trial.provider).await?;
        if let Some(kept) = &kept {
            edit.changes.insert("model.api_key".to_owned(), json!(kept.reference()));
        }
        let edited = match self.config.edit(ConfigEdit { is_dry_run: false, ..edit }).await {
            Ok(edited) => edited,
            Err(refusal) => {
                if let Some(kept) = kept {
                    let folder = self.source.sources.credentials_directory();
                    setup_secret::remove_unused(folder, kept, "a key").await;
                }
                return Err(refused(refusal));
            }
        };
        let capabilities = trial.model.capabilities();
        Ok(FirstModel {
            provider: capabilities.provider.clone(),
            model: capabilities.model.clone(),
            first_token,
            warnings: edited.warnings,
        })
    }
}

/// A model as a person's choice would make it.
struct Trial {
    provider: Provider,
    prepared: Prepared,
    model: Arc<dyn ModelProvider>,
}

impl FirstModelSetup {
    /// Reads the configuration with the wish on top.
    fn trial(&self, wish: &ModelWish) -> Result<Trial, ModelSetupRefusal> {
        let provider = Provider::from_name(&wish.provider).ok_or_else(|| {
            let names = Provider::names().join(", ");
            ModelSetupRefusal::Field("provider", format!("must be one of {names}"))
        })?;
        let variable = provider.key_variable().filter(|name| self.source.sources.variable(name).is_some());
        if let Some(variable) = variable
            && !wish.host.is_empty()
            && wish.key.is_empty()
        {
            let why = format!(
                "{variable} of the environment would be sent to that address: give the key that belongs there"
            );
            return Err(ModelSetupRefusal::Field("key", why));
        }
        let mut source = self.source.clone();
        source.demo = false;
        let sets = [
            ("model.provider", provider.name()),
            ("model.host", &wish.host),
            ("model.region", &wish.region),
            ("model.model_id", &wish.model_id),
            ("model.api_key", wish.key.expose()),
        ];
        // Empty values are set as well: the file may hold other ones.
        for (key, value) in sets {
            source.sources.sets.push(format!("{key}={}", Value::from(literal(value))));
        }
        let wrong = |error: String| {
            let field = if wish.host.is_empty() { "provider" } else { "host" };
            ModelSetupRefusal::Field(field, masked(wish, &in_words_of_form(&error, provider)))
        };
        let prepared = Prepared::read(source, Shared::default()).map_err(|error| wrong(error.to_string()))?;
        let model = wiring::model::each_in_short(&prepared, model_test::MAX_TOKENS).into_iter().next();
        let (_, model) = model.ok_or_else(|| wrong("there is no model".into()))?;
        Ok(Trial { provider, prepared, model })
    }

    /// Refuses a wish that the environment or a flag would undo.
    async fn refuse_overridden(&self, edit: &ConfigEdit, wanted: &Prepared) -> Result<(), ModelSetupRefusal> {
        let edited = self.config.edit(edit.clone()).await.map_err(refused)?;
        let keys = self.config.keys().await?;
        for line in &edited.overridden {
            let key = line.split(':').next().unwrap_or_default();
            let is_same = keys.iter().find(|known| known.key == key).is_some_and(|known| {
                let dump = aethon_config::dump(wanted.config());
                key.split('.').try_fold(&dump, |value, part| value.get(part)) == Some(&known.value)
            });
            if !is_same && key != "model.api_key" {
                let why = format!("stands above the file, so that it cannot be chosen here: {line}");
                return Err(ModelSetupRefusal::Field("provider", why));
            }
        }
        Ok(())
    }

    /// Stores the key under a name that nothing else uses. `None` without a key.
    async fn keep_key(
        &self,
        wish: &ModelWish,
        provider: Provider,
    ) -> Result<Option<KeptSecret>, ModelSetupRefusal> {
        if wish.key.is_empty() {
            return Ok(None);
        }
        let (folder, key) = (self.source.sources.credentials_directory(), wish.key.clone());
        let kept = spawn_blocking(move || store(&folder, provider, &key)).await;
        let failed = |error: std::io::Error| Error::unavailable("the key could not be stored").because(error);
        let kept = kept.map_err(|error| Error::internal("the key could not be stored").because(error))?;
        Ok(Some(kept.map_err(failed)?))
    }
}

impl Trial {
    /// Returns the refusal of a model that did not answer, at the field to look at.
    fn refused(&self, wish: &ModelWish, error: &ModelError) -> ModelSetupRefusal {
        let field = match error.kind() {
            ModelErrorKind::Auth if self.provider.key_variable().is_some() => "key",
            ModelErrorKind::Network | ModelErrorKind::Timeout => "host",
            ModelErrorKind::NotFound => "model_id",
            _ => "provider",
        };
        let sentence = in_words_of_form(&error.to_string(), self.provider);
        ModelSetupRefusal::Field(field, masked(wish, &sentence))
    }
}

/// Turns a sentence that names keys of the configuration, for a terminal, into one that names the fields of the form.
fn in_words_of_form(sentence: &str, provider: Provider) -> String {
    let variable = provider.key_variable().map(|name| format!(" or the environment variable {name}"));
    let terminal = " `aethon-cli init` sets up a model.";
    let mut sentence = sentence.replace(variable.as_deref().unwrap_or(terminal), "").replace(terminal, "");
    let fields = [
        ("set model.api_key", "type the key"),
        ("model.api_key", "the key"),
        ("set model.host", "set the address"),
        ("model.host", "the address"),
        ("model.region", "the region"),
        ("model.model_id", "the model"),
    ];
    for (key, field) in fields {
        sentence = sentence.replace(key, field);
    }
    match sentence.strip_prefix("the ") {
        Some(rest) => format!("The {rest}"),
        None => sentence,
    }
}

/// The keys of the configuration that a wish sets or removes; the name of the credential is not known yet.
fn changes(wish: &ModelWish, provider: Provider) -> Map<String, Value> {
    let given = |text: &str| if text.is_empty() { Value::Null } else { Value::from(literal(text)) };
    Map::from_iter([
        ("model.provider".to_owned(), json!(provider.name())),
        ("model.model_id".to_owned(), given(&wish.model_id)),
        ("model.host".to_owned(), given(&wish.host)),
        ("model.region".to_owned(), given(&wish.region)),
        ("model.api_key".to_owned(), Value::Null),
    ])
}

/// Stores a key under the name of its provider, as `aethon-cli init` does, or under one that is free.
fn store(folder: &Path, provider: Provider, key: &Secret) -> std::io::Result<KeptSecret> {
    let own = [provider.name().to_owned(), format!("{}-model", provider.name())];
    let numbered = (2..100).map(|number| format!("{}-model-{number}", provider.name()));
    setup_secret::store(folder, own.into_iter().chain(numbered), key, "keys of this provider")
}

/// Masks the key in a sentence that may quote the request.
fn masked(wish: &ModelWish, text: &str) -> String {
    Redactor::new([wish.key.clone()]).redact(text).into_owned()
}

fn refused(refusal: ConfigRefusal) -> ModelSetupRefusal {
    match refusal {
        ConfigRefusal::Keys(faults) => {
            let (key, why) = faults.into_iter().next().unwrap_or_default();
            let field = match key.as_str() {
                "model.host" => "host",
                "model.region" => "region",
                "model.model_id" => "model_id",
                "model.api_key" => "key",
                _ => "provider",
            };
            ModelSetupRefusal::Field(field, why)
        }
        ConfigRefusal::Failed(error) => error.into(),
        ConfigRefusal::Unconfirmed(_) => Error::internal("a confirmed change was not confirmed").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_name_the_fields_of_the_form() {
        let check = |sentence: &str, expected: &str| {
            assert_eq!(in_words_of_form(sentence, Provider::OpenAi), expected, "{sentence}");
        };
        check(
            "No key is set for OpenAI; set model.api_key or the environment variable OPENAI_API_KEY. `aethon-cli init` sets \
             up a model.",
            "No key is set for OpenAI; type the key.",
        );
        check(
            "http://a:1 refuses connections; check model.host, or try again later.",
            "http://a:1 refuses connections; check the address, or try again later.",
        );
        check("model.host `x` is no address.", "The address `x` is no address.");
        check("It wants another thing.", "It wants another thing.");
    }
}
