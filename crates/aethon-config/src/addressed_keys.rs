//! Which keys are sent to which address, so that an address that is changed through the API does not get the key of the one
//! before.
//!
//! In a file, the owner sees both and decides. Through the API only one of them is seen, so a changed address loses its key,
//! unless the same change names the key again.

use aethon_core::provider::Provider;
use aethon_core::secret::Secret;
use url::Url;

use crate::path::KeyPath;
use crate::schema::{Channels, Config, Email, MESSENGERS, McpServer, Messenger, Model};

/// An address, and the keys that are sent there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AddressedKeys {
    /// The key of the configuration that sets the address.
    pub(crate) address_key: String,
    /// The address: scheme, host and port, or words for the provider's own. Empty if nothing is sent.
    address: String,
    /// Where the keys are set.
    pub(crate) keys: Vec<KeyPath>,
    /// Whether there is a key, whatever its source.
    pub(crate) is_keyed: bool,
}

impl AddressedKeys {
    /// A service with a `host`; without one, the address is the provider's own.
    fn of_service(section: KeyPath, provider: &str, host: &str, is_keyed: bool) -> Self {
        let is_own = host.trim().is_empty();
        Self {
            address_key: section.key("host").to_string(),
            address: if is_own { format!("the own one of {provider}") } else { origin(host) },
            keys: vec![section.key("api_key")],
            is_keyed,
        }
    }

    /// A service with an `api_base`.
    fn of_base(section: &[&str], base: &str, keys: &[(&str, &Secret)]) -> Self {
        let section = KeyPath::of(section);
        Self {
            address_key: section.key("api_base").to_string(),
            address: origin(base),
            keys: keys.iter().map(|(key, _)| section.key(key)).collect(),
            is_keyed: keys.iter().any(|(_, secret)| !secret.is_empty()),
        }
    }

    /// Returns whether this sends keys elsewhere than before.
    pub(crate) fn are_sent_elsewhere(&self, before: &[Self]) -> bool {
        let same = before.iter().find(|other| other.address_key == self.address_key);
        self.is_keyed && !self.address.is_empty() && same.is_some_and(|other| other.address != self.address)
    }
}

/// The secrets besides those of messengers that a change may name, as `${credential:NAME}`, for an address that it sets.
const NAMEABLE: [&str; 5] = [
    "model.api_key",
    "memory.embedding.api_key",
    "transcription.api_key",
    "tools.web_search.api_key",
    "tools.github.token",
];

/// Returns whether a change may name this secret by its credential.
pub(crate) fn is_nameable(key: &KeyPath) -> bool {
    let of_messenger = |messenger: &Messenger| {
        let mut nameable = messenger.secrets.iter().filter(|secret| secret.is_nameable);
        nameable.any(|secret| *key == KeyPath::of(["channels", messenger.name, secret.key]))
    };
    NAMEABLE.contains(&key.to_string().as_str()) || MESSENGERS.iter().any(of_messenger)
}

/// Returns the headers of a model, each apart from the key and the others, because a change may name one and not the other.
fn headers_of(section: &KeyPath, model: &Model, keyed: &AddressedKeys) -> Vec<AddressedKeys> {
    let header = |name: &String| AddressedKeys {
        keys: vec![section.key("headers").key(name)],
        is_keyed: true,
        ..keyed.clone()
    };
    model.headers.keys().map(header).collect()
}

/// Returns every address of the configuration that keys may be sent to.
pub(crate) fn addressed_keys(config: &Config) -> Vec<AddressedKeys> {
    let telemetry = &config.telemetry;
    let mut all = of_main_model(&config.model);
    all.extend(of_services(config));
    all.push(of_mail(&config.channels.email));
    all.push(AddressedKeys {
        address_key: "telemetry.otlp_endpoint".to_owned(),
        address: origin(&telemetry.otlp_endpoint),
        keys: vec![KeyPath::of(["telemetry", "otlp_headers"])],
        is_keyed: telemetry.otlp_headers.values().any(|secret| !secret.is_empty()),
    });
    all.extend(of_other_models(&config.model));
    all.extend(of_messengers(&config.channels));
    all.extend(config.mcp.servers.iter().flat_map(|(name, server)| of_mcp_server(name, server)));
    all
}

/// The address of the main model, which its key and its headers are sent to.
fn of_main_model(model: &Model) -> Vec<AddressedKeys> {
    let region = model.region.as_deref().unwrap_or_default();
    let keyed = AddressedKeys::of_service(
        KeyPath::of(["model"]),
        &format!("{} {region}", model.provider.name()),
        &model.host,
        has_key(&model.host, &model.api_key, &model.environment_key),
    );
    let headers = headers_of(&KeyPath::of(["model"]), model, &keyed);
    std::iter::once(keyed).chain(headers).collect()
}

/// The addresses of the other services: memories, voice messages, searches and GitHub.
fn of_services(config: &Config) -> [AddressedKeys; 4] {
    let (embedding, spoken) = (&config.memory.embedding, &config.transcription);
    let (search, github) = (&config.tools.web_search, &config.tools.github);
    let name = |provider: Option<Provider>| provider.map_or("", |provider| provider.name());
    [
        AddressedKeys::of_service(
            KeyPath::of(["memory", "embedding"]),
            name(embedding.provider),
            &embedding.host,
            has_key(&embedding.host, &embedding.api_key, &embedding.environment_key),
        ),
        AddressedKeys::of_service(
            KeyPath::of(["transcription"]),
            name(spoken.provider),
            &spoken.host,
            has_key(&spoken.host, &spoken.api_key, &spoken.environment_key),
        ),
        AddressedKeys::of_service(
            KeyPath::of(["tools", "web_search"]),
            &format!("{:?}", search.provider),
            &search.host,
            !search.api_key.is_empty(),
        ),
        AddressedKeys::of_base(&["tools", "github"], &github.api_base, &[("token", &github.token)]),
    ]
}

/// The addresses of fallbacks and named models, as far as they have keys or headers of their own.
fn of_other_models(model: &Model) -> Vec<AddressedKeys> {
    let mut all = Vec::new();
    for (section, table) in model.tables() {
        // Values inherited from the main model are judged with the main model.
        let keyed = AddressedKeys::of_service(
            section.clone(),
            &format!("{} {}", table.provider.name(), table.region.as_deref().unwrap_or_default()),
            &table.host,
            !table.api_key.is_empty() && table.api_key.expose() != model.api_key.expose(),
        );
        let own = headers_of(&section, table, &keyed);
        all.extend(own.into_iter().filter(|_| table.headers != model.headers));
        all.extend(Some(keyed).filter(|keys| keys.is_keyed));
    }
    all
}

/// The address of an MCP server, for its headers and for the secret of its sign-in.
fn of_mcp_server(name: &str, server: &McpServer) -> [AddressedKeys; 2] {
    let section = KeyPath::of(["mcp", "servers", name]);
    let keyed = |key: KeyPath, is_keyed: bool| AddressedKeys {
        address_key: section.key("url").to_string(),
        address: origin(server.url.as_deref().unwrap_or_default()),
        keys: vec![key],
        is_keyed,
    };
    let has_headers = server.headers.values().any(|secret| !secret.is_empty());
    // The server says where the secret is sent.
    let has_secret = !server.oauth.client_secret.is_empty();
    [keyed(section.key("headers"), has_headers), keyed(section.key("oauth").key("client_secret"), has_secret)]
}

fn of_messengers(channels: &Channels) -> impl Iterator<Item = AddressedKeys> + '_ {
    MESSENGERS.iter().filter(|messenger| messenger.has_api).map(|messenger| {
        let sent = messenger.secrets(channels).into_iter().filter(|(known, _)| known.is_sent);
        let keys: Vec<(&str, &Secret)> = sent.map(|(known, secret)| (known.key, secret)).collect();
        let base = (messenger.section)(channels).shared().api_base;
        AddressedKeys::of_base(&["channels", messenger.name], base, &keys)
    })
}

fn of_mail(email: &Email) -> AddressedKeys {
    let section = KeyPath::of(["channels", "email"]);
    let host = |own: &str| if own.trim().is_empty() { email.api_base.clone() } else { own.to_owned() };
    let (inbound, outbound) = (host(&email.imap_host), host(&email.smtp_host));
    let address = format!("{inbound}:{} {outbound}:{}", email.imap_port, email.smtp_port);
    AddressedKeys {
        address_key: section.key("api_base").to_string(),
        address: address.to_ascii_lowercase(),
        keys: ["password", "oauth_token", "oauth_command"].map(|key| section.key(key)).to_vec(),
        is_keyed: !email.password.is_empty()
            || !email.oauth_token.is_empty()
            || !email.oauth_command.is_empty(),
    }
}

/// Returns whether a service gets a key. A provider's usual key belongs to the provider's own address.
fn has_key(host: &str, own: &Secret, usual: &Secret) -> bool {
    !own.is_empty() || (!host.trim().is_empty() && !usual.is_empty())
}

/// Scheme, host and port. Text that is not an address is compared unchanged.
fn origin(address: &str) -> String {
    match Url::parse(address.trim()) {
        Ok(url) if url.host().is_some() => url.origin().ascii_serialization(),
        _ => address.trim().to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::McpServer;

    #[test]
    fn keys_follow_neither_host_nor_provider_but_stay_on_their_host() {
        let mut before = Config::default();
        before.model.api_key = Secret::new("k");
        before.model.host = "https://a.example/v1".into();
        let check = |change: fn(&mut Config), expected: bool| {
            let mut after = before.clone();
            change(&mut after);
            let known = addressed_keys(&before);
            let sent = addressed_keys(&after).iter().any(|keys| keys.are_sent_elsewhere(&known));
            assert_eq!(sent, expected, "{:?}", after.model);
        };
        check(|_| {}, false);
        check(|config| config.model.host = "https://a.example/v2/".into(), false);
        check(|config| config.model.host = "https://A.example:443".into(), false);
        check(|config| config.model.model_id = "other".into(), false);
        check(|config| config.model.host = "https://b.example/v1".into(), true);
        check(|config| config.model.host = "http://a.example/v1".into(), true);
        check(|config| config.model.host = "https://a.example:8443/v1".into(), true);
        check(|config| config.model.host = "https://a.example@b.example/v1".into(), true);
        check(|config| config.model.host.clear(), true);
        check(
            |config| {
                config.model.host = "https://b.example".into();
                config.model.api_key = Secret::default();
            },
            false,
        );
    }

    #[test]
    fn the_usual_key_of_a_provider_goes_to_the_provider_only() {
        let mut before = Config::default();
        before.model.environment_key = Secret::new("usual");
        let known = addressed_keys(&before);
        let mut after = before.clone();
        after.model.host = "https://b.example".into();
        assert!(addressed_keys(&after)[0].are_sent_elsewhere(&known));
        let mut after = before.clone();
        after.model.provider = aethon_core::provider::Provider::Anthropic;
        assert!(!addressed_keys(&after)[0].are_sent_elsewhere(&known));
    }

    #[test]
    fn every_service_that_gets_a_key_is_known() {
        let key = || Secret::new("k");
        let check = |set: fn(&mut Config, Secret), change: fn(&mut Config), expected: &str| {
            let mut before = Config::default();
            set(&mut before, key());
            let mut after = before.clone();
            change(&mut after);
            let known = addressed_keys(&before);
            let sent: Vec<String> = addressed_keys(&after)
                .into_iter()
                .filter(|keys| keys.are_sent_elsewhere(&known))
                .map(|keys| keys.address_key)
                .collect();
            assert_eq!(sent, [expected]);
        };
        check(
            |config, key| config.memory.embedding.api_key = key,
            |config| config.memory.embedding.host = "https://evil.example".into(),
            "memory.embedding.host",
        );
        check(
            |config, key| config.transcription.api_key = key,
            |config| config.transcription.host = "https://evil.example".into(),
            "transcription.host",
        );
        check(
            |config, key| config.tools.web_search.api_key = key,
            |config| config.tools.web_search.host = "https://evil.example".into(),
            "tools.web_search.host",
        );
        check(
            |config, key| config.tools.github.token = key,
            |config| config.tools.github.api_base = "https://evil.example".into(),
            "tools.github.api_base",
        );
        check(
            |config, key| config.channels.telegram.token = key,
            |config| config.channels.telegram.api_base = "https://evil.example".into(),
            "channels.telegram.api_base",
        );
        check(
            |config, key| config.channels.slack.app_token = key,
            |config| config.channels.slack.api_base = "https://evil.example".into(),
            "channels.slack.api_base",
        );
        check(
            |config, key| config.channels.email.password = key,
            |config| config.channels.email.smtp_host = "evil.example".into(),
            "channels.email.api_base",
        );
        check(
            |config, key| drop(config.telemetry.otlp_headers.insert("authorization".into(), key)),
            |config| config.telemetry.otlp_endpoint = "https://evil.example".into(),
            "telemetry.otlp_endpoint",
        );
        check(
            |config, key| {
                let mut server = McpServer { url: Some("https://a.example".into()), ..McpServer::default() };
                server.headers.insert("authorization".into(), key);
                config.mcp.servers.insert("x".into(), server);
            },
            |config| {
                let server = config.mcp.servers.get_mut("x").unwrap();
                server.url = Some("https://evil.example".into());
            },
            "mcp.servers.x.url",
        );
    }
}
