//! The origin of each value in a configuration, with the meaning of its key, for the page that shows and edits it.

use std::cell::OnceCell;

use aethon_core::service::ConfigKey;
use serde_json::Value;

use crate::json_schema::{NAME, known_keys, schema};
use crate::layers::{Layers, Origin};
use crate::mask::dump;
use crate::path::KeyPath;
use crate::problem::Error;
use crate::schema::Config;
use crate::sources::Sources;

/// Lists every key in schema order. Whether a new value needs a restart is not known here, so all are marked as needing one.
pub fn origins(sources: &Sources, config: &Config) -> Result<Vec<ConfigKey>, Error> {
    let layers = Layers::read(sources)?;
    let (whole, dump) = (schema(), dump(config));
    let mut all = Vec::new();
    for known in known_keys() {
        let steps: Vec<&str> = known.name.split('.').collect();
        let is_secret = is_secret(&whole, &steps);
        for key in keys(&steps, &dump) {
            let origin = layers.origin_of(&key);
            let source = match origin {
                None | Some(Origin::Default) => "default",
                Some(Origin::File { .. }) => "file",
                Some(Origin::Variable { .. }) => "environment",
                Some(Origin::Set(_) | Origin::Program(_)) => "flag",
            };
            let place = origin.map_or_else(|| Origin::Default.place(&key), |origin| origin.place(&key));
            all.push(ConfigKey {
                source,
                place,
                description: known.description.clone(),
                default: known.default.clone(),
                value: key.find(&dump).cloned().unwrap_or_default(),
                words: known.words.clone(),
                secret: is_secret,
                needs_restart: true,
                key: key.to_string(),
            });
        }
    }
    Ok(all)
}

/// Expands a known key into the names that exist.
fn keys(steps: &[&str], value: &Value) -> Vec<KeyPath> {
    let mut found = vec![(KeyPath::default(), value)];
    for step in steps {
        let mut next = Vec::new();
        for (path, value) in found {
            if *step == NAME {
                let names = value.as_object().into_iter().flatten();
                next.extend(names.map(|(name, inner)| (path.key(name), inner)));
            } else {
                next.push((path.key(step), value.get(step).unwrap_or(&Value::Null)));
            }
        }
        found = next;
    }
    found.into_iter().map(|(path, _)| path).collect()
}

/// Returns whether a full key is or contains a secret; `None` for an unknown key.
pub(crate) fn known(key: &KeyPath) -> Option<bool> {
    let whole = schema();
    let steps: Vec<&str> = key.keys().collect();
    part(&whole, &steps).map(|part| holds_secret(&whole, part, 0))
}

/// Recognises secrets on a command line. Words are tried first, because this runs at every start; the schema is read once,
/// and for other keys only.
#[derive(Debug, Default)]
pub struct SecretKeys {
    schema: OnceCell<Value>,
}

impl SecretKeys {
    /// Returns whether this value of a key may be or contain a secret. The value of an unknown key may be one under a mistyped
    /// name.
    pub fn may_hold(&self, key: &str, value: &str) -> bool {
        const NAMES: [&str; 8] =
            ["token", "secret", "password", "key", "env", "headers", "args", "oauth_command"];
        let is_secret =
            |step: &str| NAMES.iter().any(|name| step.trim().trim_matches(['"', '\'']).ends_with(name));
        let is_structured = || value.trim_start().starts_with('{') || key.ends_with("fallbacks");
        let may_have_password = || value.contains("://") && value.contains(['@', '?']);
        !value.trim().is_empty()
            && !is_reference(value)
            && (key.split('.').any(is_secret)
                || is_structured()
                || may_have_password()
                || self.may_be_secret(key))
    }

    /// Returns whether the key is unknown, or is or contains a secret.
    fn may_be_secret(&self, key: &str) -> bool {
        let whole = self.schema.get_or_init(schema);
        let path = KeyPath::parse(key);
        let part = path.as_ref().and_then(|path| part(whole, &path.keys().collect::<Vec<&str>>()));
        part.is_none_or(|part| holds_secret(whole, part, 0))
    }
}

/// Returns whether a value is one reference and nothing else, not even a fallback.
fn is_reference(value: &str) -> bool {
    let inner = value.trim().trim_matches('"').strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|name| !name.contains('}') && !name.contains(":-"))
}

pub(crate) fn is_secret(whole: &Value, steps: &[&str]) -> bool {
    part(whole, steps).is_some_and(|part| holds_secret(whole, part, 0))
}

/// The part of the schema that describes a key.
fn part<'s>(whole: &'s Value, steps: &[&str]) -> Option<&'s Value> {
    steps.iter().try_fold(whole, |part, step| {
        let target = resolved(whole, part);
        let own = target.get("properties").and_then(|properties| properties.get(step));
        own.or_else(|| target.get("additionalProperties").filter(|entry| entry.is_object()))
    })
}

/// Returns the part of the [`schema`](crate::schema()) that describes a key, with [`NAME`] for a name of the owner's choice; `None`
/// if it is unknown.
pub fn schema_of<'s>(whole: &'s Value, key: &str) -> Option<&'s Value> {
    let steps: Vec<&str> = key.split('.').collect();
    part(whole, &steps).map(|part| resolved(whole, part))
}

fn resolved<'s>(whole: &'s Value, part: &'s Value) -> &'s Value {
    let named = |part: &'s Value| part.get("$ref").and_then(Value::as_str);
    named(part).and_then(|target| whole.pointer(target.trim_start_matches('#'))).unwrap_or(part)
}

/// Returns whether the schema contains a secret. The depth is bounded, because a schema may refer to itself.
fn holds_secret(whole: &Value, part: &Value, depth: usize) -> bool {
    if depth > 12 {
        return false;
    }
    let target = resolved(whole, part);
    if target.get("format").and_then(Value::as_str) == Some("password") {
        return true;
    }
    match target {
        Value::Object(entries) => entries
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "default" | "description" | "$defs"))
            .any(|(_, inner)| holds_secret(whole, inner, depth + 1)),
        Value::Array(items) => items.iter().any(|inner| holds_secret(whole, inner, depth + 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load;

    #[test]
    fn each_value_has_its_origin() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[budget.pricing.\"gpt-5.1\"]\ninput = 1\noutput = 2\n\n[agent]\nloop_limit = 4\n";
        std::fs::write(folder.path().join("config.toml"), text).unwrap();
        let sources = Sources {
            home: folder.path().to_owned(),
            environment: vec![("AETHON_DASHBOARD__AUTH_TOKEN".into(), "a-token-of-some-length".into())],
            sets: vec!["logging.level=debug".into()],
            ..Sources::default()
        };
        let config = load(&sources).unwrap().config;
        let all = origins(&sources, &config).unwrap();
        let find = |key: &str| all.iter().find(|one| one.key == key).unwrap_or_else(|| panic!("no {key}"));
        let check = |key: &str, source: &str, value: Value, is_secret: bool| {
            let found = find(key);
            assert_eq!((found.source, &found.value, found.secret), (source, &value, is_secret), "{key}");
        };
        check("agent.loop_limit", "file", 4.into(), false);
        check("agent.max_iterations", "default", 40.into(), false);
        check("dashboard.auth_token", "environment", "***".into(), true);
        check("logging.level", "flag", "debug".into(), false);
        check("budget.pricing.\"gpt-5.1\".input", "file", 1.0.into(), false);
        assert!(find("agent.loop_limit").place.ends_with("config.toml:6"));
        assert!(!find("agent.loop_limit").description.is_empty());
        assert_eq!(known(&KeyPath::of(["mcp", "servers", "x"])), Some(true));
        assert_eq!(known(&KeyPath::of(["nothing"])), None);
    }

    #[test]
    fn every_secret_of_the_schema_is_recognised_on_a_command_line() {
        let (whole, keys) = (schema(), SecretKeys::default());
        for known in known_keys() {
            let steps: Vec<&str> = known.name.split('.').collect();
            if is_secret(&whole, &steps) {
                let value = if known.name == "mcp.servers" { "{x={}}" } else { "v" };
                assert!(
                    keys.may_hold(&known.name, value) || known.name.ends_with("servers"),
                    "{}",
                    known.name
                );
            }
        }
        for (key, value, expected) in [
            ("model.provider", "ollama", false),
            ("channels.webchat.port", "0", false),
            ("mcp.servers.x.env.\"A\"", "v", true),
            ("mcp.servers.x", "{command=\"x\"}", true),
            ("model.host", "https://user:pw@a.example", true),
            ("dashboard.auth_token", "${credential:x}", false),
            ("dashboard.auth_token", "\"${TOKEN}\"", false),
            ("dashboard.auth_token", "${TOKEN:-s3cret}", true),
            ("dashboard.auth_token", "${A}s3cret${B}", true),
            ("dashboard.auth_token", "", false),
            ("dashboard.auth", "s3cret", true),
            ("dashboard", "s3cret", true),
            ("dashbord.tokne", "s3cret", true),
            ("webhook.secrte", "s3cret", true),
            ("model.apikye", "s3cret", true),
            ("mcp.servers.x.args", "[\"--token\", \"s3cret\"]", true),
            ("mcp.servers.x.command", "uvx", false),
            ("mcp.servers.x.url", "https://a.example/sse?k=s3cret", true),
            ("channels.email.oauth_command", "printf s3cret", true),
            ("budget.pricing.\"gpt-5.1\".input", "1", false),
        ] {
            assert_eq!(keys.may_hold(key, value), expected, "{key}={value}");
        }
    }
}
