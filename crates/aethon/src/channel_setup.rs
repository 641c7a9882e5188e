//! Sets up a messenger from the pages: asks the platform whether it accepts what a person typed, keeps the secrets as credentials,
//! and writes the configuration.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aethon_channels::Check;
use aethon_config::schema::{MESSENGERS, Messenger as Row};
use aethon_core::channel_setup::{
    ChannelCheck, ChannelSetUp, ChannelSetup, ChannelSetupRefusal, ChannelWish,
};
use aethon_core::error::Error;
use aethon_core::secret::Secret;
use aethon_core::service::{ConfigEdit, ConfigRefusal, ConfigView};
use aethon_core::version::Expected;
use aethon_guard::redact::Redactor;
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::prepared::{Prepared, Shared, Source};
use crate::setup_secret::{self, KeptSecret};
use crate::wiring::messengers::{self, MessengerDeps};

/// How long a platform may take to say whether it lets us in.
const WAIT: Duration = Duration::from_secs(15);

/// The settings of each messenger that a person gives besides its secrets. They are few: everything else has a default.
const SETTINGS: &[(&str, &[&str])] = &[
    ("telegram", &[]),
    ("discord", &[]),
    ("slack", &[]),
    ("whatsapp", &["phone_number_id"]),
    ("matrix", &["api_base", "user_id"]),
    ("email", &["api_base", "imap_host", "smtp_host", "username", "authserv_id"]),
];

/// Settings that say where secrets are sent: one that is there already is not sent to a new address.
const ADDRESSES: [&str; 3] = ["api_base", "imap_host", "smtp_host"];

/// Sets up the messengers of a running service.
pub(crate) struct MessengerSetup {
    pub(crate) source: Source,
    pub(crate) config: Arc<dyn ConfigView>,
    pub(crate) deps: MessengerDeps,
    /// Held by the set-up that runs: a second one must see what the first has written.
    pub(crate) turnstile: Mutex<()>,
}

#[async_trait]
impl ChannelSetup for MessengerSetup {
    async fn test(&self, wish: &ChannelWish) -> Result<Vec<ChannelCheck>, ChannelSetupRefusal> {
        let row = row(wish)?;
        let secrets = checked(wish, row)?;
        let config = self.with(wish, row).await?;
        let unusable = || ChannelSetupRefusal::Field("api_base".into(), "is not an address".into());
        let trial = messengers::messenger(&config, row.name, &self.deps).ok_or_else(unusable)?;
        let late = || vec![Check::new("answer", false, "the platform did not answer in time")];
        let checks = timeout(WAIT, trial.inspect()).await.unwrap_or_else(|_| late());
        let redactor = Redactor::new(secrets.into_iter().map(|(_, secret)| secret));
        let told = |check: Check| ChannelCheck {
            detail: redactor.redact(&check.detail).into_owned(),
            id: check.id,
            ok: check.ok,
        };
        Ok(checks.into_iter().map(told).collect())
    }

    async fn set_up(&self, wish: &ChannelWish, by: &str) -> Result<ChannelSetUp, ChannelSetupRefusal> {
        let _alone = self.turnstile.lock().await;
        // A change of the file while the platform is asked is not overwritten.
        let before = self.config.on_file().await?;
        let checks = self.test(wish).await?;
        if !checks.iter().all(|check| check.ok) {
            return Err(ChannelSetupRefusal::Checks(checks));
        }
        let row = row(wish)?;
        let kept = self.keep(row.name, checked(wish, row)?).await?;
        let edit = ConfigEdit {
            changes: changes(wish, &kept, &before.config),
            is_dry_run: false,
            is_confirmed: true,
            expected: Expected::OneOf(vec![before.version]),
            by: by.to_owned(),
        };
        match self.config.edit(edit).await {
            Ok(edited) => {
                let warnings = edited.overridden.into_iter().chain(edited.warnings).collect();
                Ok(ChannelSetUp { checks, needs_restart: edited.needs_restart, warnings })
            }
            Err(refusal) => {
                for (_, kept) in kept {
                    let folder = self.source.sources.credentials_directory();
                    setup_secret::remove_unused(folder, kept, "a secret").await;
                }
                Err(refused(row.name, refusal))
            }
        }
    }
}

impl MessengerSetup {
    /// The configuration with the wish on top.
    async fn with(
        &self,
        wish: &ChannelWish,
        row: &Row,
    ) -> Result<aethon_config::Config, ChannelSetupRefusal> {
        let mut source = self.source.clone();
        let section = format!("channels.{}", row.name);
        let is_elsewhere = ADDRESSES.iter().any(|key| wish.settings.contains_key(*key));
        let forgotten = row.secret_keys().filter(|key| is_elsewhere && !wish.settings.contains_key(*key));
        let forgotten = forgotten.map(|key| (key.to_owned(), json!("")));
        let given = wish.settings.iter().map(|(key, value)| (key.clone(), literal(value)));
        source.sources.sets.extend(
            given
                .chain(forgotten)
                .chain([("enabled".to_owned(), json!(true))])
                .map(|(key, value)| format!("{section}.{key}={value}")),
        );
        let read = spawn_blocking(move || Prepared::read(source, Shared::default())).await;
        let read =
            read.map_err(|error| Error::internal("the configuration could not be read").because(error))?;
        read.map(|prepared| prepared.config).map_err(|error| {
            let why = error.to_string();
            ChannelSetupRefusal::Field(fault_at(&section, &why), masked(wish, &why))
        })
    }

    /// Stores each secret under a name that nothing else uses, and returns it with its key in the section.
    async fn keep(
        &self,
        name: &'static str,
        secrets: Vec<(String, Secret)>,
    ) -> Result<Vec<(String, KeptSecret)>, ChannelSetupRefusal> {
        let folder = self.source.sources.credentials_directory();
        let stored = move || {
            let store =
                |(key, secret): (String, Secret)| Ok((key.clone(), store(&folder, name, &key, &secret)?));
            secrets.into_iter().map(store).collect::<std::io::Result<Vec<_>>>()
        };
        let failed =
            |error: std::io::Error| Error::unavailable("the secrets could not be stored").because(error);
        let stored = spawn_blocking(stored).await;
        let stored =
            stored.map_err(|error| Error::internal("the secrets could not be stored").because(error))?;
        Ok(stored.map_err(failed)?)
    }
}

/// The row of the wished messenger, if this program has it.
fn row(wish: &ChannelWish) -> Result<&'static Row, ChannelSetupRefusal> {
    let row = MESSENGERS.iter().find(|row| row.name == wish.name && messengers::is_built(row.name));
    row.ok_or(ChannelSetupRefusal::Unknown)
}

/// Checks that every setting is one that is asked for, and returns the secrets among them.
fn checked(wish: &ChannelWish, row: &Row) -> Result<Vec<(String, Secret)>, ChannelSetupRefusal> {
    let plain = SETTINGS.iter().find(|(name, _)| *name == row.name).map_or(&[][..], |(_, keys)| keys);
    let mut secrets = Vec::new();
    for (key, value) in &wish.settings {
        let Value::String(text) = value else {
            return Err(ChannelSetupRefusal::Field(key.clone(), "must be text".into()));
        };
        if row.secret_keys().any(|secret| secret == key) {
            secrets.push((key.clone(), Secret::new(text.clone())));
        } else if !plain.contains(&key.as_str()) {
            let known: Vec<&str> = row.secret_keys().chain(plain.iter().copied()).collect();
            let why = format!("is not asked for here; {} has {}", row.name, known.join(", "));
            return Err(ChannelSetupRefusal::Field(key.clone(), why));
        }
    }
    Ok(secrets)
}

/// The keys of the configuration that a wish sets.
fn changes(wish: &ChannelWish, kept: &[(String, KeptSecret)], present: &Value) -> Map<String, Value> {
    let section = format!("channels.{}", wish.name);
    let mut changes = Map::from_iter([(format!("{section}.enabled"), json!(true))]);
    for (key, value) in &wish.settings {
        let secret = kept.iter().find(|(secret, _)| secret == key);
        let value = secret.map_or_else(|| literal(value), |(_, kept)| json!(kept.reference()));
        changes.insert(format!("{section}.{key}"), value);
    }
    if !wish.allowed.is_empty() {
        let there = present["security"]["allowed_senders"][&wish.name].as_array().into_iter().flatten();
        let mut people: Vec<String> = there.filter_map(|one| one.as_str().map(str::to_owned)).collect();
        people.extend(wish.allowed.iter().filter(|one| !people.contains(one)).cloned().collect::<Vec<_>>());
        changes.insert(format!("security.allowed_senders.{}", wish.name), json!(people));
    }
    changes
}

/// Stores a secret as `MESSENGER-KEY`, or under a name that is free.
fn store(folder: &Path, messenger: &str, key: &str, secret: &Secret) -> std::io::Result<KeptSecret> {
    let first = format!("{messenger}-{}", key.replace('_', "-"));
    let numbered = (2..100).map(|number| format!("{first}-{number}"));
    let names = std::iter::once(first.clone()).chain(numbered);
    setup_secret::store(folder, names, secret, "secrets of this messenger")
}

/// A value of the configuration in which a dollar sign refers to nothing.
fn literal(value: &Value) -> Value {
    value.as_str().map_or_else(|| value.clone(), |text| json!(setup_secret::literal(text)))
}

/// The setting that a sentence of the configuration is about.
fn fault_at(section: &str, sentence: &str) -> String {
    let start = sentence.find(&format!("{section}.")).map(|at| at + section.len() + 1);
    let rest = start.and_then(|start| sentence.get(start..)).unwrap_or_default();
    let key: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    if key.is_empty() || key == "enabled" { "settings".to_owned() } else { key }
}

/// Masks the secrets in a sentence that may quote them.
fn masked(wish: &ChannelWish, text: &str) -> String {
    let typed = wish.settings.values().filter_map(Value::as_str).map(|value| Secret::new(value.to_owned()));
    Redactor::new(typed).redact(text).into_owned()
}

fn refused(name: &str, refusal: ConfigRefusal) -> ChannelSetupRefusal {
    match refusal {
        ConfigRefusal::Keys(faults) => {
            let (key, why) = faults.into_iter().next().unwrap_or_default();
            let field = match key.starts_with("security.") {
                true => "allowed".to_owned(),
                false => fault_at(&format!("channels.{name}"), &key),
            };
            ChannelSetupRefusal::Field(field, why)
        }
        ConfigRefusal::Failed(error) => error.into(),
        ConfigRefusal::Unconfirmed(_) => Error::internal("a confirmed change was not confirmed").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(name: &str, settings: &[(&str, &str)], allowed: &[&str]) -> ChannelWish {
        ChannelWish {
            name: name.into(),
            settings: settings.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect(),
            allowed: allowed.iter().map(|one| (*one).to_owned()).collect(),
        }
    }

    #[test]
    fn every_messenger_has_its_settings_and_no_other_is_accepted() {
        for row in MESSENGERS {
            let (_, plain) = SETTINGS.iter().find(|(name, _)| *name == row.name).expect(row.name);
            let all: Vec<(&str, &str)> =
                row.secret_keys().chain(plain.iter().copied()).map(|key| (key, "x")).collect();
            assert_eq!(checked(&wish(row.name, &all, &[]), row).unwrap().len(), row.secret_keys().count());
            for other in ["enabled", "oauth_command", "pairing", "home", "nothing"] {
                let refusal = checked(&wish(row.name, &[(other, "x")], &[]), row);
                assert!(matches!(refusal, Err(ChannelSetupRefusal::Field(key, _)) if key == other));
            }
        }
    }

    #[test]
    fn people_are_added_to_those_who_may_write_and_secrets_are_named() {
        let present = json!({"security": {"allowed_senders": {"telegram": ["1"]}}});
        let kept = [("token".to_owned(), KeptSecret { name: "telegram-token".into(), is_new: true })];
        let wish = wish("telegram", &[("token", "s3cret")], &["1", "2"]);
        let changes = changes(&wish, &kept, &present);
        assert_eq!(
            Value::from(changes),
            json!({
                "channels.telegram.enabled": true,
                "channels.telegram.token": "${credential:telegram-token}",
                "security.allowed_senders.telegram": ["1", "2"],
            })
        );
    }

    #[test]
    fn a_secret_is_kept_under_a_free_name() {
        let home = tempfile::tempdir().unwrap();
        let name = |secret: &str| {
            let kept = store(home.path(), "slack", "bot_token", &Secret::new(secret)).unwrap();
            (kept.name, kept.is_new)
        };
        assert_eq!(name("one"), ("slack-bot-token".into(), true));
        assert_eq!(name("two"), ("slack-bot-token-2".into(), true));
        assert_eq!(name("one"), ("slack-bot-token".into(), false));
    }

    #[test]
    fn a_fault_names_the_setting_it_is_about() {
        for (sentence, field) in [
            ("channels.email.username must be set", "username"),
            ("channels.email.enabled needs a password", "settings"),
            ("something else", "settings"),
        ] {
            assert_eq!(fault_at("channels.email", sentence), field, "{sentence}");
        }
    }
}
