//! Values that are sent in HTTP headers: keys lose what surely is no part of them, and what cannot be sent is named.
//!
//! A key that was pasted with its quotation marks, or that ends in an invisible character, is otherwise only refused by the
//! service, whose "wrong key" sends the owner to look in the wrong place.

use aethon_core::header_value::{CleanedKey, Oddity, cleaned_key, header_oddity, key_oddity};
use aethon_core::provider::Provider;
use aethon_core::secret::Secret;

use crate::path::{KeyPath, Step};
use crate::schema::{Config, Fallback, MESSENGERS, Model};

/// How the name of a header contains that its value is a credential.
const CREDENTIALS: [&str; 8] =
    ["key", "token", "secret", "password", "auth", "cookie", "credential", "signature"];

/// Headers that the connection and the request set, and nothing else may.
const RESERVED: [&str; 15] = [
    "host",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "content-length",
    "content-type",
    "content-encoding",
    "accept-encoding",
];

/// A suspicious value, and the reason.
#[derive(Debug)]
pub(crate) struct OddValue {
    /// The key of the configuration.
    pub(crate) key: KeyPath,
    /// The environment variable that the value came from, if it is a provider's usual one.
    pub(crate) variable: Option<&'static str>,
    /// The oddity and its effect.
    pub(crate) message: String,
}

/// Returns whether a header must be left to the connection or the request.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.iter().any(|reserved| name.trim().eq_ignore_ascii_case(reserved))
}

/// Returns whether a text can name a header.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Returns the values of a model's headers whose names say that they are credentials.
pub(crate) fn secrets(config: &Config) -> Vec<Secret> {
    let tables = config.model.tables().into_iter().map(|(_, model)| model);
    let headers = std::iter::once(&config.model).chain(tables).flat_map(|model| &model.headers);
    let secret = headers.filter(|(name, _)| is_credential(name));
    // The scheme, such as `Bearer`, is no secret.
    let bare = |value: &str| value.split_whitespace().next_back().map(Secret::new);
    secret.flat_map(|(_, value)| bare(value).into_iter().chain([Secret::new(value)])).collect()
}

fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    CREDENTIALS.iter().any(|word| name.contains(word))
}

impl Config {
    /// Strips stray characters from every key that is sent in a header, and describes what it found.
    pub(crate) fn clean_header_values(&mut self) -> Vec<OddValue> {
        let mut found = Vec::new();
        clean_model(&KeyPath::of(["model"]), &mut self.model, &mut found);
        for (index, fallback) in self.model.fallbacks.iter_mut().enumerate() {
            let key = KeyPath::of(["model", "fallbacks"]).join(Step::Index(index));
            if let Fallback::Model(model) = fallback {
                clean_model(&key, model, &mut found);
            }
        }
        let embedding = &mut self.memory.embedding;
        let variable = embedding.provider.and_then(Provider::key_variable);
        let keys = Keys { own: &mut embedding.api_key, usual: &mut embedding.environment_key, variable };
        embedding.key_remark = clean_keys(KeyPath::of(["memory", "embedding"]), keys, &mut found);
        let spoken = &mut self.transcription;
        let variable = spoken.provider.and_then(Provider::key_variable);
        let keys = Keys { own: &mut spoken.api_key, usual: &mut spoken.environment_key, variable };
        spoken.key_remark = clean_keys(KeyPath::of(["transcription"]), keys, &mut found);
        self.clean_tokens(&mut found);
        self.examine_headers(&mut found);
        found
    }

    /// The same for the named models.
    pub(crate) fn clean_named_models(&mut self) -> Vec<OddValue> {
        let mut found = Vec::new();
        for (name, named) in &mut self.model.named {
            let section = KeyPath::of(["model", "named", name]);
            clean_model(&section, &mut named.model, &mut found);
            if named.sets("fallbacks") {
                for (index, fallback) in named.model.fallbacks.iter_mut().enumerate() {
                    if let Fallback::Model(model) = fallback {
                        clean_model(&section.key("fallbacks").join(Step::Index(index)), model, &mut found);
                    }
                }
            }
        }
        found
    }

    fn clean_tokens(&mut self, found: &mut Vec<OddValue>) {
        for messenger in MESSENGERS {
            let tokens = (messenger.section_mut)(&mut self.channels).secrets_mut();
            for (known, token) in messenger.secrets.iter().zip(tokens).filter(|(known, _)| known.is_sent) {
                let key = KeyPath::of(["channels", messenger.name, known.key]);
                found.extend(clean(token).map(|message| OddValue { key, variable: None, message }));
            }
        }
        let tools = &mut self.tools;
        let tokens = [
            (["tools", "web_search", "api_key"], &mut tools.web_search.api_key),
            (["tools", "github", "token"], &mut tools.github.token),
        ];
        for (key, token) in tokens {
            let key = KeyPath::of(key);
            found.extend(clean(token).map(|message| OddValue { key, variable: None, message }));
        }
    }

    /// Describes suspicious headers. They are sent unchanged, because they may hold more than keys.
    fn examine_headers(&self, found: &mut Vec<OddValue>) {
        for (name, value) in &self.telemetry.otlp_headers {
            examine(KeyPath::of(["telemetry", "otlp_headers", name]), value.expose(), found);
        }
        for (server, entry) in &self.mcp.servers {
            for (name, value) in &entry.headers {
                examine(KeyPath::of(["mcp", "servers", server, "headers", name]), value.expose(), found);
            }
        }
    }
}

fn clean_model(section: &KeyPath, model: &mut Model, found: &mut Vec<OddValue>) {
    let variable = model.provider.key_variable();
    let keys = Keys { own: &mut model.api_key, usual: &mut model.environment_key, variable };
    model.key_remark = clean_keys(section.clone(), keys, found);
    for (name, value) in &model.headers {
        examine(section.key("headers").key(name), value, found);
    }
}

/// The keys of a service: the configured one, and that of the provider's usual variable, which it precedes.
struct Keys<'k> {
    own: &'k mut Secret,
    usual: &'k mut Secret,
    variable: Option<&'static str>,
}

/// Cleans the keys of a service, and describes any oddity of the one in use.
fn clean_keys(section: KeyPath, keys: Keys<'_>, found: &mut Vec<OddValue>) -> Option<String> {
    let usual = clean(keys.usual).filter(|_| keys.own.is_empty());
    let (message, variable) = match clean(keys.own) {
        Some(message) => (message, None),
        None => (usual?, keys.variable),
    };
    found.push(OddValue { key: section.key("api_key"), variable, message: message.clone() });
    Some(message)
}

fn examine(key: KeyPath, value: &str, found: &mut Vec<OddValue>) {
    if let Some(oddity) = header_oddity(value) {
        found.push(OddValue { key, variable: None, message: unusable(oddity) });
    }
}

/// Cleans a key, and describes its oddity, if it had one.
fn clean(key: &mut Secret) -> Option<String> {
    let CleanedKey { key: cleaned, removed } = cleaned_key(key.expose());
    if !removed.is_empty() {
        *key = Secret::new(cleaned);
    }
    if let Some(oddity) = key_oddity(key.expose()) {
        return Some(unusable(oddity));
    }
    (!removed.is_empty()).then(|| {
        let removed: Vec<String> = removed.iter().map(Oddity::to_string).collect();
        format!(
            "the value {}; that is left out of what is sent, but correct the value",
            removed.join(" and ")
        )
    })
}

fn unusable(oddity: Oddity) -> String {
    format!("the value {oddity}, so it cannot be sent; correct the value")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_cleaned_and_named_and_headers_are_only_named() {
        let mut config = Config::default();
        config.model.api_key = Secret::new("\"sk-model\"");
        config.model.environment_key = Secret::new("'unused'");
        config.transcription.api_key = Secret::new("Bearer sk-voice");
        config.channels.telegram.token = Secret::new("1:abc\u{200b}");
        config.tools.github.token = Secret::new("ghp one");
        config.model.headers.insert("X-Title".into(), "My\u{feff} assistant".into());
        let odd = config.clean_header_values();
        let named: Vec<String> = odd.iter().map(|odd| odd.key.to_string()).collect();
        let expected = [
            "model.api_key",
            "model.headers.X-Title",
            "transcription.api_key",
            "channels.telegram.token",
            "tools.github.token",
        ];
        assert_eq!(named, expected);
        assert_eq!(config.model.api_key.expose(), "sk-model");
        assert_eq!(config.transcription.api_key.expose(), "sk-voice");
        assert_eq!(config.channels.telegram.token.expose(), "1:abc");
        assert!(config.model.key_remark().is_some_and(|remark| remark.contains("quotation marks")));
        let all: String = odd.iter().map(|odd| odd.message.as_str()).collect();
        for part in ["sk-", "1:abc", "ghp"] {
            assert!(!all.contains(part), "{all}");
        }
    }

    #[test]
    fn credentials_among_headers_are_secrets() {
        let mut config = Config::default();
        for (name, value) in [("X-Title", "Aethon"), ("Authorization", "Basic abcdef"), ("api-key", "k-1")] {
            config.model.headers.insert(name.into(), value.into());
        }
        let secrets = secrets(&config);
        let found: Vec<&str> = secrets.iter().map(Secret::expose).collect();
        assert_eq!(found, ["abcdef", "Basic abcdef", "k-1", "k-1"]);
    }
}
