//! The configuration in a form that others may see.
//!
//! Secrets mask themselves: [`Secret`](aethon_core::secret::Secret) serialises to its mask. This module masks secrets
//! that the owner put where no type can mark them: the specification's six names inside free-form tables, a credential inside an argument, a
//! password inside an address.

use aethon_core::secret::MASK;
use serde_json::Value;

use crate::schema::Config;

/// The key names that the specification masks wherever they occur.
pub const MASKED_NAMES: [&str; 6] = ["api_key", "token", "bot_token", "app_token", "secret", "password"];

/// Returns the configuration as nested objects, masked. An empty secret is `""`.
pub fn dump(config: &Config) -> Value {
    let mut whole = to_value(config);
    let embedded: Vec<&str> = config.embedded.iter().map(|secret| secret.expose()).collect();
    cover(&mut whole, &embedded);
    whole
}

/// Returns the configuration as nested objects; only `Secret` values are masked.
pub(crate) fn to_value(config: &Config) -> Value {
    // Serialising fails only for map keys that are not strings, and there are none.
    serde_json::to_value(config).unwrap_or_default()
}

fn cover(value: &mut Value, embedded: &[&str]) {
    match value {
        Value::Object(entries) => {
            for (key, inner) in entries {
                if is_masked_name(key) {
                    mask(inner);
                } else {
                    cover(inner, embedded);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cover(item, embedded)),
        Value::String(text) => {
            for credential in embedded.iter().filter(|credential| !credential.trim().is_empty()) {
                if text.contains(credential) {
                    *text = text.replace(credential, MASK);
                }
            }
            if let Some(covered) = covered_address(text) {
                *text = covered;
            }
        }
        _ => {}
    }
}

fn is_masked_name(key: &str) -> bool {
    MASKED_NAMES.iter().any(|name| key.eq_ignore_ascii_case(name))
}

fn mask(value: &mut Value) {
    let is_unset = match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    };
    *value = Value::from(if is_unset { "" } else { MASK });
}

/// Returns an address without its user part and without the values of masked parameters; `None` if nothing needs masking.
fn covered_address(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let host = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{MASK}@{host}"),
        None => authority.to_owned(),
    };
    let tail = match tail.split_once('?') {
        Some((path, query)) => {
            format!("{path}?{}", query.split('&').map(covered_parameter).collect::<Vec<_>>().join("&"))
        }
        None => tail.to_owned(),
    };
    let covered = format!("{scheme}://{host}{tail}");
    (covered != text).then_some(covered)
}

fn covered_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, _))
            if is_masked_name(name) || ["key", "access_token", "sig", "signature"].contains(&name) =>
        {
            format!("{name}={MASK}")
        }
        _ => parameter.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_shows_no_password() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(covered_address(text).as_deref(), expected, "{text}");
        };
        check("https://a.example/x?y=1", None);
        check("no address", None);
        check("https://user:pw@a.example/x", Some("https://***@a.example/x"));
        check("https://us@er:pw@a.example", Some("https://***@a.example"));
        check("https://a.example/?token=t&y=1", Some("https://a.example/?token=***&y=1"));
        check("https://a.example?api_key=t", Some("https://a.example?api_key=***"));
    }

    #[test]
    fn the_six_names_are_masked_in_free_tables() {
        let mut config = Config::default();
        config.model.extra = serde_json::from_str(
            r#"{"token": "t", "deep": [{"password": {"a": "t"}, "Secret": 5, "api_key": "", "max_tokens": 1}]}"#,
        )
        .unwrap();
        let expected: Value = serde_json::from_str(
            r#"{"token": "***", "deep": [{"password": "***", "Secret": "***", "api_key": "", "max_tokens": 1}]}"#,
        )
        .unwrap();
        assert_eq!(dump(&config)["model"]["extra"], expected);
    }
}
